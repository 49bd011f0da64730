#include "attention/unit_mask.h"

#include <algorithm>

namespace attend {

TileRows UnitMask::Tile(const void* context, int64_t tile, uint64_t* words) {
  const UnitMask& u = *static_cast<const UnitMask*>(context);
  const int64_t num_rows = u.rows.end - u.rows.begin;
  const int64_t first = u.rows.begin / u.group_size, last = (u.rows.end - 1) / u.group_size + 1;
  const int64_t begin = tile * kMaskTile;
  const SequenceMask::Sight sight = u.mask->Classify(first, last, tile);
  if (sight == SequenceMask::Sight::kNothing) return {0, 0, false};
  const bool whole = u.keys.begin <= begin && begin + kMaskTile <= u.keys.end;
  if (sight == SequenceMask::Sight::kAll && whole) return {0, num_rows, false};
  uint64_t wanted = ~uint64_t{0};
  if (u.keys.begin > begin) wanted &= ~uint64_t{0} << (u.keys.begin - begin);
  if (u.keys.end < begin + kMaskTile) wanted &= ~uint64_t{0} >> (begin + kMaskTile - u.keys.end);
  TileRows seen = {num_rows, 0, true};
  for (int64_t token = first, row = u.rows.begin; token < last; ++token) {
    const uint64_t word = u.mask->Visible(token, tile) & wanted;
    for (; row < u.rows.end && row / u.group_size == token; ++row) {
      const int64_t r = row - u.rows.begin;
      words[r] = word;
      if (word == 0) continue;
      seen.first = std::min(seen.first, r);
      seen.last = r + 1;
    }
  }
  return seen;
}

}  // namespace attend
