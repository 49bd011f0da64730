// The inputs of an attention case: random tensors in the layout and types that the case names, and everything its
// options point to. One memory for tests, which compare with the formula, and benches, which run it.
#pragma once

#include <memory>
#include <vector>

#include "attention/run.h"
#include "base/aligned_buffer.h"
#include "cache/kv_cache.h"
#include "measure/attention_case.h"

namespace attend {

// Pseudo-random values, fast and the same on every machine.
class CaseRandom {
 public:
  explicit CaseRandom(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  float Uniform();  // [-1, 1)
  int64_t Below(int64_t n);

 private:
  uint64_t state_;
};

class CaseData {
 public:
  // `num_layers` caches with the same content: a bench visits them in turn. Errors: out_of_memory; what the cache
  // refuses.
  static Result<CaseData> Make(const AttentionCase& c, int64_t num_layers);

  AttentionShape shape() const;
  AttentionOptions options() const;
  AttentionQueries queries() const;
  // One view a sequence.
  std::vector<KvView> caches(int64_t layer) const;
  int64_t num_layers() const { return num_layers_; }
  int64_t num_tokens() const { return num_tokens_; }

  // The values that the engine reads: queries [q_len, Hq, D], K [kv_len, Hkv, D] and V [kv_len, Hkv, Dv] of a sequence,
  // after rounding to the case's types.
  std::vector<float> QueryValues(int64_t sequence) const;
  std::vector<float> KeyValues(int64_t sequence) const;
  std::vector<float> ValueValues(int64_t sequence) const;
  float Bias(int64_t sequence, int64_t head, int64_t query, int64_t key) const;

 private:
  struct Plain {
    std::vector<uint8_t> k, v;  // [kv_len + some, Hkv, D + some]
  };
  CaseData() = default;
  Result<void> MakeKv(CaseRandom& random);
  Result<void> MakeCaches(int64_t sequence, const std::vector<float>& k, const std::vector<float>& v);
  Result<void> MakePool(const KvCache& cache);
  void MakeMask(CaseRandom& random);
  void MakeTerms(CaseRandom& random);
  int64_t KStride() const { return case_.head_dim + 3; }
  int64_t VStride() const { return case_.v_head_dim + 5; }

  AttentionCase case_;
  int64_t num_layers_ = 1, num_tokens_ = 0;
  std::vector<uint8_t> q_;
  std::vector<KvCache> caches_;                     // a sequence; empty for plain rows
  std::vector<Plain> plain_;                        // a sequence
  std::vector<AlignedBuffer<uint8_t>> pools_;       // a sequence, paged
  std::vector<std::vector<const uint8_t*>> paged_;  // a sequence: its blocks in the pool
  std::vector<int64_t> prefix_lens_;
  std::vector<int32_t> q_documents_, kv_documents_;
  std::vector<uint8_t> key_is_visible_;
  std::vector<std::vector<int32_t>> tile_begins_, tile_keys_;
  std::vector<VisibleTiles> tiles_;
  std::vector<uint8_t> bias_;
  AttentionBias bias_view_;
  std::vector<float> head_scales_, alibi_slopes_, sinks_;
};

}  // namespace attend
