"""A case of the attention comparison as one line of words: "heads=32/8 dim=128 q=4096 kv=4096 mask=causal window=255,0"."""

import dataclasses

LAYERS_BYTES = 256 << 20  # K and V of all layers that a run over a cache visits: more than a cache of the processor holds


@dataclasses.dataclass(frozen=True)
class Case:
    line: str
    q_heads: int
    kv_heads: int
    dim: int
    q: int  # query tokens: the last ones of kv
    kv: int
    causal: bool
    left: int | None  # keys before the query's own position that it sees; None: all
    right: int | None

    @property
    def kind(self):
        if self.left is not None or self.right is not None:
            return "window"
        if self.q == self.kv:
            return "prefill"
        return "decode" if self.q == 1 else "few tokens"

    @property
    def shape(self):
        return f"{self.q_heads}/{self.kv_heads} d{self.dim}"

    @property
    def label(self):
        if self.kind == "window":
            return f"window {self.left},{self.right} {self.shape} T={self.kv}"
        if self.kind == "few tokens":
            return f"{self.q} tokens {self.shape} T={self.kv}"
        return f"{self.kind} {self.shape} T={self.kv}"

    def layers(self, bytes_per_value):
        """Layers that a run visits in turn: one where all tokens are new, else enough for K and V to come from memory."""
        if self.q == self.kv:
            return 1
        layer_bytes = 2 * self.kv * self.kv_heads * self.dim * bytes_per_value
        return max(1, int(-(-LAYERS_BYTES // layer_bytes)))


def parse(line):
    try:
        words = dict(word.split("=", 1) for word in line.split())
        q_heads, kv_heads = map(int, words.pop("heads").split("/"))
        dim, q, kv = (int(words.pop(key)) for key in ("dim", "q", "kv"))
        mask = words.pop("mask", "causal")
        window = words.pop("window", None)
        left, right = (int(side) for side in window.split(",")) if window else (None, None)
    except (KeyError, ValueError) as error:
        raise ValueError(f"not a case: {line}") from error
    if words or mask not in ("causal", "none") or kv_heads < 1 or q_heads % kv_heads or dim < 1 or not 1 <= q <= kv:
        raise ValueError(f"not a case: {line}")
    return Case(" ".join(line.split()), q_heads, kv_heads, dim, q, kv, mask == "causal", left, right)


def line_of(heads, dim, q, kv, rest=""):
    return f"heads={heads} dim={dim} q={q} kv={kv} mask=causal{rest}"


DEFAULT = (
    [line_of("32/8", 128, tokens, tokens) for tokens in (512, 1024, 2048, 4096)]
    + [line_of("9/3", 64, tokens, tokens) for tokens in (2048, 8192)]
    + [line_of("32/8", 128, 1, tokens) for tokens in (32768, 131072)]
    + [line_of("28/4", 128, 1, 32768), line_of("32/8", 128, 4096, 4096, " window=255,0")]
    + [line_of("32/8", 128, tokens, 8192) for tokens in (8, 64)]
)

# Small ones of every kind, whose outputs `attention.py --check` compares with NumPy's.
CHECKED = [
    line_of("32/8", 128, 256, 256),
    line_of("9/3", 64, 301, 301),
    line_of("28/4", 128, 1, 512),
    line_of("32/8", 128, 8, 500),
    line_of("32/8", 128, 400, 400, " window=255,0"),
]
