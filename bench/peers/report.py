"""What a comparison found: ratios against their bars, as text, Markdown and JSON."""

import re
import statistics

# test: (bar now, aim of later issues), times the peer's speed
BARS = {
    "pp512": (1.0, 3.5),
    "pp7500": (1.5, 3.5),
    "tg64": (1.0, 1.4),
    "tg64@d7500": (1.3, 2.2),
}


def tokens_of(test):
    return int(re.match(r"(?:pp|tg)(\d+)", test)[1])


def median_and_spread(seconds):
    """The median and the distance of the quartiles over it, as src/measure/statistics.h."""
    median = statistics.median(seconds)
    if len(seconds) < 2:
        return median, 0.0
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return median, (high - low) / median


def compare(test, ours, theirs, peer_settings):
    our_median, our_spread = median_and_spread(ours)
    their_median, their_spread = median_and_spread(theirs)
    bar, aim = BARS.get(test, (None, None))
    ratio = their_median / our_median
    return {
        "test": test,
        "ratio": ratio,
        "bar": bar,
        "aim": aim,
        "pass": bar is None or ratio >= bar,
        "attend_tokens_per_s": tokens_of(test) / our_median,
        "attend_spread": our_spread,
        "peer_tokens_per_s": tokens_of(test) / their_median,
        "peer_spread": their_spread,
        "peer_settings": peer_settings,
        "attend_seconds": ours,
        "peer_seconds": theirs,
    }


def verdict(line):
    if line["bar"] is None:
        return "no bar"
    if line["pass"]:
        return f"PASS (bar {line['bar']}x)"
    return f"short of {line['bar']}x by {100 * (1 - line['ratio'] / line['bar']):.0f} %"


def cells(line):
    aim = f"{line['aim']}x" if line["aim"] else "-"
    return [
        line["test"].replace("@", " @ "),
        f"{line['attend_tokens_per_s']:.1f}",
        f"{100 * line['attend_spread']:.1f} %",
        f"{line['peer_tokens_per_s']:.1f}",
        f"{100 * line['peer_spread']:.1f} %",
        f"{line['ratio']:.2f}x",
        verdict(line),
        aim,
        line["peer_settings"],
    ]


TITLES = ["test", "attend tokens/s", "spread", "peer tokens/s", "spread", "ratio", "bar", "aim", "peer's faster setting"]


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def markdown_table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def text_table(lines):
    return aligned([TITLES] + [cells(line) for line in lines])


def machine(attend):
    """What a report says about the machine, from our header."""
    peaks = attend["peaks"]
    return [
        f"- processor: {attend['cpu']}, {attend['isa']}, {attend['threads']} threads",
        f"- measured peaks: f32 {peaks['f32_flops_per_s'] / 1e9:.0f} GFLOP/s, bf16 {peaks['bf16_flops_per_s'] / 1e9:.0f} GFLOP/s, "
        f"read {peaks['read_1_bytes_per_s'] / 1e9:.1f} GB/s with 1 thread, {peaks['read_bytes_per_s'] / 1e9:.1f} GB/s with all",
    ]


def markdown(result):
    attend, peer = result["attend"], result["peer"]
    head = [
        f"# attend against {peer['peer']}, {result['date']}",
        "",
        *machine(attend),
        f"- model: {attend['model']}, the same file for both",
        f"- attend: {result['attend_version']}, compute {attend['compute']}, cache {attend['kv_dtype']}",
        f"- {peer['peer']}: {peer['package']}, {peer['settings']}; {peer['system']}",
        f"- protocol: both alternate in one run, {result['warm_ups']} warm-ups, {result['rounds']} rounds; ratio of medians; "
        "spread is the distance of the quartiles over the median",
        f"- load average at the start and end: {result['load'][0]:.1f}, {result['load'][1]:.1f}",
        f"- command: `{result['command']}`",
        "",
    ]
    return "\n".join(head + markdown_table([TITLES] + [cells(line) for line in result["tests"]])) + "\n"


def file_stem(date, subject, attend):
    cpu = re.sub(r"\(R\)|\(TM\)|processor|cpu", " ", attend["cpu"], flags=re.IGNORECASE)
    cpu = re.sub(r"[^a-z0-9.]+", "-", cpu.lower()).strip("-")
    return f"{date}-{subject.replace('.', '_')}-{cpu}-{attend['isa']}"
