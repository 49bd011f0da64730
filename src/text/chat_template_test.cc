#include "text/chat_template.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "text/test_tables.h"

namespace attend {
namespace {

using nlohmann::json;
using testing::SmolLm2;

json Golden() {
  std::ifstream file(ATTEND_SOURCE_DIR "/tests/golden/smollm2/chat.json");
  return json::parse(file);
}

std::vector<ChatMessage> MessagesOf(const json& conversation) {
  std::vector<ChatMessage> messages;
  for (const json& message : conversation.at("messages"))
    messages.push_back({message.at("role"), message.at("content")});
  return messages;
}

RenderedPrompt Render(const std::vector<ChatMessage>& messages, bool add_generation_prompt = true) {
  const auto prompt = RenderPrompt(*ChatTemplateNamed("chatml"), SmolLm2(), messages, add_generation_prompt);
  EXPECT_TRUE(prompt) << Describe(prompt.error());
  return *prompt;
}

std::span<const uint32_t> IdsOf(const RenderedPrompt& prompt, size_t message) {
  const ContentTokens& content = prompt.contents[message];
  return std::span(prompt.ids).subspan(content.begin, content.end - content.begin);
}

// No control id inside the content, and outside exactly those of the template.
void ExpectContentIsPlain(const RenderedPrompt& prompt, size_t message) {
  for (const uint32_t id : IdsOf(prompt, message)) ASSERT_FALSE(SmolLm2().IsSpecial(id));
  size_t num_specials = 0;
  for (const uint32_t id : prompt.ids) num_specials += SmolLm2().IsSpecial(id);
  ASSERT_EQ(num_specials, prompt.contents.size() * 2 + 1);
}

TEST(ChatTemplate, RendersTheGoldenConversations) {
  const json golden = Golden();
  const auto chat_template = ChatTemplateFor(golden.at("template").get<std::string>());
  ASSERT_TRUE(chat_template) << Describe(chat_template.error());
  for (const json& conversation : golden.at("conversations")) {
    const auto prompt =
        RenderPrompt(*chat_template, SmolLm2(), MessagesOf(conversation), conversation.at("add_generation_prompt"));
    ASSERT_TRUE(prompt) << Describe(prompt.error());
    EXPECT_EQ(SmolLm2().Decode(prompt->ids, false), conversation.at("text"));
    if (conversation.at("name") == "no_generation_prompt") continue;  // "<|im_end|>" in a content: see the next test
    EXPECT_EQ(prompt->ids, conversation.at("ids").get<std::vector<uint32_t>>()) << conversation.at("name");
  }
}

TEST(ChatTemplate, ControlTokensNameInAContentIsText) {
  const json golden = Golden();
  const json& conversation = golden.at("conversations").at(3);
  ASSERT_EQ(conversation.at("name"), "no_generation_prompt");
  const RenderedPrompt prompt = Render(MessagesOf(conversation), false);
  EXPECT_NE(prompt.ids, conversation.at("ids").get<std::vector<uint32_t>>());
  EXPECT_EQ(IdsOf(prompt, 0).size(), 0u);
  EXPECT_EQ(SmolLm2().Decode(IdsOf(prompt, 1), false), "Say <|im_end|> literally.");
  for (const uint32_t id : IdsOf(prompt, 1)) EXPECT_FALSE(SmolLm2().IsSpecial(id));
}

TEST(ChatTemplate, GivesTheTokensOfEachContent) {
  const RenderedPrompt prompt =
      Render({{"user", "Name three colours."}, {"assistant", "Red."}, {"user", "  Now\nmore"}});
  ASSERT_EQ(prompt.contents.size(), 3u);
  EXPECT_EQ(SmolLm2().Decode(IdsOf(prompt, 0), false), "Name three colours.");
  EXPECT_EQ(prompt.contents[0].offsets[0], 0u);
  EXPECT_EQ(prompt.contents[0].offsets[1], 4u);
  EXPECT_EQ(SmolLm2().Decode(IdsOf(prompt, 1), false), "Red.");
  // The template's newline and the first space are one token.
  EXPECT_EQ(SmolLm2().Decode(IdsOf(prompt, 2), false), "\n  Now\nmore");
  EXPECT_EQ(prompt.contents[2].offsets, (std::vector<size_t>{0, 1, 5, 6}));
}

TEST(ChatTemplate, NoSpecialInAContentBecomesAControlToken) {
  for (uint32_t id = 0; id < 17; ++id) {
    const std::string name(SmolLm2().TokenBytes(id));
    for (const std::string before : {"", " ", "\n", "x", "7"}) {
      ExpectContentIsPlain(Render({{"system", name}, {"user", before + name + "\n" + name + "system\n"}}), 1);
    }
  }
}

RC_GTEST_PROP(ChatTemplate, NoContentYieldsAControlToken, ()) {
  const auto id = *rc::gen::inRange<uint32_t>(0, 17);
  const auto before = *rc::gen::arbitrary<std::string>();
  const auto after = *rc::gen::arbitrary<std::string>();
  const RenderedPrompt prompt =
      Render({{"system", ""}, {"user", before + std::string(SmolLm2().TokenBytes(id)) + after}});
  ExpectContentIsPlain(prompt, 1);
  RC_ASSERT(prompt.contents[1].offsets.size() == prompt.contents[1].end - prompt.contents[1].begin);
}

TEST(ChatTemplate, ReadsTheDefaultSystemTextFromTheSource) {
  const std::string turn =
      R"({{"<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>" + "\n"}}<|im_start|>assistant
)";
  EXPECT_EQ(ChatTemplateFor(R"({{ '<|im_start|>system\nIt\'s you.<|im_end|>\n' }})" + turn)->default_system,
            "It's you.");
  EXPECT_EQ(ChatTemplateFor("<|im_start|>system\nOutside.<|im_end|>\n" + turn)->default_system, "Outside.");
  EXPECT_EQ(
      ChatTemplateFor(R"({{ '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }})" + turn)->default_system,
      "");
  EXPECT_EQ(ChatTemplateFor(turn)->default_system, "");
}

TEST(ChatTemplate, RefusesWhatItDoesNotKnow) {
  const std::string start = "{{'<|im_start|>' + message['role'] + '\\n' + ";
  const std::string end = " + '<|im_end|>' + '\\n'}}{{ '<|im_start|>assistant\\n' }}";
  ASSERT_TRUE(ChatTemplateFor(start + "message['content']" + end));
  for (const std::string& source :
       {std::string(), std::string("[INST] {{ message['content'] }} [/INST]"),
        start + "message['content'] | trim" + end, start + "'Q: ' + message['content']" + end}) {
    const auto chat_template = ChatTemplateFor(source);
    ASSERT_FALSE(chat_template) << source;
    EXPECT_EQ(chat_template.error().code, ErrorCode::kUnsupportedFeature);
    EXPECT_NE(Describe(chat_template.error()).find("--chat-template chatml"), std::string::npos);
  }
  EXPECT_EQ(ChatTemplateNamed("llama3").error().code, ErrorCode::kBadArgument);
}

TEST(ChatTemplate, RefusesRolesAndVocabulariesThatDoNotFit) {
  const std::vector<ChatMessage> messages = {{"user<|im_end|>", "hi"}};
  const auto role = RenderPrompt(*ChatTemplateNamed("chatml"), SmolLm2(), messages, true);
  ASSERT_FALSE(role);
  EXPECT_EQ(role.error().code, ErrorCode::kBadArgument);
  const Tokenizer tiny = *Tokenizer::Make(testing::TinyTables());
  const auto vocabulary = RenderPrompt(*ChatTemplateNamed("chatml"), tiny, messages, true);
  ASSERT_FALSE(vocabulary);
  EXPECT_EQ(vocabulary.error().code, ErrorCode::kTokenizerBad);
  EXPECT_NE(Describe(vocabulary.error()).find("<|im_start|>"), std::string::npos);
}

}  // namespace
}  // namespace attend
