"""Configurations, devices and lengths that cannot be: one line on stderr that names the field, the documented exit code
(docs/errors.md), nothing on stdout. Run: python3 bad_input_test.py"""
import json
import unittest

import program

GOOD = {"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 1000, "max_position_embeddings": 4096}
MIXED, STATES = {"num_experts": 8, "num_experts_per_tok": 2}, {"layer_types": ["full_attention", "linear_attention"]}
SLIDING = {"layer_types": ["full_attention", "sliding_attention"]}
ABSENT = object()
USAGE, BAD_FILE, UNSUPPORTED = 2, 3, 4

# What is changed of GOOD, and the field that is named.
CONFIGS = [
    *(({field: ABSENT}, field) for field in GOOD if field != "num_key_value_heads"),
    *(({field: None}, field) for field in GOOD if field != "num_key_value_heads"),
    *(({field: value}, field) for field in GOOD if field != "model_type"
      for value in (-1, 0, 2**31, 2**63, 10**30, 1e300, 2.5, "2", True, [2], {})),
    ({"model_type": 7}, "model_type"), ({"model_type": ["llama"]}, "model_type"),
    ({"hidden_size": 250}, "hidden_size"), ({"num_key_value_heads": 8}, "num_key_value_heads"),
    ({"num_key_value_heads": 3}, "num_key_value_heads"), ({"head_dim": -64}, "head_dim"),
    ({"head_dim": 2**20}, "head_dim"), ({"head_dim": "64"}, "head_dim"),
    ({"layer_types": ["full_attention"]}, "layer_types"),
    ({"layer_types": "full_attention"}, "layer_types"), ({"layer_types": ["full_attention", 3]}, "layer_types"),
    (SLIDING, "sliding_window"), ({**SLIDING, "sliding_window": 0}, "sliding_window"),
    ({"sliding_window": -4}, "sliding_window"), ({"sliding_window": "4096"}, "sliding_window"),
    ({"sliding_window": 5, "sliding_window_pattern": 0}, "sliding_window_pattern"),
    ({"full_attention_interval": -2}, "full_attention_interval"), (STATES, "linear_num_key_heads"),
    ({**STATES, "linear_num_key_heads": 2, "linear_num_value_heads": -2}, "linear_num_value_heads"),
    ({"kv_lora_rank": 512}, "qk_rope_head_dim"), ({"kv_lora_rank": -1}, "kv_lora_rank"),
    ({"kv_lora_rank": 1.5}, "kv_lora_rank"),
    ({"num_experts": 8}, "num_experts_per_tok"), ({**MIXED, "num_experts_per_tok": 9}, "num_experts_per_tok"),
    ({**MIXED, "num_experts_per_tok": 0}, "num_experts_per_tok"), ({"num_experts": -8}, "num_experts"),
    ({**MIXED, "decoder_sparse_step": 0}, "decoder_sparse_step"),
    ({**MIXED, "first_k_dense_replace": -1}, "first_k_dense_replace"),
    ({**MIXED, "n_shared_experts": "1"}, "n_shared_experts"),
    ({**MIXED, "moe_intermediate_size": -5}, "moe_intermediate_size"),
    ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"), ({"quantization_config": 7}, "quantization_config"),
    ({"rope_scaling": {"rope_type": "yarn", "factor": 0}}, "factor"),
    ({"rope_scaling": {"rope_type": "yarn", "factor": "4"}}, "factor"),
    ({"rope_scaling": {"rope_type": "yarn", "factor": 1e9, "original_max_position_embeddings": 4096}}, "factor"),
    ({"rope_scaling": {"rope_type": 4}}, "rope_type"),
    ({"rope_scaling": {"original_max_position_embeddings": -1}}, "original_max_position_embeddings"),
]
# Arguments beside a good model, what is named, the exit code.
ARGUMENTS = [
    *((["--tokens", value], "--tokens", USAGE) for value in (0, -5, "1e3", 1.5, "abc", "", 10**15 + 1, 10**20)),
    ([], "--tokens", USAGE), (["--tokens", 5, "-n", -1], "answer-tokens", USAGE),
    (["--tokens", 5, "-n", 10**16], "answer-tokens", USAGE),
    (["--tokens", 5, "--question-tokens", -1], "question-tokens", USAGE),
    (["--tokens", 5, "-c", 4097], "context", USAGE), (["--tokens", 5, "-c", -1], "context", USAGE),
    *((["--tokens", 5, "--memory", value], "--memory", USAGE)
      for value in ("much", "-1", "5Gb", "5 parsecs", "nan", "1e400")),
    *((["--tokens", 5, "--reserve", value], "--reserve", USAGE) for value in ("101%", "-1%", "%", "nan%")),
    (["--tokens", 5, "--kv", "q3"], "--kv", USAGE),
    (["--tokens", 5, "--policy", "vllm", "--kv", "q8_0"], "--kv", USAGE),
    (["--tokens", 5, "--policy", "tgi"], "--policy", USAGE), (["--tokens", 5, "--policy", "ours"], "--policy", USAGE),
    (["--tokens", 5, "--weights", "q3"], "--weights", USAGE),
    (["--tokens", 5, "--piece-tokens", -1], "--piece-tokens", USAGE),
    (["--tokens", 5, "--concurrent", 0], "--concurrent", USAGE), (["--tokens", 5, "--ubatch", 0], "--ubatch", USAGE),
    (["--tokens", 5, "--num-devices", 0], "--num-devices", USAGE), (["--tokens", 5, "--time", -1], "--time", USAGE),
    (["--tokens", 5, "--review-minutes", "inf"], "--review-minutes", USAGE),
    (["--tokens", 5, "--device", "abacus"], "device", UNSUPPORTED),
    (["--tokens", 5, "--device", "/nowhere/card.json"], "/nowhere/card.json", BAD_FILE),
]
CARD = {"name": "mine", "kind": "gpu", "memory": {"figure": "12 GiB", "source": "box"},
        "bandwidth": {"figure": "360 GB/s", "source": "box"},
        "peak": {"f16": {"figure": "51 TFLOP/s", "source": "box"}}}
# Where in CARD, what stands there, the key that is named.
DEVICES = [
    *((("memory", "figure"), figure, "memory.figure") for figure in
      ("80 G", "80 Gb", "80", "GB", "-80 GB", "0 B", "1e9 GB", "80  GB", "nan GB", "inf GB",
       "80 gb", "80 GB/s", "80 bananas", "", 80)),
    *((("bandwidth", "figure"), figure, "bandwidth.figure")
      for figure in ("2 TB", "2 Tbit/s", "2 TFLOP/s", "1e30 TB/s", "fast")),
    *((("peak", "f16", "figure"), figure, "peak.f16.figure")
      for figure in ("51 TOP/s", "51 TB/s", "51", "0 FLOP/s", "1e22 FLOP/s")),
    (("memory",), "80 GB", "memory"), (("memory",), ABSENT, "memory"), (("memory", "source"), ABSENT, "memory.source"),
    (("bandwidth",), ABSENT, "bandwidth"), (("peak",), {}, "peak"), (("peak", "int4"), CARD["memory"], "peak.int4"),
    (("kind",), "tpu", "kind"), (("name",), ABSENT, "name"), (("bandwith",), 1, "bandwith"), (("cores",), -4, "cores"),
    (("link",), {"figure": "8 lanes", "source": "box"}, "link.figure"),
    (("efficiency",), {"linear": {"figure": "120 %", "source": "box"}}, "efficiency.linear.figure"),
    (("efficiency",), {"linear": {"figure": "0.5", "source": "box"}}, "efficiency.linear.figure")]


def changed(original, path, value):
    copy = json.loads(json.dumps(original))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if value is ABSENT:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


@program.NEEDS_PROGRAM
class BadInput(unittest.TestCase):
    def refused(self, done, status, *named):
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        for words in named:
            self.assertIn(words, done.stderr)
        if status != USAGE:
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def plan_of(self, text, *arguments):
        return program.run("plan", "-m", "-", "--tokens", 1000, *program.ENOUGH, *arguments, text=text)

    def config_refused(self, changes, field):
        config = {key: value for key, value in {**GOOD, **changes}.items() if value is not ABSENT}
        self.refused(self.plan_of(json.dumps(config)), BAD_FILE, f"key '{field}'", "[config_bad]")

    def test_configurations(self):
        self.assertEqual(self.plan_of(json.dumps(GOOD)).returncode, 0)
        for changes, field in CONFIGS:
            with self.subTest(field, changes=str(changes).replace(str(ABSENT), "absent")):
                self.config_refused(changes, field)

    def test_objects_of_a_wrong_type(self):
        """Not passed over: a scaling or an inner configuration that is written wrongly was meant to say something."""
        for field in ("rope_scaling", "rope_parameters", "text_config"):
            for value in ("yarn", 4, [4]):
                with self.subTest(field, value=value):
                    self.config_refused({field: value}, field)

    def test_what_is_no_configuration(self):
        for text, code in (("", "file_empty"), ("{", "json_bad"), ("[]", "config_bad"), ("null", "config_bad"),
                           ("{} {}", "json_bad"), ('{"model_type": "llama", "model_type": "bert"}', "json_bad"),
                           ('{"hidden_size": NaN}', "json_bad"), ("[" * 100_000, "json_bad"), ("GGUF", "json_bad")):
            with self.subTest(text[:40]):
                self.refused(self.plan_of(text), BAD_FILE, f"[{code}]")
        strange = json.dumps({**GOOD, "layer_types": ["full_attention", "quadratic"]})
        self.refused(self.plan_of(strange), UNSUPPORTED, "'layer_types'")

    def test_unknown_models_are_doubted_and_never_free(self):
        for name in ("zebra", "", "LLAMA", "llama "):
            config = {**GOOD, "model_type": name, "sliding_window": 16}
            unknown = program.plan(config, "--tokens", 1000, *program.NOTHING_BESIDE)
            self.assertIn(f"'{name}'", unknown["doubts"][0])
            self.assertEqual(unknown["kv_bytes"], 2 * 2 * 2 * 64 * 2 * 1000, "a full cache on every layer")
        every_head = {key: value for key, value in GOOD.items() if key != "num_key_value_heads"}
        doubted = program.plan(every_head, "--tokens", 1000, *program.NOTHING_BESIDE)
        self.assertIn("num_key_value_heads", doubted["doubts"][0])
        self.assertEqual(doubted["kv_bytes"], 2 * 2 * 4 * 64 * 2 * 1000)

    def test_scaling_factor_counts_once(self):
        def trained(stated, kind, factor, before):
            scaling = {"rope_type": kind, "factor": factor, "original_max_position_embeddings": before}
            config = {**GOOD, "max_position_embeddings": stated, "rope_scaling": scaling}
            return program.plan(config, "--tokens", 1)["trained_tokens"]
        self.assertEqual(trained(131_072, "yarn", 4.0, 32_768), 131_072)
        self.assertEqual(trained(32_768, "yarn", 4.0, 32_768), 131_072)
        self.assertEqual(trained(131_072, "llama3", 8.0, 8192), 131_072)
        self.assertEqual(trained(4096, "linear", 1, 4096), 4096)

    def test_arguments(self):
        for arguments, named, status in ARGUMENTS:
            with self.subTest(arguments):
                self.refused(program.run("plan", "-m", "-", *arguments, text=json.dumps(GOOD)), status, named)

    def test_not_a_number(self):
        for option in ("--time", "--rate", "--price-per-hour", "--review-minutes"):
            with self.subTest(option):
                self.refused(self.plan_of(json.dumps(GOOD), option, "nan"), USAGE, option)

    def test_devices(self):
        ask = ["plan", "-m", "llama-3.2-1b", "--tokens", 1000, "--device"]
        self.assertEqual(program.run(*ask, program.write("good.json", CARD)).returncode, 0)
        for path, value, named in DEVICES:
            with self.subTest(named, value=value if value is not ABSENT else "absent"):
                card = program.write("card.json", changed(CARD, path, value))
                self.refused(program.run(*ask, card), BAD_FILE, f"key '{named}'", "[device_bad]")
        for text, code in (("", "file_empty"), ("{", "json_bad"), ("[]", "device_bad")):
            self.refused(program.run(*ask, program.write("card.json", text)), BAD_FILE, f"[{code}]")


if __name__ == "__main__":
    unittest.main()
