// Files that this program keeps for later runs.
#pragma once

#include <string>

#include "base/error.h"

namespace attend::cli {

// Errors of both: file_unwritable.
Result<void> MakeFolderOf(const std::string& path);
// In one step, its folder made where there is none: other runs see the old text or the new.
Result<void> ReplaceFile(const std::string& path, const std::string& text);

}  // namespace attend::cli
