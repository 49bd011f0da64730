#include "formats/ollama_manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/format_error.h"
#include "formats/json.h"

namespace attend {
namespace {

constexpr std::string_view kModelLayer = "application/vnd.ollama.image.model";
constexpr std::string_view kDigestPrefix = "sha256:";
constexpr size_t kDigestDigits = 64;

std::string StringOf(const nlohmann::json& object, const char* key) {
  const auto place = object.is_object() ? object.find(key) : object.end();
  return place != object.end() && place->is_string() ? place->get<std::string>() : "";
}

bool IsDigest(std::string_view text) {
  return text.size() == kDigestDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Result<std::string> ReadOllamaManifest(std::string_view json_text, std::string name) {
  constexpr int kDepth = 8;
  ATTEND_ASSIGN_OR_RETURN(const nlohmann::json manifest, ParseJson(json_text, name, kDepth));
  const auto layers = manifest.is_object() ? manifest.find("layers") : manifest.end();
  if (layers == manifest.end() || !layers->is_array()) {
    return FormatError(ErrorCode::kJsonBad, std::move(name), "key 'layers'", "a list of layers", "none");
  }
  for (const nlohmann::json& layer : *layers) {
    if (StringOf(layer, "mediaType") != kModelLayer) continue;
    const std::string digest = StringOf(layer, "digest");
    if (digest.starts_with(kDigestPrefix) && IsDigest(std::string_view(digest).substr(kDigestPrefix.size()))) {
      return digest.substr(kDigestPrefix.size());
    }
    return FormatError(ErrorCode::kJsonBad, std::move(name), "key 'digest'", "sha256: and 64 hexadecimal digits",
                       Quote(digest));
  }
  return FormatError(ErrorCode::kJsonBad, std::move(name), "key 'layers'", "a layer with the model", "none");
}

}  // namespace attend
