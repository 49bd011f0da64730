"""Tests of the plot: python3 -m unittest discover -s bench/peers -p '*_test.py'"""

import unittest
import xml.etree.ElementTree

import plot


class PlotTest(unittest.TestCase):
    def test_positions_keep_their_order_and_distance(self):
        self.assertEqual(plot.apart([50, 10, 12], 5, 0, 100), [50, 10, 15])
        self.assertEqual(plot.apart([99, 98, 97], 5, 0, 100), [100, 95, 90])

    def test_ticks_are_round_and_inside(self):
        self.assertEqual(plot.ticks(1.5, 60), [2, 5, 10, 20, 50])

    def test_equal_factors_are_equal_distances(self):
        scale = plot.LogScale(1, 100, 0, 10)
        self.assertEqual([round(scale(x), 9) for x in (1, 10, 100)], [0, 5, 10])

    def test_the_document_is_xml_with_a_label_for_each_line(self):
        series = [plot.Series(f"a<{i} & b", "#000000", "", 2, [(512, 1.0 + i), (1024, 4.0)]) for i in range(12)]
        root = xml.etree.ElementTree.fromstring(plot.log_log("t", "s", "x", "y", series))
        labels = [node for node in root if node.get("class") == "label"]
        self.assertEqual([node.text for node in labels], [one.name for one in series])
        heights = sorted(float(node.get("y")) for node in labels)
        self.assertTrue(all(b - a >= plot.LABEL_GAP - 0.2 for a, b in zip(heights, heights[1:])))
        self.assertEqual(sum(node.tag.endswith("polyline") for node in root), 12)


if __name__ == "__main__":
    unittest.main()
