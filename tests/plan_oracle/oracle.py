"""What a plan must say of a model and a length, worked out from a config.json alone and in whole numbers: the second
opinion that `attend plan` is held against. Sizes follow the published formulas, not the program."""
from dataclasses import dataclass
from fractions import Fraction

BYTES = {"f32": Fraction(4), "f16": Fraction(2), "bf16": Fraction(2), "fp8": Fraction(1), "q8_0": Fraction(34, 32),
         "q5_1": Fraction(24, 32), "q5_0": Fraction(22, 32), "q4_1": Fraction(20, 32), "q4_0": Fraction(18, 32)}
MOST = 2**64 - 1  # bytes are given as at most this
EVERY_LAYER_SLIDES = {"mistral", "mixtral", "phi3"}
LATE_LAYERS_SLIDE = {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}  # where they are told to
FULL_PERIOD = {"gemma2": 2, "gpt_oss": 2, "gemma3": 6, "gemma3_text": 6}  # the others slide
# The others hold a state.
ATTENTION_PERIOD = {"qwen3_next": 4, "qwen3_5": 4, "qwen3_5_text": 4, "qwen3_5_moe": 4, "qwen3_5_moe_text": 4}
TWO_MATRICES = {"gpt2", "bert"}
OTHER_NAMES = {"n_layer": "num_hidden_layers", "num_layers": "num_hidden_layers", "n_embd": "hidden_size",
               "n_head": "num_attention_heads", "multi_query_group_num": "num_key_value_heads",
               "kv_channels": "head_dim", "n_inner": "intermediate_size",
               "ffn_hidden_size": "intermediate_size", "padded_vocab_size": "vocab_size",
               "n_positions": "max_position_embeddings", "seq_length": "max_position_embeddings"}


def round_up(value, multiple):
    return -(-value // multiple) * multiple


@dataclass
class Layer:
    kind: str  # full, window, linear or none
    k_values: int = 0  # a token, all heads
    v_values: int = 0
    window: int = 0
    state_bytes: int = 0
    heads: int = 0
    pair_flops: int = 0  # a query with a key: 2 (Dk + Dv) Hq
    matrices: int = 0  # parameters, all experts
    used: int = 0  # parameters that a token is multiplied with

    def token_bytes(self, kv):
        k, _, v = kv.partition(",")
        exact = self.k_values * BYTES[k] + self.v_values * BYTES[v or k]
        assert exact.denominator == 1, "choose widths that fill their blocks"
        return int(exact)

    def kept(self, tokens):
        return min(tokens, self.window) if self.kind == "window" else tokens


def layer_kinds(c):
    n, family = c["num_hidden_layers"], c["model_type"]
    if family == "bert":
        return ["none"] * n
    if "layer_types" in c:
        return [name.split("_")[0].replace("sliding", "window") for name in c["layer_types"]]
    period = c.get("full_attention_interval", ATTENTION_PERIOD.get(family))
    if period:
        return ["linear" if (i + 1) % period else "full" for i in range(n)]
    if not c.get("sliding_window"):
        return ["full"] * n
    if family in LATE_LAYERS_SLIDE:
        first = c.get("max_window_layers", 28) if c.get("use_sliding_window") else n
        return ["window" if i >= first else "full" for i in range(n)]
    if family in EVERY_LAYER_SLIDES:
        return ["window"] * n
    period = c.get("sliding_window_pattern", FULL_PERIOD.get(family, 1))
    return ["window" if (i + 1) % period else "full" for i in range(n)]


def attention_layer(c, kind):
    hidden, heads = c["hidden_size"], c["num_attention_heads"]
    layer = Layer(kind, heads=heads, window=c.get("sliding_window") or 0)
    if c.get("kv_lora_rank"):
        rank, rope, nope, v = (c[k] for k in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"))
        layer.k_values = rank + rope
        q, q_rank = heads * (nope + rope), c.get("q_lora_rank")
        layer.matrices = (hidden * q_rank + q_rank * q if q_rank else hidden * q) + hidden * (rank + rope)
        layer.matrices += rank * heads * (nope + v) + heads * v * hidden
        layer.pair_flops = 2 * (nope + rope + v) * heads
        return layer
    d, kv_heads = c.get("head_dim") or hidden // heads, c.get("num_key_value_heads") or heads
    layer.k_values = layer.v_values = kv_heads * d
    gate = 1 if c["model_type"] in ATTENTION_PERIOD else 0
    layer.matrices = hidden * d * heads * (2 + gate) + 2 * hidden * d * kv_heads
    layer.pair_flops = 2 * (d + d) * heads
    return layer


def state_layer(c):
    """Gated delta net: a matrix a head in float32, and the last inputs of a short convolution in 16 bits."""
    k = c["linear_num_key_heads"] * c["linear_key_head_dim"]
    v_heads, v = c["linear_num_value_heads"], c["linear_num_value_heads"] * c["linear_value_head_dim"]
    width, hidden = c["linear_conv_kernel_dim"], c["hidden_size"]
    state = v * c["linear_key_head_dim"] * 4 + (2 * k + v) * (width - 1) * 2
    q_k_v_gate, rates, out, convolution = 2 * k + 2 * v, 2 * v_heads, v, (2 * k + v) * width
    return Layer("linear", state_bytes=state, matrices=hidden * (q_k_v_gate + rates + out) + convolution)


def mlp(c, index):
    """Parameters held and used by a token of a layer's second half."""
    hidden, inner = c["hidden_size"], c.get("intermediate_size") or 4 * c["hidden_size"]
    each = 2 if c["model_type"] in TWO_MATRICES else 3
    experts = c.get("num_local_experts") or c.get("n_routed_experts") or c.get("num_experts") or 0
    is_dense = index < c.get("first_k_dense_replace", 0) or (index + 1) % c.get("decoder_sparse_step", 1)
    if not experts or is_dense:
        return (each * hidden * inner,) * 2
    width = c.get("moe_intermediate_size") or inner
    shared = c.get("n_shared_experts", 0) * width + c.get("shared_expert_intermediate_size", 0)
    always = each * hidden * shared + hidden * experts
    one = each * hidden * width
    return experts * one + always, c["num_experts_per_tok"] * one + always


class Model:
    """`stated`: a published number of parameters, which stands in for the sum; `follows`: False where the shape does
    not lead to it and all of it counts as used."""

    def __init__(self, config, stated=0, follows=True, weights="bf16"):
        c = self.config = {OTHER_NAMES.get(key, key): value for key, value in config.items()}
        self.layers = []
        for i, kind in enumerate(layer_kinds(c)):
            layer = state_layer(c) if kind == "linear" else attention_layer(c, kind)
            held, used = mlp(c, i)
            layer.used = layer.matrices + used
            layer.matrices += held
            self.layers.append(layer)
        self.table = c["vocab_size"] * c["hidden_size"]
        tied = c.get("tie_word_embeddings", c["model_type"].startswith("gemma") or c["model_type"] in TWO_MATRICES)
        norms = 2 * c["hidden_size"] * len(self.layers)
        positions = c["max_position_embeddings"] * c["hidden_size"] if c["model_type"] in TWO_MATRICES else 0
        counted = sum(layer.matrices for layer in self.layers) + norms + positions + self.table * (1 if tied else 2)
        self.parameters = stated or counted
        self.used = sum(layer.used for layer in self.layers) if follows else stated
        self.weights_bytes = int(self.parameters * BYTES[weights])
        self.decode_weight_bytes = min(self.weights_bytes, int((self.used + self.table) * BYTES[weights]))

    def trained_tokens(self):
        """A scaling factor counts once: on the length before it."""
        rope = self.config.get("rope_scaling") or {}
        scaled = rope.get("original_max_position_embeddings", 0) * rope.get("factor", 1)
        return max(self.config["max_position_embeddings"], 0 if rope.get("rope_type") == "llama3" else int(scaled))

    def token_bytes(self, kv, late=False):
        """What one more token adds to the cache; `late`: when all windows are full."""
        return sum(x.token_bytes(kv) for x in self.layers if x.kind == "full" or (x.kind == "window" and not late))

    def kv_bytes(self, tokens, kv, policy="formula", sequences=1, ubatch=512):
        total = 0
        for x in self.layers:
            if policy == "llama.cpp":
                cells = round_up(tokens * sequences, 256)
                held = min(cells, round_up(x.window * sequences + ubatch, 256)) if x.kind == "window" else cells
            elif policy == "vllm":
                held = round_up(tokens, 16) * sequences  # pages of 16; windows in the same pages as the rest
            else:
                held = x.kept(tokens) * sequences
            total += (x.token_bytes(kv) if x.kind != "none" else 0) * held + x.state_bytes * sequences
        return min(total, MOST)

    def kq_buffer_bytes(self, cells, ubatch=512):
        return min(max(x.heads for x in self.layers) * cells * ubatch * 4, MOST)

    def map_bytes(self, tokens):
        return min(sum(x.heads for x in self.layers) * tokens * tokens * 2, MOST)

    def attention_flops(self, tokens, before=0):
        return sum(x.pair_flops * visible_pairs(x, tokens, before) for x in self.layers)

    def unmasked_flops(self, tokens):
        return sum(x.pair_flops for x in self.layers) * tokens * tokens

    def linear_flops(self, tokens):
        """Every layer for each token, the head for the last one."""
        return 2 * self.used * tokens + 2 * self.table


def visible_pairs(layer, tokens, before):
    """Keys seen by `tokens` queries that follow `before` others, all of them added up."""
    if layer.kind == "none":
        return tokens * (before + tokens)  # reads in both directions
    def seen(n):  # by the first n
        w = layer.window if layer.kind == "window" else n
        short = min(n, w)
        return short * (short + 1) // 2 + (n - short) * w
    return seen(before + tokens) - seen(before)
