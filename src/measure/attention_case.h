// Attention calls in words, one a line: the one grammar of tests, benches and `attend bench attention`.
//
//   heads=9/3 dim=64 q=65 kv=200 mask=causal window=63,0 softcap=30
//
// Every key has a default; {a|b|c} inside a value stands for several cases. docs/reference/attention.md lists all keys.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "attention/options.h"
#include "base/error.h"
#include "tensor/cache_descriptor.h"

namespace attend {

enum class KvLayout { kCache, kPaged, kRows };
enum class CaseValues { kNormal, kOutliers, kLarge, kUniform };

struct AttentionCase {
  std::string text;  // as written
  int64_t num_q_heads = 4, num_kv_heads = 2;
  int64_t head_dim = 64, v_head_dim = 64;
  std::vector<int64_t> q_lens = {16}, kv_lens = {};  // kv_lens empty: as q_lens
  MaskKind mask = MaskKind::kCausal;
  MaskAlignment alignment = MaskAlignment::kBottomRight;
  int64_t window_left = -1, window_right = -1;
  int64_t prefix = 0;
  int64_t num_documents = 0;
  std::string padding;         // "", left, right, holes
  int64_t tiles_percent = -1;  // share of tiles that are visible; -1: off
  DType bias_dtype = DType::kF32;
  std::string bias_axes;  // of s, h, q, k: those along which the bias varies; "": off; "none": one number
  bool alibi = false, sinks = false, scale_per_head = false;
  float softcap = 0, scale = 0;
  DType q_dtype = DType::kF32, out_dtype = DType::kF32;
  KvLayout layout = KvLayout::kCache;
  bool v_in_k = false;
  Compute compute = Compute::kF32;
  KvFormat format = KvFormat::Both(DType::kF32);
  CaseValues values = CaseValues::kNormal;
  uint32_t seed = 1;

  int64_t QueryTokens() const { return std::accumulate(q_lens.begin(), q_lens.end(), int64_t{0}); }  // of all sequences
  int64_t KeyTokens() const { return std::accumulate(kv_lens.begin(), kv_lens.end(), int64_t{0}); }
  CacheDescriptor Layer() const;  // the cache that such a call reads
};

// What a line that does not say it uses.
struct CaseDefaults {
  Compute compute = Compute::kF32;
  KvFormat format = KvFormat::Both(DType::kF32);
};

// The cases of a line. Errors: bad_argument naming the word.
Result<std::vector<AttentionCase>> ParseAttentionCases(std::string_view line, const CaseDefaults& defaults);

// The cases of a file: a line each, # begins a comment. Errors: those of the lines, with file and line.
Result<std::vector<AttentionCase>> ReadAttentionCases(const std::string& path, const CaseDefaults& defaults);

}  // namespace attend
