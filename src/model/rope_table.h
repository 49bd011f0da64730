// Angles of the rotary embedding (Su et al. 2021, arXiv:2104.09864): position * inv_freq(i), inv_freq(i) =
// theta^(-2i/d), changed by the model's scaling.
#pragma once

#include <vector>

#include "formats/model_header.h"

namespace attend {

// [rotary_dim / 2], in double. kLlama3: wavelengths beyond original / low_freq_factor are slowed down by `factor`,
// those below original / high_freq_factor stay, between them linear in original / wavelength.
std::vector<double> InverseFrequencies(const ModelHeader& header);

}  // namespace attend
