#include "model/load.h"

#include <sys/stat.h>

namespace attend {
namespace {

bool IsFolder(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<ModelHeader> ReadFolderHeader(const std::string& folder) {
  const std::string path = folder + "/config.json";
  ATTEND_ASSIGN_OR_RETURN(const std::string config, ReadTextFile(path, kMostConfigBytes));
  return ReadModelHeader(config, path);
}

bool HasSupportedTokenizer(const GgufFile& file) {
  const auto model = file.StringOr("tokenizer.ggml.model", "");
  return model && *model == "gpt2" && file.Has("tokenizer.ggml.merges");
}

Result<ModelFrontEnd> FrontEndOf(const std::string& path, const GgufFile& file, TokenizerUse use) {
  ModelFrontEnd front;
  front.path = path;
  ATTEND_ASSIGN_OR_RETURN(front.header, ReadModelHeader(file));
  if (use == TokenizerUse::kLoad || !HasSupportedTokenizer(file)) {
    ATTEND_ASSIGN_OR_RETURN(front.tokenizer, LoadTokenizer(file));
  }
  ATTEND_ASSIGN_OR_RETURN(const auto source, file.StringOr("tokenizer.chat_template", ""));
  if (auto chat_template = ChatTemplateFor(source)) front.chat_template = std::move(*chat_template);
  return front;
}

}  // namespace

Result<Tokenizer> LoadTokenizer(const GgufFile& file) {
  TokenizerTables tables;
  ATTEND_ASSIGN_OR_RETURN(tables.model, file.String("tokenizer.ggml.model"));
  ATTEND_ASSIGN_OR_RETURN(tables.pre, file.StringOr("tokenizer.ggml.pre", "gpt-2"));
  ATTEND_ASSIGN_OR_RETURN(const auto tokens, file.Strings("tokenizer.ggml.tokens"));
  tables.tokens.assign(tokens.begin(), tokens.end());
  if (tables.model == "gpt2") {  // other kinds have none, and are not supported
    ATTEND_ASSIGN_OR_RETURN(const auto merges, file.Strings("tokenizer.ggml.merges"));
    tables.merges.assign(merges.begin(), merges.end());
  }
  ATTEND_ASSIGN_OR_RETURN(const auto types, file.Integers("tokenizer.ggml.token_type"));
  tables.token_types.assign(types.begin(), types.end());
  if (file.Has("tokenizer.ggml.bos_token_id")) {
    ATTEND_ASSIGN_OR_RETURN(tables.bos_id, file.Unsigned("tokenizer.ggml.bos_token_id"));
  }
  if (file.Has("tokenizer.ggml.eos_token_id")) {
    ATTEND_ASSIGN_OR_RETURN(tables.eos_id, file.Unsigned("tokenizer.ggml.eos_token_id"));
  }
  ATTEND_ASSIGN_OR_RETURN(tables.add_bos, file.BoolOr("tokenizer.ggml.add_bos_token", false));
  return Tokenizer::Make(std::move(tables));
}

Result<const Tokenizer*> TokenizerOf(const ModelFrontEnd& front) {
  if (front.tokenizer) return &*front.tokenizer;
  return tl::unexpected(Error{.code = ErrorCode::kTokenizerUnsupported,
                              .where = front.path,
                              .subject = "tokenizer",
                              .expected = "a GGUF file, which carries its tokenizer",
                              .found = "a Hugging Face folder",
                              .hint = "convert the model to GGUF"});
}

Result<const ChatTemplate*> ChatTemplateOf(const ModelFrontEnd& front) {
  if (front.chat_template) return &*front.chat_template;
  return tl::unexpected(Error{.code = ErrorCode::kUnsupportedFeature,
                              .where = front.path,
                              .subject = "tokenizer.chat_template",
                              .expected = "a ChatML template",
                              .found = "none that is known",
                              .hint = "--chat-template chatml"});
}

Result<ModelFrontEnd> LoadFrontEnd(const std::string& path, TokenizerUse use) {
  if (IsFolder(path)) {
    ModelFrontEnd front;
    front.path = path;
    ATTEND_ASSIGN_OR_RETURN(front.header, ReadFolderHeader(path));
    return front;
  }
  ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
  return FrontEndOf(path, file, use);
}

Result<LoadedModel> LoadModel(const std::string& path, ThreadPool& pool, NonfiniteWeights nonfinite) {
  LoadedModel model;
  if (IsFolder(path)) {
    ATTEND_ASSIGN_OR_RETURN(model.front, LoadFrontEnd(path));
    ATTEND_ASSIGN_OR_RETURN(const auto file, SafetensorsFile::Open(path + "/model.safetensors"));
    ATTEND_RETURN_IF_ERROR(CheckTensors(model.front.header, file));
    ATTEND_ASSIGN_OR_RETURN(model.weights, LoadWeights(model.front.header, file, pool));
  } else {
    ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
    ATTEND_ASSIGN_OR_RETURN(model.front, FrontEndOf(path, file, TokenizerUse::kLoad));
    ATTEND_ASSIGN_OR_RETURN(model.weights, LoadWeights(model.front.header, file, pool));
  }
  if (nonfinite == NonfiniteWeights::kAllow) return model;
  if (const auto where = model.weights.FindNonfinite()) {
    return tl::unexpected(Error{.code = ErrorCode::kModelNonfinite,
                                .where = path,
                                .subject = *where,
                                .expected = "finite weights",
                                .found = "NaN or infinity",
                                .hint = "--allow-nonfinite runs it all the same"});
  }
  return model;
}

}  // namespace attend
