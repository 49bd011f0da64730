#include "attention/schedule.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attend {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Keys of the tiles in `keys` that tokens [first, last) may see.
int64_t SeenKeys(const AttentionSchedule& s, int64_t sequence, int64_t first, int64_t last, KeyRange keys) {
  if (s.options.mask.IsBand()) return keys.end - keys.begin;
  int64_t seen = 0;
  for (int64_t tile = keys.begin / kMaskTile; tile * kMaskTile < keys.end; ++tile) {
    if (s.masks[sequence].Classify(first, last, tile) != SequenceMask::Sight::kNothing) seen += kMaskTile;
  }
  return seen;
}

// Rows in even tiles, so that one token more never adds a tile of one row.
void AddSequence(AttentionSchedule& s, int64_t sequence) {
  const int64_t num_rows = s.q_lens[sequence] * s.group_size;
  if (num_rows == 0) return;
  const bool many = CeilDiv(num_rows, kRowTile) * s.num_kv_heads >= kUnitsWanted;
  const int64_t most_rows = many ? kRowTile : kSplitRowTile;
  const int64_t row_tiles = CeilDiv(num_rows, most_rows);
  const int64_t rows_of_tile = std::min(most_rows, CeilDiv(CeilDiv(num_rows, row_tiles), 6) * 6);
  const int64_t units = row_tiles * s.num_kv_heads;
  const int64_t parts_wanted = units >= kUnitsEnough ? 1 : CeilDiv(kUnitsWanted, units);
  for (int64_t begin = 0; begin < num_rows; begin += rows_of_tile) {
    const KeyRange rows{begin, std::min(num_rows, begin + rows_of_tile)};
    const int64_t first = rows.begin / s.group_size, last = (rows.end - 1) / s.group_size + 1;
    const KeyRange keys = s.masks[sequence].KeysOf(first, last);
    const int64_t num_keys = keys.end - keys.begin;
    const int64_t keys_of_part =
        std::max(kLeastKeysOfUnit, CeilDiv(CeilDiv(num_keys, parts_wanted), kMaskTile) * kMaskTile);
    const bool split = num_keys > 2 * kLeastKeysOfUnit && keys_of_part < num_keys;
    for (int64_t head = 0; head < s.num_kv_heads; ++head) {
      const auto add = [&](KeyRange part, int64_t partial) {
        const int64_t cost = (rows.end - rows.begin) * SeenKeys(s, sequence, first, last, part);
        s.units.push_back({sequence, head, rows, part, partial, cost});
      };
      if (!split) {
        add(keys, -1);
        continue;
      }
      AttentionMerge merge{s.num_partial_rows, 0, keys_of_part, {sequence, head, rows, keys, -1, 0}};
      for (int64_t at = keys.begin / kMaskTile * kMaskTile; at < keys.end; at += keys_of_part) {
        add({std::max(at, keys.begin), std::min(at + keys_of_part, keys.end)}, s.num_partial_rows);
        s.num_partial_rows += rows.end - rows.begin;
        ++merge.num_parts;
      }
      s.merges.push_back(merge);
    }
  }
}

}  // namespace

Result<AttentionSchedule> ScheduleAttention(const AttentionShape& shape, const AttentionOptions& options) {
  ATTEND_RETURN_IF_ERROR(CheckAttention(shape, options));
  AttentionSchedule s;
  s.num_q_heads = shape.num_q_heads;
  s.num_kv_heads = shape.num_kv_heads;
  s.group_size = shape.num_q_heads / shape.num_kv_heads;
  s.head_dim = shape.head_dim;
  s.v_head_dim = shape.v_head_dim == 0 ? shape.head_dim : shape.v_head_dim;
  s.options = options;
  const float scale =
      options.softmax_scale != 0 ? options.softmax_scale : 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  s.scales.assign(static_cast<size_t>(shape.num_q_heads), scale);
  std::copy(options.head_scales.begin(), options.head_scales.end(), s.scales.begin());
  s.q_lens.assign(shape.q_lens.begin(), shape.q_lens.end());
  s.kv_lens.assign(shape.kv_lens.begin(), shape.kv_lens.end());
  int64_t q_begin = 0, kv_begin = 0;
  for (size_t i = 0; i < s.q_lens.size(); ++i) {
    const int64_t sequence = static_cast<int64_t>(i);
    s.q_begins.push_back(q_begin);
    s.kv_begins.push_back(kv_begin);
    s.masks.emplace_back(options.mask, sequence, s.q_lens[i], s.kv_lens[i], q_begin, kv_begin);
    q_begin += s.q_lens[i];
    kv_begin += s.kv_lens[i];
    AddSequence(s, sequence);
  }
  // The costly units first, so that the last ones to finish are small. Units of one kv head stay together.
  std::stable_sort(s.units.begin(), s.units.end(), [](const auto& a, const auto& b) { return a.cost > b.cost; });
  return s;
}

int64_t VisiblePairs(const AttentionSchedule& s) {
  int64_t pairs = 0;
  for (size_t i = 0; i < s.q_lens.size(); ++i) {
    const SequenceMask& mask = s.masks[i];
    for (int64_t first = 0; first < s.q_lens[i]; first += kMaskTile) {
      const int64_t last = std::min(first + kMaskTile, s.q_lens[i]);
      const KeyRange keys = mask.KeysOf(first, last);
      for (int64_t tile = keys.begin / kMaskTile; tile * kMaskTile < keys.end; ++tile) {
        const SequenceMask::Sight sight = mask.Classify(first, last, tile);
        if (sight == SequenceMask::Sight::kNothing) continue;
        if (sight == SequenceMask::Sight::kAll) {
          pairs += (last - first) * kMaskTile;
          continue;
        }
        for (int64_t token = first; token < last; ++token) pairs += std::popcount(mask.Visible(token, tile));
      }
    }
  }
  return pairs;
}

}  // namespace attend
