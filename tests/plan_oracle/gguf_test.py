"""GGUF headers without their weights: the cache of each layer is what the keys say. Run: python3 gguf_test.py"""
import math
import struct
import unittest

import oracle
import program

KINDS = {bool: (7, "<?"), int: (4, "<I"), float: (6, "<f")}  # of values, as the format numbers them
TEXT, ARRAY, VERSION, F16 = 8, 9, 3, 1


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def value_bytes(value):
    if isinstance(value, str):
        return struct.pack("<I", TEXT) + text(value)
    if isinstance(value, list):
        kind, form = KINDS[type(value[0])]
        return struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(struct.pack(form, item) for item in value)
    kind, form = KINDS[type(value)]
    return struct.pack("<I", kind) + struct.pack(form, value)


def header(architecture, keys, vocab=1000):
    """A file that ends after its tensor table: embeddings and a norm a layer, whose data is elsewhere."""
    pairs = {"general.architecture": architecture, **{f"{architecture}.{key}": value for key, value in keys.items()}}
    hidden, layers, table, offset = keys["embedding_length"], keys["block_count"], b"", 0
    for name, dims in [("token_embd", [hidden, vocab]), *((f"blk.{i}.ffn_norm", [hidden]) for i in range(layers))]:
        table += text(name + ".weight") + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, F16, offset)
        offset += oracle.round_up(math.prod(dims) * 2, 32)
    begin = b"GGUF" + struct.pack("<IQQ", VERSION, layers + 1, len(pairs))
    return begin + b"".join(text(key) + value_bytes(value) for key, value in pairs.items()) + table


def keys_of(c, **more):
    """A configuration's fields by the names that they have in GGUF."""
    return {"block_count": c["num_hidden_layers"], "context_length": c["max_position_embeddings"],
            "embedding_length": c["hidden_size"], "feed_forward_length": c["intermediate_size"],
            "attention.head_count": c["num_attention_heads"], "attention.head_count_kv": c["num_key_value_heads"],
            "attention.key_length": c["head_dim"], "attention.value_length": c["head_dim"],
            "attention.layer_norm_rms_epsilon": 1e-6, **more}


@program.NEEDS_PROGRAM
class Headers(unittest.TestCase):
    def plan_of(self, architecture, keys, tokens):
        path = program.write("model.gguf", header(architecture, keys))
        return program.whole_pass(str(path), tokens, "--policy", "formula")

    def test_only_every_fourth_layer_has_keys(self):
        """gguf-parser-go#28: full_attention_interval was not read, and the cache came out four times too large."""
        for name, architecture in (("qwen3.5-27b", "qwen35"), ("qwen3.5-35b-a3b", "qwen35moe"),
                                   ("qwen3-next-80b-a3b", "qwen3next")):
            c = program.preset(name)["config"]
            inner = c["linear_num_value_heads"] * c["linear_value_head_dim"]
            states = {"ssm.inner_size": inner, "ssm.state_size": c["linear_key_head_dim"],
                      "ssm.group_count": c["linear_num_key_heads"], "ssm.conv_kernel": c["linear_conv_kernel_dim"],
                      "ssm.time_step_rank": c["linear_num_value_heads"]}
            for interval in (4, 2, 1):
                with self.subTest(name, interval=interval):
                    got = self.plan_of(architecture, keys_of(c, full_attention_interval=interval, **states), 100_000)
                    model = oracle.Model({**c, "full_attention_interval": interval})
                    self.assertEqual(got["kv_bytes"], model.kv_bytes(100_000, "f16"))
                    self.assertEqual(got["kv_bytes_per_token"], model.token_bytes("f16"))

    def test_windows_of_gpt_oss(self):
        """gguf-parser-go#32: its files state a window of 128 and not that every second layer has it."""
        for name in ("gpt-oss-20b", "gpt-oss-120b"):
            c = program.preset(name)["config"]
            keys = keys_of(c, **{"attention.sliding_window": c["sliding_window"]})
            got, model = self.plan_of("gpt-oss", keys, 100_000), oracle.Model(c)
            self.assertEqual(got["kv_bytes"], model.kv_bytes(100_000, "f16"))
            self.assertEqual(got["kv_bytes_per_late_token"], model.token_bytes("f16", late=True))

    def test_heads_that_differ_from_layer_to_layer(self):
        """gguf-parser-go#31 and 35: of an array of KV heads the first, a 0, was taken for all: no cache at all."""
        c = {**program.preset("llama-3.2-1b")["config"], "num_hidden_layers": 4, "head_dim": 64}
        heads = {"attention.head_count_kv": [0, 8, 0, 2], "attention.head_count": [0, 32, 0, 32]}
        got = self.plan_of("llama", keys_of(c, **heads), 1000)
        self.assertEqual(got["kv_bytes"], (8 + 2) * 2 * 64 * 2 * 1000)


if __name__ == "__main__":
    unittest.main()
