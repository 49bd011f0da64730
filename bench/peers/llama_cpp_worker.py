"""Runs bench tests with llama.cpp, one at a time as they are asked for.

Speaks the protocol of `attend bench --stdin`: a header line of JSON, then for every line "pp512" or "tg64 @ d7500" read from
stdin one line of JSON {"test", "seconds", "tokens_per_s"}. The low-level API is used, without a sampler, and logits are asked
for where `attend bench` asks for them: of a prompt's last token and of every generated one.
"""

import argparse
import importlib.metadata
import json
import os
import re
import sys
import time

import llama_cpp

MICRO_BATCH = 512


def token_at(position, vocab_size):
    """The same made-up tokens as src/measure/model_bench.cc."""
    return (position * 7919 + 13) % vocab_size


def parse(name):
    match = re.fullmatch(r"(pp|tg)(\d+)(?:@d(\d+))?", name.replace(" ", ""))
    if not match or int(match[2]) < 1:
        raise ValueError(f"not a test: {name}")
    return match[1], int(match[2]), int(match[3] or 0)


class Reader:
    """One context, whose first `depth` tokens are read once and kept."""

    def __init__(self, model, depth, num_tokens, args):
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = -(-(depth + num_tokens) // 256) * 256
        params.n_batch = params.n_ubatch = MICRO_BATCH
        params.n_threads = params.n_threads_batch = args.threads
        params.flash_attn_type = 1 if args.flash_attention == "on" else 0
        self.context = llama_cpp.llama_init_from_model(model, params)
        if not self.context:
            raise MemoryError("llama.cpp made no context")
        self.capacity = depth + num_tokens
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        self.batches = {n: llama_cpp.llama_batch_init(n, 0, 1) for n in (1, MICRO_BATCH)}
        self.depth = depth
        self.read(0, depth)

    def decode(self, first, count, wants_logits):
        batch = self.batches[1 if count == 1 else MICRO_BATCH]
        batch.n_tokens = count
        for i in range(count):
            batch.token[i] = token_at(first + i, self.vocab_size)
            batch.pos[i] = first + i
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = 0
            batch.logits[i] = wants_logits and i == count - 1
        if llama_cpp.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama_decode failed")

    def read(self, first, count):
        for begin in range(first, first + count, MICRO_BATCH):
            end = min(first + count, begin + MICRO_BATCH)
            self.decode(begin, end - begin, end == first + count)
        llama_cpp.llama_synchronize(self.context)

    def generate(self, first, count):
        for position in range(first, first + count):
            self.decode(position, 1, True)
            llama_cpp.llama_synchronize(self.context)

    def run(self, kind, num_tokens):
        llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(self.context), 0, self.depth, -1)
        begin = time.perf_counter()
        (self.read if kind == "pp" else self.generate)(self.depth, num_tokens)
        return time.perf_counter() - begin

    def close(self):
        for batch in self.batches.values():
            llama_cpp.llama_batch_free(batch)
        llama_cpp.llama_free(self.context)


class Readers:
    """A context for each depth, made when first asked for and made larger when a test needs that."""

    def __init__(self, model, args):
        self.model, self.args, self.by_depth = model, args, {}

    def run(self, name):
        kind, num_tokens, depth = parse(name)
        reader = self.by_depth.get(depth)
        if reader is None or reader.capacity < depth + num_tokens:
            if reader is not None:
                reader.close()
            reader = self.by_depth[depth] = Reader(self.model, depth, num_tokens, self.args)
        return num_tokens, reader.run(kind, num_tokens)


def header(args):
    return {
        "peer": "llama.cpp",
        "package": "llama-cpp-python " + importlib.metadata.version("llama-cpp-python"),
        "system": llama_cpp.llama_print_system_info().decode().strip(" |"),
        "settings": {
            "threads": args.threads,
            "flash_attention": args.flash_attention,
            "batch": MICRO_BATCH,
            "micro_batch": MICRO_BATCH,
            "cache": "f16",
        },
        "model": os.path.basename(args.model),
    }


def answer(line, out):
    out.write(json.dumps(line) + "\n")
    out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--flash-attention", choices=["on", "off"], default="on")
    args = parser.parse_args()

    # A callback that ctypes may still call must stay referenced.
    silent = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(silent, None)
    llama_cpp.llama_backend_init()
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(args.model.encode(), params)
    if not model:
        sys.exit(f"llama_cpp_worker: cannot load {args.model}")
    readers = Readers(model, args)
    answer(header(args), sys.stdout)
    for line in sys.stdin:
        try:
            num_tokens, seconds = readers.run(line.strip())
            answer({"test": line.strip(), "seconds": seconds, "tokens_per_s": num_tokens / seconds}, sys.stdout)
        except (ValueError, MemoryError, RuntimeError) as error:
            answer({"error": str(error)}, sys.stdout)


if __name__ == "__main__":
    main()
