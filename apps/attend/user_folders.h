// This user's folders by the XDG rule, where a relative path is as good as none.
#pragma once

#include <string>

namespace attend::cli {

// ${XDG_CACHE_HOME:-~/.cache}/attend; empty when there is neither that nor HOME.
std::string CacheFolder();
// ${XDG_CONFIG_HOME:-~/.config}/attend, likewise.
std::string ConfigFolder();

}  // namespace attend::cli
