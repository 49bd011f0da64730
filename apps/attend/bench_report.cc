#include "attend/bench_report.h"

#include <fmt/format.h>

namespace attend::cli {

void PrintBenchHeader(const Engine& engine, const Peaks& peaks) {
  fmt::print("machine  {}, {}, {} threads, compute {}, cache {}\n", EscapeForTerminal(engine.machine.cpu_name),
             NameOf(engine.machine.isa), peaks.threads, NameOf(engine.compute), NameOf(engine.kv_format));
  fmt::print("peaks    f32 {:.0f} GFLOP/s, bf16 {:.0f} GFLOP/s, read {:.1f} GB/s with 1 thread, {:.1f} GB/s with {}\n",
             peaks.fma_flops_per_s / 1e9, peaks.bf16_flops_per_s / 1e9, peaks.read_1_bytes_per_s / 1e9,
             peaks.read_bytes_per_s / 1e9, peaks.threads);
}

nlohmann::ordered_json BenchJson(const Engine& engine, const Peaks& peaks, const std::string& kind) {
  return {{"schema", "attend.bench"},
          {"version", 1},
          {"kind", kind},
          {"cpu", EscapeForTerminal(engine.machine.cpu_name)},
          {"isa", NameOf(engine.machine.isa)},
          {"threads", peaks.threads},
          {"compute", NameOf(engine.compute)},
          {"kv_dtype", NameOf(engine.kv_format)},
          {"peaks",
           {{"f32_flops_per_s", peaks.fma_flops_per_s},
            {"bf16_flops_per_s", peaks.bf16_flops_per_s},
            {"read_1_bytes_per_s", peaks.read_1_bytes_per_s},
            {"read_bytes_per_s", peaks.read_bytes_per_s}}}};
}

void PrintBenchRow(const std::vector<std::string>& cells, bool title) {
  std::string line = fmt::format("{:<22}", cells.front());
  for (size_t i = 1; i < cells.size(); ++i) line += fmt::format("{:>14}", cells[i]);
  fmt::print("{}\n", title ? Bold(line) : line);
}

std::string Percent(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

}  // namespace attend::cli
