// The cells of K and V tiles: the one place that knows where a token's values lie (kernels/attend_args.h draws it).
#pragma once

#include <cstdint>

#include "tensor/cache_descriptor.h"

namespace attend {

// One side, K or V, of the tiles of a kv head.
struct TileSide {
  bool is_key = true;
  DType dtype = DType::kBf16;
  int64_t head_dim = 0;
  int64_t width = 0;  // head_dim padded
  int64_t group = 0;  // values that share a scale
  bool rotated = false;

  static TileSide Keys(const CacheDescriptor& d);
  static TileSide Values(const CacheDescriptor& d);

  // Packs a token's row [head_dim] into slot [0, 64) of a tile, rounded to the format: q8 to scale * [-127, 127], q4 to
  // scale * [-8, 7], the scale the half nearest to what the group's largest value needs. A group that holds a value
  // that is not finite, or whose scale is beyond a half's range, becomes NaN.
  void Pack(uint8_t* tile, int64_t slot, const float* row) const;
  // The values that Pack stored.
  void Unpack(const uint8_t* tile, int64_t slot, float* row) const;

 private:
  void PackQuantised(uint8_t* tile, int64_t slot, const float* row) const;
  template <int kTogether, class Fn>
  void ForEachCell(int64_t slot, int64_t begin, int64_t end, Fn&& fn) const;
  uint16_t* ScaleAt(uint8_t* tile, int64_t slot, int64_t i) const;
};

}  // namespace attend
