#include "document/evidence_heads.h"

#include <string_view>

namespace attend {
namespace {

constexpr HeadAddress kSmolLm2Heads[] = {{7, 7}, {18, 7}, {14, 3}, {20, 6}};

}  // namespace

std::span<const HeadAddress> RetrievalHeads(const ModelHeader& header) {
  const bool smollm2_135m = header.num_layers == 30 && header.num_q_heads == 9 && header.num_kv_heads == 3 && header.hidden_size == 576 &&
                            header.vocab_size == 49152;
  if (smollm2_135m) return kSmolLm2Heads;
  return {};
}

}  // namespace attend
