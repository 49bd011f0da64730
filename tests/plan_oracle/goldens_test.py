"""Every golden number, by the oracle and by the program, to the digit that is printed. Run: python3 goldens_test.py"""
import json
import unittest
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path

import law_firm
import oracle
import program

GOLDENS = json.loads((Path(__file__).resolve().parent / "goldens.json").read_text(encoding="utf-8"))
UNITS = {"B": 1, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "GB": 10**9, "TB": 10**12, "FLOP": 1, "PFLOP": 10**15,
         "%": Fraction(1, 100), "s": 1, "ms": Fraction(1, 1000), "min": 60}
STATED = 8_030_000_000  # what "2 * parameters * T" is said of


def printed(value, row):
    """`value` with as many digits as the golden has."""
    exact = 1 / Fraction(value) if row["unit"] == "/s" else Fraction(value) / UNITS[row["unit"]]
    decimal = Decimal(exact.numerator) / Decimal(exact.denominator)
    return decimal.quantize(Decimal(row["value"]), ROUND_HALF_UP)


def with_convention(numbers, tokens):
    """Figures that follow from FLOPs, ours and by 2 * parameters * T."""
    attention, by_parameters = Fraction(numbers["attention_flops"]), 2 * STATED * tokens
    numbers["attention_share"] = attention / (attention + Fraction(numbers["linear_flops"]))
    numbers["flops_of_parameters"] = by_parameters
    numbers["all_flops_by_parameters"] = attention + by_parameters
    numbers["attention_share_by_parameters"] = attention / (attention + by_parameters)
    return numbers


def by_oracle(row):
    preset, tokens, kv, pieces = program.preset(row["model"]), row["tokens"], row.get("kv", "f16"), row.get("pieces", 1)
    model = oracle.Model({**preset["config"], **row.get("change", {})}, preset["parameters"])
    piece = tokens // pieces
    return with_convention({
        "kv_bytes": model.kv_bytes(piece, kv, row.get("policy", "formula")),
        "kv_bytes_per_token": model.token_bytes(kv),
        "kv_bytes_per_late_token": model.token_bytes(kv, late=True),
        "kq_buffer_bytes": model.kq_buffer_bytes(piece),
        "attention_map_bytes": model.map_bytes(piece),
        "linear_flops": pieces * model.linear_flops(piece),
        "attention_flops": pieces * model.attention_flops(piece)}, tokens)


def by_program(row):
    cut = ["--piece-tokens", row["tokens"] // row["pieces"]] if row.get("pieces", 1) > 1 else []
    plan = program.whole_pass(row["model"], row["tokens"], "--kv", row.get("kv", "f16"), "--policy",
                              row.get("policy", "formula"), *cut)
    return with_convention(plan, row["tokens"])


class Goldens(unittest.TestCase):
    def compare(self, of):
        for row in GOLDENS["plan"]:
            if of is by_program and row.get("oracle_only"):
                continue
            with self.subTest(row["case"], value=row["value"], unit=row["unit"]):
                self.assertEqual(printed(of(row)[row["field"]], row), Decimal(row["value"]))

    def test_by_oracle(self):
        self.compare(by_oracle)

    @program.NEEDS_PROGRAM
    def test_by_program(self):
        self.compare(by_program)


class LawFirm(unittest.TestCase):
    def test_by_hand(self):
        for row in GOLDENS["law_firm"]:
            with self.subTest(row["quantity"], value=row["value"]):
                self.assertEqual(printed(law_firm.numbers()[row["field"]], row), Decimal(row["value"]))

    @program.NEEDS_PROGRAM
    def test_by_program(self):
        case = json.loads(program.run("plan", "--scenario", "law-firm", "--json").stdout)
        rows = {row["quantity"]: row["numbers"] for row in case["rows"]}
        for row in GOLDENS["law_firm"]:
            with self.subTest(row["quantity"], value=row["value"]):
                number = rows[row["quantity"]][row["number"]]
                self.assertEqual(printed(number, row), Decimal(row["value"]))
                self.assertAlmostEqual(number / law_firm.numbers()[row["field"]], 1, delta=1e-12)
        low, high = rows["total"]
        self.assertTrue(low <= 50e9 and 60e9 <= high, "the published 50-60 GB lie between them")

    @program.NEEDS_PROGRAM
    def test_decisions(self):
        case = json.loads(program.run("plan", "--scenario", "law-firm", "--json").stdout)
        plans = {decision["situation"]: decision["plan"] for decision in case["decisions"]}
        self.assertEqual(list(plans), [row["situation"] for row in GOLDENS["law_firm_decisions"]])
        for row in GOLDENS["law_firm_decisions"]:
            plan = plans[row["situation"]]
            with self.subTest(row["situation"]):
                for field in ("verdict", "num_pieces", "piece_tokens"):
                    self.assertEqual(plan[field], row[field])
                total = {"unit": "GB", "value": row["total"]}
                self.assertEqual(printed(plan["memory"]["total_bytes"], total), Decimal(row["total"]))
                changes = {change["what"]: change for change in plan["changes"]}
                for what, (value, inside_reserve) in row.get("changes", {}).items():
                    total = {"unit": "GB", "value": value}
                    self.assertEqual(printed(changes[what]["total_bytes"], total), Decimal(value))
                    self.assertEqual(changes[what]["gives"], "one_pass")
                    self.assertEqual(changes[what]["inside_reserve"], inside_reserve)
        for side in ("117 s", "352 s", "30 minutes"):
            self.assertIn(side, case["both_sides"])


if __name__ == "__main__":
    unittest.main()
