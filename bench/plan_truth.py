#!/usr/bin/env python3
"""Predicted against measured: attend plan --verify over lengths and cache formats, several runs each, as Markdown.

  bench/plan_truth.py build/release/apps/attend/attend > bench/results/DATE-plan-truth.md
"""
import argparse
import datetime
import json
import subprocess
import sys

LENGTHS = (512, 2048, 4096, 8000)
FORMATS = ("bf16", "q8", "q4")
LIMITS = {"memory_bytes": 2.0, "prefill_s": 15.0, "decode_s": 15.0}  # per cent, of the worst run


def verify(attend, document, tokens, kv):
    command = [attend, "plan", document, "--verify", "--json", "-q", "--tokens", str(tokens), "--question-tokens", "0",
               "-n", "64", "--kv", kv]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def worst(runs, part):
    """The run furthest off, in per cent with its sign."""
    return max((100 * (run[part]["ratio"] - 1) for run in runs), key=abs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attend")
    parser.add_argument("--document", default="tests/data/contract_30k.txt")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    info = json.loads(subprocess.run([options.attend, "info", "--json"], check=True, capture_output=True, text=True).stdout)
    print(f"# Plan against run, {datetime.date.today()}\n")
    print(f"{info['cpu']}, ISA {info['isa']}, {info['threads']} threads. `bench/plan_truth.py`: SmolLM2-135M, the first tokens of {options.document}, "
          f"64 answer tokens, {options.runs} runs of a process each; the worst is shown, in per cent of the prediction. "
          "Calibrated once before, on synthetic weights of the model's shape.\n")
    print("| tokens | cache | memory planned | memory | prefill | answer |\n|---|---|---|---|---|---|")
    short = 0
    for kv in FORMATS:
        verify(options.attend, options.document, LENGTHS[0], kv)  # calibrates
        for tokens in LENGTHS:
            runs = [verify(options.attend, options.document, tokens, kv) for _ in range(options.runs)]
            cells = []
            for part, limit in LIMITS.items():
                off = worst(runs, part)
                short += abs(off) > limit
                cells.append(f"{off:+.1f} %" + (" (short)" if abs(off) > limit else ""))
            planned = runs[0]["memory_bytes"]["predicted"] / 2**20
            print(f"| {tokens} | {kv} | {planned:.1f} MiB | " + " | ".join(cells) + " |")
            sys.stdout.flush()
    print(f"\n{len(LENGTHS) * len(FORMATS) * len(LIMITS) - short} of {len(LENGTHS) * len(FORMATS) * len(LIMITS)} within "
          "memory 2 %, prefill 15 %, answer 15 %.")


if __name__ == "__main__":
    main()
