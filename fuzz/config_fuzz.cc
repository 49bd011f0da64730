// Any text as a config.json or a device profile: a header whose numbers fit together, a shape whose sums are finite, a
// device whose speeds are, or one error each.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "formats/device_profile.h"
#include "formats/model_header.h"
#include "formats/model_shape.h"

namespace {

template <class T>
bool IsSaid(const attend::Result<T>& result) {
  return result || !attend::Describe(result.error()).empty();
}

bool Fits(const attend::ModelHeader& h) {
  return h.num_layers > 0 && h.hidden_size > 0 && h.vocab_size > 0 && h.num_q_heads % h.num_kv_heads == 0 &&
         h.rotary_dim % 2 == 0 && h.rotary_dim <= h.head_dim && h.norm_eps > 0 && h.rope_theta >= 1;
}

// More tokens never take less, however many there are, and nothing is free that has keys.
bool Fits(const attend::ModelShape& s) {
  constexpr attend::KvFormat kFormat = {};
  for (const attend::LayerShape& layer : s.layers) {
    const bool has_keys =
        layer.cache.kind == attend::CacheKind::kFull || layer.cache.kind == attend::CacheKind::kWindow;
    if (has_keys && (layer.cache.ExactBytesPerToken() == 0 || layer.cache.KeptTokens(1) != 1)) return false;
  }
  return !s.layers.empty() && s.trained_tokens > 0 && std::isfinite(s.Parameters()) &&
         s.ActiveParameters() <= s.Parameters() && s.KvBytes(kFormat, 10) <= s.KvBytes(kFormat, 1000) &&
         s.KvBytes(kFormat, 1000) <= s.KvBytes(kFormat, UINT64_MAX) && std::isfinite(s.AttentionFlops(1000, 1 << 20));
}

// A plan divides by these.
bool Fits(const attend::DeviceProfile& d) {
  const attend::Calibration speeds = attend::SpeedsOf(d, attend::Compute::kBf16);
  for (const double speed : {speeds.linear_flops_per_s, speeds.attention_flops_per_s, speeds.weight_bytes_per_s}) {
    if (!std::isfinite(speed) || !(speed > 0)) return false;
  }
  return d.memory_bytes > 0 && d.figures.size() >= 6;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto header = attend::ReadModelHeader(text, "fuzz");
  const auto shape = attend::ReadModelShape(text, "fuzz");
  const auto device = attend::ReadDeviceProfile(text, "fuzz");
  if (!IsSaid(header) || !IsSaid(shape) || !IsSaid(device)) std::abort();
  if ((header && !Fits(*header)) || (shape && !Fits(*shape)) || (device && !Fits(*device))) std::abort();
  return 0;
}
