"""A log-log line plot as SVG text, each line labelled at its right end."""

import dataclasses
import math
from xml.sax.saxutils import escape, quoteattr

WIDTH, HEIGHT = 860, 560
LEFT, RIGHT, TOP, BOTTOM = 78, 640, 74, 492  # the frame
LABEL_GAP = 17
INK, GRID = "#222222", "#dddddd"


@dataclasses.dataclass(frozen=True)
class Series:
    name: str
    colour: str
    dash: str  # SVG's stroke-dasharray; empty: solid
    width: float
    points: list  # of (x, y), by x


class LogScale:
    """Maps [low, high] to pixels."""

    def __init__(self, low, high, first_pixel, last_pixel):
        self.low, self.high = math.log(low), math.log(high)
        self.first, self.last = first_pixel, last_pixel

    def __call__(self, value):
        share = (math.log(value) - self.low) / ((self.high - self.low) or 1)
        return self.first + share * (self.last - self.first)


def ticks(low, high):
    """1, 2 and 5 times powers of ten within [low, high]."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**e for e in exponents for step in (1, 2, 5) if low <= step * 10.0**e <= high]


def apart(wanted, gap, low, high):
    """Positions near the wanted ones, in the same order, at least `gap` from each other and, where they fit, within [low, high]."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed, floor = {}, low
    for i in order:
        placed[i] = max(wanted[i], floor)
        floor = placed[i] + gap
    ceiling = high
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return [placed[i] for i in range(len(wanted))]


def text(x, y, words, size=13, anchor="start", rest=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {rest}>{escape(words)}</text>'


def line(x1, y1, x2, y2, colour, rest=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {rest}/>'


def axes(x_scale, y_scale, x_ticks, y_ticks, x_label, y_label):
    out = []
    for value in x_ticks:
        out += [line(x_scale(value), TOP, x_scale(value), BOTTOM, GRID), text(x_scale(value), BOTTOM + 20, f"{value:,}", anchor="middle")]
    for value in y_ticks:
        out += [line(LEFT, y_scale(value), RIGHT, y_scale(value), GRID), text(LEFT - 8, y_scale(value) + 4, f"{value:,g}", anchor="end")]
    out.append(f'<rect x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}" fill="none" stroke="{INK}"/>')
    middle = (TOP + BOTTOM) / 2
    out.append(text((LEFT + RIGHT) / 2, BOTTOM + 46, x_label, anchor="middle"))
    out.append(text(22, middle, y_label, anchor="middle", rest=f'transform="rotate(-90 22 {middle:.0f})"'))
    return out


def curve(series, x_scale, y_scale, label_y):
    points = [(x_scale(x), y_scale(y)) for x, y in series.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    stroke = f'stroke="{series.colour}" stroke-width="{series.width}" stroke-dasharray={quoteattr(series.dash or "none")}'
    out = [f'<polyline points="{path}" fill="none" {stroke} stroke-linejoin="round"/>']
    out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{series.colour}"/>' for x, y in points]
    last_x, last_y = points[-1]
    out.append(line(last_x + 5, last_y, RIGHT + 22, label_y, series.colour, 'stroke-width="0.8"'))
    out.append(f'<line x1="{RIGHT + 22}" y1="{label_y:.1f}" x2="{RIGHT + 48}" y2="{label_y:.1f}" {stroke}/>')
    out.append(text(RIGHT + 54, label_y + 4, series.name, rest='class="label"'))
    return out


def log_log(title, subtitle, x_label, y_label, series):
    """The SVG document. Needs at least one point."""
    xs = sorted({x for one in series for x, _ in one.points})
    ys = [y for one in series for _, y in one.points]
    x_scale = LogScale(xs[0] / 1.08, xs[-1] * 1.08, LEFT, RIGHT)
    low, high = min(ys) / 1.25, max(ys) * 1.25
    y_scale = LogScale(low, high, BOTTOM, TOP)
    label_ys = apart([y_scale(one.points[-1][1]) for one in series], LABEL_GAP, TOP + 6, BOTTOM - 6)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" fill="{INK}" role="img" aria-label={quoteattr(title)}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(LEFT, 30, title, size=18, rest='font-weight="bold"'),
        text(LEFT, 54, subtitle),
        *axes(x_scale, y_scale, xs, ticks(low, high), x_label, y_label),
    ]
    for one, label_y in zip(series, label_ys):
        out += curve(one, x_scale, y_scale, label_y)
    return "\n".join([*out, "</svg>"]) + "\n"
