"""Compares attend's attention with that of other libraries on this processor, in one run where all take turns.

    bench/peers/run.sh attention              # the protocol; JSON, Markdown and a plot go to bench/results/
    bench/peers/run.sh attention --quick      # an impression: 1 warm-up, 3 rounds, nothing written
    bench/peers/run.sh attention --check      # only: is what the peers compute what NumPy computes?

Peers that are not installed, or cannot run on this processor, are named and skipped. Case lines: attention_case.py.
"""

import datetime
import json
import os
import pathlib
import shlex
import subprocess

import attention_case
import attention_options
import attention_peers
import attention_report
import plot
import report
from attention_rounds import run_case
from protocol import Failed, Runner, Unsupported
from run import say


def start_peers(names, threads, *options):
    """The peers that run, and {name: why not} of the others."""
    peers, skipped = [], {}
    for name in names:
        try:
            peers.append(Runner(name, attention_peers.peer_command(name, threads, *options)))
        except (Unsupported, Failed) as reason:
            skipped[name] = str(reason)
            say(f"without {name}: {reason}")
    return peers, skipped


def check(args):
    """Prints each peer's largest error over small cases of every kind. Returns whether all are within their format's tolerance."""
    good, rows = True, [["program", "version", "largest error", "tolerance", ""]]
    peers, _ = start_peers(args.peers, args.threads, "--check")
    for peer in peers:
        error = max(peer.answer(line)["max_error"] for line in attention_case.CHECKED)
        tolerance = attention_peers.TOLERANCES[peer.header["dtype"]]
        good = good and error <= tolerance
        rows.append([peer.name, peer.header["version"], f"{error:.2g}", f"{tolerance:g}", "ok" if error <= tolerance else "WRONG"])
        peer.close()
    print(report.aligned(rows))
    return good


def compare(args):
    load_at_start = os.getloadavg()[0]
    if load_at_start > 0.5:
        say(f"warning: load average {load_at_start:.1f}: other programs are running and the figures will not repeat")
    ours = []
    for dtype in attention_peers.OURS:
        command = attention_peers.our_command(args.attend, dtype, args.threads, args.isa)
        ours.append(Runner(attention_peers.our_name(dtype), command))
    peers, skipped = start_peers(args.peers, args.threads)
    cases = []
    for index, line in enumerate(args.cases):
        say(f"case {index + 1} of {len(args.cases)}: {attention_case.parse(line).label}")
        cases.append(attention_report.summarise(line, *run_case(line, ours, peers, args.rounds, args.warm_ups)))
    result = {
        "schema": "attend.bench.attention_peers",
        "version": 1,
        "date": datetime.date.today().isoformat(),
        "command": shlex.join(["bench/peers/run.sh", "attention", *args.words]),
        "attend_version": subprocess.run([args.attend, "--version"], capture_output=True, text=True, check=True).stdout.strip(),
        "attend": ours[0].header,
        "peers": {peer.name: peer.header for peer in peers},
        "skipped": skipped,
        "rounds": args.rounds,
        "warm_ups": args.warm_ups,
        "load": [load_at_start, os.getloadavg()[0]],
        "cases": cases,
    }
    for runner in [*ours, *peers]:
        runner.close()
    return result


def plot_of(result):
    """SVG, or None where the plotted cases were not run."""
    curves = attention_report.curves(result["cases"])
    if not curves:
        return None
    attend = result["attend"]
    return plot.log_log(
        "Causal attention of a prompt, 32 query and 8 K/V heads of 128",
        f"{attend['cpu']}, {attend['isa']}, {attend['threads']} threads; median of {result['rounds']} rounds, lower is faster",
        "tokens in the prompt",
        "time of one call, milliseconds",
        curves,
    )


def write(result, folder):
    name = report.file_stem(result["date"], "attention_peers", result["attend"])
    folder.mkdir(parents=True, exist_ok=True)
    svg = plot_of(result)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    (folder / f"{name}.md").write_text(attention_report.markdown(result, f"{name}.svg" if svg else None))
    if svg:
        (folder / f"{name}.svg").write_text(svg)
    say(f"written: {name}.json, .md{' and .svg' if svg else ''}")


def main():
    args = attention_options.parse(__doc__)
    if args.check:
        raise SystemExit(0 if check(args) else 1)
    result = compare(args)
    print("\n".join(report.machine(result["attend"]) + attention_report.left_out(result)))
    print(report.aligned(attention_report.comparison_rows(result["cases"])))
    print(report.aligned(attention_report.everyone_rows(result["cases"])))
    if args.results and not args.quick:
        write(result, pathlib.Path(args.results))


if __name__ == "__main__":
    main()
