// attend tokens DOC: how many tokens a document is, and which.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attend/command.h"
#include "attend/model_places.h"
#include "document/load.h"
#include "model/catalogue.h"
#include "model/load.h"
#include "text/lines.h"

namespace attend::cli {
namespace {

struct TokensOptions {
  std::string document;
  std::string model;
  LoadOptions load;
  OutputOptions output;
  bool ids = false;
};

Outcome RunTokens(const TokensOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const std::string path, ResolveModel(options.model, ModelPlacesFromEnvironment()));
  ATTEND_ASSIGN_OR_RETURN(const ModelFrontEnd front, LoadFrontEnd(path));
  ATTEND_ASSIGN_OR_RETURN(const Tokenizer* const tokenizer, TokenizerOf(front));
  ATTEND_ASSIGN_OR_RETURN(const Document document, LoadDocument(options.document, options.load));
  const Encoding encoding = tokenizer->EncodeWithOffsets(document.text);
  const LineIndex lines(document.text);
  if (options.output.json) {
    nlohmann::ordered_json json = {{"schema", "attend.tokens"},         {"version", 1},
                                   {"document", document.name},         {"model", path},
                                   {"num_tokens", encoding.ids.size()}, {"num_bytes", document.text.size()},
                                   {"num_lines", lines.num_lines()},    {"num_replaced", document.num_replaced}};
    if (options.ids) {
      json["ids"] = encoding.ids;
      json["offsets"] = encoding.offsets;
    }
    fmt::print("{}\n", json.dump());
    return 0;
  }
  if (!options.ids) {
    fmt::print("{} tokens, {} bytes, {} lines\n", encoding.ids.size(), document.text.size(), lines.num_lines());
    return 0;
  }
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    fmt::print("{:>7} {:>7}  line {:<6} {}\n", i, encoding.ids[i], lines.LineOf(encoding.offsets[i]),
               EscapeForTerminal(tokenizer->TokenBytes(encoding.ids[i])));
  }
  return 0;
}

}  // namespace

void AddTokens(Registry& registry) {
  auto options = std::make_shared<TokensOptions>();
  CLI::App* command = registry.Add(
      "tokens", "Count a document's tokens, or list them with their ids and text",
      "  attend tokens contract.txt\n  attend tokens contract.txt --ids\n  cat a.txt | attend tokens - --json");
  command->add_option("document", options->document, "UTF-8 text file, or - for standard input")->required();
  command->add_option("-m,--model", options->model, "Model: a name (see attend models) or a path")
      ->envname("ATTEND_MODEL");
  command->add_flag("--ids", options->ids, "List every token: index, id, line, text");
  command->add_flag("--lossy", options->load.lossy, "Replace ill-formed UTF-8 instead of refusing the document");
  AddOutputOptions(command, options->output);
  registry.OnRun(command, [options] { return RunTokens(*options); });
}

}  // namespace attend::cli
