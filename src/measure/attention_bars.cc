#include "measure/attention_bars.h"

#include <algorithm>
#include <cstdio>

#include "kernels/dispatch.h"
#include "measure/statistics.h"

namespace attend {
namespace {

constexpr CaseDefaults kBf16 = {Compute::kBf16, KvFormat{}};
constexpr PeakOptions kShortPeaks = {.read_bytes = size_t{256} << 20, .rounds = 2, .compute_seconds = 0.02};

std::string Text(const char* format, double a, double b = 0, double c = 0) {
  char text[160];
  std::snprintf(text, sizeof text, format, a, b, c);
  return text;
}

class BarRunner {
 public:
  BarRunner(const Machine& machine, ThreadPool& pool, const BarOptions& options)
      : machine_(machine), pool_(pool), options_(options), kernels_(&KernelsFor(machine.isa)) {}

  Result<std::vector<Bar>> Run() {
    using Step = Result<void> (BarRunner::*)();
    const std::pair<const char*, Step> steps[] = {
        {"prompts", &BarRunner::Prompts},        {"prompts on AVX2", &BarRunner::Avx2},
        {"one token", &BarRunner::OneToken},     {"quantised caches", &BarRunner::Quantised},
        {"1 to 128 tokens", &BarRunner::Counts}, {"a window", &BarRunner::Window},
        {"options", &BarRunner::Options},        {"statistics", &BarRunner::Statistics},
        {"memory", &BarRunner::Memory}};
    int done = 0;
    for (const auto& [name, step] : steps) {
      if (options_.on_group && !options_.on_group(name, done++, static_cast<int>(std::size(steps)))) {
        return tl::unexpected(Error{
            .code = ErrorCode::kInterrupted, .where = "bench", .subject = {}, .expected = {}, .found = {}, .hint = {}});
      }
      ATTEND_RETURN_IF_ERROR((this->*step)());
    }
    return std::move(bars_);
  }

 private:
  // Benches of lines that take turns, with the machine's peaks measured in between.
  struct Timed {
    std::vector<AttentionBench> benches;
    std::vector<std::vector<double>> seconds;
    Peaks peaks;
    double Median(size_t i) const { return attend::Median(seconds[i]); }
    double Spread(size_t i) const { return Summarise(seconds[i]).spread; }
  };
  Result<Timed> Time(const std::vector<std::string>& lines, bool with_peaks = false) {
    return TimeAll(lines, with_peaks, options_.rounds, {});
  }
  Result<Timed> TimeAll(const std::vector<std::string>& lines, bool with_peaks, int rounds,
                        const std::vector<std::optional<StatisticsCollector::Options>>& observers,
                        int64_t most_layers = 8) {
    Timed t;
    for (const std::string& line : lines) {
      ATTEND_ASSIGN_OR_RETURN(const std::vector<AttentionCase> cases, ParseAttentionCases(line, kBf16));
      ATTEND_ASSIGN_OR_RETURN(AttentionBench bench, AttentionBench::Make(cases[0], *kernels_, pool_, most_layers));
      const size_t i = t.benches.size();
      if (i < observers.size() && observers[i]) bench.Observe(*observers[i]);
      t.benches.push_back(std::move(bench));
    }
    t.seconds.resize(lines.size());
    for (int round = 0; round < options_.warm_ups + rounds; ++round) {
      if (with_peaks) {
        ATTEND_ASSIGN_OR_RETURN(const Peaks p, MeasurePeaks(*kernels_, pool_, kShortPeaks));
        t.peaks.fma_flops_per_s = std::max(t.peaks.fma_flops_per_s, p.fma_flops_per_s);
        t.peaks.bf16_flops_per_s = std::max(t.peaks.bf16_flops_per_s, p.bf16_flops_per_s);
        t.peaks.read_bytes_per_s = std::max(t.peaks.read_bytes_per_s, p.read_bytes_per_s);
      }
      for (size_t i = 0; i < t.benches.size(); ++i) {
        ATTEND_ASSIGN_OR_RETURN(const double seconds, t.benches[i].Run());
        if (round >= options_.warm_ups) t.seconds[i].push_back(seconds);
      }
    }
    return t;
  }

  void AddPrompt(const std::string& what, double bar, Timed& t, double peak) {
    const double rate = t.benches[0].Flops() / t.Median(0);
    bars_.push_back({what, bar, true, rate / peak, t.Spread(0),
                     Text("%.1f ms, %.0f of %.0f GFLOP/s", 1e3 * t.Median(0), rate / 1e9, peak / 1e9)});
  }

  Result<void> Prompts() {
    ATTEND_ASSIGN_OR_RETURN(Timed wide, Time({"heads=32/8 dim=128 q=4096"}, true));
    AddPrompt("bf16 prompt, 32/8, D 128, T 4096: share of the bf16 peak", 0.75, wide, wide.peaks.bf16_flops_per_s);
    ATTEND_ASSIGN_OR_RETURN(Timed small, Time({"heads=9/3 dim=64 q=8192"}, true));
    AddPrompt("bf16 prompt, 9/3, D 64, T 8192: share of the bf16 peak", 0.70, small, small.peaks.bf16_flops_per_s);
    ATTEND_ASSIGN_OR_RETURN(Timed exact, Time({"heads=32/8 dim=128 q=4096 compute=f32 cache=f32"}, true));
    AddPrompt("f32 prompt, 32/8, D 128, T 4096: share of the f32 peak", 0.75, exact, exact.peaks.fma_flops_per_s);
    return {};
  }

  Result<void> Avx2() {
    if (std::find(machine_.isas.begin(), machine_.isas.end(), Isa::kAvx2) == machine_.isas.end()) return {};
    const KernelTable* const best = kernels_;
    kernels_ = &KernelsFor(Isa::kAvx2);
    auto t = Time({"heads=32/8 dim=128 q=2048"}, true);
    kernels_ = best;
    if (!t) return tl::unexpected(std::move(t.error()));
    AddPrompt("AVX2 forced, bf16 prompt, 32/8, D 128, T 2048: share of its f32 peak", 0.65, *t,
              t->peaks.fma_flops_per_s);
    return {};
  }

  Result<void> OneToken() {
    for (const char* kv : {"32768", "131072"}) {
      for (const auto& [heads, group, bar] :
           {std::tuple{"8/8", 1, 0.80}, {"16/8", 2, 0.80}, {"32/8", 4, 0.80}, {"64/8", 8, 0.80}, {"128/8", 16, 0.55}}) {
        const std::string line = std::string("heads=") + heads + " dim=128 q=1 kv=" + kv;
        ATTEND_ASSIGN_OR_RETURN(const Timed t, Time({line}, true));
        const double rate = t.benches[0].KvBytes() / t.Median(0);
        bars_.push_back(
            {std::string("one token, bf16, ") + heads + " (group " + std::to_string(group) + "), T " + kv +
                 ": share of the read speed",
             bar, true, rate / t.peaks.read_bytes_per_s, t.Spread(0),
             Text("%.2f ms, %.1f of %.1f GB/s", 1e3 * t.Median(0), rate / 1e9, t.peaks.read_bytes_per_s / 1e9)});
      }
    }
    return {};
  }

  Result<void> Quantised() {
    const std::string decode = "heads=32/8 dim=128 q=1 kv=32768 ", prompt = "heads=32/8 dim=128 q=4096 ";
    ATTEND_ASSIGN_OR_RETURN(const Timed d,
                            Time({decode, decode + "compute=int8 cache=q8", decode + "compute=int8 cache=q4",
                                  decode + "cache=q8", decode + "cache=q4"}));
    const auto faster = [&](size_t i, const char* what, double bar) {
      bars_.push_back({what, bar, true, d.Median(0) / d.Median(i), d.Spread(i),
                       Text("%.2f ms, bf16 %.2f ms", 1e3 * d.Median(i), 1e3 * d.Median(0))});
    };
    faster(1, "one token, int8 over q8, T 32768: times faster than bf16", 1.6);
    faster(2, "one token, int8 over q4, T 32768: times faster than bf16", 2.5);
    faster(3, "one token, class bf16 over q8: times faster than bf16", 1.0);
    faster(4, "one token, class bf16 over q4: times faster than bf16", 1.0);
    ATTEND_ASSIGN_OR_RETURN(const Timed p, Time({prompt, prompt + "cache=q8", prompt + "cache=q4"}));
    for (size_t i : {1, 2}) {
      bars_.push_back(
          {std::string("prompt over a ") + (i == 1 ? "q8" : "q4") + " cache, T 4096: time over that of bf16", 1.15,
           false, p.Median(i) / p.Median(0), p.Spread(i),
           Text("%.1f ms, bf16 %.1f ms", 1e3 * p.Median(i), 1e3 * p.Median(0))});
    }
    return {};
  }

  Result<void> Counts() {
    std::vector<std::string> lines;
    for (int n = 1; n <= 128; ++n) lines.push_back("heads=8/2 dim=128 kv=8192 q=" + std::to_string(n));
    // One layer each: 128 of them take turns, and together they are beyond any cache.
    ATTEND_ASSIGN_OR_RETURN(const Timed t, TimeAll(lines, false, options_.rounds, {}, 1));
    size_t up = 0, down = 0;
    const auto step = [&](size_t i) { return t.Median(i + 1) / t.Median(i); };
    for (size_t i = 0; i + 1 < lines.size(); ++i) {
      if (step(i) > step(up)) up = i;
      if (step(i) < step(down)) down = i;
    }
    const auto at = [&](size_t i) {
      return Text("%.0f tokens %.3f ms, one more %.3f ms", static_cast<double>(i + 1), 1e3 * t.Median(i),
                  1e3 * t.Median(i + 1));
    };
    bars_.push_back({"n to n + 1 query tokens, 1 to 128: largest ratio", 1.3, false, step(up), t.Spread(up), at(up)});
    bars_.push_back(
        {"n to n + 1 query tokens, 1 to 128: smallest ratio", 0.93, true, step(down), t.Spread(down), at(down)});
    bars_.push_back({"64 query tokens over 63", 1.1 * 64 / 63, false, step(62), t.Spread(63), at(62)});
    return {};
  }

  Result<void> Window() {
    ATTEND_ASSIGN_OR_RETURN(const Timed t,
                            Time({"heads=32/8 dim=128 q=4096", "heads=32/8 dim=128 q=4096 mask=causal window=255,0"}));
    const double share = t.benches[1].Flops() / t.benches[0].Flops();
    bars_.push_back({"window of 256 keys, T 4096: time over the ideal share of the causal time", 1.4, false,
                     t.Median(1) / (share * t.Median(0)), t.Spread(1),
                     Text("%.1f ms, causal %.1f ms, ideal share %.3f", 1e3 * t.Median(1), 1e3 * t.Median(0), share)});
    return {};
  }

  Result<void> Options() {
    const std::vector<std::string> options = {
        "window=511,0", "prefix=100", "docs=3",    "padding=left", "tiles=50",    "bias=f32:hqk", "bias=bf16:k",
        "alibi=on",     "softcap=20", "sinks=on",  "scale=heads",  "layout=rows", "layout=paged", "queries=f16",
        "queries=bf16", "out=bf16",   "cache=f16", "cache=q8",     "cache=q4"};
    std::vector<std::string> lines = {""};
    for (size_t i = 0; i < options.size(); ++i) {
      lines.push_back(options[i]);
      for (size_t j = i + 1; j < options.size(); ++j) {
        const bool same = options[i].substr(0, 5) == options[j].substr(0, 5);
        // Plain rows come in f32, f16 and bf16 alone.
        const bool refused = options[i].rfind("layout=rows", 0) == 0 && options[j].rfind("cache=q", 0) == 0;
        if (!same && !refused) lines.push_back(options[i] + " " + options[j]);
      }
    }
    struct Entry {
      double ratio, spread;
      std::string name;
    };
    std::vector<Entry> entries;
    constexpr int kRounds = 3;
    const std::string shape = "heads=8/2 dim=128 q=2048 mask=causal ";
    for (size_t i = 1; i < lines.size(); ++i) {
      // Beside the plain call each time: the ratio is of timings a moment apart.
      ATTEND_ASSIGN_OR_RETURN(const Timed t, TimeAll({shape, shape + lines[i]}, false, kRounds, {}));
      const double a_pair = t.Median(1) / static_cast<double>(std::max<int64_t>(1, t.benches[1].VisiblePairs()));
      const double plain = t.Median(0) / static_cast<double>(t.benches[0].VisiblePairs());
      entries.push_back({a_pair / plain, t.Spread(1), lines[i]});
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.ratio > b.ratio; });
    for (size_t i = 0; i < std::min<size_t>(10, entries.size()); ++i) {
      bars_.push_back({"options, worst " + std::to_string(i + 1) + " of " + std::to_string(entries.size()) +
                           ": time a visible key over plain causal",
                       1.25, false, entries[i].ratio, entries[i].spread, entries[i].name});
    }
    return {};
  }

  Result<void> Statistics() {
    using O = StatisticsCollector::Options;
    for (const char* shape : {"heads=32/8 dim=128 q=4096", "heads=9/3 dim=64 q=8192"}) {
      ATTEND_ASSIGN_OR_RETURN(const Timed t, TimeAll({shape, shape, shape}, false, options_.rounds,
                                                     {std::nullopt, O{.keep_maps = false}, O{.keep_rows = false}}));
      for (size_t i : {1, 2}) {
        bars_.push_back({std::string(i == 1 ? "row statistics" : "map") + " on, " + shape + ": time over without",
                         i == 1 ? 1.05 : 1.03, false, t.Median(i) / t.Median(0), t.Spread(i),
                         Text("%.1f ms, without %.1f ms", 1e3 * t.Median(i), 1e3 * t.Median(0))});
      }
    }
    return {};
  }

  // A matrix of scores of this call would be 4 GiB a head.
  Result<void> Memory() {
    const std::string line = "heads=2/1 dim=32 q=32768 mask=causal softcap=20 bias=f32:k sinks=on alibi=on";
    ATTEND_ASSIGN_OR_RETURN(const std::vector<AttentionCase> cases, ParseAttentionCases(line, kBf16));
    ATTEND_ASSIGN_OR_RETURN(AttentionBench bench, AttentionBench::Make(cases[0], *kernels_, pool_));
    bench.Observe({});
    if (!ResetPeakResidentBytes()) return {};
    const uint64_t before = ResidentBytes();
    ATTEND_ASSIGN_OR_RETURN(const double seconds, bench.Run());
    const double grown = static_cast<double>(PeakResidentBytes() - std::min(before, PeakResidentBytes())) / (1 << 20);
    bars_.push_back(
        {"memory beyond inputs and outputs at T 32768, every term and statistics on: MiB", 32, false, grown, 0,
         Text("workspace %.1f MiB, %.1f s", static_cast<double>(bench.workspace_bytes()) / (1 << 20), seconds)});
    return {};
  }

  const Machine& machine_;
  ThreadPool& pool_;
  const BarOptions& options_;
  const KernelTable* kernels_;
  std::vector<Bar> bars_;
};

}  // namespace

Result<std::vector<Bar>> MeasureAttentionBars(const Machine& machine, ThreadPool& pool, const BarOptions& options) {
  return BarRunner(machine, pool, options).Run();
}

}  // namespace attend
