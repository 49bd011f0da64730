// Headers of GGUF files whose weights are not there: keys under one architecture, and tensors that follow each other
// without their data.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_shape.h"
#include "formats/gguf_test_builder.h"

namespace attend::testing {

inline constexpr uint32_t kF16Id = 1, kQ4KId = 12;  // of tensor types

class HeaderBuilder {
 public:
  explicit HeaderBuilder(std::string architecture) : architecture_(std::move(architecture)) {
    file.String("general.architecture", architecture_).String("general.name", "a model");
  }

  std::string Key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  HeaderBuilder& Set(std::string_view name, uint32_t value) { return file.Uint32(Key(name), value), *this; }
  HeaderBuilder& Set(std::string_view name, const std::vector<int32_t>& values) {
    return file.Array<int32_t>(Key(name), GgufType::kInt32, values), *this;
  }
  HeaderBuilder& Flags(std::string_view name, const std::vector<bool>& values) {
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    return file.Array<uint8_t>(Key(name), GgufType::kBool, bytes), *this;
  }
  HeaderBuilder& Remove(std::string_view name) { return file.Remove(Key(name)), *this; }

  // `dims`: innermost first, as in the file. In the place of one of that name.
  HeaderBuilder& Tensor(const std::string& name, std::vector<uint64_t> dims, uint32_t type = kF16Id) {
    file.RemoveTensor(name).Tensor({.name = name, .dims = std::move(dims), .type = type});
    return *this;
  }
  HeaderBuilder& Block(uint32_t layer, const std::string& name, std::vector<uint64_t> dims, uint32_t type = kF16Id) {
    return Tensor("blk." + std::to_string(layer) + "." + name + ".weight", std::move(dims), type);
  }

  Bytes Header() const {
    GgufBuilder placed = file;
    uint64_t offset = 0;
    for (TestTensor& tensor : placed.tensors) {
      tensor.offset = offset;
      offset += (BytesOf(tensor) + 31) / 32 * 32;
    }
    return placed.Header();
  }

  static uint64_t BytesOf(const TestTensor& tensor) {
    const GgufTensorType type = *FindGgufTensorType(tensor.type);
    uint64_t values = 1;
    for (const uint64_t dim : tensor.dims) values *= dim;
    return values / type.block_values * type.block_bytes;
  }

  GgufBuilder file;

 private:
  std::string architecture_;
};

// 4 layers of 4 query and 2 KV heads of 16, width 64, 100 tokens; of the tensors only what is looked at.
inline HeaderBuilder SmallHeader(const std::string& architecture) {
  HeaderBuilder b(architecture);
  b.Set("block_count", 4).Set("embedding_length", 64).Set("context_length", 4096);
  b.Set("attention.head_count", 4).Set("attention.head_count_kv", 2);
  b.Tensor("token_embd.weight", {64, 100});
  for (uint32_t i = 0; i < 4; ++i) b.Block(i, "attn_k", {64, 32}).Block(i, "attn_v", {64, 32});
  return b;
}

inline Result<ModelShape> ShapeOf(const HeaderBuilder& builder) {
  const Bytes bytes = builder.Header();  // just as long: a sanitizer sees a read of the weights
  ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::ParseHeader(bytes, "test.gguf"));
  return ShapeOfGguf(file);
}

inline ModelShape MustRead(const HeaderBuilder& builder) {
  auto shape = ShapeOf(builder);
  EXPECT_TRUE(shape) << Describe(shape.error());
  if (shape) return *shape;
  ModelShape empty;
  empty.layers.resize(4);
  return empty;
}

// A letter a layer: full, window, none, linear, shared.
inline std::string Kinds(const ModelShape& shape) {
  std::string kinds;
  for (const LayerShape& layer : shape.layers) kinds += "fwnls"[static_cast<int>(layer.cache.kind)];
  return kinds;
}
inline std::string Kinds(const HeaderBuilder& builder) {
  return Kinds(MustRead(builder));
}

}  // namespace attend::testing
