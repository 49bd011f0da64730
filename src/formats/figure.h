// A quantity as people write it, a number and a unit with or without a space between: "80 GB", "312 TFLOP/s", "60%".
//
//   unit          spelled                                       a figure may be
//   bytes         B KB kB MB GB TB (10^3),                      1 B to 1 PiB
//                 KiB MiB GiB TiB (2^10)
//   bytes/s       one of those, then /s                         1 B/s to 1 EB/s
//   FLOP/s        FLOP/s FLOPS FLOPs, with K M G T P or E       1 to 1e21
//   OP/s          OP/s OPS OPs, likewise                        1 to 1e21
//   share         %                                             0.01 % to 100 %
//
// Case counts, so that GB is never Gb; a bare G is refused, since it may be 10^9 or 2^30.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace attend {

enum class FigureUnit { kBytes, kBytesPerSecond, kFlopsPerSecond, kOpsPerSecond, kShare };

// In bytes, bytes/s, FLOP/s, OP/s, or 1 for 100 %; nothing for another unit or no number. The range is not checked.
std::optional<double> ParseFigure(std::string_view text, FigureUnit unit);

// "bytes per second such as '2 TB/s'".
std::string_view ExampleOf(FigureUnit unit);

// What is expected of a figure in its range ("1 B to 1 PiB"), or nothing where `value` is in it.
std::optional<std::string_view> RangeMissed(double value, FigureUnit unit);

}  // namespace attend
