#include "plan/decision.h"

#include <algorithm>

namespace attend {
namespace {

// Cuts tried for a time limit; the fewest pieces that memory and context need are tried even beyond it.
constexpr int64_t kMostTimedPieces = 65536;

class Decider {
 public:
  explicit Decider(const PlanRequest& request)
      : r_(request),
        document_(request.document_tokens),
        context_piece_(ContextLimit(request) - OverheadTokens(request)),
        memory_piece_(LargestPassTokens(request) - OverheadTokens(request)),
        piece_limit_(std::min(context_piece_, memory_piece_)) {}

  Decision Decide() const { return r_.piece_tokens ? DecideFixed() : DecideFree(); }

 private:
  Decision Make(Verdict verdict, Limit limit, Cut cut) const { return {verdict, limit, cut, piece_limit_}; }
  Decision Refuse(Limit limit, Cut cut) const { return Make(Verdict::kRefused, limit, cut); }
  Decision Accept(Limit limit, Cut cut) const {
    return cut.num_pieces == 1 ? Make(Verdict::kOnePass, Limit::kNone, cut) : Make(Verdict::kPieces, limit, cut);
  }

  Limit LimitOf(int64_t piece_tokens) const {
    if (piece_tokens > context_piece_) return Limit::kContext;
    return piece_tokens > memory_piece_ ? Limit::kMemory : Limit::kNone;
  }

  bool InTime(const Cut& cut) const {
    if (!r_.time_limit_s) return true;
    const auto times = TimesOf(r_, cut);
    return !times || times->total_s.expected <= *r_.time_limit_s;
  }

  Decision DecideFixed() const {
    const Cut cut = CutBySize(document_, *r_.piece_tokens);
    if (r_.max_pieces > 0 && cut.num_pieces > r_.max_pieces) return Refuse(Limit::kMaxPieces, cut);
    if (const Limit limit = LimitOf(cut.piece_tokens); limit != Limit::kNone) return Refuse(limit, cut);
    if (!InTime(cut)) return Refuse(Limit::kTime, cut);
    return Accept(Limit::kPieceTokens, cut);
  }

  Decision DecideFree() const {
    // The smallest piece that may be chosen, and with it the most pieces.
    const int64_t sensible = std::min(document_, kMinPieceTokens);
    const int64_t smallest = r_.max_pieces > 0 ? std::max(sensible, (document_ - 1) / r_.max_pieces + 1) : sensible;
    if (const Limit limit = LimitOf(smallest); limit != Limit::kNone) {
      const bool more_would_fit = r_.max_pieces > 1 && LimitOf(sensible) == Limit::kNone;
      return Refuse(more_would_fit ? Limit::kMaxPieces : limit, CutBySize(document_, smallest));
    }
    const Cut fewest = EvenCut(document_, (document_ - 1) / piece_limit_ + 1);
    const Limit limit = LimitOf(document_) == Limit::kNone ? Limit::kTime : LimitOf(document_);
    if (InTime(fewest)) return Accept(limit, fewest);
    return DecideInTime(fewest, smallest, limit);
  }

  Decision DecideInTime(const Cut& fewest, int64_t smallest, Limit limit) const {
    const int64_t most = std::min(document_ / smallest, kMostTimedPieces);
    Cut fastest = fewest;
    double fastest_s = TimesOf(r_, fewest)->total_s.expected;
    // From cut to cut: the fewest pieces that are at least a token smaller, since many numbers give the same ones.
    Cut cut = fewest;
    while (cut.piece_tokens > smallest) {
      const int64_t n = (document_ - 1) / (cut.piece_tokens - 1) + 1;
      if (n > most) break;
      cut = EvenCut(document_, n);
      const double seconds = TimesOf(r_, cut)->total_s.expected;
      if (seconds <= *r_.time_limit_s) return Accept(limit, cut);
      if (seconds < fastest_s) {
        fastest = cut;
        fastest_s = seconds;
      }
    }
    return Refuse(Limit::kTime, fastest);
  }

  const PlanRequest& r_;
  const int64_t document_;
  const int64_t context_piece_;  // most document tokens in a pass, by context and by memory
  const int64_t memory_piece_;
  const int64_t piece_limit_;
};

}  // namespace

Decision Decide(const PlanRequest& request) {
  return Decider(request).Decide();
}

}  // namespace attend
