#include "plan/scaled_speeds.h"

namespace attend {

std::optional<Calibration> ScaledSpeeds(const Calibration& measured, const DeviceProfile& here,
                                        const DeviceProfile& there) {
  const double peak_here = here.PeakFor(measured.compute), peak_there = there.PeakFor(measured.compute);
  if (!(peak_here > 0 && peak_there > 0 && here.bandwidth_bytes_per_s > 0)) return std::nullopt;
  const double work = peak_there / peak_here, reads = there.bandwidth_bytes_per_s / here.bandwidth_bytes_per_s;
  Calibration scaled = measured;
  scaled.cpu_name = there.name + ", scaled from " + measured.cpu_name;
  scaled.threads = 0;
  if (!there.IsMeasured()) scaled.spread = kStatedSpread;
  scaled.linear_flops_per_s *= work;
  scaled.attention_flops_per_s *= work;
  scaled.element_s_per_token /= work;
  scaled.weight_bytes_per_s *= reads;
  scaled.kv_bytes_per_s *= reads;
  return scaled;
}

}  // namespace attend
