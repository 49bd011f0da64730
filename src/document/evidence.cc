#include "document/evidence.h"

#include <algorithm>
#include <cmath>
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

double Deviations(std::span<const double> values, size_t item) {
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares > 0 ? (values[item] - mean) / std::sqrt(squares / count) : 0;
}

struct PassageTexts {
  std::vector<std::string_view> bytes;
  std::vector<std::span<const uint32_t>> tokens;
};

PassageTexts TextsOf(const EvidenceDocument& document) {
  PassageTexts texts;
  for (const Passage& passage : document.passages) {
    texts.bytes.push_back(TextOf(document.text, passage.range));
    texts.tokens.push_back(std::span(document.encoding->ids).subspan(passage.tokens.begin, passage.tokens.size()));
  }
  return texts;
}

Evidence EvidenceFor(const EvidenceDocument& document, const EvidenceQuestion& question, const Bm25Index& words,
                     std::span<const double> gains) {
  std::vector<std::vector<int64_t>> ranks = {RanksOf(words.Scores(question.text)), RanksOf(gains)};
  const bool has_attention = !question.mass.empty() && !document.neutral_mass.empty();
  if (has_attention) ranks.push_back(RanksOf(AttentionScores(document, question)));
  const std::vector<double> fused = FuseRanks(ranks);
  Evidence evidence;
  for (const size_t i : OrderOf(fused)) {
    evidence.passages.push_back({.passage = i,
                                 .score = fused[i],
                                 .bm25_rank = ranks[0][i],
                                 .likelihood_rank = ranks[1][i],
                                 .attention_rank = has_attention ? ranks[2][i] : 0,
                                 .likelihood_gain = gains[i]});
  }
  if (evidence.passages.empty()) return evidence;
  const size_t best = evidence.passages.front().passage;
  evidence.confidence = ConfidenceOf({.agreement = fused[best] / (static_cast<double>(ranks.size()) * kBestFusedScore),
                                      .coverage = words.Coverage(question.text)[best],
                                      .deviations = Deviations(gains, best)});
  evidence.nothing = evidence.confidence < kLeastConfidence;
  return evidence;
}

}  // namespace

double ConfidenceOf(const AnswerSignals& signals) {
  return signals.agreement + signals.coverage / 2 + signals.deviations / 8;
}

Result<std::vector<Evidence>> FindEvidence(const EvidenceDocument& document,
                                           std::span<const EvidenceQuestion> questions, const EvidenceModel& model,
                                           const EvidenceProgress& progress) {
  const PassageTexts texts = TextsOf(document);
  std::vector<std::string> asked;
  for (const EvidenceQuestion& question : questions) asked.push_back(question.text);
  ATTEND_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> gains,
                          LikelihoodGains(model, texts.tokens, asked, progress));
  const Bm25Index words(texts.bytes);
  std::vector<Evidence> all;
  for (size_t q = 0; q < questions.size(); ++q) all.push_back(EvidenceFor(document, questions[q], words, gains[q]));
  return all;
}

}  // namespace attend
