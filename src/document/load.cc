#include "document/load.h"

#include <algorithm>
#include <string_view>

#include "base/mapped_file.h"
#include "base/utf8.h"

namespace attend {
namespace {

struct KnownKind {
  std::string_view magic;
  const char* kind;
  const char* command;
};

constexpr KnownKind kKnownKinds[] = {
    {"%PDF-", "a PDF", "pdftotext -layout in.pdf out.txt"},
    {"PK\x03\x04", "a DOCX, ODT or other ZIP archive", "pandoc in.docx -t plain -o out.txt"},
    {"\xd0\xcf\x11\xe0", "an old Word document", "antiword in.doc > out.txt"},
    {"{\\rtf", "an RTF document", "pandoc in.rtf -t plain -o out.txt"},
    {"\x1f\x8b", "a gzip archive", "gunzip in.txt.gz"},
    {"\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 in.txt > out.txt"},
    {"\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 in.txt > out.txt"},
    {"GGUF", "a GGUF model", "attend read DOCUMENT -m MODEL"},
};

tl::unexpected<Error> TextError(ErrorCode code, const std::string& name, std::string expected, std::string found,
                                std::string hint) {
  return tl::unexpected(Error{.code = code,
                              .where = name,
                              .subject = {},
                              .expected = std::move(expected),
                              .found = std::move(found),
                              .hint = std::move(hint)});
}

}  // namespace

Result<Document> DocumentFromBytes(std::string bytes, std::string name, const LoadOptions& options) {
  for (const KnownKind& known : kKnownKinds) {
    if (std::string_view(bytes).substr(0, known.magic.size()) == known.magic) {
      return TextError(ErrorCode::kTextUnsupportedFormat, name, "UTF-8 text", known.kind,
                       std::string("first: ") + known.command);
    }
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (std::string_view(bytes).substr(0, 3) == kByteOrderMark) bytes.erase(0, 3);
  if (const size_t nul = bytes.find('\0'); nul != std::string::npos) {
    return TextError(ErrorCode::kTextBinary, name, "text", "a NUL byte at " + std::to_string(nul),
                     "extract the text first");
  }
  Document document{std::move(name), {}, 0};
  const auto bad = FindInvalidUtf8(bytes);
  if (!bad) {
    document.text = std::move(bytes);
  } else if (options.lossy) {
    document.num_replaced = ReplaceInvalidUtf8(bytes, document.text);
  } else {
    const auto line = 1 + std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*bad), '\n');
    return TextError(ErrorCode::kTextNotUtf8, document.name, "UTF-8",
                     "an ill-formed sequence at byte " + std::to_string(*bad) + ", line " + std::to_string(line),
                     "--lossy replaces such bytes by U+FFFD");
  }
  if (document.text.find_first_not_of(" \t\r\n\f\v") == std::string::npos) {
    return TextError(ErrorCode::kFileEmpty, document.name, "text", "white space only", "");
  }
  return document;
}

Result<Document> LoadDocument(const std::string& path, const LoadOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(std::string bytes, ReadTextFile(path, kDocumentLimitBytes));
  return DocumentFromBytes(std::move(bytes), path == "-" ? "standard input" : path, options);
}

}  // namespace attend
