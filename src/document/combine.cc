#include "document/combine.h"

#include <fmt/format.h>

namespace attend {
namespace {

std::string Listed(const std::vector<std::string>& answers, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += fmt::format("Part {} says: {}\n", i + 1, answers[i]);
  return text;
}

}  // namespace

Result<Generation> CombineAnswers(const CombineRequest& request, Transformer& transformer, const Tokenizer& tokenizer,
                                  const DocumentPrompt& prompt) {
  std::vector<std::string> answers = request.answers;
  for (;;) {
    std::vector<std::string> combined;
    Generation last;
    for (size_t begin = 0; begin < answers.size();) {
      std::vector<uint32_t> ids;
      size_t end = begin;
      while (end < answers.size()) {
        std::vector<uint32_t> longer =
            prompt.Whole(tokenizer.Encode(Listed(answers, begin, end + 1)), request.question);
        if (static_cast<int64_t>(longer.size()) + request.answer_tokens > request.context_tokens) break;
        ids = std::move(longer);
        ++end;
      }
      if (end < begin + 2 && end < answers.size()) {
        return tl::unexpected(Error{.code = ErrorCode::kContextExceeded,
                                    .where = "combining the answers of pieces",
                                    .subject = {},
                                    .expected = fmt::format("two answers in {} tokens", request.context_tokens),
                                    .found = "longer ones",
                                    .hint = "use a smaller -n"});
      }
      ATTEND_ASSIGN_OR_RETURN(KvCache cache, KvCache::Make(CacheDescriptors(transformer.header(), request.kv_format)));
      ATTEND_ASSIGN_OR_RETURN(const std::vector<float> logits, Prefill(transformer, cache, ids));
      ATTEND_ASSIGN_OR_RETURN(last, Generate(transformer, cache, logits,
                                             {.max_tokens = request.answer_tokens, .stop_ids = tokenizer.stop_ids()}));
      combined.push_back(tokenizer.Decode(last.ids, true));
      begin = end;
    }
    if (combined.size() == 1) return last;
    answers = std::move(combined);
  }
}

}  // namespace attend
