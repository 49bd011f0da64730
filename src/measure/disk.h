// How fast a file comes from the disk: read from its beginning in large pieces, as a loader does, after the system was
// asked to drop what it holds of it. A host below a virtual machine may still hold it, and is not seen.
//
// Errors: those of opening a file; file_unreadable, file_unwritable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

namespace attend {

// Bytes/s over the first `most_bytes`, or nothing where the system keeps more than a twentieth of the file in memory
// all the same: a file system in memory, a file that another program has mapped or that belongs to another user.
Result<std::optional<double>> MeasureDiskRead(const std::string& path, uint64_t most_bytes = uint64_t{1} << 30);

// The same over a file of random bytes that is written into `folder` and removed again.
Result<std::optional<double>> MeasureDiskReadIn(const std::string& folder, uint64_t bytes = uint64_t{256} << 20);

// Asks the system to drop what it holds of a file: what was just written goes to the disk first.
Result<void> DropFromMemory(const std::string& path);

// Bytes of the file's pages that the system holds. Errors: file_unreadable where it does not say.
Result<uint64_t> BytesInMemory(const std::string& path);

}  // namespace attend
