// Every bad input of `attend read` is a one-line error with a stable code and the right exit status, and nothing on
// stdout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/gguf_test_builder.h"
#include "tests/cli_util.h"
#include "tests/golden_util.h"

namespace attend {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TinyLlama;

struct BadInput {
  const char* name;
  std::string document;  // its bytes
  std::string model;     // its bytes
  std::vector<std::string> more;
  int status;
  std::string code;
  std::string says;
};

std::string Text(const testing::Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

std::vector<BadInput> BadInputs() {
  const std::string good = "One sentence. Another one.\n";
  const std::string model = Text(TinyLlama().Build());
  testing::GgufBuilder strange = TinyLlama();
  return {
      {"empty_file", "", model, {}, 3, "file_empty", "document"},
      {"white_space", " \n\t\n", model, {}, 3, "file_empty", "white space"},
      {"binary", std::string("ab\0cd", 5), model, {}, 3, "text_binary", "NUL byte at 2"},
      {"pdf", "%PDF-1.7\n...", model, {}, 4, "text_unsupported_format", "pdftotext"},
      {"docx", "PK\x03\x04....", model, {}, 4, "text_unsupported_format", "pandoc"},
      {"utf16", "\xff\xfe\x41", model, {}, 4, "text_unsupported_format", "iconv"},
      {"invalid_utf8", "good\nbad \xff here\n", model, {}, 3, "text_not_utf8", "byte 9, line 2"},
      {"model_not_gguf", good, "hello, I am no model", {}, 3, "gguf_bad_magic", "GGUF"},
      {"unknown_architecture",
       good,
       Text(strange.String("general.architecture", "mamba").Build()),
       {},
       4,
       "unsupported_architecture",
       "mamba"},
      {"unknown_isa", good, model, {"--isa", "neon"}, 2, "unknown_isa", "scalar"},
      {"unknown_cache_format", good, model, {"--kv", "q5"}, 2, "usage", "q8,q4"},
      {"int8_over_bf16", good, model, {"--compute", "int8", "--kv", "bf16"}, 2, "usage", "--kv q8 or q4"},
      {"no_chat_template", good, model, {}, 4, "unsupported_feature", "--chat-template"},
      {"unknown_chat_template", good, model, {"--chat-template", "jinja"}, 2, "bad_argument", "jinja"},
  };
}

class ReadRefuses : public ::testing::TestWithParam<BadInput> {};

TEST_P(ReadRefuses, WithOneLineACodeAndAnExitStatus) {
  const BadInput& bad = GetParam();
  const CliFolder home;
  std::vector<std::string> arguments = {
      "read", home.Write("document.txt", bad.document), "-m", home.Write("model.gguf", bad.model), "--ask", "What?",
      "-q"};
  arguments.insert(arguments.end(), bad.more.begin(), bad.more.end());
  const CliResult result = home.Run(arguments);
  EXPECT_EQ(result.status, bad.status) << result.err;
  EXPECT_THAT(result.err, HasSubstr("[" + bad.code + "]"));
  EXPECT_THAT(result.err, HasSubstr(bad.says));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(BadInput, ReadRefuses, ::testing::ValuesIn(BadInputs()),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

TEST(ReadCommand, RefusesMissingFilesDirectoriesAndUnknownModels) {
  const CliFolder home;
  const std::string model = home.Write("model.gguf", TinyLlama().Build());
  const CliResult missing = home.Run({"read", home.Path("nowhere.txt"), "-m", model, "--ask", "What?"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, HasSubstr("[file_not_found]"));
  const CliResult folder = home.Run({"read", home.Path(""), "-m", model, "--ask", "What?"});
  EXPECT_EQ(folder.status, 3);
  EXPECT_THAT(folder.err, HasSubstr("[file_is_directory]"));
  const CliResult unknown = home.Run({"read", model, "-m", "no-such-model", "--ask", "What?"});
  EXPECT_EQ(unknown.status, 4);
  EXPECT_THAT(unknown.err, HasSubstr("[model_not_found]"));
  EXPECT_EQ(home.Run({"read"}).status, 2);
  EXPECT_EQ(home.Run({"frobnicate"}).status, 2);
}

// With the real model: what the plan refuses, what the question does, and what a lossy reading says.
class ReadWithModel : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = RealModelPath();
    if (model_.empty()) GTEST_SKIP() << "the default model is not there: run tools/fetch-model";
    if (kSanitized) GTEST_SKIP() << "the calibration takes minutes under a sanitizer";
  }
  CliResult Read(const std::string& text, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"read", home_.Write("document.txt", text), "-m", model_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return home_.Run(arguments);
  }
  CliFolder home_;
  std::string model_;
};

TEST_F(ReadWithModel, RefusesAQuestionThatAloneExceedsTheLimit) {
  std::string question;
  for (int i = 0; i < 9000; ++i) question += "why ";
  const CliResult result = Read("One sentence.\n", {"--ask", question, "-q"});
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("[question_too_long]"));
  EXPECT_THAT(result.out, IsEmpty());
}

TEST_F(ReadWithModel, RefusesWhatDoesNotFitTheMemoryAndNamesTheShortfall) {
  const CliResult result = Read("One sentence.\n", {"--ask", "What?", "--memory", "64MiB", "-q"});
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("[does_not_fit]"));
  EXPECT_THAT(result.err, HasSubstr("--memory"));
}

TEST_F(ReadWithModel, RefusesAMemoryThatIsNoSize) {
  const CliResult result = Read("One sentence.\n", {"--ask", "What?", "--memory", "many", "-q"});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("[usage]"));
}

TEST_F(ReadWithModel, LossyReadingCountsWhatItReplaced) {
  const CliResult result =
      Read("The fee is 5 euros \xff a month.\n", {"--ask", "What is the fee?", "--lossy", "--json", "-q"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"num_replaced\":1"));
}

TEST_F(ReadWithModel, WorksWithAReadOnlyCacheFolder) {
  const std::string blocked = home_.Write("not-a-folder", std::string("a file where the cache folder should be"));
  const CliResult result = home_.Run({"read", home_.Write("document.txt", std::string("The fee is 5 euros.\n")), "-m",
                                      model_, "--ask", "What is the fee?"},
                                     {{"XDG_CACHE_HOME", blocked}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("The fee is 5 euros."));
  EXPECT_THAT(result.err, HasSubstr("not kept"));
}

}  // namespace
}  // namespace attend
