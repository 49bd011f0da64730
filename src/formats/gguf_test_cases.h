// One malformed GGUF file a row of the readers' contract (G1-G32), each TinyLlama with one thing wrong.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_test_builder.h"
#include "formats/model_header.h"

namespace attend::testing {

struct GgufCase {
  std::string row;
  Bytes bytes;
  ErrorCode code;
  std::string names;  // stands in the message
};

// All that a reader does with a file.
inline Result<ModelHeader> LoadGguf(const Bytes& bytes) {
  ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Parse(bytes, "test.gguf"));
  return ReadModelHeader(file);
}

inline Bytes Broken(const std::function<void(GgufBuilder&)>& damage) {
  GgufBuilder builder = TinyLlama();
  damage(builder);
  return builder.Build();
}

inline std::vector<GgufCase> StructureCases() {
  using B = GgufBuilder;
  using enum ErrorCode;
  static constexpr uint64_t kHuge = uint64_t{1} << 63;
  const Bytes huge_length = [] {
    Bytes b;
    AppendValue(b, kHuge);
    return b;
  }();
  const Bytes nested = [] {
    Bytes b;
    for (int i = 0; i < 100'000; ++i) {
      AppendValue<uint32_t>(b, 9);
      AppendValue<uint64_t>(b, 1);
    }
    return b;
  }();
  const std::string long_text(70'000, 'x');
  const auto key = [](const char* name, GgufType type, auto value) {
    return Broken([&](B& b) { b.Set(name, type, value); });
  };
  const auto named = [](const std::string& name) { return Broken([&](B& b) { b.Find("output.weight").name = name; }); };
  return {
      {"G1 four bytes", {'G', 'G', 'U', 'F'}, kGgufTruncated, "the version at byte 4"},
      {"G1 no byte", {}, kGgufTruncated, "the magic at byte 0"},
      {"G2 magic", Broken([](B& b) { b.magic = "GGML"; }), kGgufBadMagic, "GGML"},
      {"G2 version 0", Broken([](B& b) { b.version = 0; }), kGgufBadVersion, "found 0"},
      {"G2 version 1", Broken([](B& b) { b.version = 1; }), kGgufBadVersion, "found 1"},
      {"G2 version 4", Broken([](B& b) { b.version = 4; }), kGgufBadVersion, "found 4"},
      {"G2 big-endian", Broken([](B& b) { b.version = 0x03000000; }), kGgufBadVersion, "big-endian"},
      {"G3 tensors 2^64-1", Broken([](B& b) { b.num_tensors = ~uint64_t{0}; }), kGgufBadCount, "tensors"},
      {"G3 tensors 2^63", Broken([](B& b) { b.num_tensors = kHuge; }), kGgufBadCount, "tensors"},
      {"G3 one too many", Broken([](B& b) { b.num_tensors = b.tensors.size() + 1; }), kGgufBadString, "name"},
      {"G4 keys 2^64-1", Broken([](B& b) { b.num_keys = ~uint64_t{0}; }), kGgufBadCount, "keys"},
      {"G5 key length",
       [] {
         Bytes b = GgufBuilder().Header();
         b[16] = 1;
         AppendValue(b, kHuge);
         b.resize(100);
         return b;
       }(),
       kGgufBadString, "a key"},
      {"G5 string 2^63", Broken([&](B& b) { b.SetRaw("general.name", GgufType::kString, huge_length); }),
       kGgufBadString, "general.name"},
      {"G5 string past the end", Broken([](B& b) { b.Set<uint64_t>("general.name", GgufType::kString, 1 << 20); }),
       kGgufTruncated, "general.name"},
      {"G6 array 2^62", Broken([](B& b) { b.ArrayRaw("some.array", GgufType::kUint8, kHuge / 2, {}); }), kGgufBadCount,
       "some.array"},
      {"G6 bytes wrap", Broken([](B& b) { b.ArrayRaw("some.array", GgufType::kInt64, kHuge / 4 + 1, {}); }),
       kGgufBadCount, "some.array"},
      {"G6 strings", Broken([](B& b) { b.ArrayRaw("some.array", GgufType::kString, 1 << 20, {}); }), kGgufBadCount,
       "some.array"},
      {"G7 nested", Broken([&](B& b) { b.ArrayRaw("some.array", GgufType::kArray, 1, nested); }), kGgufBadType,
       "array of arrays"},
      {"G8 value type 13", key("some.key", GgufType{13}, uint32_t{0}), kGgufBadType, "some.key"},
      {"G8 value type -1", key("some.key", GgufType{~0u}, uint32_t{0}), kGgufBadType, "some.key"},
      {"G8 element type", Broken([](B& b) { b.ArrayRaw("some.array", GgufType{99}, 1, {0}); }), kGgufBadType,
       "some.array"},
      {"G8 tensor type -1", Broken([](B& b) { b.Find("output.weight").type = ~0u; }), kGgufBadType, "output.weight"},
      {"G9 empty key", key("", GgufType::kUint32, 1u), kGgufBadString, "empty"},
      {"G9 key twice", Broken([](B& b) { b.keys.push_back(b.keys[3]); }), kGgufDuplicate, "llama.embedding_length"},
      {"G9 tensor twice", Broken([](B& b) {
         b.Floats("output.weight", {8, 5});
       }),
       kGgufDuplicate, "output.weight"},
      {"G10 alignment 0", key("general.alignment", GgufType::kUint32, 0u), kGgufBadValue, "general.alignment"},
      {"G11 alignment 13", key("general.alignment", GgufType::kUint32, 13u), kGgufBadValue, "general.alignment"},
      {"G11 alignment 2^17", key("general.alignment", GgufType::kUint32, 1u << 17), kGgufBadValue, "general.alignment"},
      {"G11 alignment int32", key("general.alignment", GgufType::kInt32, 32), kGgufBadType, "general.alignment"},
      {"G12 5 dimensions", Broken([](B& b) {
         b.Floats("extra", {1, 1, 1, 1, 1});
       }),
       kGgufBadShape, "extra"},
      {"G12 2^32-1 dimensions", Broken([](B& b) { b.Find("output.weight").num_dims = ~0u; }), kGgufBadShape,
       "output.weight"},
      {"G14 dimension -1", Broken([](B& b) { b.Find("output.weight").dims = {~uint64_t{0}}; }), kGgufBadShape,
       "output.weight"},
      {"G15 wraps to small", Broken([](B& b) {
         b.Find("output.weight").dims = {8, (uint64_t{1} << 59) + 1};
       }),
       kGgufBadShape, "output.weight"},
      {"G15 wraps to 0", Broken([](B& b) {
         b.Find("output.weight").dims = {uint64_t{1} << 32, uint64_t{1} << 32};
       }),
       kGgufBadShape, "output.weight"},
      {"G15 2^40 x 2^40 x 0", Broken([](B& b) {
         b.Find("output.weight").dims = {uint64_t{1} << 40, uint64_t{1} << 40, 0};
       }),
       kGgufBadShape, "output.weight"},
      {"G16 bytes wrap", Broken([](B& b) {
         b.Find("output.weight") = {.name = "output.weight", .dims = {uint64_t{1} << 61}, .type = 27};
       }),
       kGgufBadShape, "output.weight"},
      {"G16 end wraps", Broken([](B& b) { b.Find("output.weight").offset = ~uint64_t{31}; }), kGgufBadOffset,
       "output.weight"},
      {"G16 padding wraps", Broken([](B& b) { b.Find("output.weight").offset = kHuge; }), kGgufBadOffset,
       "output.weight"},
      {"G17 removed type", Broken([](B& b) { b.Find("output.weight").type = 4; }), kGgufBadType, "output.weight"},
      {"G17 type 1000", Broken([](B& b) { b.Find("output.weight").type = 1000; }), kGgufBadType, "output.weight"},
      {"G17 part of a block", Broken([](B& b) { b.Find("output.weight").type = 8; }), kGgufBadShape, "output.weight"},
      {"G17 block type, no dimension", Broken([](B& b) { b.Tensor({.name = "extra", .dims = {}, .type = 2}); }),
       kGgufBadShape, "extra"},
      {"G17 known, unsupported", Broken([](B& b) { b.Find("output.weight").type = 12; }), kUnsupportedTensorType,
       "q4_K"},
      {"G18 misaligned", Broken([](B& b) { b.Find("output.weight").offset = 8; }), kGgufBadOffset, "output.weight"},
      {"G18 overlap", Broken([](B& b) { b.Find("output.weight").offset = 0; }), kGgufBadOffset, "overlaps"},
      {"G18 beyond the end", Broken([](B& b) { b.Find("output.weight").offset = 1 << 20; }), kGgufBadOffset,
       "output.weight"},
      {"G18 larger than the file", Broken([](B& b) {
         b.Find("blk.0.ffn_down.weight").dims = {12, 1 << 20};
       }),
       kGgufTruncated, "blk.0.ffn_down.weight"},
      {"G19 data cut",
       [] {
         Bytes b = TinyLlama().Build();
         b.resize(b.size() - 64);
         return b;
       }(),
       kGgufTruncated, "blk.0.ffn_down.weight"},
      {"G20 64 bytes", named(std::string(64, 'n')), kGgufBadString, "64"},
      {"G20 NUL", named(std::string("a\0b", 3)), kGgufBadString, "a\\x00b"},
      {"G20 ESC", named("a\x1b[31m"), kGgufBadString, "\\x1b[31m"},
      {"G20 invalid UTF-8", named("a\xff"), kGgufBadString, "a\\xff"},
      {"G20 key with ESC", key("a\x1b", GgufType::kUint32, 1u), kGgufBadString, "a\\x1b"},
      {"G26 long token", Broken([&](B& b) {
         b.Strings("tokenizer.ggml.tokens", {"a", "b", "c", "d", long_text});
       }),
       kGgufBadString, "tokenizer.ggml.tokens"},
      {"G32 split set", key("split.count", GgufType::kUint16, uint16_t{3}), kUnsupportedFeature, "split.count"},
  };
}

inline std::vector<GgufCase> ModelCases() {
  using B = GgufBuilder;
  using enum ErrorCode;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto number = [](const char* name, uint32_t value) { return Broken([&](B& b) { b.Uint32(name, value); }); };
  const auto real = [](const char* name, float value) { return Broken([&](B& b) { b.Float32(name, value); }); };
  const auto text = [](const char* name, const char* value) { return Broken([&](B& b) { b.String(name, value); }); };
  const auto without = [](const char* name) { return Broken([&](B& b) { b.Remove(name).RemoveTensor(name); }); };
  const auto shaped = [](const char* name, std::vector<uint64_t> dims) {
    return Broken([&](B& b) { b.RemoveTensor(name).Floats(name, dims); });
  };
  return {
      {"G21 scores uint8", Broken([](B& b) {
         b.Array<uint8_t>("tokenizer.ggml.scores", GgufType::kUint8, {0, 0, 0, 0, 0});
       }),
       kGgufBadType, "tokenizer.ggml.scores"},
      {"G21 types uint8", Broken([](B& b) {
         b.Array<uint8_t>("tokenizer.ggml.token_type", GgufType::kUint8, {1, 1, 1, 1, 1});
       }),
       kGgufBadType, "tokenizer.ggml.token_type"},
      {"G21 suppress uint8",
       Broken([](B& b) { b.Array<uint8_t>("tokenizer.ggml.suppress_tokens", GgufType::kUint8, {1}); }), kGgufBadType,
       "tokenizer.ggml.suppress_tokens"},
      {"G21 tokens not text", Broken([](B& b) {
         b.Array<uint64_t>("tokenizer.ggml.tokens", GgufType::kUint64, {1, 1, 1, 1, 1});
       }),
       kGgufBadType, "tokenizer.ggml.tokens"},
      {"G22 few scores", Broken([](B& b) { b.Array<float>("tokenizer.ggml.scores", GgufType::kFloat32, {0}); }),
       kTokenizerBad, "tokenizer.ggml.scores"},
      {"G22 few types", Broken([](B& b) { b.Array<int32_t>("tokenizer.ggml.token_type", GgufType::kInt32, {1}); }),
       kTokenizerBad, "tokenizer.ggml.token_type"},
      {"G23 eos = n", number("tokenizer.ggml.eos_token_id", 5), kTokenizerBad, "eos_token_id"},
      {"G23 eot = -1", Broken([](B& b) { b.Set("tokenizer.ggml.eot_token_id", GgufType::kInt32, -1); }), kGgufBadValue,
       "eot_token_id"},
      {"G23 bos is text", text("tokenizer.ggml.bos_token_id", "1"), kGgufBadType, "bos_token_id"},
      {"G23 suppressed id",
       Broken([](B& b) { b.Array<int32_t>("tokenizer.ggml.suppress_tokens", GgufType::kInt32, {-2}); }), kTokenizerBad,
       "suppress_tokens"},
      {"G24 UGM tokenizer", text("tokenizer.ggml.model", "t5"), kTokenizerUnsupported, "t5"},
      {"G25 vocabulary and rows", shaped("token_embd.weight", {8, 6}), kGgufBadShape, "token_embd.weight"},
      {"G25 vocab_size", number("llama.vocab_size", 6), kGgufBadValue, "llama.vocab_size"},
      {"G25 no tokens", without("tokenizer.ggml.tokens"), kGgufMissing, "tokenizer.ggml.tokens"},
      {"G25 zero tokens", Broken([](B& b) { b.Strings("tokenizer.ggml.tokens", {}); }), kTokenizerBad,
       "tokenizer.ggml.tokens"},
      {"G25 no kind of tokenizer", without("tokenizer.ggml.model"), kGgufMissing, "tokenizer.ggml.model"},
      {"G27 heads 0", number("llama.attention.head_count", 0), kGgufBadValue, "llama.attention.head_count"},
      {"G27 kv heads 0", number("llama.attention.head_count_kv", 0), kGgufBadValue, "llama.attention.head_count_kv"},
      {"G27 layers 0", number("llama.block_count", 0), kGgufBadValue, "llama.block_count"},
      {"G27 layers is text", text("llama.block_count", "1"), kGgufBadType, "llama.block_count"},
      {"G27 no layers key", without("llama.block_count"), kGgufMissing, "llama.block_count"},
      {"G27 layers 1025", number("llama.block_count", 1025), kGgufBadValue, "llama.block_count"},
      {"G27 heads 1025", number("llama.attention.head_count", 1025), kGgufBadValue, "llama.attention.head_count"},
      {"G27 kv heads no divisor", number("llama.attention.head_count_kv", 3), kGgufBadValue,
       "llama.attention.head_count_kv"},
      {"G28 context 0", number("llama.context_length", 0), kGgufBadValue, "llama.context_length"},
      {"G28 context 2^31", number("llama.context_length", 1u << 31), kGgufBadValue, "llama.context_length"},
      {"G28 width not divisible", number("llama.embedding_length", 9), kGgufBadValue, "llama.embedding_length"},
      {"G28 experts used", number("llama.expert_used_count", 2), kGgufBadValue, "llama.expert_used_count"},
      {"G28 experts", number("llama.expert_count", 8), kUnsupportedFeature, "llama.expert_count"},
      {"G28 rope base 0", real("llama.rope.freq_base", 0), kGgufBadValue, "llama.rope.freq_base"},
      {"G28 rope base NaN", real("llama.rope.freq_base", kNan), kGgufBadValue, "llama.rope.freq_base"},
      {"G28 eps NaN", real("llama.attention.layer_norm_rms_epsilon", kNan), kGgufBadValue, "layer_norm_rms_epsilon"},
      {"G28 eps infinite", real("llama.attention.layer_norm_rms_epsilon", HUGE_VALF), kGgufBadValue,
       "layer_norm_rms_epsilon"},
      {"G28 rotary odd", number("llama.rope.dimension_count", 3), kGgufBadValue, "llama.rope.dimension_count"},
      {"G28 rotary above head", number("llama.rope.dimension_count", 6), kGgufBadValue, "llama.rope.dimension_count"},
      {"G28 yarn", text("llama.rope.scaling.type", "yarn"), kUnsupportedFeature, "yarn"},
      {"G28 factor 0.5", real("llama.rope.scaling.factor", 0.5f), kGgufBadValue, "llama.rope.scaling.factor"},
      {"G28 not causal", Broken([](B& b) { b.Bool("llama.attention.causal", false); }), kUnsupportedFeature,
       "llama.attention.causal"},
      {"G28 bool of 2", Broken([](B& b) { b.Set("llama.attention.causal", GgufType::kBool, uint8_t{2}); }),
       kGgufBadValue, "llama.attention.causal"},
      {"G28 window", number("llama.attention.sliding_window", 16), kUnsupportedFeature, "sliding_window"},
      {"G28 logit scale", real("llama.logit_scale", 2), kUnsupportedFeature, "llama.logit_scale"},
      {"G29 q too small", shaped("blk.0.attn_q.weight", {8, 4}), kGgufBadShape, "blk.0.attn_q.weight"},
      {"G29 transposed", shaped("blk.0.ffn_down.weight", {8, 12}), kGgufBadShape, "blk.0.ffn_down.weight"},
      {"G29 one dimension", shaped("blk.0.attn_k.weight", {32}), kGgufBadShape, "blk.0.attn_k.weight"},
      {"G29 embedding scalar", shaped("token_embd.weight", {}), kGgufBadShape, "token_embd.weight"},
      {"G29 no embedding", without("token_embd.weight"), kGgufMissing, "token_embd.weight"},
      {"G29 no norm", without("output_norm.weight"), kGgufMissing, "output_norm.weight"},
      {"G29 no layer tensor", without("blk.0.ffn_up.weight"), kGgufMissing, "blk.0.ffn_up.weight"},
      {"G29 a bias", Broken([](B& b) { b.Floats("blk.0.attn_q.bias", {8}); }), kUnsupportedFeature,
       "blk.0.attn_q.bias"},
      {"G29 a layer too many", number("llama.block_count", 2), kGgufMissing, "blk.1."},
      {"G29 integers", Broken([](B& b) { b.Find("output_norm.weight").type = 26; }), kUnsupportedTensorType,
       "output_norm.weight"},
      {"G13 an empty matrix", Broken([](B& b) {
         b.RemoveTensor("output.weight").Floats("output.weight", {8, 0});
       }),
       kGgufBadShape, "output.weight"},
      {"divisors of 0", Broken([](B& b) { b.Floats("rope_freqs.weight", {2}); }), kGgufBadValue, "rope_freqs.weight"},
      {"divisors, too many", Broken([](B& b) { b.Floats("rope_freqs.weight", {4}); }), kGgufBadShape,
       "rope_freqs.weight"},
      {"architecture", text("general.architecture", "bert"), kUnsupportedArchitecture, "bert"},
      {"no architecture", without("general.architecture"), kGgufMissing, "general.architecture"},
      {"name not UTF-8", text("general.name", "a\xff"), kGgufBadString, "general.name"},
  };
}

inline std::vector<GgufCase> AllGgufCases() {
  std::vector<GgufCase> cases = StructureCases();
  for (GgufCase& model_case : ModelCases()) cases.push_back(std::move(model_case));
  return cases;
}

}  // namespace attend::testing
