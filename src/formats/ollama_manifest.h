// The manifest that Ollama keeps for a model: a small JSON file that names the blobs, one of which is the GGUF file.
//
// Errors: json_bad for anything that is not such a manifest.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace attend {

// The digest of the model's layer as 64 hexadecimal digits: its file is blobs/sha256-<digest>. `name` stands in
// messages.
Result<std::string> ReadOllamaManifest(std::string_view json_text, std::string name);

}  // namespace attend
