#include "attend/replace_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace attend::cli {
namespace {

tl::unexpected<Error> Unwritable(const std::string& path, const std::string& why) {
  return tl::unexpected(Error{.code = ErrorCode::kFileUnwritable,
                              .where = path,
                              .subject = {},
                              .expected = "a cache folder that can be written",
                              .found = why,
                              .hint = "set XDG_CACHE_HOME"});
}

}  // namespace

Result<void> MakeFolderOf(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  if (failed) return Unwritable(path, failed.message());
  return {};
}

Result<void> ReplaceFile(const std::string& path, const std::string& text) {
  ATTEND_RETURN_IF_ERROR(MakeFolderOf(path));
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  std::ofstream file(temporary);
  file << text;
  file.close();
  if (!file) return Unwritable(temporary, "it cannot be written");
  std::error_code failed;
  std::filesystem::rename(temporary, path, failed);
  if (failed) return Unwritable(path, failed.message());
  return {};
}

}  // namespace attend::cli
