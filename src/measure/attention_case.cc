#include "measure/attention_case.h"

#include <charconv>
#include <functional>
#include <map>
#include <sstream>

#include "base/mapped_file.h"

namespace attend {
namespace {

constexpr size_t kFileLimitBytes = size_t{1} << 20;
constexpr size_t kMostCasesOfLine = 1000;

// a{b|c}d as abd and acd; braces do not nest.
std::vector<std::string> Expand(std::string_view line) {
  std::vector<std::string> all = {""};
  while (!line.empty()) {
    const size_t open = line.find('{');
    for (std::string& text : all) text += line.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = line.find('}', open);
    if (close == std::string_view::npos) return {};
    std::istringstream words(std::string(line.substr(open + 1, close - open - 1)));
    std::vector<std::string> longer;
    for (std::string word; std::getline(words, word, '|');) {
      for (const std::string& text : all) longer.push_back(text + word);
    }
    if (!longer.empty()) all = std::move(longer);
    if (all.size() > kMostCasesOfLine) return {};
    line.remove_prefix(close + 1);
  }
  return all;
}

template <class T>
bool ParseNumber(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// "a/b" or "a" for both.
bool ParsePair(std::string_view text, char separator, int64_t& a, int64_t& b) {
  const size_t at = text.find(separator);
  if (!ParseNumber(text.substr(0, at), a)) return false;
  if (at == std::string_view::npos) {
    b = a;
    return true;
  }
  return ParseNumber(text.substr(at + 1), b);
}

bool ParseList(std::string_view text, std::vector<int64_t>& values) {
  values.clear();
  while (true) {
    const size_t comma = text.find(',');
    if (!ParseNumber(text.substr(0, comma), values.emplace_back())) return false;
    if (values.back() < 0 || values.back() > (int64_t{1} << 32)) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

template <class T>
bool Choose(std::string_view text, std::initializer_list<std::pair<std::string_view, T>> choices, T& value) {
  for (const auto& [name, choice] : choices) {
    if (name == text) {
      value = choice;
      return true;
    }
  }
  return false;
}

bool ParseBias(std::string_view text, AttentionCase& c) {
  c.bias_axes = "";
  if (text == "off") return true;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  c.bias_axes = text.substr(colon + 1);
  const bool known = c.bias_axes == "none" || c.bias_axes.find_first_not_of("shqk") == std::string::npos;
  return known && !c.bias_axes.empty() &&
         Choose<DType>(text.substr(0, colon), {{"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBf16}},
                       c.bias_dtype);
}

bool ParseMask(std::string_view text, AttentionCase& c) {
  c.alignment = text == "causal_top_left" ? MaskAlignment::kTopLeft : MaskAlignment::kBottomRight;
  return Choose<MaskKind>(
      text, {{"none", MaskKind::kNone}, {"causal", MaskKind::kCausal}, {"causal_top_left", MaskKind::kCausal}}, c.mask);
}

using Setter = std::function<bool(std::string_view, AttentionCase&)>;

const std::map<std::string, Setter, std::less<>>& Setters() {
  using C = AttentionCase;
  using S = std::string_view;
  static const auto flag = [](bool C::*member) {
    return [=](S t, C& c) { return Choose<bool>(t, {{"on", true}, {"off", false}}, c.*member); };
  };
  static const auto float_type = [](DType C::*member) {
    return [=](S t, C& c) {
      return Choose<DType>(t, {{"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBf16}}, c.*member);
    };
  };
  static const std::map<std::string, Setter, std::less<>> setters = {
      {"heads", [](S t, C& c) { return ParsePair(t, '/', c.num_q_heads, c.num_kv_heads); }},
      {"dim", [](S t, C& c) { return ParsePair(t, '/', c.head_dim, c.v_head_dim); }},
      {"q", [](S t, C& c) { return ParseList(t, c.q_lens); }},
      {"kv", [](S t, C& c) { return ParseList(t, c.kv_lens); }},
      {"mask", ParseMask},
      {"window", [](S t, C& c) { return ParsePair(t, ',', c.window_left, c.window_right); }},
      {"prefix", [](S t, C& c) { return ParseNumber(t, c.prefix); }},
      {"docs", [](S t, C& c) { return ParseNumber(t, c.num_documents); }},
      {"padding",
       [](S t, C& c) {
         c.padding = t == "off" ? "" : t;
         return t == "off" || t == "left" || t == "right" || t == "holes";
       }},
      {"tiles",
       [](S t, C& c) {
         c.tiles_percent = -1;
         return t == "off" || (ParseNumber(t, c.tiles_percent) && c.tiles_percent >= 0 && c.tiles_percent <= 100);
       }},
      {"bias", ParseBias},
      {"alibi", flag(&C::alibi)},
      {"sinks", flag(&C::sinks)},
      {"softcap", [](S t, C& c) { return ParseNumber(t, c.softcap); }},
      {"scale", [](S t, C& c) { return (c.scale_per_head = t == "heads") || ParseNumber(t, c.scale); }},
      {"queries", float_type(&C::q_dtype)},
      {"out",
       [](S t, C& c) {
         return Choose<DType>(t, {{"f32", DType::kF32}, {"bf16", DType::kBf16}}, c.out_dtype);
       }},
      {"layout",
       [](S t, C& c) {
         return Choose<KvLayout>(
             t, {{"cache", KvLayout::kCache}, {"paged", KvLayout::kPaged}, {"rows", KvLayout::kRows}}, c.layout);
       }},
      {"v_in_k", flag(&C::v_in_k)},
      {"compute",
       [](S t, C& c) {
         const auto compute = ParseCompute(t);
         c.compute = compute.value_or(Compute::kF32);
         return compute.has_value();
       }},
      {"cache",
       [](S t, C& c) {
         const auto format = ParseKvFormat(t);
         c.format = format.value_or(KvFormat{});
         return format.has_value();
       }},
      {"values",
       [](S t, C& c) {
         return Choose<CaseValues>(t,
                                   {{"normal", CaseValues::kNormal},
                                    {"outliers", CaseValues::kOutliers},
                                    {"large", CaseValues::kLarge},
                                    {"uniform", CaseValues::kUniform}},
                                   c.values);
       }},
      {"seed", [](S t, C& c) { return ParseNumber(t, c.seed); }},
  };
  return setters;
}

Error BadWord(std::string expected, std::string found) {
  return {.code = ErrorCode::kBadArgument,
          .where = "attention case",
          .subject = {},
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = "docs/reference/attention.md lists the words",
          .byte_offset = std::nullopt};
}

Result<AttentionCase> ParseCase(const std::string& text, const CaseDefaults& defaults) {
  AttentionCase c;
  c.text = text;
  c.compute = defaults.compute;
  c.format = defaults.format;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const auto setter = Setters().find(word.substr(0, equals));
    if (equals == std::string::npos || setter == Setters().end()) {
      return tl::unexpected(BadWord("words such as heads=32/8 or mask=causal", word));
    }
    if (!setter->second(std::string_view(word).substr(equals + 1), c)) {
      return tl::unexpected(BadWord("a value of " + setter->first, word));
    }
  }
  if (c.kv_lens.empty()) c.kv_lens = c.q_lens;
  if (c.prefix < 0 || c.num_documents < 0) return tl::unexpected(BadWord("prefix and docs of 0 or more", text));
  return c;
}

}  // namespace

CacheDescriptor AttentionCase::Layer() const {
  return {.kind = CacheKind::kFull,
          .num_kv_heads = static_cast<uint32_t>(num_kv_heads),
          .k_head_dim = static_cast<uint32_t>(head_dim),
          .v_head_dim = static_cast<uint32_t>(v_head_dim),
          .format = format,
          .v_in_k = v_in_k,
          .window_tokens = 0};
}

Result<std::vector<AttentionCase>> ParseAttentionCases(std::string_view line, const CaseDefaults& defaults) {
  std::vector<AttentionCase> cases;
  for (const std::string& text : Expand(line)) {
    ATTEND_ASSIGN_OR_RETURN(cases.emplace_back(), ParseCase(text, defaults));
  }
  if (cases.empty()) {
    return tl::unexpected(BadWord("alternatives as {a|b}, at most 1000 cases a line", std::string(line)));
  }
  return cases;
}

Result<std::vector<AttentionCase>> ReadAttentionCases(const std::string& path, const CaseDefaults& defaults) {
  ATTEND_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kFileLimitBytes));
  std::vector<AttentionCase> all;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto cases = ParseAttentionCases(line, defaults);
    if (!cases) {
      cases.error().where = path + ":" + std::to_string(number);
      return tl::unexpected(std::move(cases.error()));
    }
    all.insert(all.end(), cases->begin(), cases->end());
  }
  return all;
}

}  // namespace attend
