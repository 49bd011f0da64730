// Memory that a forward pass takes beside weights and cache: one formula for the plan and for the allocation.
#pragma once

#include <algorithm>
#include <cstdint>

namespace attend {

inline constexpr int64_t kDefaultPrefillChunkTokens = 512;  // tokens whose activations live at once
inline constexpr int64_t kLogitRows = 32;                   // rows of logits that live at once when all are wanted

struct ActivationShape {
  int64_t hidden_size = 0, intermediate_size = 0, vocab_size = 0;
  int64_t num_q_heads = 0, num_kv_heads = 0, head_dim = 0, v_head_dim = 0;
};

constexpr int64_t PaddedColumns(int64_t columns) {
  return (columns + 63) / 64 * 64;
}

// Floats of activations for `tokens` tokens: residual x, normed h, q, k, v, z, gate, up, and the rotary angles.
constexpr int64_t ActivationFloats(const ActivationShape& s, int64_t tokens) {
  const int64_t a_row = 2 * PaddedColumns(s.hidden_size) + PaddedColumns(s.num_q_heads * s.head_dim) +
                        PaddedColumns(s.num_kv_heads * s.head_dim) + PaddedColumns(s.num_kv_heads * s.v_head_dim) +
                        PaddedColumns(s.num_q_heads * s.v_head_dim) + 2 * PaddedColumns(s.intermediate_size) +
                        s.head_dim;
  return tokens * a_row;
}

// Columns of the widest matrix input: what the bf16 copy of activations must hold.
constexpr int64_t WidestInput(const ActivationShape& s) {
  return std::max(
      {PaddedColumns(s.hidden_size), PaddedColumns(s.intermediate_size), PaddedColumns(s.num_q_heads * s.v_head_dim)});
}

// What a thread takes in matmul and attention: tiles of both, below this at head dimensions up to 256.
inline constexpr int64_t kThreadBytes = int64_t{640} << 10;

// Everything a pass allocates: activations, their bf16 copy where the processor multiplies bf16, and `logit_rows` of
// logits: one to generate, kLogitRows to score.
constexpr uint64_t PassWorkspaceBytes(const ActivationShape& s, int64_t tokens, int64_t logit_rows, bool bf16_copy,
                                      int64_t threads) {
  const int64_t floats = ActivationFloats(s, tokens) + logit_rows * PaddedColumns(s.vocab_size);
  const int64_t copy = bf16_copy ? tokens * WidestInput(s) * 2 : 0;
  return static_cast<uint64_t>(floats * 4 + copy + threads * kThreadBytes);
}

}  // namespace attend
