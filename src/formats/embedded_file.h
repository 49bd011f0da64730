// A file of data/ whose text the program holds: cmake/embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace attend {

struct EmbeddedFile {
  std::string_view name;  // without .json
  std::string_view json;
};

// Without regard to case; nullptr when there is none.
const EmbeddedFile* FindEmbedded(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace attend
