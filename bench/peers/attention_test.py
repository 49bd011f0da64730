"""Tests of the attention comparison's logic: python3 -m unittest discover -s bench/peers -p '*_test.py'"""

import contextlib
import io
import unittest

import attention_case
import attention_options
import attention_peers
import attention_report
import attention_rounds
import protocol

PREFILL = "heads=32/8 dim=128 q=4096 kv=4096 mask=causal"
DECODE = "heads=32/8 dim=128 q=1 kv=32768 mask=causal"


class FakeRunner:
    """Answers from a list: seconds, or an exception to raise; the last one again and again."""

    def __init__(self, name, *answers, calls=None):
        self.name, self.answers, self.calls = name, list(answers), [] if calls is None else calls

    def answer(self, line):
        self.calls.append(self.name)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return {"seconds": answer}


def rounds_of(ours, peers, rounds=3, warm_ups=1):
    with contextlib.redirect_stderr(io.StringIO()):
        found, dropped = attention_rounds.run_case(PREFILL, ours, peers, rounds, warm_ups)
    return {name: [answer["seconds"] for answer in answers] for name, answers in found.items()}, dropped


def entry(line=PREFILL, dropped=None, **seconds):
    answers = {name.replace("_", " "): [{"seconds": one, "setting": "fast"} for one in found] for name, found in seconds.items()}
    return attention_report.summarise(line, answers, dropped or {})


class CaseTest(unittest.TestCase):
    def test_a_line_is_read(self):
        case = attention_case.parse("heads=32/8 dim=128 q=4096 kv=4096  mask=causal window=255,0")
        self.assertEqual((case.q_heads, case.kv_heads, case.left, case.right, case.kind), (32, 8, 255, 0, "window"))
        self.assertEqual(case.line, "heads=32/8 dim=128 q=4096 kv=4096 mask=causal window=255,0")
        self.assertEqual(case.label, "window 255,0 32/8 d128 T=4096")
        self.assertEqual([attention_case.parse(line).kind for line in (PREFILL, DECODE)], ["prefill", "decode"])

    def test_what_is_no_case_is_refused(self):
        for line in ["", "heads=32/8", PREFILL + " mask=left", PREFILL + " colour=red", PREFILL.replace("32/8", "32/5"), PREFILL.replace("q=4096", "q=4097")]:
            with self.assertRaises(ValueError, msg=line):
                attention_case.parse(line)

    def test_k_and_v_of_all_layers_over_a_cache_are_256_mib(self):
        self.assertEqual(attention_case.parse(DECODE).layers(4), 1)
        self.assertEqual(attention_case.parse(DECODE).layers(2), 2)
        self.assertEqual(attention_case.parse(DECODE).layers(18 / 32), 8)
        self.assertEqual(attention_case.parse(PREFILL).layers(2), 1)

    def test_the_lists_are_cases(self):
        labels = {attention_case.parse(line).label for line in attention_case.DEFAULT}
        self.assertEqual(len(labels), len(attention_case.DEFAULT))
        self.assertEqual({attention_case.parse(line).kind for line in attention_case.CHECKED}, {"prefill", "decode", "window", "few tokens"})


class RoundsTest(unittest.TestCase):
    def test_warm_ups_do_not_count_and_the_order_alternates(self):
        order = []
        ours = FakeRunner("attend bf16", 9.0, 1.0, 2.0, 3.0, calls=order)
        found, dropped = rounds_of([ours], [FakeRunner("ggml f16", 8.0, 4.0, 5.0, 6.0, calls=order)])
        self.assertEqual(found, {"attend bf16": [1.0, 2.0, 3.0], "ggml f16": [4.0, 5.0, 6.0]})
        self.assertEqual(dropped, {})
        self.assertEqual([name[0] for name in order], ["a", "g", "a", "g", "g", "a", "a", "g"])

    def test_a_slow_peer_is_left_out_after_one_call_and_ours_is_not(self):
        ours, slow = FakeRunner("attend bf16", 30.0), FakeRunner("ggml q4_0", 21.0)
        found, dropped = rounds_of([ours], [slow])
        self.assertEqual(list(found), ["attend bf16"])
        self.assertEqual(dropped, {"ggml q4_0": "one call takes 21 s"})
        self.assertEqual(len(slow.calls), 1)

    def test_a_peer_that_cannot_is_left_out_with_its_reason(self):
        peers = [FakeRunner("a", protocol.Unsupported("no window")), FakeRunner("b", 1.0, 1.0, protocol.Failed("out of memory"))]
        found, dropped = rounds_of([FakeRunner("attend bf16", 1.0)], peers)
        self.assertEqual(list(found), ["attend bf16"])
        self.assertEqual(dropped, {"a": "no window", "b": "out of memory"})

    def test_an_error_of_ours_ends_the_comparison(self):
        with self.assertRaises(protocol.Failed):
            rounds_of([FakeRunner("attend bf16", protocol.Failed("wrong"))], [])


class ReportTest(unittest.TestCase):
    def test_the_best_peer_is_the_one_of_the_smallest_median(self):
        lines = entry(attend_bf16=[1.0, 1.0, 9.0], attend_f32=[2.0], PyTorch_f32=[0.1, 3.0, 3.0], ggml_f16=[2.5, 2.5, 2.5])["lines"]
        self.assertEqual([(line["best"], line["ratio"]) for line in lines], [("ggml f16", 2.5), ("PyTorch f32", 1.5)])
        self.assertEqual([(line["bar"], line["pass"]) for line in lines], [(2.0, True), (1.0, True)])

    def test_a_shortfall_is_named_and_only_prompts_have_a_bar(self):
        rows = attention_report.comparison_rows([entry(attend_bf16=[1.0], ggml_f16=[1.5]), entry(DECODE, attend_bf16=[0.001], ggml_f16=[0.01])])
        self.assertEqual(rows[1], ["prefill 32/8 d128 T=4096", "attend bf16", "1000", "0.0 %", "ggml f16", "1500", "0.0 %", "1.50x", "short of 2.0x by 25 %"])
        self.assertEqual(rows[2][2:], ["1.00", "0.0 %", "ggml f16", "10.0", "0.0 %", "10.00x", "no bar"])

    def test_without_peers_there_is_no_ratio(self):
        rows = attention_report.comparison_rows([entry(attend_bf16=[1.0])])
        self.assertEqual(rows[1][4:], ["none", "-", "-", "-", "no bar"])

    def test_everyone_is_listed_and_who_is_missing_shows(self):
        cases = [entry(attend_bf16=[1.0], ggml_f16=[2.0]), entry(DECODE, {"ggml f16": "no"}, attend_bf16=[3.0])]
        rows = attention_report.everyone_rows(cases)
        self.assertEqual(rows[0], ["ms", "attend bf16", "ggml f16"])
        self.assertEqual(rows[2], ["decode 32/8 d128 T=32768", "3000 (0.0 %)", "-"])
        self.assertEqual(attention_report.left_out({"skipped": {"a": "b"}, "cases": cases})[1], "- left out of decode 32/8 d128 T=32768: ggml f16: no")

    def test_who_chose_which_setting_for_which_case(self):
        cases = [entry(ggml_f16=[2.0]), entry(DECODE, ggml_f16=[3.0])]
        self.assertEqual(attention_report.settings(cases), ["- ggml f16, fast: prefill 32/8 d128 T=4096; decode 32/8 d128 T=32768"])

    def test_rows_are_of_one_length(self):
        rows = attention_report.comparison_rows([entry(attend_bf16=[1.0], attend_f32=[1.0], ggml_f16=[2.0])])
        self.assertEqual({len(row) for row in rows}, {9})

    def test_curves_are_prompts_of_one_shape_by_size(self):
        cases = [entry(PREFILL, attend_bf16=[4.0]), entry(PREFILL.replace("4096", "512"), attend_bf16=[1.0]), entry(DECODE, attend_bf16=[9.0])]
        self.assertEqual([one.points for one in attention_report.curves(cases)], [[(512, 1000.0), (4096, 4000.0)]])

    def test_every_peer_has_a_colour_a_dash_and_a_tolerance(self):
        for name, (_, dtype) in attention_peers.PEERS.items():
            self.assertIn(name.rsplit(" ", 1)[0], attention_report.COLOURS)
            self.assertEqual(name.rsplit(" ", 1)[1], dtype)
            self.assertIn(dtype, attention_report.DASHES)
            self.assertIn(dtype, attention_peers.TOLERANCES)


class OptionsTest(unittest.TestCase):
    def test_peers_are_named_by_how_they_begin(self):
        self.assertEqual(attention_peers.chosen("PyTorch, ONNX"), ["ONNX Runtime f32", "PyTorch f32", "PyTorch bf16"])
        self.assertRaises(ValueError, attention_peers.chosen, "JAX")

    def test_the_command_that_repeats_a_run_names_what_is_not_the_default(self):
        args = attention_options.parse("", ["--attend", "/x/attend", "--threads", "2", "--peers", "ggml f", "--cases", DECODE])
        self.assertEqual(args.words, ["--rounds", "9", "--warm-ups", "2", "--threads", "2", "--peers", "ggml f32,ggml f16", "--cases", DECODE])


if __name__ == "__main__":
    unittest.main()
