#include "document/evidence_heads.h"

namespace attend {
namespace {

// The eight heads with the best mean, over the two texts of tests/data/dev (34 questions), of the mean reciprocal rank
// of the right passage, each head alone: 0.71 (18.7) to 0.54 (8.0). Judged on the text that they were not chosen on,
// eight heads put the right passage first for 21 of 34 questions and in the first three for 29.
constexpr HeadAddress kSmolLm2Heads[] = {{7, 7}, {8, 0}, {14, 3}, {15, 6}, {17, 3}, {17, 4}, {18, 6}, {18, 7}};

struct KnownModel {
  uint32_t num_layers, num_q_heads, num_kv_heads, hidden_size, vocab_size;
  std::span<const HeadAddress> heads;
};

// By shape: the names in files of one model differ.
const KnownModel kKnownModels[] = {{30, 9, 3, 576, 49152, kSmolLm2Heads}};  // SmolLM2-135M

}  // namespace

std::span<const HeadAddress> RetrievalHeads(const ModelHeader& header) {
  for (const KnownModel& known : kKnownModels) {
    if (known.num_layers == header.num_layers && known.num_q_heads == header.num_q_heads &&
        known.num_kv_heads == header.num_kv_heads && known.hidden_size == header.hidden_size &&
        known.vocab_size == header.vocab_size) {
      return known.heads;
    }
  }
  return {};
}

}  // namespace attend
