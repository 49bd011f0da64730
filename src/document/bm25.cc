#include "document/bm25.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "text/words.h"

namespace attend {
namespace {

constexpr double kK1 = 1.2;
constexpr double kB = 0.75;

std::vector<std::string> DistinctTerms(std::string_view query) {
  std::vector<std::string> terms = SearchTerms(query);
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  return terms;
}

}  // namespace

Bm25Index::Bm25Index(const std::vector<std::string_view>& texts) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::string> terms = SearchTerms(texts[i]);
    lengths_.push_back(static_cast<double>(terms.size()));
    for (const std::string& term : terms) {
      std::vector<Posting>& list = postings_[term];
      if (list.empty() || list.back().text != i) list.push_back({i, 0});
      list.back().frequency += 1;
    }
  }
  const double total = std::accumulate(lengths_.begin(), lengths_.end(), 0.0);
  if (total > 0) mean_length_ = total / static_cast<double>(texts.size());
}

std::vector<double> Bm25Index::Scores(std::string_view query) const {
  std::vector<double> scores(lengths_.size(), 0.0);
  for (const std::string& term : DistinctTerms(query)) {
    const std::vector<Posting>& list = PostingsOf(term);
    for (const Posting& p : list) {
      const double norm = kK1 * (1 - kB + kB * lengths_[p.text] / mean_length_);
      scores[p.text] += Idf(list.size()) * p.frequency * (kK1 + 1) / (p.frequency + norm);
    }
  }
  return scores;
}

std::vector<double> Bm25Index::Coverage(std::string_view query) const {
  std::vector<double> coverage(lengths_.size(), 0.0);
  double total = 0;
  for (const std::string& term : DistinctTerms(query)) {
    const std::vector<Posting>& list = PostingsOf(term);
    total += Idf(list.size());
    for (const Posting& p : list) coverage[p.text] += Idf(list.size());
  }
  for (double& share : coverage) share = total > 0 ? share / total : 0;
  return coverage;
}

double Bm25Index::Idf(size_t document_frequency) const {
  const double df = static_cast<double>(document_frequency);
  return std::log(1 + (static_cast<double>(lengths_.size()) - df + 0.5) / (df + 0.5));
}

const std::vector<Bm25Index::Posting>& Bm25Index::PostingsOf(const std::string& word) const {
  static const std::vector<Posting> kNone;
  const auto found = postings_.find(word);
  return found == postings_.end() ? kNone : found->second;
}

}  // namespace attend
