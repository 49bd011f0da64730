// Writes GGUF files in memory for tests, right ones and wrong ones: every number of the file can be set on its own.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf_value.h"

namespace attend::testing {

using Bytes = std::vector<uint8_t>;

inline void Append(Bytes& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

template <typename T>
void AppendValue(Bytes& out, T value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

inline void AppendString(Bytes& out, std::string_view text) {
  AppendValue<uint64_t>(out, text.size());
  Append(out, text);
}

struct TestTensor {
  std::string name;
  std::vector<uint64_t> dims;  // as in the file: innermost first
  uint32_t type = 0;           // f32
  Bytes data = {};
  std::optional<uint64_t> offset = std::nullopt;  // where the data lies when not given
  std::optional<uint32_t> num_dims = std::nullopt;
};

class GgufBuilder {
 public:
  // Replaces the value of a key that is there already.
  GgufBuilder& SetRaw(std::string_view key, GgufType type, Bytes value) {
    Bytes bytes;
    AppendValue(bytes, static_cast<uint32_t>(type));
    bytes.insert(bytes.end(), value.begin(), value.end());
    for (auto& [name, old] : keys) {
      if (name == key) return old = std::move(bytes), *this;
    }
    keys.emplace_back(key, std::move(bytes));
    return *this;
  }

  template <typename T>
  GgufBuilder& Set(std::string_view key, GgufType type, T value) {
    Bytes bytes;
    AppendValue(bytes, value);
    return SetRaw(key, type, std::move(bytes));
  }

  GgufBuilder& Uint32(std::string_view key, uint32_t value) { return Set(key, GgufType::kUint32, value); }
  GgufBuilder& Float32(std::string_view key, float value) { return Set(key, GgufType::kFloat32, value); }
  GgufBuilder& Bool(std::string_view key, bool value) { return Set(key, GgufType::kBool, value); }

  GgufBuilder& String(std::string_view key, std::string_view text) {
    Bytes bytes;
    AppendString(bytes, text);
    return SetRaw(key, GgufType::kString, std::move(bytes));
  }

  // `values` as they lie in the file; `count` may be wrong on purpose.
  GgufBuilder& ArrayRaw(std::string_view key, GgufType element_type, uint64_t count, const Bytes& values) {
    Bytes bytes;
    AppendValue(bytes, static_cast<uint32_t>(element_type));
    AppendValue(bytes, count);
    bytes.insert(bytes.end(), values.begin(), values.end());
    return SetRaw(key, GgufType::kArray, std::move(bytes));
  }

  template <typename T>
  GgufBuilder& Array(std::string_view key, GgufType element_type, const std::vector<T>& values) {
    Bytes bytes;
    for (const T& value : values) AppendValue(bytes, value);
    return ArrayRaw(key, element_type, values.size(), bytes);
  }

  GgufBuilder& Strings(std::string_view key, const std::vector<std::string>& texts) {
    Bytes bytes;
    for (const std::string& text : texts) AppendString(bytes, text);
    return ArrayRaw(key, GgufType::kString, texts.size(), bytes);
  }

  GgufBuilder& Remove(std::string_view key) {
    std::erase_if(keys, [&](const auto& entry) { return entry.first == key; });
    return *this;
  }

  GgufBuilder& Tensor(TestTensor tensor) {
    tensors.push_back(std::move(tensor));
    return *this;
  }

  // A tensor of zeros in f32.
  GgufBuilder& Floats(std::string_view name, std::vector<uint64_t> dims) {
    uint64_t bytes = sizeof(float);
    for (const uint64_t dim : dims) bytes *= dim;
    return Tensor({.name = std::string(name), .dims = std::move(dims), .data = Bytes(bytes)});
  }

  TestTensor& Find(std::string_view name) {
    for (TestTensor& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    return tensors.emplace_back();
  }

  GgufBuilder& RemoveTensor(std::string_view name) {
    std::erase_if(tensors, [&](const TestTensor& tensor) { return tensor.name == name; });
    return *this;
  }

  // The header alone; data would begin at the next multiple of the alignment.
  Bytes Header() const {
    Bytes out;
    Append(out, magic);
    AppendValue(out, version);
    AppendValue<uint64_t>(out, num_tensors.value_or(tensors.size()));
    AppendValue<uint64_t>(out, num_keys.value_or(keys.size()));
    for (const auto& [key, value] : keys) {
      AppendString(out, key);
      out.insert(out.end(), value.begin(), value.end());
    }
    uint64_t next_offset = 0;
    for (const TestTensor& tensor : tensors) {
      AppendString(out, tensor.name);
      AppendValue<uint32_t>(out, tensor.num_dims.value_or(static_cast<uint32_t>(tensor.dims.size())));
      for (const uint64_t dim : tensor.dims) AppendValue(out, dim);
      AppendValue(out, tensor.type);
      AppendValue(out, tensor.offset.value_or(next_offset));
      next_offset += Padded(tensor.data.size());
    }
    return out;
  }

  Bytes Build() const {
    Bytes out = Header();
    out.resize(Padded(out.size()));
    for (const TestTensor& tensor : tensors) {
      out.insert(out.end(), tensor.data.begin(), tensor.data.end());
      out.resize(Padded(out.size()));
    }
    return out;
  }

  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t alignment = 32;  // for laying out; the file says so only by its key
  std::optional<uint64_t> num_tensors;
  std::optional<uint64_t> num_keys;
  std::vector<std::pair<std::string, Bytes>> keys;
  std::vector<TestTensor> tensors;

 private:
  uint64_t Padded(uint64_t size) const { return (size + alignment - 1) / alignment * alignment; }
};

// One layer, hidden size 8, 2 query heads and 1 key/value head of 4, intermediate size 12, 5 tokens; untied.
inline GgufBuilder TinyLlama() {
  GgufBuilder b;
  b.String("general.architecture", "llama").String("general.name", "tiny").Uint32("llama.block_count", 1);
  b.Uint32("llama.embedding_length", 8).Uint32("llama.feed_forward_length", 12).Uint32("llama.context_length", 64);
  b.Uint32("llama.attention.head_count", 2).Uint32("llama.attention.head_count_kv", 1);
  b.Float32("llama.attention.layer_norm_rms_epsilon", 1e-5f).Float32("llama.rope.freq_base", 100000.0f);
  b.String("tokenizer.ggml.model", "gpt2").Strings("tokenizer.ggml.tokens", {"a", "b", "c", "ab", "<end>"});
  b.Array<int32_t>("tokenizer.ggml.token_type", GgufType::kInt32, {1, 1, 1, 1, 3});
  b.Strings("tokenizer.ggml.merges", {"a b"}).Uint32("tokenizer.ggml.eos_token_id", 4);
  b.Floats("token_embd.weight", {8, 5}).Floats("output_norm.weight", {8}).Floats("output.weight", {8, 5});
  b.Floats("blk.0.attn_norm.weight", {8}).Floats("blk.0.attn_q.weight", {8, 8}).Floats("blk.0.attn_k.weight", {8, 4});
  b.Floats("blk.0.attn_v.weight", {8, 4}).Floats("blk.0.attn_output.weight", {8, 8});
  b.Floats("blk.0.ffn_norm.weight", {8}).Floats("blk.0.ffn_gate.weight", {8, 12});
  b.Floats("blk.0.ffn_up.weight", {8, 12}).Floats("blk.0.ffn_down.weight", {12, 8});
  return b;
}

}  // namespace attend::testing
