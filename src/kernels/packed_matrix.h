// A weight matrix in panels (kernels/panel.h), packed once at load. 4- and 8-bit blocks keep their bits and their
// scales.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/panel.h"
#include "tensor/dtype.h"

namespace attend {

// Which stored row is output r. Llama GGUF files hold the rows of each query and key head interleaved (row 2i + j of a
// head is row i + half * j); undoing that at load leaves one rotary kernel, the half-split one.
struct RowOrder {
  int64_t interleaved_head_dim = 0;  // 0: rows as stored

  int64_t SourceRow(int64_t row) const {
    if (interleaved_head_dim == 0) return row;
    const int64_t head = row / interleaved_head_dim, in_head = row % interleaved_head_dim;
    const int64_t half = interleaved_head_dim / 2;
    return head * interleaved_head_dim + 2 * (in_head % half) + in_head / half;
  }
};

class PackedMatrix {
 public:
  PackedMatrix() = default;

  // bytes: [num_outputs, num_inputs] row-major as a file stores it; f32, f16, bf16, q4_0, q4_1 or q8_0.
  // Allocates PackedMatrixBytes (tensor/packed_bytes.h). Errors: out_of_memory; unsupported_tensor_type naming `name`.
  static Result<PackedMatrix> Pack(DType dtype, std::span<const uint8_t> bytes, int64_t num_outputs, int64_t num_inputs,
                                   RowOrder order, const char* name, ThreadPool& pool);

  PanelView view() const {
    return {kind_, has_minimum_, offset_, num_inputs_, num_outputs_, panel_bytes_, data_.data()};
  }
  int64_t num_inputs() const { return num_inputs_; }
  int64_t num_outputs() const { return num_outputs_; }
  int64_t num_panels() const { return (num_outputs_ + kPanelColumns - 1) / kPanelColumns; }
  uint64_t size_bytes() const { return data_.size_bytes(); }

  // The weights of one output as floats [num_inputs], exactly as stored: how an embedding table is read.
  void UnpackOutput(int64_t output, float* out) const;

  // True when a weight or a scale is NaN or infinite.
  bool HasNonfinite() const;

 private:
  void PackOutput(int64_t output, DType dtype, const uint8_t* row);

  PanelKind kind_ = PanelKind::kF32;
  bool has_minimum_ = false;
  float offset_ = 0;
  int64_t num_inputs_ = 0;
  int64_t num_outputs_ = 0;
  int64_t panel_bytes_ = 0;
  AlignedBuffer<uint8_t> data_;
};

}  // namespace attend
