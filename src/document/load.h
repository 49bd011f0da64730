// A document as text: UTF-8 from a file or standard input, checked before anything else touches it.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace attend {

struct LoadOptions {
  bool lossy = false;  // replace ill-formed UTF-8 by U+FFFD instead of refusing the document
};

struct Document {
  std::string name;           // path, or "standard input"
  std::string text;           // valid UTF-8, without a byte order mark
  uint64_t num_replaced = 0;  // ill-formed sequences replaced (lossy only)
};

inline constexpr uint64_t kDocumentLimitBytes = uint64_t{1} << 30;

// Errors: those of ReadTextFile; text_not_utf8 with the byte position and line; text_binary; text_unsupported_format
// for PDF, DOCX, UTF-16 and other known kinds, naming the kind and the command that makes text of it.
Result<Document> LoadDocument(const std::string& path, const LoadOptions& options = {});

// The same checks on bytes already read.
Result<Document> DocumentFromBytes(std::string bytes, std::string name, const LoadOptions& options);

}  // namespace attend
