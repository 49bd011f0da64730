// Messages to a prompt. A template is data: what stands before and after a message of each role. Control tokens come
// from the template alone; text of a message is never parsed for them, so a document that contains "<|im_end|>" stays a
// document.
//
//   ids of   <|im_start|> user \n CONTENT <|im_end|> \n ... <|im_start|> assistant \n
//                                 [begin, end) is given for every message
//
// Text between two control tokens is tokenised as one stretch, as the model was trained ("\n" and a content's leading
// spaces merge); the ids equal those of the model's own Jinja template whenever no content contains a control token's
// name.
//
// Errors: unsupported_feature (no known template; hint --chat-template chatml), bad_argument (a role that the template
// has not), tokenizer_bad (a control token of the template is not in the vocabulary).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokenizer.h"

namespace attend {

struct ChatRole {
  std::string name;    // "user"
  std::string prefix;  // "<|im_start|>user\n"
  std::string suffix;  // "<|im_end|>\n"
};

struct ChatTemplate {
  std::string name;  // "chatml"
  std::vector<ChatRole> roles;
  std::string default_system;     // said by role "system" when the first message has another role; empty: nothing is
  std::string generation_prompt;  // "<|im_start|>assistant\n"
  std::vector<std::string> control_tokens;  // all that the strings above use; the vocabulary must have them
  std::vector<std::string> stop_tokens;
};

struct ChatMessage {
  std::string role;
  std::string content;
};

// Where a message's content lies in the prompt: tokens [begin, end). A token that also holds the template's bytes
// around the content (a newline before it) is counted in, at offset 0.
struct ContentTokens {
  size_t begin = 0;
  size_t end = 0;
  std::vector<size_t> offsets;  // [end - begin] byte offset of each token in the content
};

struct RenderedPrompt {
  std::vector<uint32_t> ids;
  std::vector<ContentTokens> contents;  // one a message, in order
};

// By the name a user gives: "chatml".
Result<ChatTemplate> ChatTemplateNamed(std::string_view name);

// By the Jinja source a model file carries.
Result<ChatTemplate> ChatTemplateFor(std::string_view jinja_source);

Result<RenderedPrompt> RenderPrompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                    std::span<const ChatMessage> messages, bool add_generation_prompt);

}  // namespace attend
