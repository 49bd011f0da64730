// Any bytes through the tokenizer, the streaming detokeniser and the splitters: nothing crashes, nothing is lost.
#include "base/check.h"
#include "base/utf8.h"
#include "text/detokenizer.h"
#include "text/lines.h"
#include "text/sentences.h"
#include "text/unicode.h"
#include "text/words.h"

using namespace attend;

// A control token "<x>" and all 256 bytes, so that no byte is dropped; a few merges.
static Tokenizer MakeTokenizer() {
  TokenizerTables tables = {.model = "gpt2", .pre = "smollm", .tokens = {"<x>"}, .merges = {"a a", "aa aa", "Ġ a"}};
  for (uint32_t c = 0x21; c < 0x180; ++c) {
    std::string spelling;
    AppendUtf8(c, spelling);
    if (BytesOfSpelling(spelling)) tables.tokens.push_back(spelling);
  }
  for (const char* joined : {"aa", "aaaa", "Ġa"}) tables.tokens.emplace_back(joined);
  tables.token_types.assign(tables.tokens.size(), kNormalToken);
  tables.token_types[0] = kControlToken;
  return *Tokenizer::Make(std::move(tables));
}

static void CheckSentences(std::string_view text) {
  size_t position = 0;
  const TextParts parts = SplitText(text);
  const auto skip_space = [&](size_t end) {
    while (position < end && IsWhiteSpace(DecodeUtf8(text, position).code_point))
      position += DecodeUtf8(text, position).length;
    ATTEND_CHECK(position == end);
  };
  for (const Sentence& sentence : parts.sentences) skip_space(sentence.range.begin), position = sentence.range.end;
  skip_space(text.size());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer tokenizer = MakeTokenizer();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string clean;
  ReplaceInvalidUtf8(text, clean);
  const Encoding encoding = tokenizer.EncodeWithOffsets(text);
  for (size_t i = 0; i < encoding.ids.size(); ++i) ATTEND_CHECK(encoding.ids[i] != 0 && encoding.offsets[i] < size);
  ATTEND_CHECK(tokenizer.Decode(encoding.ids, false) == clean);
  ATTEND_CHECK(tokenizer.Decode(tokenizer.EncodeWithSpecials(text), false) == clean);

  Detokenizer detokenizer(tokenizer, false);  // the raw bytes as ids: characters cut anywhere
  std::string streamed;
  std::vector<uint32_t> ids;
  for (size_t i = 0; i < size; ++i) streamed += detokenizer.Push(ids.emplace_back(data[i]));
  ATTEND_CHECK(streamed + detokenizer.Flush() == tokenizer.Decode(ids, false));

  CheckSentences(text);
  const LineIndex lines(text);
  for (size_t i = 0; i < size; ++i) ATTEND_CHECK(lines.RangeOf(lines.LineOf(i)).begin <= i);
  SearchTerms(text);
  return 0;
}
