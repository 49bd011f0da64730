// The mask of one sequence, as bits: what a token sees of a tile of 64 keys.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/mask.h"

namespace attend {

class SequenceMask {
 public:
  // q_begin, kv_begin: where the sequence starts in the mask's arrays of all sequences.
  SequenceMask(const Mask& mask, int64_t sequence, int64_t q_len, int64_t kv_len, int64_t q_begin, int64_t kv_begin);

  // Bit c: the token sees key 64 * tile + c. Bits beyond kv_len are 0.
  uint64_t Visible(int64_t token, int64_t tile) const;

  // Keys outside this range no token of [first, last) sees.
  KeyRange KeysOf(int64_t first, int64_t last) const;

  enum class Sight { kNothing, kSome, kAll };
  // What tokens [first, last) see of a tile: kNothing and kAll are certain, kSome may be either.
  Sight Classify(int64_t first, int64_t last, int64_t tile) const;

  int64_t PositionOf(int64_t token) const { return mask_.PositionOf(token, q_len_, kv_len_); }

 private:
  bool ListsTile(int64_t token, int64_t tile) const;
  uint64_t SameDocument(int64_t token, int64_t tile) const;

  Mask mask_;
  int64_t q_len_, kv_len_, prefix_ = 0;
  VisibleTiles tiles_;
  std::span<const int32_t> q_documents_, kv_documents_;
  std::vector<uint64_t> padding_;         // a word a tile: keys that are there; empty: all
  std::vector<KeyRange> tile_documents_;  // a tile: smallest and largest id of its keys
};

}  // namespace attend
