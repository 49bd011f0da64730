#include "attend/command.h"

#include <fmt/format.h>

#include <cmath>

#include "attend/model_places.h"
#include "kernels/dispatch.h"
#include "model/catalogue.h"

namespace attend::cli {

CLI::App* Registry::Add(const std::string& name, const std::string& description, const std::string& examples) {
  CLI::App* command = root_.add_subcommand(name, description);
  command->footer("Examples:\n" + examples);
  return command;
}

Outcome Registry::Run() const {
  for (const Entry& entry : commands_) {
    if (entry.app->parsed()) return entry.run();
  }
  return tl::unexpected(UsageError("attend", "a command", "none"));
}

void AddEngineOptions(CLI::App* command, EngineOptions& o) {
  command->add_option("-m,--model", o.model, "Model: a name (see attend models) or a path")->envname("ATTEND_MODEL");
  command->add_option("-t,--threads", o.threads, "Threads; 0 = all cores this process may use")
      ->envname("ATTEND_THREADS")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--isa", o.isa,
                   "Instruction set: scalar, avx2, avx512, avx512_vnni, avx512_bf16 (default: the best here)")
      ->envname("ATTEND_ISA");
  command->add_option("--compute", o.compute, "Numerics class: f32, bf16, or int8 over a cache of 8 or 4 bits")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}))
      ->capture_default_str();
  command->add_option("--kv", o.kv,
                      "Cache format: f32, bf16, f16, q8, q4, or K,V as in q8,q4 (default: as --compute; int8: q8)");
  command->add_flag("--allow-nonfinite", o.allow_nonfinite, "Run a model whose weights hold NaN or infinity");
}

void AddOutputOptions(CLI::App* command, OutputOptions& o) {
  command->add_flag("--json", o.json, "Print one JSON object");
  command->add_flag("-q,--quiet", o.quiet, "Print the result only");
  command->add_flag("--no-progress", o.no_progress, "Show no progress");
}

Result<Engine> MakeEngine(const EngineOptions& options) {
  Engine engine;
  engine.machine = DetectMachine();
  if (!options.isa.empty()) {
    ATTEND_ASSIGN_OR_RETURN(engine.machine.isa, ChooseIsa(engine.machine, options.isa));
  }
  engine.kernels = &KernelsFor(engine.machine.isa);
  engine.compute = *ParseCompute(options.compute);
  const std::string kv = !options.kv.empty() ? options.kv : engine.compute == Compute::kInt8 ? "q8" : options.compute;
  const auto format = ParseKvFormat(kv);
  if (!format) return tl::unexpected(UsageError("--kv", "f32, bf16, f16, q8 or q4, or two of them as in q8,q4", kv));
  if (engine.compute == Compute::kInt8 && !IsQuantisedKv(format->k) && !IsQuantisedKv(format->v)) {
    return tl::unexpected(UsageError("--compute int8", "a cache of 8 or 4 bits: --kv q8 or q4", "--kv " + kv));
  }
  engine.kv_format = *format;
  engine.pool = std::make_unique<ThreadPool>(options.threads > 0 ? options.threads : engine.machine.num_cores);
  return engine;
}

Result<std::string> FindModel(const EngineOptions& options) {
  return ResolveModel(options.model, ModelPlacesFromEnvironment());
}

Result<LoadedModel> LoadModelFor(const EngineOptions& options, const std::string& path, Engine& engine) {
  return LoadModel(path, *engine.pool, options.allow_nonfinite ? NonfiniteWeights::kAllow : NonfiniteWeights::kRefuse);
}

CLI::Validator FiniteRange(double low, double high) {
  const auto check = [low, high](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool fits = end != text.c_str() && *end == '\0' && value >= low && value <= high;
    return fits ? std::string() : fmt::format("{} is no number from {:g} to {:g}", text, low, high);
  };
  return CLI::Validator(check, fmt::format("NUMBER in [{:g} - {:g}]", low, high));
}

Result<uint64_t> ParseBytes(const std::string& text, const char* flag) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},         {"B", 1},      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
      {"TiB", 0x1p40}, {"KB", 1e3},   {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12},    {"K", 0x1p10}, {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40}};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  std::string_view unit = std::string_view(text).substr(static_cast<size_t>(end - text.c_str()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const auto& [name, factor] : kUnits) {
    if (end != text.c_str() && name == unit && std::isfinite(value) && value >= 0 && value * factor < 0x1p63) {
      return static_cast<uint64_t>(value * factor);
    }
  }
  return tl::unexpected(UsageError(flag, "bytes such as 2GiB, 512MiB or 1.5GB", text));
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

std::string FormatSeconds(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const int64_t whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

Error UsageError(std::string where, std::string expected, std::string found) {
  return {.code = ErrorCode::kUsage,
          .where = std::move(where),
          .subject = {},
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = "see attend --help",
          .byte_offset = std::nullopt};
}

}  // namespace attend::cli
