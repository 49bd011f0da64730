// For tests: the tokenizer of tests/golden/smollm2/tokenizer_tables.txt (format: tools/extract_tokenizer.py) and a tiny
// one.
#pragma once

#include <fstream>
#include <string>

#include "text/tokenizer.h"

namespace attend::testing {

inline std::string Unescaped(const std::string& line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\')
      out += line[++i] == 'n' ? '\n' : line[i];
    else
      out += line[i];
  }
  return out;
}

inline TokenizerTables ReadTables(const std::string& path) {
  std::ifstream file(path);
  TokenizerTables tables;
  std::string key, value, line;
  const auto rest = [&] {
    std::getline(file.ignore(1), line);
    return Unescaped(line);
  };
  while (file >> key) {
    if (key == "model") tables.model = rest();
    if (key == "pre") tables.pre = rest();
    if (key == "bos") tables.bos_id = static_cast<uint32_t>(std::stoul(rest()));
    if (key == "eos") tables.eos_id = static_cast<uint32_t>(std::stoul(rest()));
    if (key == "add_bos") tables.add_bos = rest() == "1";
    if (key == "tokens") {
      for (size_t n = std::stoul(rest()); n > 0; --n) {
        int32_t type = 0;
        file >> type;
        tables.token_types.push_back(type);
        tables.tokens.push_back(rest());
      }
    }
    if (key == "merges") {
      for (size_t n = std::stoul(rest()); n > 0; --n) {
        std::getline(file, line);
        tables.merges.push_back(Unescaped(line));
      }
    }
  }
  return tables;
}

// Parsed once a program.
inline const Tokenizer& SmolLm2() {
  static const Tokenizer tokenizer =
      *Tokenizer::Make(ReadTables(ATTEND_SOURCE_DIR "/tests/golden/smollm2/tokenizer_tables.txt"));
  return tokenizer;
}

// "<x>" is a control token, "é" half a character each, and no byte but these has a token.
inline TokenizerTables TinyTables() {
  return {.model = "gpt2",
          .pre = "smollm",
          .tokens = {"<x>", "a", "b", "ab", "Ġ", "Ã", "©", "<", "x", ">", "abab"},
          .merges = {"a b", "ab ab"},
          .token_types = {3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
          .bos_id = std::nullopt,
          .eos_id = 0,
          .add_bos = false};
}

}  // namespace attend::testing
