// What every kind of `attend bench` prints above its results.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "attend/command.h"
#include "measure/peaks.h"
#include "measure/statistics.h"

namespace attend::cli {

// "machine ..." and "peaks ..." lines.
void PrintBenchHeader(const Engine& engine, const Peaks& peaks);

// {"schema": "attend.bench", "version": 1, "kind": kind, cpu, isa, threads, ..., "peaks": {...}}
nlohmann::ordered_json BenchJson(const Engine& engine, const Peaks& peaks, const std::string& kind);

// A table of results: bold title row, first column left, the others right.
void PrintBenchRow(const std::vector<std::string>& cells, bool title = false);

// "1.3%": a share or a spread.
std::string Percent(double share);

}  // namespace attend::cli
