#include "text/sentences.h"

#include <algorithm>

#include "text/line_markers.h"
#include "text/lines.h"
#include "text/sentence_ends.h"

namespace attend {
namespace {

// Lines wrapped by hand stay below this; a longer one means that each line is a paragraph of its own.
constexpr size_t kWidestWrapBytes = 160;
// A document's usual width counts for its short blocks up to here (a title of two lines is not wrapped at its own
// width).
constexpr size_t kUsualWidthBytes = 80;
// Below this width a line that begins with a number is taken as a new clause, whatever the line before looks like.
constexpr size_t kNarrowBytes = 50;

struct Line {
  ByteRange text;  // trimmed
  size_t width;    // bytes from the start of the line, its indent included, to the end of its text
};

// Lines of one block, between blank lines.
using Block = std::vector<Line>;

std::vector<Block> SplitBlocks(std::string_view text) {
  const LineIndex index(text);
  std::vector<Block> blocks;
  bool after_blank = true;
  for (size_t number = 1; number <= index.num_lines(); ++number) {
    const ByteRange line = index.RangeOf(number);
    const ByteRange trimmed = Trimmed(text, line);
    if (trimmed.size() == 0) {
      after_blank = true;
      continue;
    }
    if (after_blank) blocks.emplace_back();
    after_blank = false;
    blocks.back().push_back({trimmed, trimmed.end - line.begin});
  }
  return blocks;
}

// The width that nine in ten lines with another one below stay within.
size_t UsualWidth(const std::vector<Block>& blocks) {
  std::vector<size_t> widths;
  for (const Block& block : blocks) {
    for (size_t i = 0; i + 1 < block.size(); ++i) widths.push_back(block[i].width);
  }
  if (widths.empty()) return 0;
  const auto ninth = widths.begin() + static_cast<ptrdiff_t>(widths.size() * 9 / 10);
  std::nth_element(widths.begin(), ninth, widths.end());
  return std::min(*ninth, kUsualWidthBytes);
}

size_t FirstWordBytes(std::string_view line) {
  return std::min(line.find_first_of(" \t"), line.size());
}

// Whether the break between two lines of a block was made on purpose, not by wrapping at `width`.
bool IsBreakOnPurpose(std::string_view text, const Line& line, const Line& next, size_t width) {
  if (width > kWidestWrapBytes) return true;
  const std::string_view next_text = TextOf(text, next.text);
  // Four fifths: writers wrap unevenly.
  const bool next_word_fits = (line.width + 1 + FirstWordBytes(next_text)) * 5 <= width * 4;
  if (next_word_fits) return true;
  return MarkerLength(next_text) > 0 && (width < kNarrowBytes || HasFinalPunctuation(TextOf(text, line.text)));
}

std::vector<ByteRange> SplitStretches(std::string_view text, const Block& block, size_t usual_width) {
  size_t width = usual_width;
  for (const Line& line : block) width = std::max(width, line.width);
  std::vector<ByteRange> stretches = {block[0].text};
  for (size_t i = 1; i < block.size(); ++i) {
    if (IsBreakOnPurpose(text, block[i - 1], block[i], width)) {
      stretches.push_back(block[i].text);
    } else {
      stretches.back().end = block[i].text.end;
    }
  }
  return stretches;
}

}  // namespace

TextParts SplitText(std::string_view text) {
  const std::vector<Block> blocks = SplitBlocks(text);
  const size_t usual_width = UsualWidth(blocks);
  const bool has_blank_lines = blocks.size() > 1;
  TextParts parts;
  std::vector<ByteRange> ranges;
  for (const Block& block : blocks) {
    if (has_blank_lines) parts.paragraphs.push_back({block.front().text.begin, block.back().text.end});
    for (const ByteRange stretch : SplitStretches(text, block, usual_width)) {
      if (!has_blank_lines) parts.paragraphs.push_back(stretch);
      ranges.clear();
      AppendSentences(text, stretch, ranges);
      for (const ByteRange range : ranges) parts.sentences.push_back({range, parts.paragraphs.size() - 1});
    }
  }
  return parts;
}

size_t SentenceAt(std::span<const Sentence> sentences, size_t offset) {
  const auto found =
      std::upper_bound(sentences.begin(), sentences.end(), offset,
                       [](size_t value, const Sentence& sentence) { return value < sentence.range.end; });
  return std::min(static_cast<size_t>(found - sentences.begin()), sentences.size() - 1);
}

}  // namespace attend
