// Which models are on this machine, and which of them a name means. Files are found and read where they lie: nothing is
// copied, fetched or written, and nothing is read from the environment (apps/attend/model_places.h does that).
//
// Places are asked in the order of ModelPlaces. A place that is absent or unreadable holds nothing; each folder is
// listed to a fixed depth and length, so a loop of links or a huge folder ends.
//
// Errors: model_not_found (lists what is there), bad_argument (a prefix that fits several names), file_not_found (a
// path).
//
//   ATTEND_ASSIGN_OR_RETURN(const std::string path, ResolveModel("smollm2", places));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace attend {

inline constexpr std::string_view kDefaultModel = "SmolLM2-135M-Instruct.Q4_1";

enum class ModelSource { kPath, kAttend, kHuggingFace, kLlamaCpp, kOllama };

std::string_view NameOf(ModelSource source);  // "path", "attend", "huggingface", "llama.cpp", "ollama"

struct ModelPlaces {
  std::vector<std::string> paths = {};        // folders with .gguf files, or such files (ATTEND_MODEL_PATH)
  std::vector<std::string> attend = {};       // our own folder of .gguf files
  std::vector<std::string> huggingface = {};  // hub folders: models--org--name/snapshots/<revision>/*.gguf
  std::vector<std::string> llama_cpp = {};    // folders with .gguf files
  std::vector<std::string> ollama = {};       // folders with manifests/ and blobs/
};

struct FoundModel {
  std::string name;  // the file's name without .gguf; Ollama: "model:tag" or "namespace/model:tag"
  std::string path;
  ModelSource source = ModelSource::kPath;
  uint64_t bytes = 0;
};

// In the order of the places, by name within each; a file that several places lead to is listed once.
std::vector<FoundModel> ListModels(const ModelPlaces& places);

// The path of a model. `name_or_path`: an existing file or a folder with config.json; else a name as ListModels gives
// it, with or without .gguf and without regard to case, or the beginning of just one name; empty: kDefaultModel. A name
// that several places hold means the first of them.
Result<std::string> ResolveModel(const std::string& name_or_path, const ModelPlaces& places);

}  // namespace attend
