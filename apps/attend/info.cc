// attend info: the machine and what was chosen for it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attend/command.h"

namespace attend::cli {
namespace {

struct InfoOptions {
  EngineOptions engine;
  OutputOptions output;
};

Outcome RunInfo(const InfoOptions& options) {
  ATTEND_ASSIGN_OR_RETURN(const Engine engine, MakeEngine(options.engine));
  const Machine& m = engine.machine;
  if (options.output.json) {
    nlohmann::ordered_json isas = nlohmann::ordered_json::array();
    for (Isa isa : m.isas) isas.push_back(NameOf(isa));
    const nlohmann::ordered_json json = {{"schema", "attend.info"},
                                         {"version", 1},
                                         {"cpu", m.cpu_name},
                                         {"isa", NameOf(m.isa)},
                                         {"isas", isas},
                                         {"threads", engine.pool->num_threads()},
                                         {"cores", m.num_cores},
                                         {"l1d_bytes", m.l1d_bytes},
                                         {"l2_bytes", m.l2_bytes},
                                         {"l3_bytes", m.l3_bytes},
                                         {"memory_bytes", m.memory_bytes},
                                         {"available_memory_bytes", m.available_memory_bytes},
                                         {"compute", NameOf(engine.compute)},
                                         {"kv_dtype", NameOf(engine.kv_format)},
                                         {"peak_resident_bytes", PeakResidentBytes()}};
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  std::string isas;
  for (Isa isa : m.isas) isas += fmt::format("{}{}{}", isas.empty() ? "" : " ", NameOf(isa), isa == m.isa ? "*" : "");
  fmt::print("cpu               {}\n", EscapeForTerminal(m.cpu_name));
  fmt::print("instruction sets  {}   (* in use, --isa chooses)\n", isas);
  fmt::print("threads           {} of {} cores\n", engine.pool->num_threads(), m.num_cores);
  fmt::print("caches            L1d {}, L2 {}, L3 {}\n", FormatBytes(m.l1d_bytes), FormatBytes(m.l2_bytes),
             FormatBytes(m.l3_bytes));
  fmt::print("memory            {}, {} available\n", FormatBytes(m.memory_bytes),
             FormatBytes(m.available_memory_bytes));
  fmt::print("numerics          compute {}, cache {}\n", NameOf(engine.compute), NameOf(engine.kv_format));
  return 0;
}

}  // namespace

void AddInfo(Registry& registry) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = registry.Add("info", "Show the machine, its instruction sets and what is used",
                                   "  attend info\n  attend info --isa avx2 --json");
  AddEngineOptions(command, options->engine);
  AddOutputOptions(command, options->output);
  registry.OnRun(command, [options] { return RunInfo(*options); });
}

}  // namespace attend::cli
