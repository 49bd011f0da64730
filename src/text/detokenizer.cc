#include "text/detokenizer.h"

#include <utility>

#include "base/utf8.h"

namespace attend {
namespace {

// Where the character begins that the text ends in the middle of; its size when the text ends with a whole one.
size_t StartOfIncomplete(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const size_t start = text.size() - back;
    const uint8_t byte = static_cast<uint8_t>(text[start]);
    if ((byte & 0xc0) == 0x80) continue;
    // A lead byte whose step runs into the end of the text lacks its tail; one that ended earlier is wrong for good.
    const Utf8Step step = DecodeUtf8(text, start);
    const bool is_lead = byte >= 0xc2 && byte <= 0xf4;
    return is_lead && !step.valid && step.length == back ? start : text.size();
  }
  return text.size();
}

}  // namespace

std::string Detokenizer::Push(uint32_t id) {
  if (skip_special_ && tokenizer_->IsSpecial(id)) return {};
  pending_ += tokenizer_->TokenBytes(id);
  const size_t complete = StartOfIncomplete(pending_);
  std::string out;
  ReplaceInvalidUtf8(std::string_view(pending_).substr(0, complete), out);
  pending_.erase(0, complete);
  return out;
}

std::string Detokenizer::Flush() {
  std::string out;
  ReplaceInvalidUtf8(pending_, out);
  pending_.clear();
  return out;
}

}  // namespace attend
