#include "plan/capacity.h"

#include <cmath>

#include "plan/budget.h"

namespace attend {
namespace {

constexpr double kTail = 0.05;
constexpr int64_t kMostAtOnce = int64_t{1} << 20;

int64_t MostAtOnce(const PlanRequest& r, int64_t pass_tokens) {
  const auto fit = [&](int64_t count) {
    PlanRequest changed = r;
    changed.runtime.concurrent = count;
    const PlanMemory m = MemoryOf(changed, pass_tokens);
    return m.total_bytes <= m.usable_bytes;
  };
  if (!fit(1)) return 0;
  int64_t fits = 1, beyond = kMostAtOnce + 1;
  while (fits + 1 < beyond) {
    const int64_t middle = (fits + beyond) / 2;
    (fit(middle) ? fits : beyond) = middle;
  }
  return fits;
}

// The eta > 0 with e^eta = 1 + eta / rho, where the service takes 1: above, the left side is larger.
double DecayOf(double rho) {
  double low = 0, high = 1;
  const auto is_above = [rho](double eta) { return std::expm1(eta) > eta / rho; };
  while (!is_above(high)) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (is_above(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

double WaitP95(double rate, double service_s) {
  const double rho = rate * service_s;
  if (rho <= kTail) return 0;  // 95 % find it idle
  const double eta = DecayOf(rho), share = (1 - rho) / (rho * std::exp(eta) - 1);
  return std::fmax(0, std::log(share / kTail) / eta) * service_s;
}

Capacity CapacityOf(const PlanRequest& asked, const Plan& plan, const Demand& demand) {
  PlanRequest r = asked;
  if (r.num_devices > 1) r.footprint = Shard(r.footprint, r.num_devices);
  Capacity c{.most_at_once = MostAtOnce(r, plan.pass_tokens)};
  if (!plan.times || !(plan.times->total_s.expected > 0)) return c;
  const double at_once = static_cast<double>(plan.concurrent);
  const double service_s = plan.times->total_s.expected / at_once;
  c.documents_per_hour = 3600 / service_s;
  if (demand.price_per_hour > 0) {
    c.price_per_document = demand.price_per_hour * static_cast<double>(r.num_devices) / *c.documents_per_hour;
  }
  if (demand.documents_per_hour > 0) {
    c.utilisation = demand.documents_per_hour / *c.documents_per_hour;
    if (*c.utilisation < 1) {
      c.first_token_p95_s =
          WaitP95(demand.documents_per_hour / 3600, service_s) + plan.times->prefill_s.expected / at_once;
    }
  }
  return c;
}

}  // namespace attend
