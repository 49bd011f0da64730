#include "attend/model_places.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace attend::cli {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string VariableOr(const char* name, std::string fallback) {
  std::string value = Variable(name);
  return value.empty() ? std::move(fallback) : value;
}

std::vector<std::string> SplitAtColons(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

// The XDG rule: a relative path is as good as none.
std::string CacheHome(const std::string& home) {
  const std::string cache = Variable("XDG_CACHE_HOME");
  return cache.starts_with('/') ? cache : home + "/.cache";
}

}  // namespace

ModelPlaces ModelPlacesFromEnvironment() {
  const std::string home = Variable("HOME"), cache = CacheHome(home);
  ModelPlaces places;
  places.paths = SplitAtColons(Variable("ATTEND_MODEL_PATH"));
  places.attend = {cache + "/attend/models"};
  places.huggingface = {VariableOr("HF_HUB_CACHE", VariableOr("HF_HOME", cache + "/huggingface") + "/hub")};
  places.llama_cpp = {VariableOr("LLAMA_CACHE", cache + "/llama.cpp")};
  places.ollama = {VariableOr("OLLAMA_MODELS", home + "/.ollama/models"), "/usr/share/ollama/.ollama/models"};
  return places;
}

}  // namespace attend::cli
