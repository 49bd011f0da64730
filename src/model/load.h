// A model from its file: header, weights, tokenizer and chat template together.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/thread_pool.h"
#include "formats/model_header.h"
#include "model/weights.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace attend {

// What the plan needs: everything but the weights. Cheap.
struct ModelFrontEnd {
  std::string path;
  ModelHeader header;
  std::optional<Tokenizer> tokenizer;         // absent for a Hugging Face folder
  std::optional<ChatTemplate> chat_template;  // absent when the file has none that is known
};

struct LoadedModel {
  ModelFrontEnd front;
  ModelWeights weights;
};

// Without the tokenizer's tables a header is read in a third of the time: where only a number of tokens is planned for.
// A kind of tokenizer that is not supported is refused all the same.
enum class TokenizerUse { kLoad, kSkip };

// `path`: a GGUF file, or a folder with config.json and model.safetensors. Errors: those of the readers and the
// tokenizer.
Result<ModelFrontEnd> LoadFrontEnd(const std::string& path, TokenizerUse use = TokenizerUse::kLoad);

// Weights with NaN or infinity make every answer nonsense: refused as model_nonfinite unless they are asked for.
enum class NonfiniteWeights { kRefuse, kAllow };
Result<LoadedModel> LoadModel(const std::string& path, ThreadPool& pool,
                              NonfiniteWeights nonfinite = NonfiniteWeights::kRefuse);

// The tokenizer's tables of a GGUF file.
Result<Tokenizer> LoadTokenizer(const GgufFile& file);

// The tokenizer or the template of a model that must have one. Errors: tokenizer_unsupported, unsupported_feature.
Result<const Tokenizer*> TokenizerOf(const ModelFrontEnd& front);
Result<const ChatTemplate*> ChatTemplateOf(const ModelFrontEnd& front);

}  // namespace attend
