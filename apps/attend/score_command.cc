// attend score DOC: how surprising the document is to the model, in total, per token and per block of 512.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attend/command.h"
#include "document/load.h"
#include "model/load.h"
#include "model/score.h"

namespace attend::cli {
namespace {

constexpr size_t kBlockTokens = 512;

struct ScoreOptions {
  std::string document;
  EngineOptions engine;
  OutputOptions output;
  LoadOptions load;
  int64_t limit = 0;
  bool per_token = false;
};

struct Block {
  size_t first_target = 0;
  size_t num_predictions = 0;
  double mean_nll = 0;
};

// Block b holds targets 512 b ... 512 b + 511; target 0 has no prediction.
std::vector<Block> BlocksOf(const std::vector<float>& nll) {
  std::vector<Block> blocks;
  for (size_t first = 0; first < nll.size() + 1; first += kBlockTokens) {
    const size_t begin = std::max<size_t>(first, 1) - 1, end = std::min(nll.size(), first + kBlockTokens - 1);
    if (begin >= end) continue;
    const double sum = std::accumulate(nll.begin() + static_cast<std::ptrdiff_t>(begin),
                                       nll.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
    blocks.push_back({first, end - begin, sum / static_cast<double>(end - begin)});
  }
  return blocks;
}

Result<void> CheckLength(int64_t num_tokens, const ModelHeader& header, const std::string& name) {
  if (num_tokens >= 2 && num_tokens <= header.max_seq_len) return {};
  return tl::unexpected(Error{.code = num_tokens < 2 ? ErrorCode::kBadArgument : ErrorCode::kContextExceeded,
                              .where = name,
                              .subject = "tokens",
                              .expected = fmt::format("2 to {} (the model's trained length)", header.max_seq_len),
                              .found = std::to_string(num_tokens),
                              .hint = fmt::format("-n {} scores the first tokens only", header.max_seq_len)});
}

void Print(const ScoreOptions& options, const std::vector<float>& nll, const Engine& engine, double seconds,
           size_t num_tokens) {
  const double total = std::accumulate(nll.begin(), nll.end(), 0.0);
  const double mean = total / static_cast<double>(nll.size());
  const std::vector<Block> blocks = BlocksOf(nll);
  if (options.output.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Block& b : blocks)
      list.push_back(
          {{"first_target", b.first_target}, {"num_predictions", b.num_predictions}, {"mean_nll", b.mean_nll}});
    nlohmann::ordered_json json = {{"schema", "attend.score"},
                                   {"version", 1},
                                   {"document", options.document},
                                   {"num_tokens", num_tokens},
                                   {"num_predictions", nll.size()},
                                   {"total_nll", total},
                                   {"mean_nll", mean},
                                   {"perplexity", std::exp(mean)},
                                   {"blocks", list},
                                   {"seconds", seconds},
                                   {"isa", NameOf(engine.machine.isa)},
                                   {"compute", NameOf(engine.compute)},
                                   {"kv_dtype", NameOf(engine.kv_format)}};
    if (options.per_token) json["nll"] = nll;
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{} tokens, {} predictions\n", num_tokens, nll.size());
  fmt::print("NLL  total {:.4f} nats, mean {:.6f} a token, perplexity {:.4f}\n", total, mean, std::exp(mean));
  for (const Block& b : blocks)
    fmt::print("  targets {:>6} to {:>6}  mean NLL {:.4f}\n", b.first_target, b.first_target + kBlockTokens - 1,
               b.mean_nll);
  if (options.per_token) {
    for (size_t i = 0; i < nll.size(); ++i) fmt::print("{:>7}  {:.5f}\n", i + 1, nll[i]);
  }
}

Outcome RunScore(const ScoreOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(Engine engine, MakeEngine(options.engine));
  ATTEND_ASSIGN_OR_RETURN(const std::string path, FindModel(options.engine));
  ATTEND_ASSIGN_OR_RETURN(const Document document, LoadDocument(options.document, options.load));
  ATTEND_ASSIGN_OR_RETURN(const LoadedModel model, LoadModelFor(options.engine, path, engine));
  ATTEND_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, TokenizerOf(model.front));
  std::vector<uint32_t> ids = tokenizer->Encode(document.text);
  if (options.limit > 0) ids.resize(std::min(ids.size(), static_cast<size_t>(options.limit)));
  const ModelHeader& header = model.front.header;
  ATTEND_RETURN_IF_ERROR(CheckLength(static_cast<int64_t>(ids.size()), header, document.name));

  ATTEND_ASSIGN_OR_RETURN(Transformer transformer,
                          Transformer::Make(header, model.weights, *engine.kernels, *engine.pool, engine.compute));
  ATTEND_ASSIGN_OR_RETURN(KvCache cache, KvCache::Make(CacheDescriptors(header, engine.kv_format)));
  Progress progress("scoring", "tokens", static_cast<int64_t>(ids.size()),
                    !options.output.quiet && !options.output.no_progress);
  const auto begin = std::chrono::steady_clock::now();
  ATTEND_ASSIGN_OR_RETURN(const std::vector<float> nll, ScoreTokens(transformer, cache, ids, {}, [&](int64_t done) {
                            progress.Update(done);
                            return !Interrupted();
                          }));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Print(options, nll, engine, seconds, nll.size() + 1);
  return Interrupted() ? InfoOf(ErrorCode::kInterrupted).exit_status : 0;
}

}  // namespace

void AddScore(Registry& registry) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* command =
      registry.Add("score", "Negative log-likelihood of a document: total, per token, per block of 512",
                   "  attend score contract.txt\n  attend score contract.txt -n 4096 --compute f32 --json");
  command->add_option("document", options->document, "UTF-8 text file, or - for standard input")->required();
  command->add_option("-n,--tokens", options->limit, "Score the first N tokens only")->check(CLI::PositiveNumber);
  command->add_flag("--per-token", options->per_token, "Print every token's NLL");
  command->add_flag("--lossy", options->load.lossy, "Replace ill-formed UTF-8 instead of refusing the document");
  AddEngineOptions(command, options->engine);
  AddOutputOptions(command, options->output);
  registry.OnRun(command, [options] { return RunScore(*options); });
}

}  // namespace attend::cli
