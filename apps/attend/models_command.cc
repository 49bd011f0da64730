// attend models: what is on this machine and whether it runs; attend models verify M: whether its weights are sound.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attend/command.h"
#include "attend/model_places.h"
#include "formats/presets.h"
#include "model/load.h"

namespace attend::cli {
namespace {

struct ModelsOptions {
  EngineOptions engine;
  OutputOptions output;
  std::string verified;  // the model that verify names
};

struct Row {
  FoundModel found;
  std::string architecture;     // empty when the header cannot be read
  std::optional<Error> reason;  // why it does not run
};

Row Examine(const FoundModel& found) {
  Row row{found, {}, std::nullopt};
  if (const auto file = GgufFile::Open(found.path)) {
    row.architecture = std::string(file->StringOr("general.architecture", "").value_or(""));
  }
  if (auto front = LoadFrontEnd(found.path); !front) row.reason = std::move(front.error());
  return row;
}

// What stands after "does not:": the error without the path, which the table does not show.
std::string Reason(const Error& error) {
  Error shown = error;
  if (shown.subject.empty()) shown.subject = InfoOf(error.code).meaning;
  shown.where = shown.subject;
  shown.subject.clear();
  return Describe(shown);
}

nlohmann::ordered_json ToJson(const Row& row) {
  nlohmann::ordered_json json = {{"name", EscapeForTerminal(row.found.name)},
                                 {"path", EscapeForTerminal(row.found.path)},
                                 {"source", NameOf(row.found.source)},
                                 {"bytes", row.found.bytes},
                                 {"architecture", EscapeForTerminal(row.architecture)},
                                 {"runs", !row.reason}};
  if (row.reason) {
    json["code"] = InfoOf(row.reason->code).name;
    json["reason"] = Describe(*row.reason);
  }
  return json;
}

void PrintTable(const std::vector<Row>& rows) {
  size_t width = 4;
  for (const Row& row : rows) width = std::max(width, EscapeForTerminal(row.found.name).size());
  fmt::print("{}\n", Bold(fmt::format("{:{}}  {:>9}  {:<12}  {:<11}  {}", "name", width, "size", "architecture",
                                      "source", "runs")));
  for (const Row& row : rows) {
    fmt::print("{:{}}  {:>9}  {:<12}  {:<11}  {}\n", EscapeForTerminal(row.found.name), width,
               FormatBytes(row.found.bytes), row.architecture.empty() ? "-" : EscapeForTerminal(row.architecture),
               NameOf(row.found.source), row.reason ? "does not: " + Reason(*row.reason) : "runs");
  }
}

Outcome RunList(const ModelsOptions& options) {
  std::vector<Row> rows;
  for (const FoundModel& found : ListModels(ModelPlacesFromEnvironment())) rows.push_back(Examine(found));
  if (options.output.json) {
    nlohmann::ordered_json models = nlohmann::ordered_json::array();
    for (const Row& row : rows) models.push_back(ToJson(row));
    fmt::print("{}\n", nlohmann::ordered_json{{"schema", "attend.models"}, {"version", 1}, {"models", models}}.dump(2));
    return 0;
  }
  if (!rows.empty()) PrintTable(rows);
  if (rows.empty() && !options.output.quiet) {
    fmt::print(stderr, "no model found; fetch {} with tools/fetch-model\n", kDefaultModel);
  }
  return 0;
}

nlohmann::ordered_json ToJson(const ModelShape& shape) {
  return {{"name", shape.name},
          {"architecture", shape.architecture},
          {"parameters", shape.Parameters()},
          {"layers", shape.layers.size()},
          {"kv_bytes_per_token", shape.KvBytesPerToken(KvFormat::Both(DType::kF16))},
          {"trained_tokens", shape.trained_tokens}};
}

void PrintTable(const std::vector<ModelShape>& shapes) {
  fmt::print("{}\n", Bold(fmt::format("{:20}  {:>10}  {:>6}  {:>15}  {:>10}", "name", "parameters", "layers",
                                      "KV, 16 bits", "trained on")));
  for (const ModelShape& shape : shapes) {
    fmt::print("{:20}  {:>9.2f}B  {:>6}  {:>7} B/token  {:>10}\n", shape.name, shape.Parameters() / 1e9,
               shape.layers.size(), shape.KvBytesPerToken(KvFormat::Both(DType::kF16)), shape.trained_tokens);
  }
}

// Models without weights here: their shapes are known, so that a plan can be made for them.
Outcome RunKnown(const ModelsOptions& options) {
  std::vector<ModelShape> shapes;
  for (const Preset& preset : Presets()) {
    ATTEND_ASSIGN_OR_RETURN(ModelShape shape, ReadPreset(preset));
    shapes.push_back(std::move(shape));
  }
  if (!options.output.json) {
    PrintTable(shapes);
    return 0;
  }
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const ModelShape& shape : shapes) models.push_back(ToJson(shape));
  const nlohmann::ordered_json json = {{"schema", "attend.models.known"}, {"version", 1}, {"models", models}};
  fmt::print("{}\n", json.dump(2));
  return 0;
}

Outcome RunVerify(const ModelsOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const std::string path, ResolveModel(options.verified, ModelPlacesFromEnvironment()));
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options.engine));
  ATTEND_ASSIGN_OR_RETURN(const LoadedModel model, LoadModel(path, *engine.pool, NonfiniteWeights::kAllow));
  if (const auto tensor = model.weights.FindNonfinite()) {
    return tl::unexpected(Error{.code = ErrorCode::kModelNonfinite,
                                .where = path,
                                .subject = *tensor,
                                .expected = "finite weights",
                                .found = "NaN or infinity",
                                .hint = "fetch the file again"});
  }
  const ModelHeader& header = model.front.header;
  if (options.output.json) {
    const nlohmann::ordered_json json = {{"schema", "attend.models.verify"},
                                         {"version", 1},
                                         {"path", EscapeForTerminal(path)},
                                         {"architecture", header.architecture},
                                         {"layers", header.num_layers},
                                         {"weight_bytes", model.weights.size_bytes()},
                                         {"finite", true}};
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("{}: {} layers, {} of packed weights, all shapes as the header says, all values finite\n",
             EscapeForTerminal(path), header.num_layers, FormatBytes(model.weights.size_bytes()));
  return 0;
}

}  // namespace

void AddModels(Registry& registry) {
  auto options = std::make_shared<ModelsOptions>();
  CLI::App* command = registry.Add("models", "List the models on this machine and whether they run; verify one of them",
                                   "  attend models\n  attend models known\n  attend models verify SmolLM2");
  AddOutputOptions(command, options->output);
  CLI::App* verify = command->add_subcommand("verify", "Load a model's weights and look for NaN and infinity");
  verify->add_option("model", options->verified, "A name (its beginning is enough) or a path")->required();
  verify->add_option("-t,--threads", options->engine.threads, "Threads; 0 = all cores this process may use")
      ->envname("ATTEND_THREADS")
      ->check(CLI::Range(0, 1024));
  verify->add_flag("--json", options->output.json, "Print one JSON object");
  CLI::App* known = command->add_subcommand("known", "List the models that attend plan knows by name, without weights");
  known->add_flag("--json", options->output.json, "Print one JSON object");
  registry.OnRun(command, [options, verify, known] {
    if (known->parsed()) return RunKnown(*options);
    return verify->parsed() ? RunVerify(*options) : RunList(*options);
  });
}

}  // namespace attend::cli
