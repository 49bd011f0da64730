// What the rows of a work unit see of a tile, as the kernels ask for it.
#pragma once

#include "attention/sequence_mask.h"
#include "kernels/attend_args.h"

namespace attend {

// Row = token * group_size + head in group; keys: no others, whatever the mask says.
struct UnitMask {
  const SequenceMask* mask;
  int64_t group_size;
  KeyRange rows;
  KeyRange keys;

  // The kernels' TileMaskFn; context: a UnitMask.
  static TileRows Tile(const void* context, int64_t tile, uint64_t* words);
};

}  // namespace attend
