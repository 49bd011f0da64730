// What pieces and small caches cost in understanding, as measured once on one small model: the order of magnitude for
// another, not its figure. Nats a token of mean negative log-likelihood more than one pass with a 16-bit cache,
// SmolLM2-135M on 7,500 tokens of the GPL (pieces: another runtime, f16 cache; caches: docs/adr/0010).
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/kv_format.h"

namespace attend {

// 2, 4 and 8 pieces were measured; between them by the logarithm, beyond 8 nothing.
std::optional<double> NllRiseOfPieces(int64_t num_pieces);

// Rotary positions divided by `factor`, linearly and without training: 1.5 and 2 were measured (attend score of the
// same text), between them a straight line, beyond 2 nothing.
std::optional<double> NllRiseOfInterpolation(double factor);

// Nothing for a format that was not measured.
std::optional<double> NllRiseOfCache(const KvFormat& format);

}  // namespace attend
