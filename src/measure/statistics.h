// Middle and spread of a few timings. Timings are skewed (a neighbour only ever makes a run slower), so the median and
// the quartiles are reported, never the mean.
#pragma once

#include <span>

namespace attend {

struct Summary {
  double median = 0;
  double lowest = 0;
  double highest = 0;
  double spread = 0;  // (third quartile - first quartile) / median; 0 for one value
};

// The p-th quantile with linear interpolation between neighbours; p in [0, 1]. Precondition: values not empty.
double Quantile(std::span<const double> values, double p);

// Precondition: values not empty.
Summary Summarise(std::span<const double> values);

inline double Median(std::span<const double> values) {
  return Quantile(values, 0.5);
}

}  // namespace attend
