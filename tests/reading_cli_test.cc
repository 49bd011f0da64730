// attend read on real documents: what it quotes, how it is stopped, and what it shows on a terminal.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "formats/gguf_test_builder.h"
#include "tests/cli_util.h"
#include "tests/doc_block.h"
#include "tests/golden_util.h"

namespace attend {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kData = ATTEND_SOURCE_DIR "/tests/data/";

int64_t LineOf(const std::string& text, size_t byte) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
}

TEST(SmolLm2Reading, EveryQuoteStandsInTheDocumentOnItsLines) {
  ATTEND_NEEDS_REAL_MODEL(model);
  const CliFolder home;
  const std::vector<std::string> questions[] = {
      {"contract.txt", "When are invoices due?", "Who may end the agreement?"},
      {"contract.zh.txt", "发票应在多少日内支付？", "谁可以解除本合同？"}};
  for (const auto& asked : questions) {
    const std::string& name = asked[0];
    const std::string text = ReadSourceFile("tests/data/" + name);
    const CliResult result =
        home.Run({"read", kData + name, "-m", model, "--json", "--no-progress", "--ask", asked[1], "--ask", asked[2]});
    ASSERT_EQ(result.status, 0) << result.err;
    const json reading = json::parse(result.out);
    EXPECT_EQ(reading.at("schema"), "attend.read");
    EXPECT_EQ(reading.at("complete"), true);
    size_t num_quotes = 0;
    for (const json& answer : reading.at("answers")) {
      EXPECT_EQ(answer.at("nothing").get<bool>(), answer.at("quotes").empty());
      for (const json& quote : answer.at("quotes")) {
        const std::string words = quote.at("text");
        const size_t at = text.find(words);
        ASSERT_NE(at, std::string::npos) << words;
        bool on_its_lines = false;  // the same words may stand in several places
        for (size_t place = at; place != std::string::npos; place = text.find(words, place + 1))
          on_its_lines |= LineOf(text, place) == quote.at("lines")[0];
        EXPECT_TRUE(on_its_lines) << words;
        ++num_quotes;
      }
    }
    EXPECT_GT(num_quotes, 0u) << name;
  }
}

TEST(SmolLm2Reading, CtrlCKeepsWhatWasRead) {
  ATTEND_NEEDS_REAL_MODEL(model);
  const CliFolder home;
  const CliResult result = home.RunScript(
      "\"$ATTEND\" read \"$DOCUMENT\" -m \"$MODEL\" --json --ask 'Who may convey it?' & reader=$!\n"
      "while kill -0 $reader && ! grep -q '^Fits' \"$ERRORS\"; do sleep 0.01; done\n"
      "kill -INT $reader; wait $reader",
      {{"DOCUMENT", kData + "gpl-3.txt"}, {"MODEL", model}});
  ASSERT_EQ(result.status, 130) << result.err;
  const json reading = json::parse(result.out);
  EXPECT_EQ(reading.at("complete"), false);
  EXPECT_GT(reading.at("read_tokens"), 0);
  EXPECT_LT(reading.at("read_tokens"), reading.at("document_tokens"));
  ASSERT_EQ(reading.at("answers").size(), 1u);
  const int64_t last_line = reading.at("pieces").back().at("read_lines")[1];
  const json& passages = reading.at("answers")[0].at("passages");
  EXPECT_FALSE(passages.empty());
  for (const json& passage : passages) EXPECT_LE(passage.at("lines")[1], last_line);
}

// script(1) gives the program a terminal.
TEST(Terminal, ColoursOnATerminalOnlyAndNotWithNoColor) {
  const CliFolder home;
  const std::string model = home.Write("tiny.gguf", testing::TinyLlama().Uint32("llama.context_length", 1024).Build());
  const std::string on_terminal =
      "script -qec \"\\\"$ATTEND\\\" plan -m '" + model + "' --tokens 500 --memory 1GiB\" /dev/null";
  EXPECT_THAT(home.RunScript(on_terminal).out, AllOf(HasSubstr("Fits"), HasSubstr("\x1b[")));
  EXPECT_THAT(home.RunScript(on_terminal, {{"NO_COLOR", "1"}}).out, AllOf(HasSubstr("Fits"), Not(HasSubstr("\x1b["))));
  EXPECT_THAT(home.Run({"plan", "-m", model, "--tokens", "500", "--memory", "1GiB"}).out,
              AllOf(HasSubstr("Fits"), Not(HasSubstr("\x1b["))));
}

}  // namespace
}  // namespace attend
