// Where this user's models may lie, from the environment: ATTEND_MODEL_PATH, XDG_CACHE_HOME, HF_HUB_CACHE, HF_HOME,
// LLAMA_CACHE, OLLAMA_MODELS and HOME.
#pragma once

#include "model/catalogue.h"

namespace attend::cli {

ModelPlaces ModelPlacesFromEnvironment();

}  // namespace attend::cli
