// What `attend read` prints: answers for a person, or one JSON object (docs/reference/cli.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "document/reading.h"
#include "plan/plan.h"

namespace attend::cli {

// Figures that the plan predicted and the run measured.
struct ReadMeasurements {
  uint64_t memory_bytes = 0;  // peak resident memory beyond that of an idle program
  double load_seconds = 0;
  double total_seconds = 0;
};

struct ReadReport {
  const PreparedDocument* document = nullptr;
  const ReadingRequest* request = nullptr;
  const Reading* reading = nullptr;
  const Plan* plan = nullptr;
  const ModelHeader* model = nullptr;
  std::string model_path;
  std::string isa;
  std::string compute;
  ReadMeasurements measured;
};

std::string ReadText(const ReadReport& report, bool with_figures);
nlohmann::ordered_json ReadJson(const ReadReport& report);

}  // namespace attend::cli
