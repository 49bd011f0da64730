#include "document/piece_reader.h"

#include <algorithm>

namespace attend {
namespace {

ForwardHooks Both(ForwardHooks a, ForwardHooks b) {
  return {.on_layer =
              [a = std::move(a), b = std::move(b)](const LayerTrace& trace) {
                a.on_layer(trace);
                b.on_layer(trace);
              },
          .on_final_hidden = {}};
}

}  // namespace

Result<PieceReader> PieceReader::Make(Transformer& transformer, ThreadPool& pool, const DocumentPrompt& prompt,
                                      KvFormat kv_format) {
  ATTEND_ASSIGN_OR_RETURN(KvCache cache, KvCache::Make(CacheDescriptors(transformer.header(), kv_format)));
  return PieceReader(transformer, pool, prompt, std::move(cache));
}

Result<int64_t> PieceReader::Read(std::span<const uint32_t> tokens, const ReadProgress& progress) {
  cache_.Truncate(0);
  num_document_tokens_ = 0;
  const int64_t opening = static_cast<int64_t>(prompt_->before().size());
  std::vector<uint32_t> ids(prompt_->before().begin(), prompt_->before().end());
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  auto read = Prefill(*transformer_, cache_, ids, [&](int64_t done) {
    num_document_tokens_ = std::max<int64_t>(0, done - opening);
    return !progress || progress(num_document_tokens_);
  });
  if (!read && read.error().code != ErrorCode::kInterrupted) return tl::unexpected(std::move(read.error()));
  return num_document_tokens_;
}

Result<AskedQuestion> PieceReader::Ask(std::string_view question, std::span<const HeadAddress> selected_heads) {
  AttendedMass all(*transformer_, *pool_);
  AttendedMass selected(*transformer_, *pool_, selected_heads);
  AskedQuestion asked{cache_.Fork(), {}, {}, {}};
  const ForwardHooks hooks = selected_heads.empty() ? all.hooks() : Both(all.hooks(), selected.hooks());
  ATTEND_ASSIGN_OR_RETURN(asked.logits, Prefill(*transformer_, asked.cache, prompt_->After(question), {}, hooks));
  ATTEND_RETURN_IF_ERROR(all.status());
  ATTEND_RETURN_IF_ERROR(selected.status());
  asked.mass = OfDocument(all.mass());
  if (!selected_heads.empty()) {
    asked.selected_mass = OfDocument(selected.mass());
    for (double& mass : asked.selected_mass) mass /= static_cast<double>(selected.num_tokens());
  }
  return asked;
}

Result<std::vector<double>> PieceReader::MassOf(const AskedQuestion& asked, std::span<const uint32_t> tokens) {
  AttendedMass all(*transformer_, *pool_);
  KvCache cache = asked.cache.Fork();
  ATTEND_RETURN_IF_ERROR(Prefill(*transformer_, cache, tokens, {}, all.hooks()));
  ATTEND_RETURN_IF_ERROR(all.status());
  return OfDocument(all.mass());
}

Result<PieceReader::Written> PieceReader::Write(const AskedQuestion& asked, const GenerateOptions& options,
                                                const std::function<bool(uint32_t)>& on_token) {
  AttendedMass all(*transformer_, *pool_);
  KvCache cache = asked.cache.Fork();
  Written written;
  ATTEND_ASSIGN_OR_RETURN(written.generation,
                          Generate(*transformer_, cache, asked.logits, options, on_token, all.hooks()));
  ATTEND_RETURN_IF_ERROR(all.status());
  // An answer of no token looked at nothing; one of one token was chosen by the question's last.
  written.mass = all.mass().empty() ? asked.mass : OfDocument(all.mass());
  return written;
}

std::vector<double> PieceReader::OfDocument(std::span<const double> mass) const {
  const auto begin = mass.begin() + static_cast<std::ptrdiff_t>(prompt_->before().size());
  return {begin, begin + num_document_tokens_};
}

}  // namespace attend
