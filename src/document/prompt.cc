#include "document/prompt.h"

#include <algorithm>
#include <string>

namespace attend {
namespace {

constexpr std::string_view kInstruction = "Read the following document.\n\n";
constexpr std::string_view kQuestionLead = "\n\nUsing only the document, answer briefly: ";

void Append(std::vector<uint32_t>& ids, const std::vector<uint32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

const ChatRole* FindRole(const ChatTemplate& chat_template, std::string_view name) {
  const auto found = std::find_if(chat_template.roles.begin(), chat_template.roles.end(),
                                  [&](const ChatRole& role) { return role.name == name; });
  return found == chat_template.roles.end() ? nullptr : &*found;
}

}  // namespace

Result<DocumentPrompt> DocumentPrompt::Make(const ChatTemplate& chat_template, const Tokenizer& tokenizer) {
  const ChatRole* user = FindRole(chat_template, "user");
  if (user == nullptr) {
    return tl::unexpected(Error{.code = ErrorCode::kBadArgument,
                                .where = "chat template",
                                .subject = chat_template.name,
                                .expected = "a role named user",
                                .found = "none",
                                .hint = {}});
  }
  DocumentPrompt prompt;
  prompt.tokenizer_ = &tokenizer;
  const ChatRole* system = FindRole(chat_template, "system");
  if (system != nullptr && !chat_template.default_system.empty()) {
    Append(prompt.before_,
           tokenizer.EncodeWithSpecials(system->prefix + chat_template.default_system + system->suffix));
  }
  Append(prompt.before_, tokenizer.EncodeWithSpecials(user->prefix));
  Append(prompt.before_, tokenizer.Encode(kInstruction));
  prompt.closing_ = tokenizer.EncodeWithSpecials(user->suffix + chat_template.generation_prompt);
  return prompt;
}

std::vector<uint32_t> DocumentPrompt::After(std::string_view question) const {
  std::vector<uint32_t> ids = tokenizer_->Encode(std::string(kQuestionLead) + std::string(question));
  Append(ids, closing_);
  return ids;
}

std::vector<uint32_t> DocumentPrompt::Whole(std::span<const uint32_t> text_ids, std::string_view question) const {
  std::vector<uint32_t> ids = before_;
  ids.insert(ids.end(), text_ids.begin(), text_ids.end());
  Append(ids, After(question));
  return ids;
}

}  // namespace attend
