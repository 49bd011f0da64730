#include "document/likelihood.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "model/generate.h"
#include "model/score.h"

namespace attend {
namespace {

constexpr std::string_view kBefore = "Text:\n\n";
constexpr std::string_view kCue = "\n\nQuestion answered by the text:";

class LikelihoodPass {
 public:
  LikelihoodPass(const EvidenceModel& model, std::span<const std::span<const uint32_t>> texts,
                 std::span<const std::string> questions, const EvidenceProgress& progress)
      : model_(model),
        progress_(progress),
        before_(model.tokenizer->Encode(kBefore)),
        cue_(model.tokenizer->Encode(kCue)) {
    if (model.tokenizer->add_bos() && model.tokenizer->bos_id())
      before_.insert(before_.begin(), *model.tokenizer->bos_id());
    int64_t question_tokens = 0;
    for (const std::string& question : questions) {
      questions_.push_back(model.tokenizer->Encode(" " + question));
      question_tokens += static_cast<int64_t>(questions_.back().size());
    }
    for (const auto& text : texts) total_ += static_cast<int64_t>(Clipped(text).size() + cue_.size()) + question_tokens;
    total_ += static_cast<int64_t>(cue_.size()) + question_tokens;
  }

  Result<std::vector<std::vector<double>>> Run(std::span<const std::span<const uint32_t>> texts) {
    ATTEND_ASSIGN_OR_RETURN(KvCache before,
                            KvCache::Make(CacheDescriptors(model_.transformer->header(), model_.kv_format)));
    ATTEND_RETURN_IF_ERROR(Prefill(*model_.transformer, before, before_));
    ATTEND_ASSIGN_OR_RETURN(const std::vector<double> alone, MeanLogLikelihoods(before, {}));
    std::vector<std::vector<double>> gains(questions_.size());
    for (const auto& text : texts) {
      ATTEND_ASSIGN_OR_RETURN(const std::vector<double> given, MeanLogLikelihoods(before, Clipped(text)));
      for (size_t q = 0; q < gains.size(); ++q) gains[q].push_back(given[q] - alone[q]);
    }
    return gains;
  }

 private:
  static std::span<const uint32_t> Clipped(std::span<const uint32_t> text) {
    return text.first(std::min(text.size(), kLikelihoodTextTokens));
  }

  // Of each question after the text and the cue.
  Result<std::vector<double>> MeanLogLikelihoods(const KvCache& before, std::span<const uint32_t> text) {
    KvCache cache = before.Fork();
    std::vector<uint32_t> ids(text.begin(), text.end());
    ids.insert(ids.end(), cue_.begin(), cue_.end());
    ATTEND_ASSIGN_OR_RETURN(const std::vector<float> logits, Prefill(*model_.transformer, cache, ids));
    ATTEND_RETURN_IF_ERROR(Advance(ids.size()));
    std::vector<double> means;
    for (const std::vector<uint32_t>& question : questions_) {
      KvCache fork = cache.Fork();
      ATTEND_ASSIGN_OR_RETURN(const std::vector<float> nll, ScoreTokens(*model_.transformer, fork, question, logits));
      means.push_back(-std::accumulate(nll.begin(), nll.end(), 0.0) /
                      static_cast<double>(std::max<size_t>(1, nll.size())));
      ATTEND_RETURN_IF_ERROR(Advance(question.size()));
    }
    return means;
  }

  Result<void> Advance(size_t tokens) {
    done_ += static_cast<int64_t>(tokens);
    if (!progress_ || progress_(done_, total_)) return {};
    return tl::unexpected(Error{.code = ErrorCode::kInterrupted,
                                .where = "likelihood of the questions",
                                .subject = {},
                                .expected = std::to_string(total_) + " tokens",
                                .found = std::to_string(done_),
                                .hint = {}});
  }

  const EvidenceModel model_;
  const EvidenceProgress& progress_;
  std::vector<uint32_t> before_;
  std::vector<uint32_t> cue_;
  std::vector<std::vector<uint32_t>> questions_;
  int64_t total_ = 0;
  int64_t done_ = 0;
};

}  // namespace

Result<std::vector<std::vector<double>>> LikelihoodGains(const EvidenceModel& model,
                                                         std::span<const std::span<const uint32_t>> texts,
                                                         std::span<const std::string> questions,
                                                         const EvidenceProgress& progress) {
  return LikelihoodPass(model, texts, questions, progress).Run(texts);
}

}  // namespace attend
