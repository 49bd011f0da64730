"""Tests of the comparison's arithmetic: python3 -m unittest discover -s bench/peers -p '*_test.py'"""

import unittest

import report


class CompareTest(unittest.TestCase):
    def test_the_ratio_is_that_of_the_medians(self):
        line = report.compare("pp512", [1.0, 2.0, 9.0], [3.0, 4.0, 5.0], "flash attention on")
        self.assertEqual(line["ratio"], 2.0)
        self.assertEqual(line["attend_tokens_per_s"], 256.0)
        self.assertTrue(line["pass"])

    def test_a_shortfall_is_named(self):
        line = report.compare("pp7500", [1.0], [1.2], "flash attention off")
        self.assertFalse(line["pass"])
        self.assertEqual(report.verdict(line), "short of 1.5x by 20 %")

    def test_a_test_without_a_bar_has_no_verdict(self):
        line = report.compare("tg8@d100", [1.0], [1.0], "flash attention on")
        self.assertEqual(report.verdict(line), "no bar")
        self.assertEqual(report.cells(line)[0], "tg8 @ d100")

    def test_spread_is_the_distance_of_the_quartiles_over_the_median(self):
        self.assertEqual(report.median_and_spread([1, 2, 3, 4, 100]), (3, 2 / 3))
        self.assertEqual(report.median_and_spread([7]), (7, 0.0))


if __name__ == "__main__":
    unittest.main()
