// The speeds of a processor that is not here: those measured here, scaled by the figures of both.
#pragma once

#include <optional>

#include "formats/device_profile.h"
#include "tensor/calibration.h"

namespace attend {

// Work by the ratio of the peaks, reads by that of the bandwidths: the same model with other cores and memory. Nothing
// where a figure is not stated for this numerics class.
std::optional<Calibration> ScaledSpeeds(const Calibration& measured, const DeviceProfile& here,
                                        const DeviceProfile& there);

}  // namespace attend
