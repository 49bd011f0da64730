// Mass on tokens as a ranking of the document's sentences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/sentences.h"

namespace attend {

struct AttendedPassage {
  size_t sentence = 0;  // index into the sentences given
  double share = 0;     // of the mass on all sentences, 0..1
};

// The `limit` sentences with most mass, best first. Token i of the document is key first_key + i; offsets are the
// tokens' bytes.
std::vector<AttendedPassage> TopPassages(std::span<const double> mass, int64_t first_key,
                                         std::span<const size_t> offsets, std::span<const Sentence> sentences,
                                         size_t limit);

}  // namespace attend
