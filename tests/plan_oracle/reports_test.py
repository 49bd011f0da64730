"""What users of other programs reported, and what `attend plan` does in the same place. Run: python3 reports_test.py"""
import unittest

import oracle
import program
from program import NOTHING_BESIDE, plan, run, whole_pass

GIB = 2**30


def model_of(name, **changes):
    return oracle.Model({**program.preset(name)["config"], **changes})


@program.NEEDS_PROGRAM
class CacheReports(unittest.TestCase):
    def test_hybrid_layers_without_keys(self):
        """gguf-parser-go#28: in models with full_attention_interval 4 every layer was charged a cache that grows."""
        for name, layers, per_layer in (("qwen3-next-80b-a3b", 48, 2048), ("qwen3.5-27b", 64, 4096),
                                        ("qwen3.5-35b-a3b", 40, 2048)):
            with self.subTest(name):
                short, long = whole_pass(name, 1), whole_pass(name, 262_144)
                self.assertEqual(long["kv_bytes_per_token"], layers // 4 * per_layer)
                self.assertEqual(long["kv_bytes"] - short["kv_bytes"], 262_143 * layers // 4 * per_layer)
                states = short["kv_bytes"] - short["kv_bytes_per_token"]
                self.assertEqual(states, model_of(name).kv_bytes(0, "f16"), "the others keep a state of one size")
                self.assertGreater(states, 0)

    def test_window_pattern_of_gpt_oss(self):
        """gguf-parser-go#32: gpt-oss alternates windows of 128 with full layers; a wrong period miscounts them."""
        for name, layers in (("gpt-oss-20b", 24), ("gpt-oss-120b", 36)):
            got = whole_pass(name, 100_000)
            self.assertEqual(got["kv_bytes"], layers // 2 * 2048 * (100_000 + 128))
            self.assertEqual(got["kv_bytes_per_late_token"] * 2, got["kv_bytes_per_token"])
            kinds = ["sliding_attention", "full_attention"] * (layers // 2)
            stated = {**program.preset(name)["config"], "layer_types": kinds}
            self.assertEqual(whole_pass(stated, 100_000)["kv_bytes"], got["kv_bytes"], "said or known, it is the same")

    def test_six_models_by_one_formula(self):
        """unsloth#4757: one formula for all was 7.8 times too high for one model and five times too low for another."""
        latent = program.preset("deepseek-v3.1")["config"]
        kimi = {**latent, "model_type": "kimi_k2", "num_hidden_layers": 61, "max_position_embeddings": 262_144}
        glm = {**latent, "model_type": "glm_moe_dsa", "num_hidden_layers": 79, "max_position_embeddings": 202_752}
        for model, tokens, gib in (("gemma-3-27b", 131_072, 10.41), ("qwen3.5-27b", 262_144, 16.00),
                                   ("deepseek-v3.1", 163_840, 10.72),
                                   (glm, 202_752, 17.18), (kimi, 262_144, 17.16), ("qwen3-0.6b", 40_960, 4.38)):
            with self.subTest(model if isinstance(model, str) else model["model_type"]):
                got = whole_pass(model, tokens)
                # States, which the report leaves out.
                states = model_of(model).kv_bytes(0, "f16") if model == "qwen3.5-27b" else 0
                self.assertAlmostEqual((got["kv_bytes"] - states) / GIB, gib, delta=0.005 + 1e-9)
                self.assertEqual(len(got["doubts"]), 1 if model is glm else 0, "a model that is not known is doubted")

    def test_keys_of_query_heads(self):
        """LLM-Viewer#12: keys and values were counted once a query head, where several share one."""
        for name, heads, kv_heads in (("llama-3-8b", 32, 8), ("llama-2-70b", 64, 8), ("qwen2.5-7b", 28, 4),
                                      ("glm-4-9b", 32, 2)):
            config = program.preset(name)["config"]
            got = whole_pass(name, 1000)["kv_bytes"]
            key = "multi_query_group_num" if "multi_query_group_num" in config else "num_key_value_heads"
            self.assertEqual(whole_pass({**config, key: heads}, 1000)["kv_bytes"], got * heads // kv_heads)

    def test_windows_charged_as_full_layers(self):
        """vllm#43308: windows in pages of full size left room for a tenth of the tokens: 55k instead of 525k."""
        config = {**program.preset("gemma-3-27b")["config"], "num_hidden_layers": 60, "sliding_window_pattern": 10,
                  "sliding_window": 512, "max_position_embeddings": 2**24}
        model, fits = oracle.Model(config), {}
        budget = ["--memory", 80 * 10**9, "--reserve", "0", *NOTHING_BESIDE]
        for policy in ("formula", "llama.cpp", "vllm"):
            got = plan(config, "--tokens", 1000, "--policy", policy, *budget)
            most, memory = got["fits_tokens"], got["memory"]
            self.assertEqual(plan(config, "--tokens", most, "--policy", policy, *budget)["verdict"], "one_pass")
            self.assertEqual(plan(config, "--tokens", most + 1, "--policy", policy, *budget)["verdict"], "pieces")
            self.assertLessEqual(model.kv_bytes(most, "f16", policy), memory["usable_bytes"] - memory["weights_bytes"])
            fits[policy] = most
        self.assertGreater(fits["formula"], 9 * fits["vllm"])
        self.assertGreater(fits["llama.cpp"], 9 * fits["vllm"])
        path = program.write("windows.json", config)
        table = run("plan", "-m", path, "--tokens", 1000, "--policy", "all", *budget).stdout
        for policy, most in fits.items():
            self.assertRegex(table, rf"(?m)^{policy} .* {most:,}$")

    def test_policy_is_named_and_does_not_flip(self):
        """hf-mem#60: one figure a token, then from another release twice that, and neither said for which runtime."""
        command = ["plan", "-m", "gpt-oss-120b", "--tokens", 100_000, *program.ENOUGH]
        for policy in ("formula", "llama.cpp", "vllm", "hf-eager", "hf-sdpa"):
            first, second = (run(*command, "--policy", policy) for _ in range(2))
            self.assertEqual((first.returncode, first.stdout), (second.returncode, second.stdout))
            self.assertRegex(first.stdout, rf"(?m)^policy +{policy}: ")
            self.assertEqual(plan("gpt-oss-120b", *command[3:], "--policy", policy)["policy"], policy)
        both = run(*command, "--policy", "all").stdout
        self.assertIn("36,864 B once every window is full", both)
        self.assertIn("73,728 B before", both)


@program.NEEDS_PROGRAM
class WorkReports(unittest.TestCase):
    def test_experts_that_rest(self):
        """llmfit#230: a mixture was sized by the experts that a token meets, as if the others needed no memory."""
        for name, held, used in (("mixtral-8x7b", 46.7e9, 12.9e9), ("qwen3-30b-a3b", 30.5e9, 3.0e9),
                                 ("gpt-oss-120b", 116.8e9, 5.1e9)):
            # Of a table one row is read: of the 3.3e9 that are published for the second model 0.3e9 are its table.
            got = whole_pass(name, 1000)
            self.assertAlmostEqual(got["memory"]["weights_bytes"] / 2 / held, 1, delta=0.01)
            self.assertAlmostEqual(got["decode_weight_bytes"] / 2 / used, 1, delta=0.05)
            between = ["--memory", int(2 * used * 2), "--tokens", 1000, "--policy", "formula"]
            self.assertEqual(plan(name, *between, status=1)["limit"], "memory", "the used ones alone would fit")

    def test_prefix_counts(self):
        """sglang#34298: the FLOPs of a chunk forgot the tokens before it, and speed seemed to fall with depth."""
        model = model_of("llama-3.1-8b")
        def flops(*arguments):
            question = ["--question-tokens", 100, "-n", 0]
            return plan("llama-3.1-8b", "--tokens", 65_536, *question, *program.ENOUGH, *arguments)
        once, twice = flops(), flops("--rounds", 2)
        later = twice["attention_flops"] - once["attention_flops"]
        self.assertEqual(later, model.attention_flops(100, before=65_536))
        self.assertGreater(later, 100 * model.attention_flops(100), "most of it is the prefix")
        whole = whole_pass("llama-3.1-8b", 65_536)["attention_flops"]
        halves = whole_pass("llama-3.1-8b", 65_536, "--piece-tokens", 32_768)["attention_flops"]
        across = sum(layer.pair_flops for layer in model.layers) * 32_768**2
        self.assertEqual(whole - halves, across)


@program.NEEDS_PROGRAM
class RefusalReports(unittest.TestCase):
    def test_what_does_not_fit_is_refused(self):
        """llama.cpp#27872: the fit failed with a warning, the model was loaded all the same, memory ran out later."""
        for policy in ("formula", "llama.cpp", "vllm", "hf-sdpa"):
            asked = ["--tokens", 20_000, "--policy", policy, "--device", "rtx-4090"]
            got = plan("mixtral-8x7b", *asked, status=1)
            self.assertEqual((got["verdict"], got["limit"]), ("refused", "memory"))
            memory = got["memory"]
            self.assertEqual(got["shortfall_bytes"], memory["total_bytes"] - memory["usable_bytes"])
            self.assertIn("lacking", got["reason"])
        for runtime in ("llama.cpp", "vllm"):
            emitted = run("plan", "-m", "mixtral-8x7b", "--tokens", 20_000, "--device", "rtx-4090", "--emit", runtime)
            self.assertEqual((emitted.returncode, emitted.stdout), (1, ""), "no command line that would die")
            self.assertIn("lacking", emitted.stderr)

    def test_no_token_is_dropped(self):
        """ollama#17427: half of a long prompt was cut off and the answer came with status 200."""
        for context in (600, 2048, 4096):
            for tokens in (context, context + 1, 10 * context):
                asked = ["--tokens", tokens, "-c", context, *program.ENOUGH]
                got = plan("llama-3.1-8b", *asked)
                self.assertEqual((got["verdict"], got["limit"]), ("pieces", "context"))
                self.assertGreaterEqual(got["num_pieces"] * got["piece_tokens"], tokens)
                self.assertLessEqual(got["pass_tokens"], context)
                one = plan("llama-3.1-8b", *asked, "--max-pieces", 1, status=1)
                self.assertEqual((one["verdict"], one["limit"]), ("refused", "context"))

    def test_cutting_ends_and_leaves_room_for_the_answer(self):
        """langchain#16251, llama_index#14066: merging never came to an end, and prompts left no room for the answer."""
        for tokens in (1, 255, 256, 8192, 10**6, 10**9, 10**15):
            for answer in (0, 1, 128, 3000, 7000):
                with self.subTest(tokens=tokens, answer=answer):
                    got = plan("llama-3-8b", "--tokens", tokens, "-n", answer, *program.ENOUGH)
                    self.assertEqual(got["pass_tokens"], got["piece_tokens"] + got["question_tokens"] + answer)
                    self.assertLessEqual(got["pass_tokens"], got["context_tokens"])
                    self.assertGreaterEqual(got["num_pieces"] * got["piece_tokens"], tokens)
                    self.assertLess((got["num_pieces"] - 1) * got["piece_tokens"], tokens, "no piece is empty")
                    most = got["context_tokens"] - got["question_tokens"] - answer
                    self.assertEqual(got["num_pieces"], -(-tokens // most), "and none could be left out")

    def test_answers_longer_than_the_context(self):
        """llama_index#14066: the length of the answer went below zero; here the plan is refused and says why."""
        for answer in (8192, 8065, 10**15):
            got = plan("llama-3-8b", "--tokens", 500, "-n", answer, *program.ENOUGH, status=1)
            self.assertEqual((got["verdict"], got["limit"]), ("refused", "context"))
            for words in (f"{answer:,} of answer", "8,192 that the model was trained on"):
                self.assertIn(words, got["reason"])
            self.assertTrue(any(change["what"].startswith("-n ") for change in got["changes"]), got["changes"])


if __name__ == "__main__":
    unittest.main()
