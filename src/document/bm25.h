// Okapi BM25 (Robertson and Zaragoza 2009, doi:10.1561/1500000019) over short texts, k1 = 1.2, b = 0.75, on the words
// of SearchTerms:
//
//   score(q, d) = sum over words w of q:  idf(w) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / mean |d|))
//   idf(w) = ln(1 + (N - df + 0.5) / (df + 0.5))
//
// Building and a query are O(words). Nothing can fail.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend {

class Bm25Index {
 public:
  explicit Bm25Index(const std::vector<std::string_view>& texts);

  // [texts]; a word that the query has twice counts once.
  std::vector<double> Scores(std::string_view query) const;

  // The share, 0 to 1, of the query's words, weighted by idf, that stand in the text. A query without words: 0.
  std::vector<double> Coverage(std::string_view query) const;

 private:
  struct Posting {
    size_t text = 0;
    double frequency = 0;
  };

  double Idf(size_t document_frequency) const;
  const std::vector<Posting>& PostingsOf(const std::string& word) const;

  std::unordered_map<std::string, std::vector<Posting>> postings_;
  std::vector<double> lengths_;  // words of each text
  double mean_length_ = 1;
};

}  // namespace attend
