// What a device does for many documents: how many at once, how many an hour, how long until the first token when they
// arrive at a rate, and what one costs.
//
// Documents arrive at random (Poisson) and are served in order, each taking the same time D: an M/D/1 queue. The wait
// that 95 % do not exceed is that of its tail, P(W > t) = (1 - rho) / (lambda D e^(eta D) - 1) * e^(-eta t) with
// lambda (e^(eta D) - 1) = eta; rho = lambda D.
#pragma once

#include <optional>

#include "plan/plan.h"

namespace attend {

struct Demand {
  double documents_per_hour = 0;  // that arrive; 0: not asked
  double price_per_hour = 0;      // of one device, any currency; 0: not asked
};

struct Capacity {
  int64_t most_at_once = 0;                                 // whose caches fit beside one another
  std::optional<double> documents_per_hour = std::nullopt;  // with as many at once as planned; absent: no times
  std::optional<double> price_per_document = std::nullopt;
  std::optional<double> utilisation = std::nullopt;        // arrivals / documents_per_hour
  std::optional<double> first_token_p95_s = std::nullopt;  // absent from a utilisation of 1 on: the queue grows
};

// `plan` is that of `request`.
Capacity CapacityOf(const PlanRequest& request, const Plan& plan, const Demand& demand);

// Seconds that 95 % of the arrivals wait at most. Preconditions: rate >= 0 a second, rate * service_s < 1.
double WaitP95(double rate, double service_s);

}  // namespace attend
