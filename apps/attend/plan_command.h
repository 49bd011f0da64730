// What every mode of `attend plan` starts from: the options, and the request that they make.
#pragma once

#include <optional>
#include <string>

#include "attend/command.h"
#include "attend/make_plan.h"
#include "attend/plan_output.h"
#include "attend/plan_setting.h"
#include "document/load.h"

namespace attend::cli {

struct PlanCommandOptions {
  std::string document;
  int64_t tokens = 0;
  int64_t question_tokens = kQuestionReserveTokens;
  bool explain = false;
  bool calibrate = false;
  bool markdown = false;
  std::string sweep;     // --sweep 1000,8000,64000 or 1000..128000
  std::string plot;      // --plot out.svg
  std::string emit;      // --emit llama.cpp or vllm
  std::string scenario;  // --scenario law-firm
  bool verify = false;   // --verify: run it, and compare
  LoadOptions load;
  EngineOptions engine;
  PlanOptions plan;
  SettingOptions setting;
  OutputOptions output;
};

// Everything that was read for a plan; no weight was.
struct Planning {
  Engine engine;
  PlannedModel model;
  std::optional<DeviceProfile> device;  // absent: this machine
  Policy policy = Policy::kFormula;
  int64_t document_tokens = 0;
  std::vector<uint32_t> ids;  // of the document, where there is one
  std::optional<Calibration> calibration;
  uint64_t idle_bytes = 0;  // resident before anything was read

  const DeviceProfile* DeviceOrNull() const { return device ? &*device : nullptr; }
};

Result<Planning> PreparePlanning(const PlanCommandOptions& options);

// The request by one policy's rules. Errors: usage_error where the policy has no such cache format.
Result<PlanRequest> RequestOf(const PlanCommandOptions& options, const Planning& planning, Policy policy);

// The modes beside the one plan; each prints and gives the exit status.
Outcome RunPlanPolicies(const PlanCommandOptions& options, const Planning& planning);
Outcome RunPlanSweep(const PlanCommandOptions& options, const Planning& planning);
Outcome RunPlanPlot(const PlanCommandOptions& options, const Planning& planning);
Outcome RunPlanEmit(const PlanCommandOptions& options, const Planning& planning);
Outcome RunPlanVerify(const PlanCommandOptions& options, Planning& planning);
Outcome RunPlanScenario(const PlanCommandOptions& options);

}  // namespace attend::cli
