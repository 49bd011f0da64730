#include "document/passages.h"

#include <algorithm>
#include <numeric>

namespace attend {

std::vector<AttendedPassage> TopPassages(std::span<const double> mass, int64_t first_key,
                                         std::span<const size_t> offsets, std::span<const Sentence> sentences,
                                         size_t limit) {
  if (sentences.empty()) return {};
  std::vector<double> of_sentence(sentences.size(), 0.0);
  for (size_t token = 0; token < offsets.size() && first_key + token < mass.size(); ++token) {
    of_sentence[SentenceAt(sentences, offsets[token])] += mass[first_key + token];
  }
  const double total = std::accumulate(of_sentence.begin(), of_sentence.end(), 0.0);
  std::vector<AttendedPassage> passages;
  for (size_t i = 0; i < sentences.size(); ++i) passages.push_back({i, total > 0 ? of_sentence[i] / total : 0});
  std::stable_sort(passages.begin(), passages.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  passages.resize(std::min(limit, passages.size()));
  return passages;
}

}  // namespace attend
