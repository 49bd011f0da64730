"""Compares attend with llama.cpp on one model file in one run, and writes bench/results/. docs/reference/bench.md explains it."""

import argparse
import datetime
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

import report
from protocol import Runner

HERE = pathlib.Path(__file__).resolve().parent
SETTLE_SECONDS = 0.05  # after a run its program's threads still spin for a moment


def say(text):
    print(text, file=sys.stderr, flush=True)


def cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "attend"


class Progress:
    """Says after each round how long the rest will take, from what the tests took so far."""

    def __init__(self, rounds):
        self.rounds, self.last = rounds, {}

    def expect(self, test, runner, seconds):
        self.last[test, runner] = seconds

    def round_done(self, round_index):
        left = (self.rounds - round_index - 1) * sum(self.last.values())
        say(f"round {round_index + 1} of {self.rounds}, about {left / 60:.0f} min {left % 60:.0f} s left")


def fastest_peer(peers, seconds):
    """Of the same program with several settings, the one that was fastest in the warm-ups."""
    return min(peers, key=lambda peer: min(seconds[peer.name]))


def warm_up(tests, ours, peers, rounds, progress):
    """Returns which peer runs each test from here on."""
    seconds = {test: {runner.name: [] for runner in [ours, *peers]} for test in tests}
    for index in range(rounds):
        for test in tests:
            for runner in [ours, *peers]:
                seconds[test][runner.name].append(runner.seconds(test))
                time.sleep(SETTLE_SECONDS)
        say(f"warm-up {index + 1} of {rounds} done")
    chosen = {test: fastest_peer(peers, seconds[test]) for test in tests}
    for test in tests:
        for runner in [ours, chosen[test]]:
            progress.expect(test, runner.name, seconds[test][runner.name][-1])
    return chosen


def measure(tests, ours, chosen, rounds, progress):
    """Seconds of each round: {test: (ours, theirs)}. Who goes first alternates."""
    seconds = {test: ([], []) for test in tests}
    for index in range(rounds):
        for test in tests:
            pair = [(ours, seconds[test][0]), (chosen[test], seconds[test][1])]
            for runner, out in pair if index % 2 == 0 else reversed(pair):
                out.append(runner.seconds(test))
                progress.expect(test, runner.name, out[-1])
                time.sleep(SETTLE_SECONDS)
        progress.round_done(index)
    return seconds


def start(args):
    shared = ["--model", args.model, "--threads", str(args.threads)]
    isa = ["--isa", args.isa] if args.isa else []
    ours = Runner("attend", [args.attend, "bench", "--stdin", *shared, "--compute", args.compute, *isa])
    peers = []
    for flash in ["on", "off"]:
        command = [sys.executable, str(HERE / "llama_cpp_worker.py"), *shared, "--flash-attention", flash]
        peers.append(Runner(f"flash attention {flash}", command))
    return ours, peers


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attend", required=True, help="the program to measure")
    parser.add_argument("--model", default=str(cache_folder() / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"))
    parser.add_argument("--tests", default=",".join(report.BARS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--isa", default="", help="forced instruction set of attend")
    parser.add_argument("--compute", default="bf16", help="numerics class of attend")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--warm-ups", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="1 warm-up and 3 rounds: an impression, not a result")
    parser.add_argument("--results", default=str(HERE.parent / "results"), help="folder for the results; empty: none")
    args = parser.parse_args()
    if args.quick:
        args.rounds, args.warm_ups = 3, 1
    if args.rounds < 1 or args.warm_ups < 1:
        parser.error("at least 1 round and 1 warm-up")
    args.tests = [test.replace(" ", "") for test in args.tests.split(",")]
    return args


def main():
    args = parse_arguments()
    load_at_start = os.getloadavg()[0]
    if load_at_start > 0.5:
        say(f"warning: load average {load_at_start:.1f}: other programs are running and the figures will not repeat")
    ours, peers = start(args)
    progress = Progress(args.rounds)
    chosen = warm_up(args.tests, ours, peers, args.warm_ups, progress)
    seconds = measure(args.tests, ours, chosen, args.rounds, progress)
    result = {
        "schema": "attend.bench.peers",
        "version": 1,
        "date": datetime.date.today().isoformat(),
        "command": "bench/peers/run.sh " + shlex.join(sys.argv[1:]).replace(shlex.quote(args.attend), "attend"),
        "attend_version": subprocess.run([args.attend, "--version"], capture_output=True, text=True, check=True).stdout.strip(),
        "attend": ours.header,
        "peer": {**peers[0].header, "settings": {**peers[0].header["settings"], "flash_attention": "the faster of on and off"}},
        "rounds": args.rounds,
        "warm_ups": args.warm_ups,
        "load": [load_at_start, os.getloadavg()[0]],
        "tests": [report.compare(test, *seconds[test], chosen[test].name) for test in args.tests],
    }
    for runner in [ours, *peers]:
        runner.close()
    print(report.markdown(result).split("\n| ")[0])
    print(report.text_table(result["tests"]))
    if args.results and not args.quick:
        stem = pathlib.Path(args.results) / report.file_stem(result["date"], result["peer"]["peer"], result["attend"])
        stem.parent.mkdir(parents=True, exist_ok=True)
        stem.with_name(stem.name + ".json").write_text(json.dumps(result, indent=2) + "\n")
        stem.with_name(stem.name + ".md").write_text(report.markdown(result))
        say(f"written: bench/results/{stem.name}.json and .md")


if __name__ == "__main__":
    main()
