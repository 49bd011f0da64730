#include "document/pieces.h"

#include <algorithm>

namespace attend {
namespace {

// Token indices at which a unit of text begins, rising.
std::vector<int64_t> StartTokens(const Encoding& encoding, const std::vector<size_t>& byte_begins) {
  std::vector<int64_t> tokens;
  for (size_t begin : byte_begins) {
    // A token carries the white space before its word: the last token that starts at or before `begin`.
    const auto after = std::upper_bound(encoding.offsets.begin(), encoding.offsets.end(), begin);
    const int64_t token = std::max<int64_t>(0, after - encoding.offsets.begin() - 1);
    if (tokens.empty() || tokens.back() < token) tokens.push_back(token);
  }
  return tokens;
}

// The largest start in (low, high], or -1.
int64_t LastStartWithin(const std::vector<int64_t>& starts, int64_t low, int64_t high) {
  const auto after = std::upper_bound(starts.begin(), starts.end(), high);
  if (after == starts.begin()) return -1;
  const int64_t start = *(after - 1);
  return start > low ? start : -1;
}

}  // namespace

std::vector<TokenRange> CutPieces(const Encoding& encoding, const TextParts& parts, int64_t num_pieces,
                                  int64_t max_tokens) {
  std::vector<size_t> paragraph_begins, sentence_begins;
  for (const ByteRange& paragraph : parts.paragraphs) paragraph_begins.push_back(paragraph.begin);
  for (const Sentence& sentence : parts.sentences) sentence_begins.push_back(sentence.range.begin);
  const std::vector<int64_t> paragraphs = StartTokens(encoding, paragraph_begins);
  const std::vector<int64_t> sentences = StartTokens(encoding, sentence_begins);

  const int64_t total = static_cast<int64_t>(encoding.ids.size());
  std::vector<TokenRange> pieces;
  int64_t begin = 0;
  while (begin < total) {
    const int64_t pieces_left = std::max<int64_t>(1, num_pieces - static_cast<int64_t>(pieces.size()));
    const int64_t even_size = (total - begin + pieces_left - 1) / pieces_left;
    int64_t end = std::min(total, begin + std::min(max_tokens, even_size));
    if (end < total) {
      const int64_t lowest = begin + (end - begin) * 3 / 4;
      int64_t border = LastStartWithin(paragraphs, lowest, end);
      if (border < 0) border = LastStartWithin(sentences, lowest, end);
      if (border > begin) end = border;
    }
    pieces.push_back({begin, end});
    begin = end;
  }
  return pieces;
}

}  // namespace attend
