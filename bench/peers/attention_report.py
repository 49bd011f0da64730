"""What the attention comparison found: ours against the best peer of each case, and everyone's times, as text and Markdown."""

import attention_case
import report
from attention_peers import OURS, our_name
from plot import Series

# bar on peer / ours for a prompt: class bf16 against the best peer, class f32 against the best that computes in f32
PREFILL_BARS = {"bf16": 2.0, "f32": 1.0}
COLOURS = {  # Okabe and Ito's, which people with any colour vision tell apart
    "attend": "#D55E00",
    "ONNX Runtime": "#0072B2",
    "PyTorch": "#009E73",
    "OpenVINO": "#CC79A7",
    "ggml": "#E69F00",
}
DASHES = {"f32": "", "bf16": "7 4", "f16": "2 3", "q8_0": "9 3 2 3", "q4_0": "1 5"}
PLOTTED = "32/8 d128"


def summarise(line, answers, dropped):
    """The entry of a case in the results, from {name: answer of each round}."""
    case = attention_case.parse(line)
    programs = {}
    for name, rounds in answers.items():
        seconds = [answer["seconds"] for answer in rounds]
        median, spread = report.median_and_spread(seconds)
        about = {key: rounds[-1][key] for key in ("layers", "setting") if rounds[-1].get(key)}
        programs[name] = {"ms": 1e3 * median, "spread": spread, **about, "seconds": seconds}
    lines = [compare(case, dtype, programs) for dtype in OURS if our_name(dtype) in programs]
    return {"case": case.line, "label": case.label, "kind": case.kind, "programs": programs, "left_out": dropped, "lines": lines}


def compare(case, dtype, programs):
    ours = our_name(dtype)
    peers = [name for name in programs if not name.startswith("attend ") and (dtype != "f32" or name.endswith(" f32"))]
    best = min(peers, key=lambda name: programs[name]["ms"], default=None)
    bar = PREFILL_BARS[dtype] if case.kind == "prefill" and best else None
    ratio = programs[best]["ms"] / programs[ours]["ms"] if best else None
    return {"ours": ours, "best": best, "ratio": ratio, "bar": bar, "pass": bar is None or ratio >= bar}


def milliseconds(ms):
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def comparison_rows(cases):
    rows = [["case", "ours", "ms", "spread", "best peer", "ms", "spread", "ratio", "bar"]]
    for case in cases:
        for line in case["lines"]:
            row = [case["label"], line["ours"]]
            for name in [line["ours"], line["best"]]:
                found = case["programs"].get(name)
                row += [milliseconds(found["ms"]), f"{100 * found['spread']:.1f} %"] if found else ["-", "-"]
                row += [line["best"] or "none"] if name == line["ours"] else []
            rows.append(row + [f"{line['ratio']:.2f}x" if line["ratio"] else "-", report.verdict(line)])
    return rows


def everyone_rows(cases):
    names = list(dict.fromkeys(name for case in cases for name in case["programs"]))
    rows = [["ms", *names]]
    for case in cases:
        found = [case["programs"].get(name) for name in names]
        cells = [f"{milliseconds(one['ms'])} ({100 * one['spread']:.1f} %)" if one else "-" for one in found]
        rows.append([case["label"], *cells])
    return rows


def left_out(result):
    lines = [f"- not compared: {name}: {reason}" for name, reason in result["skipped"].items()]
    return lines + [f"- left out of {case['label']}: {name}: {why}" for case in result["cases"] for name, why in case["left_out"].items()]


def settings(cases):
    """Who chose which of its settings for which case."""
    found = {}
    for case in cases:
        for name, program in case["programs"].items():
            if program.get("setting"):
                found.setdefault(f"{name}, {program['setting']}", []).append(case["label"])
    return [f"- {chosen}: {'; '.join(labels)}" for chosen, labels in found.items()]


def markdown(result, plot_name):
    head = [f"# attend's attention against other programs', {result['date']}", "", *report.machine(result["attend"])]
    head += [f"- ours: {result['attend_version']}, each class over a cache of its own format"]
    for name, peer in result["peers"].items():
        head.append(f"- {name}: {peer['version']}, {peer['threads']} threads; {peer['settings']}")
    head += [
        f"- protocol: all take turns in one run, {result['warm_ups']} warm-ups, {result['rounds']} rounds; ratio of medians, of peer over "
        "ours; spread is the distance of the quartiles over the median; where a call reads a cache, several layers are visited in "
        "turn so that it comes from memory, and the time is one layer's",
        "- the best peer of class bf16 is the fastest of all, that of class f32 the fastest with f32 inputs",
        f"- load average at the start and end: {result['load'][0]:.1f}, {result['load'][1]:.1f}",
        f"- command: `{result['command']}`",
        *settings(result["cases"]),
        *left_out(result),
        "",
    ]
    plot = [f"![Time of a causal call against the number of tokens]({plot_name})", ""] if plot_name else []
    tables = report.markdown_table(comparison_rows(result["cases"])) + [""] + report.markdown_table(everyone_rows(result["cases"]))
    return "\n".join(head + plot + tables) + "\n"


def curves(cases):
    """A line for each program: median milliseconds against tokens of the prompts with the plotted shape."""
    points = {}
    for entry in cases:
        case = attention_case.parse(entry["case"])
        if case.kind == "prefill" and case.shape == PLOTTED:
            for name, found in entry["programs"].items():
                points.setdefault(name, []).append((case.kv, found["ms"]))
    series = []
    for name, line in points.items():
        program, dtype = name.rsplit(" ", 1)
        width = 3 if program == "attend" else 1.8
        series.append(Series(name, COLOURS.get(program, "#000000"), DASHES.get(dtype, ""), width, sorted(line)))
    return series
