#include "attention/options.h"

#include <cmath>
#include <limits>
#include <string>

#include "attention/bad_shape.h"
#include "base/checked_math.h"

namespace attend {
namespace {

std::string Number(double value) {
  return std::to_string(value);
}

Result<void> CheckShape(const AttentionShape& s) {
  if (s.num_kv_heads < 1) return BadShape("num_kv_heads", "at least 1", std::to_string(s.num_kv_heads));
  if (s.num_q_heads > 65536) return BadShape("num_q_heads", "at most 65536", std::to_string(s.num_q_heads));
  if (s.num_q_heads < 1 || s.num_q_heads % s.num_kv_heads != 0) {
    return BadShape("num_q_heads", "a multiple of num_kv_heads",
                    std::to_string(s.num_q_heads) + " and " + std::to_string(s.num_kv_heads));
  }
  if (s.head_dim < 1 || s.head_dim > 576) return BadShape("head_dim", "1 to 576", std::to_string(s.head_dim));
  if (s.v_head_dim < 0 || s.v_head_dim > 576) return BadShape("v_head_dim", "1 to 576", std::to_string(s.v_head_dim));
  if (s.q_lens.size() != s.kv_lens.size()) {
    return BadShape("kv_lens", std::to_string(s.q_lens.size()) + " lengths", std::to_string(s.kv_lens.size()));
  }
  // Lengths keep every product of them with heads and strides inside 64 bits, and the list of units in memory.
  constexpr int64_t kMost = int64_t{1} << 32, kMostRows = int64_t{1} << 34;
  int64_t rows = 0;
  for (size_t i = 0; i < s.q_lens.size(); ++i) {
    for (int64_t length : {s.q_lens[i], s.kv_lens[i]}) {
      if (length < 0 || length > kMost) {
        return BadShape("lengths", "0 to 2^32", std::to_string(length) + " in sequence " + std::to_string(i));
      }
    }
    rows += s.q_lens[i] * s.num_q_heads;
    if (rows > kMostRows) return BadShape("q_lens", "at most 2^34 query tokens x heads", std::to_string(rows));
  }
  return {};
}

template <class T>
Result<void> CheckCount(const char* name, std::span<const T> values, int64_t expected) {
  if (values.empty() || static_cast<int64_t>(values.size()) == expected) return {};
  return BadShape(name, std::to_string(expected) + " values", std::to_string(values.size()));
}

Result<void> CheckTiles(const VisibleTiles& t, int64_t sequence, int64_t q_len, int64_t kv_len) {
  const std::string name = "mask.tiles of sequence " + std::to_string(sequence);
  const int64_t rows = (q_len + kMaskTile - 1) / kMaskTile, columns = (kv_len + kMaskTile - 1) / kMaskTile;
  if (static_cast<int64_t>(t.row_begins.size()) != rows + 1) {
    return BadShape(name, std::to_string(rows + 1) + " row_begins", std::to_string(t.row_begins.size()));
  }
  if (t.row_begins[0] != 0 || t.row_begins[rows] != static_cast<int64_t>(t.key_tiles.size())) {
    return BadShape(name, "row_begins from 0 to the number of key_tiles", std::to_string(t.row_begins[rows]));
  }
  for (int64_t row = 0; row < rows; ++row) {
    if (t.row_begins[row] > t.row_begins[row + 1] || t.row_begins[row] < 0 ||
        t.row_begins[row + 1] > static_cast<int64_t>(t.key_tiles.size())) {
      return BadShape(name, "row_begins that rise", "row " + std::to_string(row));
    }
    for (int32_t i = t.row_begins[row]; i < t.row_begins[row + 1]; ++i) {
      const bool rises = i == t.row_begins[row] || t.key_tiles[i] > t.key_tiles[i - 1];
      if (!rises || t.key_tiles[i] < 0 || t.key_tiles[i] >= columns) {
        return BadShape(name, "key tiles that rise, below " + std::to_string(columns), std::to_string(t.key_tiles[i]));
      }
    }
  }
  return {};
}

Result<void> CheckMask(const AttentionShape& s, const Mask& m) {
  const int64_t sequences = static_cast<int64_t>(s.q_lens.size());
  int64_t queries = 0, keys = 0;
  for (int64_t i = 0; i < sequences; ++i) {
    queries += s.q_lens[i];
    keys += s.kv_lens[i];
  }
  if (m.window_left < -1) return BadShape("mask.window_left", "-1 (all) or more", std::to_string(m.window_left));
  if (m.window_right < -1) return BadShape("mask.window_right", "-1 (all) or more", std::to_string(m.window_right));
  if (m.kind == MaskKind::kCausal && m.window_right > 0) {
    return BadShape("mask.window_right", "0 or -1 with a causal mask", std::to_string(m.window_right));
  }
  ATTEND_RETURN_IF_ERROR(CheckCount("mask.prefix_lens", m.prefix_lens, sequences));
  for (int64_t prefix : m.prefix_lens) {
    if (prefix < 0) return BadShape("mask.prefix_lens", "0 or more", std::to_string(prefix));
  }
  if (m.q_documents.empty() != m.kv_documents.empty() && queries > 0 && keys > 0) {
    return BadShape("mask.kv_documents", "given exactly when q_documents is",
                    m.kv_documents.empty() ? "none" : "alone");
  }
  ATTEND_RETURN_IF_ERROR(CheckCount("mask.q_documents", m.q_documents, queries));
  ATTEND_RETURN_IF_ERROR(CheckCount("mask.kv_documents", m.kv_documents, keys));
  ATTEND_RETURN_IF_ERROR(CheckCount("mask.key_is_visible", m.key_is_visible, keys));
  ATTEND_RETURN_IF_ERROR(CheckCount("mask.tiles", m.tiles, sequences));
  for (size_t i = 0; i < m.tiles.size(); ++i) {
    ATTEND_RETURN_IF_ERROR(CheckTiles(m.tiles[i], static_cast<int64_t>(i), s.q_lens[i], s.kv_lens[i]));
  }
  return {};
}

Result<void> CheckBias(const AttentionShape& s, const AttentionBias& b) {
  if (b.data == nullptr) return {};
  ATTEND_RETURN_IF_ERROR(CheckFloats("bias.data", b.data, b.dtype));
  if (b.key_stride != 0 && b.key_stride != 1)
    return BadShape("bias.key_stride", "0 or 1", std::to_string(b.key_stride));
  if (b.sequence_stride < 0 || b.head_stride < 0 || b.query_stride < 0) {
    return BadShape("bias strides", "0 or more",
                    std::to_string(std::min({b.sequence_stride, b.head_stride, b.query_stride})));
  }
  for (size_t i = 0; i < s.q_lens.size(); ++i) {
    if (s.q_lens[i] == 0 || s.kv_lens[i] == 0) continue;
    const auto last = CheckedOffset({{static_cast<int64_t>(i), b.sequence_stride},
                                     {s.num_q_heads - 1, b.head_stride},
                                     {s.q_lens[i] - 1, b.query_stride},
                                     {s.kv_lens[i] - 1, b.key_stride}});
    if (!last || b.size < 0 || *last >= static_cast<uint64_t>(b.size)) {
      return BadShape("bias.size", "more than " + (last ? std::to_string(*last) : "2^64") + " values",
                      std::to_string(b.size));
    }
  }
  return {};
}

Result<void> CheckNumbers(const AttentionShape& s, const AttentionOptions& o) {
  if (!(o.softmax_scale >= 0) || std::isinf(o.softmax_scale)) {
    return BadShape("softmax_scale", "a positive number, or 0 for 1/sqrt(head_dim)", Number(o.softmax_scale));
  }
  if (!(o.softcap >= 0) || std::isinf(o.softcap))
    return BadShape("softcap", "a positive number, or 0", Number(o.softcap));
  ATTEND_RETURN_IF_ERROR(CheckCount("head_scales", o.head_scales, s.num_q_heads));
  ATTEND_RETURN_IF_ERROR(CheckCount("alibi_slopes", o.alibi_slopes, s.num_q_heads));
  ATTEND_RETURN_IF_ERROR(CheckCount("sinks", o.sinks, s.num_q_heads));
  if (!o.head_scales.empty() && o.softmax_scale != 0)
    return BadShape("softmax_scale", "0 with head_scales", Number(o.softmax_scale));
  for (float scale : o.head_scales) {
    if (!(scale > 0) || std::isinf(scale)) return BadShape("head_scales", "positive numbers", Number(scale));
  }
  for (float slope : o.alibi_slopes) {
    if (!std::isfinite(slope)) return BadShape("alibi_slopes", "finite numbers", Number(slope));
  }
  for (float sink : o.sinks) {
    if (std::isnan(sink) || sink == std::numeric_limits<float>::infinity()) {
      return BadShape("sinks", "numbers, or -inf for none", Number(sink));
    }
  }
  return {};
}

}  // namespace

Result<void> CheckAttention(const AttentionShape& shape, const AttentionOptions& options) {
  ATTEND_RETURN_IF_ERROR(CheckShape(shape));
  ATTEND_RETURN_IF_ERROR(CheckNumbers(shape, options));
  ATTEND_RETURN_IF_ERROR(CheckMask(shape, options.mask));
  return CheckBias(shape, options.bias);
}

}  // namespace attend
