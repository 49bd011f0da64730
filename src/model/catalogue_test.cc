#include "model/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace attend {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Catalogue : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "attend-catalogue-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Write(const fs::path& name, const std::string& content = "GGUF") {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << content;
    return (root_ / name).string();
  }
  std::string Folder(const char* name) const { return (root_ / name).string(); }

  static std::vector<std::string> Names(const ModelPlaces& places) {
    std::vector<std::string> names;
    for (const FoundModel& model : ListModels(places)) names.push_back(model.name);
    return names;
  }

  fs::path root_;
};

const std::string kDigest(64, 'a');

std::string Manifest(const std::string& digest) {
  return R"({"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.license","digest":"sha256:00"},)"
         R"({"mediaType":"application/vnd.ollama.image.model","digest":")" +
         digest + R"("}]})";
}

TEST_F(Catalogue, ListsThePlacesInTheirOrderByName) {
  const std::string own = Write("own/b.gguf", "12345");
  Write("own/a.GGUF");
  Write("own/readme.txt");
  Write("cpp/c.gguf");
  Write("extra/d.gguf");
  const ModelPlaces places = {.paths = {Folder("extra")}, .attend = {Folder("own")}, .llama_cpp = {Folder("cpp")}};
  EXPECT_THAT(Names(places), ElementsAre("d", "a", "b", "c"));
  const FoundModel b = ListModels(places)[2];
  EXPECT_EQ(b.path, own);
  EXPECT_EQ(b.bytes, 5u);
  EXPECT_EQ(NameOf(b.source), "attend");
}

TEST_F(Catalogue, NothingIsThereWithoutPlacesOrFolders) {
  EXPECT_THAT(Names({}), IsEmpty());
  EXPECT_THAT(
      Names({.paths = {"/nonexistent"}, .attend = {""}, .huggingface = {"/nonexistent"}, .ollama = {"/nonexistent"}}),
      IsEmpty());
}

TEST_F(Catalogue, AnEntryOfThePathMayBeAFile) {
  const std::string file = Write("x/only.gguf");
  EXPECT_THAT(Names({.paths = {file}}), ElementsAre("only"));
}

TEST_F(Catalogue, ReadsAHubInPlaceAndPrefersTheMainRevision) {
  Write("hub/models--org--tiny/blobs/1", "old");
  Write("hub/models--org--tiny/blobs/2", "newer");
  for (const auto& [revision, blob] : {std::pair{"aaa", "1"}, std::pair{"bbb", "2"}}) {
    const fs::path folder = root_ / "hub/models--org--tiny/snapshots" / revision;
    fs::create_directories(folder);
    fs::create_symlink(fs::path("../../blobs") / blob, folder / "tiny.gguf");
  }
  Write("hub/models--org--tiny/refs/main", "bbb\n");
  Write("hub/datasets--org--x/snapshots/r/y.gguf");
  const ModelPlaces places = {.huggingface = {Folder("hub")}};
  EXPECT_THAT(Names(places), ElementsAre("tiny", "tiny"));
  EXPECT_EQ(ResolveModel("tiny", places).value(), Folder("hub/models--org--tiny/snapshots/bbb/tiny.gguf"));
}

TEST_F(Catalogue, ReadsOllamaManifestsAndTheirBlobs) {
  const std::string blob = Write("ollama/blobs/sha256-" + kDigest);
  Write("ollama/manifests/registry.ollama.ai/library/smol/135m", Manifest("sha256:" + kDigest));
  EXPECT_THAT(Names({.ollama = {Folder("ollama")}}), ElementsAre("smol:135m"));
  EXPECT_EQ(ResolveModel("smol:135m", {.ollama = {Folder("ollama")}}).value(), blob);
}

TEST_F(Catalogue, OllamaModelsOfOthersKeepTheirNamespace) {
  Write("ollama/blobs/sha256-" + kDigest);
  Write("ollama/manifests/registry.ollama.ai/someone/smol/latest", Manifest("sha256:" + kDigest));
  EXPECT_THAT(Names({.ollama = {Folder("ollama")}}), ElementsAre("someone/smol:latest"));
}

TEST_F(Catalogue, BadManifestsHoldNothing) {
  const std::string folder = "ollama/manifests/registry.ollama.ai/library/x/";
  Write(folder + "outside", Manifest("sha256:../../" + kDigest));
  Write(folder + "short", Manifest("sha256:00"));
  Write(folder + "no-json", "{");
  Write(folder + "empty", "");
  Write(folder + "deep", std::string(100000, '['));
  Write(folder + "other", R"({"layers":{"a":1}})");
  Write(folder + "no-blob", Manifest("sha256:" + kDigest));
  EXPECT_THAT(Names({.ollama = {Folder("ollama")}}), IsEmpty());
}

TEST_F(Catalogue, LinksLoopsAndPipesAreSafe) {
  Write("own/real.gguf");
  fs::create_symlink(root_ / "own/real.gguf", root_ / "own/same.gguf");
  fs::create_symlink("nowhere.gguf", root_ / "own/dangling.gguf");
  fs::create_symlink("loop.gguf", root_ / "own/loop.gguf");
  fs::create_directory(root_ / "own/folder.gguf");
  ASSERT_EQ(mkfifo((root_ / "own/pipe.gguf").c_str(), 0600), 0);
  Write("own/.gguf");
  EXPECT_THAT(Names({.attend = {Folder("own")}}), ElementsAre("real"));
}

TEST_F(Catalogue, ResolvesPathsFirst) {
  const std::string file = Write("m.gguf");
  EXPECT_EQ(ResolveModel(file, {}).value(), file);
  Write("hf/config.json", "{}");
  EXPECT_EQ(ResolveModel(Folder("hf"), {}).value(), Folder("hf"));
  const auto missing = ResolveModel(Folder("gone.gguf"), {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kFileNotFound);
}

TEST_F(Catalogue, ResolvesNamesWithOrWithoutExtensionAndCase) {
  const std::string path = Write("own/SmolLM2-135M-Instruct.Q4_1.gguf");
  const ModelPlaces places = {.attend = {Folder("own")}};
  for (const char* name : {"", "SmolLM2-135M-Instruct.Q4_1", "SmolLM2-135M-Instruct.Q4_1.gguf",
                           "smollm2-135m-instruct.q4_1", "smol", "SMOLLM2-135"}) {
    EXPECT_EQ(ResolveModel(name, places).value(), path) << name;
  }
}

TEST_F(Catalogue, AnExactNameWinsOverALongerOne) {
  const std::string small = Write("own/a.gguf");
  Write("own/ab.gguf");
  EXPECT_EQ(ResolveModel("a", {.attend = {Folder("own")}}).value(), small);
}

TEST_F(Catalogue, ANameInTwoPlacesMeansTheFirst) {
  const std::string first = Write("extra/a.gguf", "one");
  Write("own/a.gguf", "two");
  EXPECT_EQ(ResolveModel("a", {.paths = {Folder("extra")}, .attend = {Folder("own")}}).value(), first);
}

TEST_F(Catalogue, AnAmbiguousBeginningListsWhatFits) {
  Write("own/smol-a.gguf");
  Write("own/smol-b.gguf");
  const auto path = ResolveModel("Smol", {.attend = {Folder("own")}});
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::kBadArgument);
  EXPECT_THAT(Describe(path.error()), HasSubstr("smol-a, smol-b"));
}

TEST_F(Catalogue, AnUnknownNameListsWhatIsThereAndHowToFetch) {
  Write("own/a\x1b[31m.gguf");
  const auto path = ResolveModel("nothing", {.attend = {Folder("own")}});
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::kModelNotFound);
  const std::string line = Describe(path.error());
  EXPECT_THAT(line, HasSubstr("only a\\x1b[31m"));
  EXPECT_THAT(line, HasSubstr("tools/fetch-model"));
  EXPECT_THAT(Describe(ResolveModel("", {}).error()), HasSubstr("no model in any folder"));
}

TEST_F(Catalogue, LongListsAreCutInMessages) {
  for (int i = 0; i < 20; ++i) Write("own/m" + std::to_string(i) + ".gguf");
  EXPECT_THAT(Describe(ResolveModel("x", {.attend = {Folder("own")}}).error()), HasSubstr("and 12 more"));
}

}  // namespace
}  // namespace attend
