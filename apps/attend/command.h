// What every subcommand file shares: how it is registered, the options that mean the same everywhere, and the engine
// that those options choose.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/terminal.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "model/load.h"
#include "tensor/compute.h"
#include "tensor/kv_format.h"

namespace attend::cli {

// The exit status of a command that ran (0, or 1 for a verdict of no), or the error whose code says the status.
using Outcome = Result<int>;

// A subcommand of `attend` and what runs when it is named.
class Registry {
 public:
  explicit Registry(CLI::App& root) : root_(root) {}

  // `options` must outlive the parse: keep it in a shared_ptr captured by `run`.
  CLI::App* Add(const std::string& name, const std::string& description, const std::string& examples);
  void OnRun(CLI::App* command, std::function<Outcome()> run) { commands_.push_back({command, std::move(run)}); }

  // Runs the command that was parsed.
  Outcome Run() const;

 private:
  struct Entry {
    CLI::App* app;
    std::function<Outcome()> run;
  };
  CLI::App& root_;
  std::vector<Entry> commands_;
};

// Options with one meaning in every command (docs/reference/cli.md).
struct EngineOptions {
  std::string model;             // -m: a name or a path; empty: the default model
  int threads = 0;               // -t: 0 = all cores allowed
  std::string isa;               // --isa: empty = the best the processor has
  std::string compute = "bf16";  // --compute f32|bf16
  std::string kv;                // --kv f32|bf16; empty = as --compute
  bool allow_nonfinite = false;  // --allow-nonfinite: run weights with NaN or infinity
};
void AddEngineOptions(CLI::App* command, EngineOptions& options);

struct OutputOptions {
  bool json = false;
  bool quiet = false;
  bool no_progress = false;
};
void AddOutputOptions(CLI::App* command, OutputOptions& options);

// The machine, kernels and threads that the options choose. Errors: unknown_isa, usage.
struct Engine {
  Machine machine;
  std::unique_ptr<ThreadPool> pool;
  const KernelTable* kernels = nullptr;
  Compute compute = Compute::kBf16;
  KvFormat kv_format = {};
};
Result<Engine> MakeEngine(const EngineOptions& options);

// The model that the options name, wherever it lies: the path alone, or loaded.
Result<std::string> FindModel(const EngineOptions& options);
Result<LoadedModel> LoadModelFor(const EngineOptions& options, const std::string& path, Engine& engine);

// An option's number: finite and within the range, which CLI::Range does not ask of "nan".
CLI::Validator FiniteRange(double low, double high);

// Bytes with a unit a person typed: "2GiB", "512MiB", "1.5GB", "100000".
Result<uint64_t> ParseBytes(const std::string& text, const char* flag);
// 3221225472 -> "3.00 GiB".
std::string FormatBytes(uint64_t bytes);
// 75.2 -> "1 min 15 s".
std::string FormatSeconds(double seconds);

Error UsageError(std::string where, std::string expected, std::string found);

// One function a subcommand, each in its own file.
void AddInfo(Registry& registry);
void AddTokens(Registry& registry);
void AddScore(Registry& registry);
void AddModels(Registry& registry);
void AddDevices(Registry& registry);
void AddPlan(Registry& registry);
void AddRead(Registry& registry);
void AddBench(Registry& registry);

}  // namespace attend::cli
