// Any text as a config.json: a header whose numbers fit together, or one error.
#include <cstdlib>
#include <string_view>

#include "formats/model_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = attend::ReadModelHeader(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!header) {
    if (attend::Describe(header.error()).empty()) std::abort();
    return 0;
  }
  const bool fits = header->num_layers > 0 && header->hidden_size > 0 && header->vocab_size > 0 &&
                    header->num_q_heads % header->num_kv_heads == 0 && header->rotary_dim % 2 == 0 &&
                    header->rotary_dim <= header->head_dim && header->norm_eps > 0 && header->rope_theta >= 1;
  if (!fits) std::abort();
  return 0;
}
