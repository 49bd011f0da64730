#include "plan/policy.h"

#include <algorithm>
#include <array>

namespace attend {
namespace {

constexpr std::array kPolicies = {Policy::kOurs, Policy::kFormula, Policy::kLlamaCpp,
                                  Policy::kVllm, Policy::kHfEager, Policy::kHfSdpa};

using Types = std::span<const DType>;

constexpr DType kBlockTypes[] = {DType::kF32,  DType::kF16,  DType::kBf16, DType::kQ8_0,
                                 DType::kQ5_1, DType::kQ5_0, DType::kQ4_1, DType::kQ4_0};
constexpr DType kVllmTypes[] = {DType::kF32, DType::kF16, DType::kBf16, DType::kFp8};
constexpr DType kPlainTypes[] = {DType::kF32, DType::kF16, DType::kBf16};

Types TypesOf(Policy policy) {
  if (policy == Policy::kVllm) return kVllmTypes;
  if (policy == Policy::kHfEager || policy == Policy::kHfSdpa) return kPlainTypes;
  return kBlockTypes;
}

std::optional<DType> TypeNamed(Policy policy, std::string_view name) {
  if (name == "q8") name = policy == Policy::kVllm ? "fp8" : "q8_0";
  if (name == "q4") name = "q4_0";
  const Types types = TypesOf(policy);
  const auto found = std::find_if(types.begin(), types.end(), [&](DType type) { return NameOf(type) == name; });
  return found == types.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::span<const Policy> AllPolicies() {
  return kPolicies;
}

std::string_view NameOf(Policy policy) {
  constexpr std::string_view kNames[] = {"ours", "formula", "llama.cpp", "vllm", "hf-eager", "hf-sdpa"};
  return kNames[static_cast<int>(policy)];
}

std::string_view DescriptionOf(Policy policy) {
  constexpr std::string_view kTexts[] = {"what this program allocates",
                                         "weights and cache exactly, no workspace",
                                         "llama.cpp: cells in 256s, a buffer by micro-batch",
                                         "vLLM: pages, window layers as full ones",
                                         "transformers, eager: one layer's T x T scores",
                                         "transformers, sdpa: the whole prompt at once"};
  return kTexts[static_cast<int>(policy)];
}

std::optional<Policy> FindPolicy(std::string_view name) {
  for (Policy policy : kPolicies) {
    if (NameOf(policy) == name) return policy;
  }
  return std::nullopt;
}

std::optional<KvFormat> ParseKvFormat(Policy policy, std::string_view name) {
  if (policy == Policy::kOurs) return ParseKvFormat(name);
  const size_t comma = name.find(',');
  const auto k = TypeNamed(policy, name.substr(0, comma));
  const auto v = comma == std::string_view::npos ? k : TypeNamed(policy, name.substr(comma + 1));
  if (!k || !v) return std::nullopt;
  return KvFormat{.k = *k, .v = *v};
}

std::string_view KvFormatNames(Policy policy) {
  if (policy == Policy::kOurs) return "f32, bf16, f16, q8 or q4, or two of them as in q8,q4";
  if (policy == Policy::kVllm) return "f32, f16, bf16 or fp8";
  if (policy == Policy::kHfEager || policy == Policy::kHfSdpa) return "f32, f16 or bf16";
  return "f32, f16, bf16, q8_0, q5_1, q5_0, q4_1 or q4_0, or two of them as in q8_0,q4_0";
}

KvFormat DefaultKvFormat(Policy policy) {
  return KvFormat::Both(policy == Policy::kOurs ? DType::kBf16 : DType::kF16);
}

}  // namespace attend
