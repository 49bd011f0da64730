#include "document/evidence.h"

#include <algorithm>
#include <numeric>

#include "document/bm25.h"
#include "document/fusion.h"

namespace attend {
namespace {

// Share of the mass on each passage, within the piece that holds it. A passage across a border counts in both.
std::vector<double> MassShares(const EvidenceDocument& document, std::span<const double> mass) {
  std::vector<double> shares(document.passages.size(), 0.0);
  for (const TokenRange& piece : document.pieces) {
    const double total = std::accumulate(mass.begin() + piece.begin, mass.begin() + piece.end, 0.0);
    if (total <= 0) continue;
    for (size_t i = 0; i < shares.size(); ++i) {
      const int64_t begin = std::max(piece.begin, document.passages[i].tokens.begin);
      const int64_t end = std::min(piece.end, document.passages[i].tokens.end);
      for (int64_t t = begin; t < end; ++t) shares[i] += mass[t] / total;
    }
  }
  return shares;
}

std::vector<double> AttentionScores(const EvidenceDocument& document, const EvidenceQuestion& question) {
  std::vector<double> scores = MassShares(document, question.mass);
  const std::vector<double> neutral = MassShares(document, document.neutral_mass);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] -= neutral[i];
  return scores;
}

}  // namespace

Result<std::vector<Evidence>> FindEvidence(const EvidenceDocument& document, std::span<const EvidenceQuestion> questions,
                                           const EvidenceModel& model, const EvidenceProgress& progress) {
  std::vector<std::string_view> texts;
  std::vector<std::span<const uint32_t>> token_texts;
  for (const Passage& passage : document.passages) {
    texts.push_back(TextOf(document.text, passage.range));
    token_texts.push_back(std::span(document.encoding->ids).subspan(passage.tokens.begin, passage.tokens.size()));
  }
  std::vector<std::string> asked;
  for (const EvidenceQuestion& question : questions) asked.push_back(question.text);
  ATTEND_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> gains, LikelihoodGains(model, token_texts, asked, progress));

  const Bm25Index words(texts);
  std::vector<Evidence> all;
  for (size_t q = 0; q < questions.size(); ++q) {
    std::vector<std::vector<int64_t>> ranks = {RanksOf(words.Scores(asked[q])), RanksOf(gains[q])};
    const bool has_attention = !questions[q].mass.empty() && !document.neutral_mass.empty();
    if (has_attention) ranks.push_back(RanksOf(AttentionScores(document, questions[q])));
    const std::vector<double> fused = FuseRanks(ranks);
    Evidence evidence;
    for (const size_t i : OrderOf(fused)) {
      evidence.passages.push_back({.passage = i,
                                   .score = fused[i],
                                   .bm25_rank = ranks[0][i],
                                   .likelihood_rank = ranks[1][i],
                                   .attention_rank = has_attention ? ranks[2][i] : 0,
                                   .likelihood_gain = gains[q][i]});
    }
    all.push_back(std::move(evidence));
  }
  return all;
}

}  // namespace attend
