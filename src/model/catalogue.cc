#include "model/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/mapped_file.h"
#include "formats/ollama_manifest.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".gguf";
constexpr size_t kMaxEntries = 4096;  // of one folder
constexpr size_t kMaxModels = 4096;   // in all
constexpr size_t kManifestLimitBytes = 1 << 20;
constexpr size_t kMaxNamesInMessage = 8;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string WithoutExtension(std::string_view name) {
  const bool has = name.size() > kExtension.size() && Lower(name.substr(name.size() - kExtension.size())) == kExtension;
  return std::string(has ? name.substr(0, name.size() - kExtension.size()) : name);
}

// The names in a folder, sorted; none when it cannot be listed.
std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator() && names.size() < kMaxEntries) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Listing {
 public:
  void AddFolder(const fs::path& folder, ModelSource source) {
    for (const std::string& name : NamesIn(folder)) {
      const std::string stem = WithoutExtension(name);
      if (stem != name) AddFile(folder / name, stem, source);
    }
  }

  void AddFileOrFolder(const fs::path& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return AddFolder(path, ModelSource::kPath);
    AddFile(path, WithoutExtension(path.filename().string()), ModelSource::kPath);
  }

  void AddHub(const fs::path& hub) {
    for (const std::string& name : NamesIn(hub)) {
      if (name.starts_with("models--")) AddRepository(hub / name);
    }
  }

  // manifests/<host>/<namespace>/<model>/<tag>
  void AddOllama(const fs::path& root) {
    const fs::path manifests = root / "manifests";
    for (const std::string& host : NamesIn(manifests)) {
      for (const std::string& space : NamesIn(manifests / host)) {
        for (const std::string& model : NamesIn(manifests / host / space)) {
          for (const std::string& tag : NamesIn(manifests / host / space / model)) {
            const fs::path blob = BlobOf(root, manifests / host / space / model / tag);
            if (!blob.empty()) AddFile(blob, OllamaName(host, space, model, tag), ModelSource::kOllama);
          }
        }
      }
    }
  }

  std::vector<FoundModel> Take() { return std::move(models_); }

 private:
  void AddFile(const fs::path& path, std::string name, ModelSource source) {
    std::error_code error;
    if (models_.size() >= kMaxModels || !fs::is_regular_file(path, error)) return;
    const uint64_t bytes = fs::file_size(path, error);
    const fs::path real = fs::canonical(path, error);
    if (error || !seen_.insert(real.string()).second) return;
    models_.push_back({std::move(name), path.string(), source, bytes});
  }

  // The revision that refs/main names comes first: of two files of one name it is the one a name means.
  void AddRepository(const fs::path& repository) {
    constexpr size_t kRefLimitBytes = 256;
    const auto main = ReadTextFile((repository / "refs" / "main").string(), kRefLimitBytes);
    std::vector<std::string> revisions = NamesIn(repository / "snapshots");
    if (main) {
      std::stable_partition(revisions.begin(), revisions.end(),
                            [&](const std::string& r) { return main->starts_with(r); });
    }
    for (const std::string& revision : revisions)
      AddFolder(repository / "snapshots" / revision, ModelSource::kHuggingFace);
  }

  static fs::path BlobOf(const fs::path& root, const fs::path& manifest) {
    const auto text = ReadTextFile(manifest.string(), kManifestLimitBytes);
    if (!text) return {};
    const auto digest = ReadOllamaManifest(*text, manifest.string());
    return digest ? root / "blobs" / ("sha256-" + *digest) : fs::path();
  }

  static std::string OllamaName(const std::string& host, const std::string& space, const std::string& model,
                                const std::string& tag) {
    std::string prefix = host == "registry.ollama.ai" ? "" : host + "/";
    if (space != "library" || !prefix.empty()) prefix += space + "/";
    return prefix + model + ":" + tag;
  }

  std::vector<FoundModel> models_;
  std::set<std::string> seen_;
};

// What -m may give as a path. A plain word means a folder only if that folder holds a model: it may be a model's name
// too.
bool IsPath(const std::string& text) {
  std::error_code error;
  if (fs::is_directory(text, error))
    return text.find('/') != std::string::npos || fs::exists(fs::path(text) / "config.json", error);
  return fs::exists(text, error);
}

bool MustBePath(const std::string& text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../");
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMaxNamesInMessage; ++i) list += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMaxNamesInMessage ? fmt::format("{} and {} more", list, names.size() - kMaxNamesInMessage)
                                           : list;
}

tl::unexpected<Error> NotFound(const std::string& wanted, const std::vector<FoundModel>& models) {
  std::vector<std::string> names;
  for (const FoundModel& model : models) names.push_back(model.name);
  return tl::unexpected(Error{.code = ErrorCode::kModelNotFound,
                              .where = wanted,
                              .subject = {},
                              .expected = "the name or path of a model",
                              .found = names.empty() ? "no model in any folder" : "only " + ListOf(names),
                              .hint = fmt::format("fetch {} with tools/fetch-model", kDefaultModel)});
}

tl::unexpected<Error> Ambiguous(const std::string& wanted, const std::vector<std::string>& names) {
  return tl::unexpected(Error{.code = ErrorCode::kBadArgument,
                              .where = wanted,
                              .subject = {},
                              .expected = "the beginning of one model's name",
                              .found = fmt::format("{} that begin so: {}", names.size(), ListOf(names)),
                              .hint = "write more of the name"});
}

}  // namespace

std::string_view NameOf(ModelSource source) {
  switch (source) {
    case ModelSource::kPath:
      return "path";
    case ModelSource::kAttend:
      return "attend";
    case ModelSource::kHuggingFace:
      return "huggingface";
    case ModelSource::kLlamaCpp:
      return "llama.cpp";
    case ModelSource::kOllama:
      return "ollama";
  }
  return "unknown";
}

std::vector<FoundModel> ListModels(const ModelPlaces& places) {
  Listing listing;
  for (const std::string& path : places.paths) listing.AddFileOrFolder(path);
  for (const std::string& folder : places.attend) listing.AddFolder(folder, ModelSource::kAttend);
  for (const std::string& hub : places.huggingface) listing.AddHub(hub);
  for (const std::string& folder : places.llama_cpp) listing.AddFolder(folder, ModelSource::kLlamaCpp);
  for (const std::string& root : places.ollama) listing.AddOllama(root);
  return listing.Take();
}

Result<std::string> ResolveModel(const std::string& name_or_path, const ModelPlaces& places) {
  const std::string wanted = name_or_path.empty() ? std::string(kDefaultModel) : name_or_path;
  if (!name_or_path.empty() && IsPath(wanted)) return wanted;
  if (MustBePath(wanted)) {
    return tl::unexpected(Error{.code = ErrorCode::kFileNotFound,
                                .where = wanted,
                                .subject = {},
                                .expected = "a model file",
                                .found = "nothing there",
                                .hint = "see attend models"});
  }
  const std::vector<FoundModel> models = ListModels(places);
  const std::string stem = WithoutExtension(wanted), lower = Lower(stem);
  const auto first = [&](auto fits) { return std::find_if(models.begin(), models.end(), fits); };
  auto found = first([&](const FoundModel& m) { return m.name == stem; });
  if (found == models.end()) found = first([&](const FoundModel& m) { return Lower(m.name) == lower; });
  if (found != models.end()) return found->path;

  std::vector<std::string> names;
  for (const FoundModel& model : models) {
    const bool is_new = std::find(names.begin(), names.end(), model.name) == names.end();
    if (is_new && Lower(model.name).starts_with(lower)) names.push_back(model.name);
  }
  if (names.empty()) return NotFound(wanted, models);
  if (names.size() > 1) return Ambiguous(wanted, names);
  return first([&](const FoundModel& m) { return m.name == names[0]; })->path;
}

}  // namespace attend
