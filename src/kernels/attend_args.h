// What the attention kernels take: plain pointers and numbers of one work unit. Who fills them: attention/run.cc.
#pragma once

#include <stdint.h>

#include "kernels/panel.h"

namespace attend {

enum class CellFormat { kF32, kBf16, kF16, kQ8, kQ4 };

// Rows of a caller's own tensor, one a token; `width` values of it are read.
struct KvRows {
  const uint8_t* data;
  int64_t stride_bytes;
  int64_t width;
};

// Keys and values of one kv head of one layer: either tiles of 64 tokens in kernel order (docs/reference/cache.md),
// tile t at blocks[t] + k_offset / v_offset, or, with blocks null, plain rows (f32, bf16 or f16).
//   K tile: kF32 float [k_dim][64]; kF16 half [k_dim][64]; kBf16 bf16 [k_dim/2][64][2];
//           kQ8 u8 [k_dim/4][64][4], value = scale * (code - 128); kQ4 u32 [k_dim/8][64], value = scale * (nibble - 8)
//   V tile: kF32 float [64][v_width]; kF16 half [64][v_width]; kBf16 bf16 [32][v_width][2];
//           kQ8 i8 [16][v_width][4], value = scale * code;       kQ4 u32 [8][v_width], value = scale * (nibble - 8)
//   behind the cells of a quantised tile: scale half [groups][64], one a group of dimensions and token
// Byte b of a kQ4 word holds the value of dimension (token, in V) 8 i + b low and 8 i + 4 + b high.
struct KvTiles {
  CellFormat k_format;
  CellFormat v_format;
  const uint8_t* const* blocks;
  int64_t k_offset;
  int64_t v_offset;
  int64_t k_dim;    // multiple of 16 (padded with zeros)
  int64_t v_width;  // multiple of 16 (padded with zeros)
  int64_t k_group;  // dimensions that share a scale: a multiple of 16, or k_dim
  int64_t v_group;
  bool v_in_k;  // V is the first v_width dimensions of K (MLA); no V tile is read
  KvRows k_rows;
  KvRows v_rows;
};

// What the mask says of a tile: rows [first, last) see something there; mixed: not all of them everything.
struct TileRows {
  int64_t first;
  int64_t last;
  bool mixed;
};
// Fills words[row], bit c: row sees key 64 * tile + c. Only rows [first, last) need be filled, and only when mixed.
using TileMaskFn = TileRows (*)(const void* context, int64_t tile, uint64_t* words);

enum class BiasFormat { kNone, kF32, kF16, kBf16 };

// Terms beside scale * q . k, in this order: softcap, bias, ALiBi. All off: is_on false.
struct ScoreTerms {
  bool is_on;
  float softcap;                // c tanh(x / c); 0: off
  BiasFormat bias_format;       // kNone: off
  bool bias_broadcast;          // one value a row for all keys, instead of one a key
  int64_t bias_keys;            // keys that a row of bias holds
  const uint8_t* const* bias;   // [rows], at key 0
  const float* alibi_slope;     // [rows]: x -= slope * |position - key|; null: off
  const int64_t* row_position;  // [rows]
};

// Sums that ride along (attention/observer.h). All of them relative to the row's running maximum until the end.
struct RowSums {
  float largest_weight;
  int64_t largest_key;  // -1: the row saw nothing
  float entropy;        // nats
  float mean_key;       // sum p_j j
  float first_keys;     // mass on keys [0, num_first_keys)
  float near_keys;      // mass on keys [near_begin[r], near_begin[r] + num_near_keys)
};
struct ObserveArgs {
  bool wants_rows;  // false: rows are filled with zeros
  RowSums* rows;    // [rows]; null: nothing is observed
  int64_t num_first_keys;
  int64_t num_near_keys;
  const int64_t* near_begin;  // [rows], may be negative
  int64_t cell_keys;          // 16, 32 or 64
  float* cells;  // null: not wanted; [rows, cell_stride]: mass of keys [key_begin / 64 * 64 + i * cell_keys, ...)
  int64_t cell_stride;  // cells of the unit's tiles, rounded up to 16
  float* tile_maximum;  // [rows, tile_stride]: scratch
  int64_t tile_stride;  // tiles of the unit, rounded up to 16
};

enum class ScoreClass { kExact, kBf16, kInt8 };

// One work unit: query rows that share a kv head against keys [key_begin, key_end).
//   out[r] = sum_j p[r, j] v[j],  p = softmax over visible j of score(r, j),  lse[r] = ln sum_j exp(score(r, j))
// A row that sees nothing: out 0, lse -inf.
struct AttendArgs {
  KvTiles kv;
  int64_t key_begin;
  int64_t key_end;
  int64_t rows;
  const float* q;      // [rows, k_dim]; rounded already in class bf16
  const float* scale;  // [rows], positive
  ScoreTerms terms;
  TileMaskFn mask;
  const void* mask_context;
  ScoreClass score_class;  // kBf16: weights rounded before they meet V; kInt8: q and weights to 8 bits where K, V are
  ObserveArgs observe;
  float* out;      // [rows, v_width]
  float* lse;      // [rows]
  float* scratch;  // AttendScratchFloats(rows, k_dim, v_width)
};

// A rectangle of the attention matrix: weights[r, j - key_begin] = exp(score(r, j) - lse[r]), 0 where r does not see j.
struct AttentionWeightsArgs {
  AttendArgs unit;  // out unused
  const float* lse;
  float* weights;
  int64_t weights_stride;
};

inline constexpr int64_t kSumLanes = 16;  // partial sums of a row, in the lanes of any vector type

inline constexpr int64_t AttendScratchFloats(int64_t rows, int64_t k_dim, int64_t v_width) {
  const int64_t a_row = kPanelColumns            // scores
                        + k_dim / 2 + k_dim / 4  // q as bf16 and as 8 bits
                        + 2 + k_dim / 16         // its scale and sums
                        + 3 * kSumLanes          // sums
                        + 8                      // maximum, masks, first and near keys, largest key
                        + kPanelColumns / 4 + 1  // weights as 8 bits
                        + 16;                    // alignment
  return (rows + 16) * a_row + kPanelColumns * (k_dim + v_width + 16) + 256;
}

}  // namespace attend
