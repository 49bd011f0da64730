#include "attention/schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace attend {
namespace {

tl::unexpected<Error> BadShape(std::string subject, std::string expected, std::string found) {
  return tl::unexpected(Error{.code = ErrorCode::kAttentionBadShape,
                              .where = "attention",
                              .subject = std::move(subject),
                              .expected = std::move(expected),
                              .found = std::move(found),
                              .hint = {}});
}

Result<void> CheckShape(const AttentionShape& s) {
  if (s.num_kv_heads < 1) return BadShape("num_kv_heads", "at least 1", std::to_string(s.num_kv_heads));
  if (s.num_q_heads < 1 || s.num_q_heads % s.num_kv_heads != 0) {
    return BadShape("num_q_heads", "a multiple of num_kv_heads",
                    std::to_string(s.num_q_heads) + " and " + std::to_string(s.num_kv_heads));
  }
  if (s.head_dim < 1 || s.head_dim > 576) return BadShape("head_dim", "1 to 576", std::to_string(s.head_dim));
  if (s.v_head_dim < 0 || s.v_head_dim > 576) return BadShape("v_head_dim", "1 to 576", std::to_string(s.v_head_dim));
  if (s.q_lens.size() != s.kv_lens.size()) {
    return BadShape("kv_lens", std::to_string(s.q_lens.size()) + " lengths", std::to_string(s.kv_lens.size()));
  }
  for (size_t i = 0; i < s.q_lens.size(); ++i) {
    if (s.q_lens[i] < 0 || s.kv_lens[i] < 0)
      return BadShape("lengths", "none negative", "sequence " + std::to_string(i));
  }
  return {};
}

// Keys that rows of the unit can see at all.
KeyRange KeysOfRows(const AttentionSchedule& s, int64_t sequence, KeyRange rows) {
  const int64_t q_len = s.q_lens[sequence], kv_len = s.kv_lens[sequence];
  const KeyRange first = s.mask.VisibleKeys(rows.begin / s.group_size, q_len, kv_len);
  const KeyRange last = s.mask.VisibleKeys((rows.end - 1) / s.group_size, q_len, kv_len);
  return {first.begin, last.end};
}

void AddSequence(AttentionSchedule& s, int64_t sequence) {
  const int64_t num_rows = s.q_lens[sequence] * s.group_size;
  const bool one_tile = num_rows <= kRowTile;
  for (int64_t begin = 0; begin < num_rows; begin += kRowTile) {
    const KeyRange rows{begin, std::min(num_rows, begin + kRowTile)};
    const KeyRange keys = KeysOfRows(s, sequence, rows);
    const bool split = one_tile && keys.end - keys.begin > 2 * kKvChunkTokens;
    for (int64_t head = 0; head < s.num_kv_heads; ++head) {
      if (!split) {
        s.units.push_back({sequence, head, rows, keys, -1});
        continue;
      }
      for (int64_t chunk = keys.begin / kKvChunkTokens * kKvChunkTokens; chunk < keys.end; chunk += kKvChunkTokens) {
        const KeyRange part{std::max(chunk, keys.begin), std::min(chunk + kKvChunkTokens, keys.end)};
        s.units.push_back({sequence, head, rows, part, s.num_partial_rows});
        s.num_partial_rows += rows.end - rows.begin;
      }
    }
  }
}

}  // namespace

Result<AttentionSchedule> ScheduleAttention(const AttentionShape& shape, const AttentionOptions& options) {
  ATTEND_RETURN_IF_ERROR(CheckShape(shape));
  if (!(options.softmax_scale >= 0) || std::isinf(options.softmax_scale)) {
    return BadShape("softmax_scale", "a positive number, or 0 for 1/sqrt(head_dim)",
                    std::to_string(options.softmax_scale));
  }
  AttentionSchedule s;
  s.num_q_heads = shape.num_q_heads;
  s.num_kv_heads = shape.num_kv_heads;
  s.group_size = shape.num_q_heads / shape.num_kv_heads;
  s.head_dim = shape.head_dim;
  s.v_head_dim = shape.v_head_dim == 0 ? shape.head_dim : shape.v_head_dim;
  s.softmax_scale =
      options.softmax_scale != 0 ? options.softmax_scale : 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  s.mask = options.mask;
  s.compute = options.compute;
  s.q_lens.assign(shape.q_lens.begin(), shape.q_lens.end());
  s.kv_lens.assign(shape.kv_lens.begin(), shape.kv_lens.end());
  int64_t begin = 0;
  for (int64_t q_len : s.q_lens) {
    s.q_begins.push_back(begin);
    begin += q_len;
  }
  for (size_t sequence = 0; sequence < s.q_lens.size(); ++sequence) AddSequence(s, static_cast<int64_t>(sequence));
  // The costly units first, so that the last ones to finish are small. Units of one kv head stay together.
  const auto cost = [](const AttentionUnit& u) { return (u.rows.end - u.rows.begin) * (u.keys.end - u.keys.begin); };
  std::stable_sort(s.units.begin(), s.units.end(), [&](const auto& a, const auto& b) { return cost(a) > cost(b); });
  return s;
}

int64_t VisiblePairs(const AttentionSchedule& s) {
  int64_t pairs = 0;
  for (size_t i = 0; i < s.q_lens.size(); ++i) {
    for (int64_t query = 0; query < s.q_lens[i]; ++query) {
      const KeyRange keys = s.mask.VisibleKeys(query, s.q_lens[i], s.kv_lens[i]);
      pairs += keys.end - keys.begin;
    }
  }
  return pairs;
}

}  // namespace attend
