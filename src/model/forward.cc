#include "model/forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/rope_table.h"

namespace attend {
namespace {

// Rows handled by one thread at a time in element-wise steps; rows of one matmul unit: enough that unpacking a weight
// panel (3 instructions for 16 weights, once a unit) stays below 3 % of the multiplications.
constexpr int64_t kElementRows = 16;
constexpr int64_t kMatmulRows = 128;

int64_t Blocks(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace

Result<Transformer> Transformer::Make(const ModelHeader& header, const ModelWeights& weights,
                                      const KernelTable& kernels, ThreadPool& pool, Compute compute,
                                      int64_t max_tokens) {
  Transformer t;
  t.header_ = &header;
  t.weights_ = &weights;
  t.kernels_ = &kernels;
  t.pool_ = &pool;
  t.compute_ = compute;
  t.max_tokens_ = max_tokens;
  t.inv_freq_ = InverseFrequencies(header);
  ATTEND_RETURN_IF_ERROR(t.Allocate());
  return t;
}

Result<void> Transformer::Allocate() {
  const ModelHeader& h = *header_;
  const auto make = [&](Rows& rows, int64_t columns, int64_t count) -> Result<void> {
    rows.stride = PaddedColumns(columns);
    ATTEND_ASSIGN_OR_RETURN(rows.data,
                            AlignedBuffer<float>::Make(static_cast<size_t>(rows.stride * count), "activations"));
    return {};
  };
  ATTEND_RETURN_IF_ERROR(make(x_, h.hidden_size, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(h_, h.hidden_size, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(q_, int64_t{h.num_q_heads} * h.head_dim, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(k_, int64_t{h.num_kv_heads} * h.head_dim, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(v_, int64_t{h.num_kv_heads} * h.v_head_dim, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(z_, int64_t{h.num_q_heads} * h.v_head_dim, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(gate_, h.intermediate_size, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(up_, h.intermediate_size, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(cosine_, h.rotary_dim / 2, max_tokens_));
  ATTEND_RETURN_IF_ERROR(make(sine_, h.rotary_dim / 2, max_tokens_));
  ATTEND_ASSIGN_OR_RETURN(lse_,
                          AlignedBuffer<float>::Make(static_cast<size_t>(max_tokens_ * h.num_q_heads), "activations"));
  if (kernels_->has_bf16_dot && RoundsToBf16(compute_)) {
    const int64_t cells = std::max(max_tokens_, kLogitRows) * WidestInput(ActivationShapeOf(h));
    ATTEND_ASSIGN_OR_RETURN(bf16_, AlignedBuffer<uint16_t>::Make(static_cast<size_t>(cells), "activations"));
  }
  ATTEND_ASSIGN_OR_RETURN(
      matmul_scratch_,
      AlignedBuffer<float>::Make(static_cast<size_t>(pool_->num_threads() * kMatmulScratchFloats), "matmul scratch"));
  return {};
}

Result<void> Transformer::NeedLogits(Logits wanted) {
  if (wanted == Logits::kNone) return {};
  logits_.stride = PaddedColumns(header_->vocab_size);
  const size_t cells = static_cast<size_t>(logits_.stride * (wanted == Logits::kLast ? 1 : kLogitRows));
  if (logits_.data.size() >= cells) return {};
  ATTEND_ASSIGN_OR_RETURN(logits_.data, AlignedBuffer<float>::Make(cells, "logits"));
  return {};
}

uint64_t Transformer::workspace_bytes() const {
  uint64_t bytes =
      lse_.size_bytes() + bf16_.size_bytes() + matmul_scratch_.size_bytes() + attention_workspace_.size_bytes();
  for (const Rows* rows : {&x_, &h_, &q_, &k_, &v_, &z_, &gate_, &up_, &cosine_, &sine_, &logits_})
    bytes += rows->data.size_bytes();
  return bytes;
}

Result<void> Transformer::CheckTokens(std::span<const uint32_t> tokens) const {
  const auto error = [](ErrorCode code, const char* subject, int64_t limit, int64_t found) {
    return tl::unexpected(Error{.code = code,
                                .where = "forward",
                                .subject = subject,
                                .expected = "at most " + std::to_string(limit),
                                .found = std::to_string(found),
                                .hint = {}});
  };
  const int64_t count = static_cast<int64_t>(tokens.size());
  if (count == 0) return error(ErrorCode::kBadArgument, "tokens", max_tokens_, 0);
  if (count > max_tokens_) return error(ErrorCode::kContextExceeded, "tokens in one call", max_tokens_, count);
  for (uint32_t id : tokens) {
    if (id >= header_->vocab_size) return error(ErrorCode::kBadArgument, "token id", header_->vocab_size - 1, id);
  }
  return {};
}

Result<void> Transformer::Forward(std::span<const uint32_t> tokens, KvCache& cache, Logits wanted,
                                  const LogitsFn& on_logits, const ForwardHooks& hooks) {
  ATTEND_RETURN_IF_ERROR(CheckTokens(tokens));
  ATTEND_RETURN_IF_ERROR(NeedLogits(wanted));
  const int64_t count = static_cast<int64_t>(tokens.size());
  const int64_t first_position = cache.num_tokens();
  ATTEND_ASSIGN_OR_RETURN(const AttentionSchedule schedule, Schedule(count, first_position + count));
  ATTEND_RETURN_IF_ERROR(cache.Extend(count));
  FillAngles(first_position, count);

  Embed(tokens);
  for (int64_t layer = 0; layer < header_->num_layers; ++layer) {
    if (auto attended = AttentionBlock(layer, count, schedule, cache, hooks); !attended) {
      cache.Truncate(first_position);
      return attended;
    }
    MlpBlock(layer, count);
  }
  if (hooks.on_final_hidden) hooks.on_final_hidden(x_.row(0), x_.stride);
  EmitLogits(count, wanted, on_logits);
  return {};
}

void Transformer::Embed(std::span<const uint32_t> tokens) {
  pool_->ParallelFor(static_cast<int64_t>(tokens.size()),
                     [&](int64_t i, int) { weights_->embedding.UnpackOutput(tokens[i], x_.row(i)); });
}

void Transformer::FillAngles(int64_t first_position, int64_t count) {
  pool_->ParallelFor(Blocks(count, kElementRows), [&](int64_t block, int) {
    for (int64_t i = block * kElementRows; i < std::min(count, (block + 1) * kElementRows); ++i) {
      for (size_t j = 0; j < inv_freq_.size(); ++j) {
        const double angle = static_cast<double>(first_position + i) * inv_freq_[j];
        cosine_.row(i)[j] = static_cast<float>(std::cos(angle));
        sine_.row(i)[j] = static_cast<float>(std::sin(angle));
      }
    }
  });
}

// The same for every layer of a pass.
Result<AttentionSchedule> Transformer::Schedule(int64_t q_len, int64_t kv_len) const {
  return ScheduleAttention({.num_q_heads = header_->num_q_heads,
                            .num_kv_heads = header_->num_kv_heads,
                            .head_dim = header_->head_dim,
                            .v_head_dim = header_->v_head_dim,
                            .q_lens = {&q_len, 1},
                            .kv_lens = {&kv_len, 1}},
                           {.mask = Mask::Causal(), .softmax_scale = 0, .compute = compute_});
}

// x += W_o attention(rope(W_q h), rope(W_k h), W_v h),  h = norm(x)
Result<void> Transformer::AttentionBlock(int64_t layer, int64_t count, const AttentionSchedule& schedule,
                                         KvCache& cache, const ForwardHooks& hooks) {
  const ModelHeader& h = *header_;
  const LayerWeights& w = weights_->layers[layer];
  const int64_t first_position = cache.num_tokens() - count;

  Norm(w.attention_norm.data(), x_, h_, 0, count);
  Multiply(h_.row(0), h_.stride, count, false,
           {{&w.query, q_.row(0), q_.stride}, {&w.key, k_.row(0), k_.stride}, {&w.value, v_.row(0), v_.stride}});
  Rotate(q_, h.num_q_heads, count);
  Rotate(k_, h.num_kv_heads, count);
  // Blocks begin at whole octets of the cache: those of a 4-bit one share bytes.
  const int64_t lead = first_position % kElementRows;
  pool_->ParallelFor(Blocks(count + lead, kElementRows), [&](int64_t block, int) {
    const int64_t begin = std::max<int64_t>(0, block * kElementRows - lead);
    const int64_t rows = std::min((block + 1) * kElementRows - lead, count) - begin;
    cache.Write(layer, first_position + begin, rows, k_.row(begin), k_.stride, v_.row(begin), v_.stride);
  });

  const KvView view = cache.View(layer);
  ATTEND_ASSIGN_OR_RETURN(const AttentionCounters counters,
                          RunAttention(schedule, {q_.row(0), q_.stride}, {&view, 1},
                                       {z_.row(0), z_.stride, lse_.data()}, *kernels_, *pool_, attention_workspace_));
  attention_rows_ += counters.rows;
  if (hooks.on_layer) {
    hooks.on_layer({.layer = layer,
                    .first_position = first_position,
                    .num_tokens = count,
                    .input = x_.row(0),
                    .hidden_stride = x_.stride,
                    .q = q_.row(0),
                    .q_stride = q_.stride,
                    .lse = lse_.data(),
                    .cache = view,
                    .schedule = &schedule});
  }
  EnterMatmul(z_.row(0), z_.stride, z_.stride, count);
  Multiply(z_.row(0), z_.stride, count, true, {{&w.output, x_.row(0), x_.stride}});
  return {};
}

// x += W_down (silu(W_gate h) * W_up h),  h = norm(x)
void Transformer::MlpBlock(int64_t layer, int64_t count) {
  const LayerWeights& w = weights_->layers[layer];
  Norm(w.mlp_norm.data(), x_, h_, 0, count);
  Multiply(h_.row(0), h_.stride, count, false,
           {{&w.gate, gate_.row(0), gate_.stride}, {&w.up, up_.row(0), up_.stride}});
  pool_->ParallelFor(count,
                     [&](int64_t i, int) { kernels_->swiglu(gate_.row(i), up_.row(i), gate_.stride, gate_.row(i)); });
  EnterMatmul(gate_.row(0), gate_.stride, gate_.stride, count);
  Multiply(gate_.row(0), gate_.stride, count, true, {{&w.down, x_.row(0), x_.stride}});
}

void Transformer::EmitLogits(int64_t count, Logits wanted, const LogitsFn& on_logits) {
  if (wanted == Logits::kNone) return;
  for (int64_t first = wanted == Logits::kLast ? count - 1 : 0; first < count; first += kLogitRows) {
    const int64_t rows = std::min(kLogitRows, count - first);
    Norm(weights_->final_norm.data(), x_, h_, first, rows);
    Multiply(h_.row(first), h_.stride, rows, false, {{&weights_->output_head(), logits_.row(0), logits_.stride}});
    on_logits(first, rows, logits_.row(0), logits_.stride);
  }
}

void Transformer::Norm(const float* weight, Rows& in, Rows& out, int64_t first, int64_t count) {
  pool_->ParallelFor(Blocks(count, kElementRows), [&](int64_t block, int) {
    for (int64_t i = first + block * kElementRows; i < std::min(first + count, first + (block + 1) * kElementRows);
         ++i) {
      kernels_->rms_norm(in.row(i), weight, header_->norm_eps, header_->hidden_size, out.row(i));
    }
  });
  EnterMatmul(out.row(first), out.stride, out.stride, count);
}

void Transformer::Rotate(Rows& x, int64_t num_heads, int64_t count) {
  const int64_t half = header_->rotary_dim / 2;
  pool_->ParallelFor(Blocks(count, kElementRows), [&](int64_t block, int) {
    for (int64_t i = block * kElementRows; i < std::min(count, (block + 1) * kElementRows); ++i) {
      for (int64_t head = 0; head < num_heads; ++head) {
        kernels_->rope(x.row(i) + head * header_->head_dim, cosine_.row(i), sine_.row(i), half);
      }
    }
  });
}

// Class bf16: activations are rounded where they enter a matmul, and copied as bf16 for kernels that multiply bf16.
void Transformer::EnterMatmul(float* rows, int64_t stride, int64_t width, int64_t count) {
  if (!RoundsToBf16(compute_)) return;
  pool_->ParallelFor(Blocks(count, kElementRows), [&](int64_t block, int) {
    for (int64_t i = block * kElementRows; i < std::min(count, (block + 1) * kElementRows); ++i) {
      kernels_->round_to_bf16(rows + i * stride, width);
      if (kernels_->has_bf16_dot) kernels_->pack_bf16(rows + i * stride, width, bf16_.data() + i * stride);
    }
  });
}

// out (+)= W in for several matrices over the same input, as one list of (panel, rows) units.
void Transformer::Multiply(const float* in, int64_t stride, int64_t count, bool accumulate,
                           std::initializer_list<Product> products) {
  int64_t panels = 0;
  for (const Product& product : products) panels += product.weights->num_panels();
  const int64_t row_blocks = Blocks(count, kMatmulRows);
  pool_->ParallelFor(panels * row_blocks, [&](int64_t unit, int thread) {
    int64_t panel = unit / row_blocks;
    const Product* product = products.begin();
    while (panel >= product->weights->num_panels()) panel -= (product++)->weights->num_panels();
    const int64_t first = unit % row_blocks * kMatmulRows;
    kernels_->matmul({.weights = product->weights->view(),
                      .panel = panel,
                      .a = in + first * stride,
                      .a_bf16 = bf16_.empty() ? nullptr : bf16_.data() + first * stride,
                      .a_stride = stride,
                      .rows = std::min(kMatmulRows, count - first),
                      .out = product->out + first * product->out_stride + panel * kPanelColumns,
                      .out_stride = product->out_stride,
                      .accumulate = accumulate,
                      .scratch = matmul_scratch_.data() + thread * kMatmulScratchFloats});
  });
}

}  // namespace attend
