#include "plan/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "formats/model_shapes.h"
#include "plan/measured_loss.h"
#include "plan/number_text.h"

namespace attend {
namespace {

int Rank(Verdict verdict) {
  return verdict == Verdict::kOnePass ? 2 : verdict == Verdict::kPieces ? 1 : 0;
}

std::string BordersPrice(int64_t num_pieces) {
  return num_pieces == 2 ? "references across the border of the 2 pieces are lost"
                         : fmt::format("references across the {} borders are lost", Grouped(num_pieces - 1));
}

struct SmallerCache {
  DType dtype;
  const char* price;
};
constexpr SmallerCache kSmallerCaches[] = {
    {DType::kBf16, "keys and values are rounded to bf16, 8 significant bits"},
    {DType::kQ8, "keys and values are rounded to 8 bits, a scale for each token and head"},
    {DType::kFp8, "keys and values are rounded to 8-bit floats"},
    {DType::kQ8_0, "keys and values are rounded to 8 bits, a scale for each 32"},
    {DType::kQ4, "keys and values are rounded to 4 bits, a scale for each token and head"},
    {DType::kQ4_0, "keys and values are rounded to 4 bits, a scale for each 32"}};

constexpr int64_t kLeastBatch = 64;     // below it the matmuls of a prefill wait for the weights
constexpr uint32_t kSharedKvHeads = 8;  // what models that share them usually have

class ChangeFinder {
 public:
  // What the user fixed is tried otherwise only here, and named.
  ChangeFinder(const PlanRequest& request, const Decision& decision) : r_(request), d_(decision), free_(request) {
    free_.piece_tokens = std::nullopt;
    if (r_.piece_tokens) without_ = " without --piece-tokens";
  }

  std::vector<Change> Find() {
    if (d_.verdict == Verdict::kOnePass) return {};
    TryShorterAnswer();
    TryFewerKvHeads();
    TrySmallerCache();
    TrySmallerBatch();
    TryOtherPieces();
    TryContext();
    TryTime();
    TryMemory(NeededDocument());
    if (NeededDocument() != r_.document_tokens) TryMemory(r_.document_tokens);
    TryReserve();
    TryInterpolation();
    TryLongerModel();
    std::stable_partition(changes_.begin(), changes_.end(), [](const Change& c) { return !c.inside_reserve; });
    return std::move(changes_);
  }

 private:
  bool IsBetter(const Decision& decision) const {
    if (Rank(decision.verdict) != Rank(d_.verdict)) return Rank(decision.verdict) > Rank(d_.verdict);
    return r_.piece_tokens && decision.verdict == Verdict::kPieces && decision.cut.num_pieces < d_.cut.num_pieces;
  }

  // Adds the change if the changed request gets a better verdict.
  bool Try(const PlanRequest& changed, std::string what, std::string price, bool inside_reserve = false) {
    const Decision decision = Decide(changed);
    if (!IsBetter(decision)) return false;
    const int64_t pieces = decision.cut.num_pieces;
    if (pieces > 1) price += "; " + BordersPrice(pieces);
    const auto times = TimesOf(changed, decision.cut);
    const auto of_pieces = NllRiseOfPieces(pieces), of_cache = NllRiseOfCache(changed.kv_format);
    changes_.push_back(
        {.what = std::move(what),
         .price = std::move(price),
         .gives = decision.verdict,
         .num_pieces = pieces,
         .piece_tokens = decision.cut.piece_tokens,
         .inside_reserve = inside_reserve,
         .total_bytes = MemoryOf(changed, decision.cut.piece_tokens + OverheadTokens(changed)).total_bytes,
         .total_s = times ? std::optional(times->total_s.expected) : std::nullopt,
         .nll_rise = of_pieces && of_cache ? std::optional(*of_pieces + *of_cache) : std::nullopt,
         .review_minutes = pieces > 1 ? r_.review_minutes : 0});
    return true;
  }

  int64_t MissingTokens(int64_t piece_tokens) const { return piece_tokens - d_.piece_limit_tokens; }

  void TryShorterAnswer() {
    const int64_t answer = r_.answer_tokens - MissingTokens(r_.document_tokens);
    if (answer < 1 || answer >= r_.answer_tokens) return;
    PlanRequest changed = r_;
    changed.answer_tokens = answer;
    Try(changed, fmt::format("-n {}", answer), fmt::format("answers end after {} tokens", Grouped(answer)));
  }

  // Where every query head has its own keys, most of the cache is what a grouped model does without.
  void TryFewerKvHeads() {
    PlanRequest changed = free_;
    for (LayerShape& layer : changed.footprint.shape.layers) {
      CacheDescriptor& cache = layer.cache;
      if (cache.num_kv_heads == layer.num_q_heads) cache.num_kv_heads = std::min(cache.num_kv_heads, kSharedKvHeads);
    }
    if (changed.footprint.shape.KvBytesPerToken(r_.kv_format) >= BytesPerToken()) return;
    Try(changed, fmt::format("a model whose query heads share {} KV heads{}", kSharedKvHeads, without_),
        "another model, trained so (grouped-query attention)");
  }

  // Those that keep to the reserve first; what loses more is named only while it gives more.
  void TrySmallerCache() {
    for (const bool inside_reserve : {false, true}) {
      if (inside_reserve && ReserveBytes(r_) == 0) continue;
      for (const auto& [dtype, price] : kSmallerCaches) {
        const auto format = ParseKvFormat(r_.footprint.policy, NameOf(dtype));
        if (!format || format->k != dtype || r_.footprint.shape.KvBytesPerToken(*format) >= BytesPerToken()) continue;
        PlanRequest changed = free_;
        changed.kv_format = *format;
        if (inside_reserve && Decide(changed).verdict == Verdict::kOnePass) break;
        if (inside_reserve) changed.reserve = {.percent = 0, .bytes = 0};
        const std::string what =
            fmt::format("--kv {}{}{}", NameOf(dtype), inside_reserve ? " --reserve 0" : "", without_);
        if (Try(changed, what, price, inside_reserve) && changes_.back().gives == Verdict::kOnePass) break;
      }
    }
  }

  // Of the runtimes whose buffers grow with it.
  void TrySmallerBatch() {
    const std::tuple<Policy, int64_t RuntimeSettings::*, const char*> batches[] = {
        {Policy::kLlamaCpp, &RuntimeSettings::ubatch_tokens, "--ubatch"},
        {Policy::kVllm, &RuntimeSettings::batched_tokens, "--batched-tokens"}};
    for (const auto& [policy, batch, flag] : batches) {
      if (r_.footprint.policy != policy) continue;
      PlanRequest changed = free_;
      for (int64_t tokens = r_.runtime.*batch / 2; tokens >= kLeastBatch; tokens /= 2) {
        changed.runtime.*batch = tokens;
        if (Try(changed, fmt::format("{} {}{}", flag, tokens, without_), "a slower prefill")) break;
      }
    }
  }

  void TryOtherPieces() {
    if (r_.piece_tokens && d_.piece_limit_tokens >= 1) {
      PlanRequest changed = free_;
      const Decision free = Decide(free_);
      changed.piece_tokens = free.verdict == Verdict::kRefused ? std::min(d_.piece_limit_tokens, r_.document_tokens)
                                                               : free.cut.piece_tokens;
      Try(changed, fmt::format("--piece-tokens {}", *changed.piece_tokens),
          "another piece size than the one you fixed");
    }
    if (r_.max_pieces == 0) return;
    PlanRequest changed = r_;
    changed.max_pieces = 0;
    const int64_t needed = Decide(changed).cut.num_pieces;
    changed.max_pieces = needed;
    Try(changed, fmt::format("--max-pieces {}", needed), "more pieces than you allowed");
  }

  void TryContext() {
    const int64_t trained = r_.footprint.shape.trained_tokens;
    const int64_t needed = std::min(trained, NeededDocument() + OverheadTokens(r_));
    if (r_.context_tokens == 0 || needed <= r_.context_tokens) return;
    PlanRequest changed = r_;
    changed.context_tokens = needed;
    Try(changed, fmt::format("-c {}", needed), "a longer context than you fixed, and the memory of its cache");
  }

  void TryTime() {
    if (!r_.time_limit_s) return;
    PlanRequest changed = r_;
    changed.time_limit_s = std::nullopt;
    const Decision unhurried = Decide(changed);
    const auto times = TimesOf(changed, unhurried.cut);
    if (!times) return;
    changed.time_limit_s = std::ceil(times->total_s.expected);
    Try(changed, fmt::format("--time {:.0f}", *changed.time_limit_s),
        fmt::format("it takes {} instead of {}", SecondsText(times->total_s.expected), SecondsText(*r_.time_limit_s)));
  }

  uint64_t BytesPerToken() const { return r_.footprint.shape.KvBytesPerToken(r_.kv_format); }

  // The document tokens that one pass must hold for the verdict to improve.
  int64_t NeededDocument() const { return d_.verdict == Verdict::kPieces ? r_.document_tokens : d_.cut.piece_tokens; }

  // Memory for passes of `document_tokens`: as little as helps, and enough for one pass.
  void TryMemory(int64_t document_tokens) {
    const uint64_t needed = MemoryOf(r_, document_tokens + OverheadTokens(r_)).total_bytes;
    const double share = r_.reserve.bytes ? 0 : r_.reserve.percent / 100;
    if (share >= 1) return;
    const double limit = static_cast<double>(needed) / (1 - share) + static_cast<double>(r_.reserve.bytes.value_or(0));
    const double mib = std::ceil(limit / 0x1p20) + 1;  // one more: the share is rounded down
    if (mib >= 0x1p40) return;
    PlanRequest changed = r_;
    changed.memory_limit_bytes = static_cast<uint64_t>(mib) << 20;
    if (changed.memory_limit_bytes <= r_.memory_limit_bytes) return;
    Try(changed, fmt::format("--memory {:.0f}MiB", mib),
        fmt::format("{} more than there is", BytesText(changed.memory_limit_bytes - r_.memory_limit_bytes)));
  }

  void TryReserve() {
    if (ReserveBytes(r_) == 0) return;
    PlanRequest changed = r_;
    changed.reserve = {.percent = 0, .bytes = 0};
    Try(changed, "--reserve 0", "nothing is left free for other programs", true);
  }

  // The request with a model of the length that is needed; nothing where that is not more than the trained one.
  std::optional<PlanRequest> Lengthened() const {
    const int64_t needed = NeededDocument() + OverheadTokens(r_);
    if (needed <= r_.footprint.shape.trained_tokens || needed > UINT32_MAX) return std::nullopt;
    PlanRequest changed = r_;
    changed.footprint.shape.trained_tokens = static_cast<uint32_t>(needed);
    changed.context_tokens = 0;
    return changed;
  }

  // Beyond the trained length rotary positions are squeezed into it, at a price that is measured for small factors
  // only.
  void TryInterpolation() {
    const auto changed = Lengthened();
    if (!changed) return;
    const double factor = static_cast<double>(changed->footprint.shape.trained_tokens) /
                          static_cast<double>(r_.footprint.shape.trained_tokens);
    const auto rise = NllRiseOfInterpolation(factor);
    if (!rise || !Try(*changed, fmt::format("positions interpolated by {:.2f}", factor),
                      "rope scaling in the model's file, without training for it; pieces lose less")) {
      return;
    }
    std::optional<double>& nll_rise = changes_.back().nll_rise;
    if (nll_rise) *nll_rise += *rise;
  }

  void TryLongerModel() {
    const auto changed = Lengthened();
    if (!changed) return;
    const int64_t needed = changed->footprint.shape.trained_tokens;
    Try(*changed, fmt::format("a model trained on at least {} tokens", Grouped(needed)),
        "another model; its memory and time are planned anew");
  }

  const PlanRequest& r_;
  const Decision& d_;
  PlanRequest free_;     // pieces of any size
  std::string without_;  // what `free_` leaves out, for messages
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> FindChanges(const PlanRequest& request, const Decision& decision) {
  return ChangeFinder(request, decision).Find();
}

}  // namespace attend
