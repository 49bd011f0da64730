// Where sentences end inside one stretch of running text; the rules are those of sentences.h.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "text/byte_range.h"

namespace attend {

// Appends the trimmed sentences of a stretch of the text, which begins at the start of a line.
void AppendSentences(std::string_view text, ByteRange stretch, std::vector<ByteRange>& sentences);

}  // namespace attend
