"""Writes the tokenizer tables of a GGUF file as tests/golden/smollm2/tokenizer_tables.txt holds them.

  python3 tools/extract_tokenizer.py model.gguf > tokenizer_tables.txt        (needs the package `gguf`)

The format is one value a line, UTF-8, "\\" written as "\\\\" and newline as "\\n":
  model M / pre P / bos ID / eos ID / add_bos 0|1
  tokens N, then N lines "TYPE TEXT" (GGUF token type and spelling, by id)
  merges N, then N lines "LEFT RIGHT" (by rank)
"""
import sys

from gguf import GGUFReader


def escape(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def main():
    fields = GGUFReader(sys.argv[1]).fields
    value = lambda key: fields["tokenizer.ggml." + key].contents()
    tokens, types, merges = value("tokens"), value("token_type"), value("merges")
    out = [f"model {value('model')}", f"pre {value('pre')}", f"bos {value('bos_token_id')}",
           f"eos {value('eos_token_id')}", f"add_bos {int(value('add_bos_token'))}"]
    out += [f"tokens {len(tokens)}"] + [f"{kind} {escape(text)}" for kind, text in zip(types, tokens)]
    out += [f"merges {len(merges)}"] + [escape(merge) for merge in merges]
    sys.stdout.buffer.write(("\n".join(out) + "\n").encode("utf-8"))


main()
