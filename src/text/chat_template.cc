#include "text/chat_template.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace attend {
namespace {

ChatRole ChatMlRole(const std::string& name) {
  return {name, "<|im_start|>" + name + "\n", "<|im_end|>\n"};
}

ChatTemplate ChatMl() {
  return {.name = "chatml",
          .roles = {ChatMlRole("system"), ChatMlRole("user"), ChatMlRole("assistant")},
          .default_system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
          .generation_prompt = "<|im_start|>assistant\n",
          .control_tokens = {"<|im_start|>", "<|im_end|>"},
          .stop_tokens = {"<|im_end|>", "<|endoftext|>"}};
}

// One spelling for what Jinja lets be written in several: no white space but in names, ' for ", message['x'] for
// message.x.
std::string Normalised(std::string_view jinja) {
  std::string out;
  for (const char c : jinja) {
    if (c == '"') {
      out += '\'';
    } else if (c == '\n') {
      out += "\\n";
    } else if (c != ' ' && c != '\t' && c != '\r') {
      out += c;
    }
  }
  for (const std::string_view field : {"role", "content"}) {
    const std::string dotted = "message." + std::string(field);
    for (size_t at = out.find(dotted); at != std::string::npos; at = out.find(dotted, at)) {
      out.replace(at, dotted.size(), "message['" + std::string(field) + "']");
    }
  }
  return out;
}

// A turn must be exactly ChatML's; a template that trims or wraps contents would give other tokens.
bool IsChatMl(std::string_view jinja) {
  const std::string source = Normalised(jinja);
  for (const std::string_view part :
       {"'<|im_start|>'+message['role']+'\\n'+message['content']+'<|im_end|>'", "<|im_start|>assistant\\n"}) {
    if (source.find(part) == std::string::npos) return false;
  }
  return true;
}

std::string Unescaped(std::string_view literal) {
  std::string out;
  for (size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] == '\\' && i + 1 < literal.size()) {
      ++i;
      out += literal[i] == 'n' ? '\n' : literal[i];
    } else {
      out += literal[i];
    }
  }
  return out;
}

// The text that a template says itself between "<|im_start|>system\n" and "<|im_end|>" inside one literal (or outside
// any); empty when every system text comes from a message.
std::string DefaultSystemOf(std::string_view jinja) {
  constexpr std::string_view kStart = "<|im_start|>system";
  constexpr std::string_view kEnd = "<|im_end|>";
  for (size_t at = jinja.find(kStart); at != std::string_view::npos; at = jinja.find(kStart, at + 1)) {
    const char before = at == 0 ? '\0' : jinja[at - 1];
    const char closing = before == '\'' || before == '"' ? before : '{';
    const std::string_view rest = jinja.substr(at + kStart.size());
    size_t end = 0;
    while (end < rest.size() && rest[end] != closing) end += rest[end] == '\\' ? 2 : 1;
    const std::string text = Unescaped(rest.substr(0, end));
    const size_t said_end = text.find(kEnd);
    if (text.starts_with('\n') && said_end != std::string::npos) return text.substr(1, said_end - 1);
  }
  return {};
}

// A prompt in the making. Ordinary text waits until the next control token, so that it is tokenised as one stretch.
class PromptBuilder {
 public:
  explicit PromptBuilder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // Control tokens in it are parsed.
  void AddTemplateText(std::string_view text) {
    size_t position = 0;
    while (const std::optional<SpecialMatch> match = tokenizer_.FindNextSpecial(text, position)) {
      pending_ += text.substr(position, match->offset - position);
      EndStretch();
      prompt_.ids.push_back(match->id);
      position = match->offset + match->length;
    }
    pending_ += text.substr(position);
  }

  // Nothing in it is parsed. Only a message has an entry among the contents, a default system text has none.
  void AddContent(std::string_view text, bool is_message) {
    if (is_message) contents_.push_back({pending_.size(), pending_.size() + text.size()});
    pending_ += text;
  }

  RenderedPrompt Finish() {
    EndStretch();
    return std::move(prompt_);
  }

 private:
  void EndStretch() {
    const Encoding encoding = tokenizer_.EncodeWithOffsets(pending_);
    for (const ByteRange content : contents_) prompt_.contents.push_back(Locate(encoding, content));
    prompt_.ids.insert(prompt_.ids.end(), encoding.ids.begin(), encoding.ids.end());
    pending_.clear();
    contents_.clear();
  }

  // The tokens of the stretch that hold a byte of the content.
  ContentTokens Locate(const Encoding& encoding, ByteRange content) const {
    const auto& offsets = encoding.offsets;
    const auto from = std::upper_bound(offsets.begin(), offsets.end(), content.begin);
    const auto to = std::lower_bound(offsets.begin(), offsets.end(), content.end);
    size_t first = static_cast<size_t>(from - offsets.begin());
    const size_t last = static_cast<size_t>(to - offsets.begin());
    // The token before the first one that starts inside holds the content's first bytes, if its own reach that far.
    if (first > 0 && content.size() > 0) {
      const size_t end = offsets[first - 1] + tokenizer_.TokenBytes(encoding.ids[first - 1]).size();
      if (end > content.begin) --first;
    }
    ContentTokens tokens = {
        .begin = prompt_.ids.size() + first, .end = prompt_.ids.size() + std::max(first, last), .offsets = {}};
    for (size_t i = first; i < last; ++i) tokens.offsets.push_back(std::max(offsets[i], content.begin) - content.begin);
    return tokens;
  }

  const Tokenizer& tokenizer_;
  RenderedPrompt prompt_;
  std::string pending_;
  std::vector<ByteRange> contents_;  // in pending_
};

const ChatRole* FindRole(const ChatTemplate& chat_template, std::string_view name) {
  for (const ChatRole& role : chat_template.roles) {
    if (role.name == name) return &role;
  }
  return nullptr;
}

Error TemplateError(ErrorCode code, std::string subject, std::string expected, std::string found, std::string hint) {
  return {.code = code,
          .where = "chat template",
          .subject = std::move(subject),
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = std::move(hint)};
}

Error NoSuchRole(const ChatTemplate& chat_template, const std::string& name) {
  std::string known;
  for (const ChatRole& role : chat_template.roles) known += (known.empty() ? "" : ", ") + role.name;
  return TemplateError(ErrorCode::kBadArgument, "role", known, "'" + name + "'", {});
}

// Without this a control token that the vocabulary lacks would silently be ordinary text.
Result<void> CheckControlTokens(const ChatTemplate& chat_template, const Tokenizer& tokenizer) {
  for (const std::string& name : chat_template.control_tokens) {
    if (tokenizer.FindSpecial(name)) continue;
    return tl::unexpected(TemplateError(ErrorCode::kTokenizerBad, "token '" + name + "'",
                                        "a control token of the vocabulary", "none of that name",
                                        "this model was not made for chat template " + chat_template.name));
  }
  return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplateNamed(std::string_view name) {
  if (name == "chatml") return ChatMl();
  return tl::unexpected(TemplateError(ErrorCode::kBadArgument, "name", "chatml", "'" + std::string(name) + "'", {}));
}

Result<ChatTemplate> ChatTemplateFor(std::string_view jinja_source) {
  if (!IsChatMl(jinja_source)) {
    return tl::unexpected(TemplateError(ErrorCode::kUnsupportedFeature, {}, "a ChatML template (the only kind known)",
                                        "another one", "use --chat-template chatml if the model was trained on it"));
  }
  ChatTemplate chat_template = ChatMl();
  chat_template.default_system = DefaultSystemOf(jinja_source);
  return chat_template;
}

Result<RenderedPrompt> RenderPrompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                    std::span<const ChatMessage> messages, bool add_generation_prompt) {
  ATTEND_RETURN_IF_ERROR(CheckControlTokens(chat_template, tokenizer));
  PromptBuilder builder(tokenizer);
  const auto add = [&](const ChatRole& role, std::string_view content, bool is_message) {
    builder.AddTemplateText(role.prefix);
    builder.AddContent(content, is_message);
    builder.AddTemplateText(role.suffix);
  };
  const ChatRole* system = FindRole(chat_template, "system");
  const bool says_default = system != nullptr && !chat_template.default_system.empty();
  if (says_default && !messages.empty() && messages[0].role != "system") {
    add(*system, chat_template.default_system, false);
  }
  for (const ChatMessage& message : messages) {
    const ChatRole* role = FindRole(chat_template, message.role);
    if (role == nullptr) return tl::unexpected(NoSuchRole(chat_template, message.role));
    add(*role, message.content, true);
  }
  if (add_generation_prompt) builder.AddTemplateText(chat_template.generation_prompt);
  return builder.Finish();
}

}  // namespace attend
