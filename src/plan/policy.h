// Whose rules the memory of a plan follows: a runtime's, or none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/kv_format.h"

namespace attend {

// kOurs: what this program allocates, to the byte; on CPUs only. kFormula: the exact bytes of weights and cache on any
// device, without rounding and without workspace; published figures are of this kind. The others: what that runtime
// takes (plan/runtime_memory.h).
enum class Policy { kOurs, kFormula, kLlamaCpp, kVllm, kHfEager, kHfSdpa };

std::span<const Policy> AllPolicies();
std::string_view NameOf(Policy policy);  // "ours", "formula", "llama.cpp", "vllm", "hf-eager", "hf-sdpa"
std::optional<Policy> FindPolicy(std::string_view name);
std::string_view DescriptionOf(Policy policy);  // "as llama.cpp allocates", for tables

// A cache format by the names that the policy's runtime has: q8 and q4 are its own of about so many bits. Nothing: the
// runtime has no such format.
std::optional<KvFormat> ParseKvFormat(Policy policy, std::string_view name);
std::string_view KvFormatNames(Policy policy);  // for messages
KvFormat DefaultKvFormat(Policy policy);

}  // namespace attend
