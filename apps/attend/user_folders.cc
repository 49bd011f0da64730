#include "attend/user_folders.h"

#include <cstdlib>

namespace attend::cli {
namespace {

std::string Folder(const char* variable, const char* below_home) {
  const char* base = std::getenv(variable);
  if (base != nullptr && base[0] == '/') return std::string(base) + "/attend";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + below_home : std::string();
}

}  // namespace

std::string CacheFolder() {
  return Folder("XDG_CACHE_HOME", "/.cache/attend");
}

std::string ConfigFolder() {
  return Folder("XDG_CONFIG_HOME", "/.config/attend");
}

}  // namespace attend::cli
