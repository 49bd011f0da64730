"""The options of attention.py."""

import argparse
import os

import attention_case
import attention_peers


def parse(description, words=None):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", help="the program to measure")
    parser.add_argument("--cases", default=";".join(attention_case.DEFAULT), help="lines between semicolons")
    parser.add_argument("--peers", default=",".join(attention_peers.PEERS), help="comma-separated beginnings of names")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--isa", default="", help="forced instruction set of attend")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--warm-ups", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="1 warm-up and 3 rounds: an impression, not a result")
    parser.add_argument("--check", action="store_true", help="compare the peers' results with NumPy's; times nothing")
    parser.add_argument("--results", default=str(attention_peers.HERE.parent / "results"), help="folder for the results; empty: none")
    args = parser.parse_args(words)
    if args.quick:
        args.rounds, args.warm_ups = 3, 1
    if args.rounds < 1 or args.warm_ups < 1:
        parser.error("at least 1 round and 1 warm-up")
    if not args.check and not args.attend:
        parser.error("--attend names the program to measure")
    try:
        args.peers = attention_peers.chosen(args.peers)
        args.cases = [attention_case.parse(line).line for line in args.cases.split(";")]
    except ValueError as error:
        parser.error(str(error))
    args.words = spoken(args)
    return args


def spoken(args):
    """The options that repeat this run, without paths."""
    words = ["--rounds", str(args.rounds), "--warm-ups", str(args.warm_ups), "--threads", str(args.threads)]
    if args.isa:
        words += ["--isa", args.isa]
    if args.peers != list(attention_peers.PEERS):
        words += ["--peers", ",".join(args.peers)]
    return words + (["--cases", ";".join(args.cases)] if args.cases != attention_case.DEFAULT else [])
