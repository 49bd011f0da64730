#include "measure/case_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "cache/block_table.h"

namespace attend {
namespace {

constexpr int64_t kMostDistinctTokens = 4096;  // longer caches repeat them
constexpr int64_t kMostValues = int64_t{1} << 33;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

void PutValue(std::vector<uint8_t>& bytes, DType dtype, int64_t i, float value) {
  const uint16_t half = dtype == DType::kF16 ? FloatToHalf(value) : FloatToBf16(value);
  const size_t width = InfoOf(dtype).block_bytes;
  std::memcpy(bytes.data() + static_cast<size_t>(i) * width,
              dtype == DType::kF32 ? static_cast<const void*>(&value) : &half, width);
}

float GetValue(const std::vector<uint8_t>& bytes, DType dtype, int64_t i) {
  const size_t width = InfoOf(dtype).block_bytes;
  float value = 0;
  uint16_t half = 0;
  std::memcpy(dtype == DType::kF32 ? static_cast<void*>(&value) : &half, bytes.data() + static_cast<size_t>(i) * width,
              width);
  return dtype == DType::kF32 ? value : dtype == DType::kF16 ? HalfToFloat(half) : Bf16ToFloat(half);
}

// Values of unit variance; what the case says of K and q is applied by channel.
std::vector<float> RandomTensor(const AttentionCase& c, bool is_value, int64_t tokens, int64_t heads, int64_t dim,
                                CaseRandom& random) {
  std::vector<float> x(static_cast<size_t>(std::min(tokens, kMostDistinctTokens) * heads * dim));
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) % dim;
    x[i] = 1.7320508f * random.Uniform();
    if (c.values == CaseValues::kUniform) x[i] = is_value ? 1.0f : 0.3f + 0.01f * static_cast<float>(channel % 7);
    if (is_value) continue;
    if (c.values == CaseValues::kLarge) x[i] *= 20.0f;
    if (c.values == CaseValues::kOutliers && channel % 37 == 3) x[i] = 15.0f + x[i];
  }
  return x;
}

}  // namespace

float CaseRandom::Uniform() {
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<float>(static_cast<int32_t>(state_ >> 32)) * 0x1p-31f;
}

int64_t CaseRandom::Below(int64_t n) {
  Uniform();
  return static_cast<int64_t>(state_ >> 33) % n;
}

Result<CaseData> CaseData::Make(const AttentionCase& c, int64_t num_layers) {
  CaseData data;
  data.case_ = c;
  ATTEND_RETURN_IF_ERROR(CheckAttention(data.shape(), {}));
  const int64_t tokens = c.QueryTokens() + c.KeyTokens();
  const int64_t bias_values = c.bias_axes.empty() ? 0 : c.QueryTokens() * c.KeyTokens();
  if (tokens * c.num_q_heads * c.head_dim > kMostValues || bias_values * c.num_q_heads > kMostValues) {
    return Refused(ErrorCode::kBadArgument, "attention case", "q and kv", "tensors of at most 2^33 values", c.text);
  }
  data.num_layers_ = c.layout == KvLayout::kCache ? num_layers : 1;
  data.num_tokens_ = c.QueryTokens();
  CaseRandom random(c.seed);
  const int64_t q_width = c.num_q_heads * c.head_dim;
  data.q_.resize(static_cast<size_t>(data.num_tokens_ * q_width) * InfoOf(c.q_dtype).block_bytes);
  const std::vector<float> q = RandomTensor(c, false, data.num_tokens_, c.num_q_heads, c.head_dim, random);
  for (int64_t i = 0; i < data.num_tokens_ * q_width; ++i) {
    PutValue(data.q_, c.q_dtype, i, q[static_cast<size_t>(i) % q.size()]);
  }
  ATTEND_RETURN_IF_ERROR(data.MakeKv(random));
  data.MakeMask(random);
  data.MakeTerms(random);
  return data;
}

Result<void> CaseData::MakeKv(CaseRandom& random) {
  const AttentionCase& c = case_;
  for (size_t s = 0; s < c.kv_lens.size(); ++s) {
    const std::vector<float> k = RandomTensor(c, false, c.kv_lens[s], c.num_kv_heads, c.head_dim, random);
    const std::vector<float> v = RandomTensor(c, true, c.kv_lens[s], c.num_kv_heads, c.v_head_dim, random);
    ATTEND_RETURN_IF_ERROR(MakeCaches(static_cast<int64_t>(s), k, v));
  }
  return {};
}

Result<void> CaseData::MakeCaches(int64_t sequence, const std::vector<float>& k, const std::vector<float>& v) {
  const AttentionCase& c = case_;
  const int64_t kv_len = c.kv_lens[sequence], distinct = std::min(kv_len, kMostDistinctTokens);
  const int64_t k_width = c.num_kv_heads * c.head_dim, v_width = c.num_kv_heads * c.v_head_dim;
  if (c.layout == KvLayout::kRows) {
    // Strides beyond the width, NaN between the rows: nothing there may be read.
    Plain plain;
    const auto fill = [&](std::vector<uint8_t>& bytes, DType dtype, const std::vector<float>& x, int64_t dim,
                          int64_t stride) {
      bytes.resize(static_cast<size_t>(kv_len * c.num_kv_heads * stride) * InfoOf(dtype).block_bytes);
      for (int64_t row = 0; row < kv_len * c.num_kv_heads; ++row) {
        for (int64_t i = 0; i < stride; ++i) {
          const int64_t from = row % (distinct * c.num_kv_heads) * dim + i;
          PutValue(bytes, dtype, row * stride + i, i < dim ? x[from] : std::nanf(""));
        }
      }
    };
    fill(plain.k, c.format.k, k, c.head_dim, KStride());
    if (!c.v_in_k) fill(plain.v, c.format.v, v, c.v_head_dim, VStride());
    plain_.push_back(std::move(plain));
    return {};
  }
  ATTEND_ASSIGN_OR_RETURN(KvCache cache,
                          KvCache::Make(std::vector<CacheDescriptor>(static_cast<size_t>(num_layers_), c.Layer())));
  ATTEND_RETURN_IF_ERROR(cache.Extend(kv_len));
  for (int64_t i = 0; i < num_layers_; ++i) {
    for (int64_t first = 0; first < kv_len; first += distinct) {
      cache.Write(i, first, std::min(distinct, kv_len - first), k.data(), k_width, v.data(), v_width);
    }
  }
  caches_.push_back(std::move(cache));
  return c.layout == KvLayout::kPaged ? MakePool(caches_.back()) : Result<void>{};
}

// The same blocks backwards in a pool with holes, and the table that finds them.
Result<void> CaseData::MakePool(const KvCache& cache) {
  const int64_t num_blocks = (cache.num_tokens() + kTileTokens - 1) / kTileTokens;
  const int64_t block_bytes = num_blocks == 0 ? 64 : static_cast<int64_t>(cache.allocated_bytes()) / num_blocks;
  const KvView view = cache.View(0);
  const size_t pool_bytes = static_cast<size_t>(2 * num_blocks * block_bytes);
  ATTEND_ASSIGN_OR_RETURN(pools_.emplace_back(), AlignedBuffer<uint8_t>::Make(pool_bytes, "block pool"));
  std::memset(pools_.back().data(), 0xff, pool_bytes);  // NaN in every float format
  std::vector<int32_t> table;
  for (int64_t i = 0; i < num_blocks; ++i) {
    table.push_back(static_cast<int32_t>(2 * (num_blocks - 1 - i) + 1));
    std::memcpy(pools_.back().data() + table.back() * block_bytes, view.blocks[i], static_cast<size_t>(block_bytes));
  }
  const BlockPool pool = {pools_.back().data(), 2 * num_blocks, block_bytes};
  ATTEND_ASSIGN_OR_RETURN(paged_.emplace_back(), BlocksOf(pool, table, cache.num_tokens()));
  return {};
}

void CaseData::MakeMask(CaseRandom& random) {
  const AttentionCase& c = case_;
  const Mask band = {
      .kind = c.mask, .alignment = c.alignment, .window_left = c.window_left, .window_right = c.window_right};
  for (size_t s = 0; s < c.q_lens.size(); ++s) {
    const int64_t q_len = c.q_lens[s], kv_len = c.kv_lens[s];
    if (c.prefix > 0) prefix_lens_.push_back(c.prefix);
    if (c.num_documents > 0) {
      const size_t first = kv_documents_.size();
      for (int64_t key = 0; key < kv_len; ++key) {
        kv_documents_.push_back(static_cast<int32_t>((key * c.num_documents / kv_len + 5) % c.num_documents));
      }
      for (int64_t i = 0; i < q_len; ++i) {
        const int64_t position = band.PositionOf(i, q_len, kv_len);
        q_documents_.push_back(
            position < 0 || position >= kv_len ? -1 : kv_documents_[first + static_cast<size_t>(position)]);
      }
    }
    for (int64_t key = 0; key < kv_len && !c.padding.empty(); ++key) {
      const bool visible = c.padding == "left"    ? key >= kv_len / 3
                           : c.padding == "right" ? key < kv_len - kv_len / 3
                                                  : random.Below(10) >= 3;
      key_is_visible_.push_back(visible ? 1 : 0);
    }
    if (c.tiles_percent < 0) continue;
    std::vector<int32_t>& begins = tile_begins_.emplace_back(1, 0);
    std::vector<int32_t>& keys = tile_keys_.emplace_back();
    for (int64_t row = 0; row * kMaskTile < q_len; ++row) {
      for (int64_t tile = 0; tile * kMaskTile < kv_len; ++tile) {
        if (random.Below(100) < c.tiles_percent) keys.push_back(static_cast<int32_t>(tile));
      }
      begins.push_back(static_cast<int32_t>(keys.size()));
    }
  }
  for (size_t s = 0; s < tile_keys_.size(); ++s) tiles_.push_back({tile_begins_[s], tile_keys_[s]});
}

void CaseData::MakeTerms(CaseRandom& random) {
  const AttentionCase& c = case_;
  for (int64_t h = 0; h < c.num_q_heads; ++h) {
    const float root = std::sqrt(static_cast<float>(c.head_dim));
    if (c.scale_per_head) head_scales_.push_back((1.0f + 0.5f * random.Uniform()) / root);
    if (c.alibi)
      alibi_slopes_.push_back(std::exp2(-8.0f * static_cast<float>(h + 1) / static_cast<float>(c.num_q_heads)));
    if (c.sinks) sinks_.push_back(2.0f * random.Uniform());
  }
  if (c.bias_axes.empty()) return;
  const auto varies = [&](char axis) { return c.bias_axes.find(axis) != std::string::npos && c.bias_axes != "none"; };
  const auto most = [](const std::vector<int64_t>& lens) { return *std::max_element(lens.begin(), lens.end()); };
  int64_t size = 1;
  const auto axis = [&](char name, int64_t extent) {
    const int64_t stride = varies(name) ? size : 0;
    if (varies(name)) size *= std::max<int64_t>(extent, 1);
    return stride;
  };
  bias_view_.key_stride = axis('k', most(c.kv_lens));
  bias_view_.query_stride = axis('q', most(c.q_lens));
  bias_view_.head_stride = axis('h', c.num_q_heads);
  bias_view_.sequence_stride = axis('s', static_cast<int64_t>(c.q_lens.size()));
  bias_view_.dtype = c.bias_dtype;
  bias_view_.size = size;
  bias_.resize(static_cast<size_t>(size) * InfoOf(c.bias_dtype).block_bytes);
  for (int64_t i = 0; i < size; ++i) {
    float value = 2.0f * random.Uniform();
    const int64_t chance = random.Below(20);
    if (varies('k') && chance == 0) value = kMinusInfinity;
    if (varies('k') && chance == 1) value = c.bias_dtype == DType::kF16 ? -60000.0f : -1e30f;
    PutValue(bias_, c.bias_dtype, i, value);
  }
}

AttentionShape CaseData::shape() const {
  return {.num_q_heads = case_.num_q_heads,
          .num_kv_heads = case_.num_kv_heads,
          .head_dim = case_.head_dim,
          .v_head_dim = case_.v_head_dim,
          .q_lens = case_.q_lens,
          .kv_lens = case_.kv_lens};
}

AttentionOptions CaseData::options() const {
  AttentionOptions o;
  o.mask = {.kind = case_.mask,
            .alignment = case_.alignment,
            .window_left = case_.window_left,
            .window_right = case_.window_right,
            .prefix_lens = prefix_lens_,
            .q_documents = q_documents_,
            .kv_documents = kv_documents_,
            .key_is_visible = key_is_visible_,
            .tiles = tiles_};
  o.softmax_scale = case_.scale;
  o.head_scales = head_scales_;
  o.softcap = case_.softcap;
  o.bias = bias_view_;
  if (!bias_.empty()) o.bias.data = bias_.data();
  o.alibi_slopes = alibi_slopes_;
  o.sinks = sinks_;
  o.compute = case_.compute;
  return o;
}

AttentionQueries CaseData::queries() const {
  return {.data = q_.data(), .stride = case_.num_q_heads * case_.head_dim, .dtype = case_.q_dtype};
}

std::vector<KvView> CaseData::caches(int64_t layer) const {
  std::vector<KvView> views;
  for (size_t s = 0; s < case_.kv_lens.size(); ++s) {
    if (case_.layout == KvLayout::kRows) {
      const int64_t heads = case_.num_kv_heads, kv_len = case_.kv_lens[s];
      const PlainTensor k = {plain_[s].k.data(), case_.format.k, heads * KStride(), KStride(),
                             kv_len * heads * KStride()};
      PlainTensor v = {plain_[s].v.data(), case_.format.v, heads * VStride(), VStride(), kv_len * heads * VStride()};
      if (case_.v_in_k) v = {};
      views.push_back(PlainKv(k, v, kv_len, heads, case_.head_dim, case_.v_head_dim));
      continue;
    }
    KvView& view = views.emplace_back(caches_[s].View(layer));
    if (case_.layout == KvLayout::kPaged) view.blocks = paged_[s].data();
  }
  return views;
}

std::vector<float> CaseData::QueryValues(int64_t sequence) const {
  const int64_t width = case_.num_q_heads * case_.head_dim;
  int64_t first = 0;
  for (int64_t s = 0; s < sequence; ++s) first += case_.q_lens[s];
  std::vector<float> q;
  for (int64_t i = first * width; i < (first + case_.q_lens[sequence]) * width; ++i) {
    q.push_back(GetValue(q_, case_.q_dtype, i));
  }
  return q;
}

std::vector<float> CaseData::KeyValues(int64_t sequence) const {
  const int64_t heads = case_.num_kv_heads;
  std::vector<float> k, row(static_cast<size_t>(case_.head_dim)), unused(static_cast<size_t>(case_.v_head_dim));
  for (int64_t i = 0; i < case_.kv_lens[sequence] * heads; ++i) {
    if (case_.layout == KvLayout::kRows) {
      for (int64_t d = 0; d < case_.head_dim; ++d) {
        row[d] = GetValue(plain_[sequence].k, case_.format.k, i * KStride() + d);
      }
    } else {
      caches_[sequence].Read(0, i % heads, i / heads, row.data(), unused.data());
    }
    k.insert(k.end(), row.begin(), row.end());
  }
  return k;
}

std::vector<float> CaseData::ValueValues(int64_t sequence) const {
  const int64_t heads = case_.num_kv_heads;
  std::vector<float> v, row(static_cast<size_t>(case_.v_head_dim)), k(static_cast<size_t>(case_.head_dim));
  for (int64_t i = 0; i < case_.kv_lens[sequence] * heads; ++i) {
    if (case_.layout == KvLayout::kRows) {
      const Plain& plain = plain_[sequence];
      for (int64_t d = 0; d < case_.v_head_dim; ++d) {
        row[d] = case_.v_in_k ? GetValue(plain.k, case_.format.k, i * KStride() + d)
                              : GetValue(plain.v, case_.format.v, i * VStride() + d);
      }
    } else {
      caches_[sequence].Read(0, i % heads, i / heads, k.data(), row.data());
    }
    v.insert(v.end(), row.begin(), row.end());
  }
  return v;
}

float CaseData::Bias(int64_t sequence, int64_t head, int64_t query, int64_t key) const {
  if (bias_.empty()) return 0;
  const AttentionBias& b = bias_view_;
  return GetValue(bias_, b.dtype,
                  sequence * b.sequence_stride + head * b.head_stride + query * b.query_stride + key * b.key_stride);
}

}  // namespace attend
