"""Checks the questions, the statements and the long contract against the texts. Run: python3 questions_test.py"""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOL = HERE.parent.parent / "tools" / "make_contract.py"
DATA = json.loads((HERE / "questions.json").read_text(encoding="utf-8"))
FACTS = json.loads((HERE / "contract_30k.json").read_text(encoding="utf-8"))
LINES = {d["name"]: (HERE / d["file"]).read_text(encoding="utf-8").splitlines() for d in DATA["documents"]}
CONTRACT = LINES["contract_30k"]


def passage(document, first, last):
    return " ".join(" ".join(LINES[document][first - 1:last]).split())


class Questions(unittest.TestCase):
    def test_counts(self):
        answered = Counter(q["document"] for q in DATA["questions"] if q["lines"])
        self.assertEqual(answered, {"gpl-3": 10, "contract": 6, "contract.zh": 3, "contract_30k": 5})
        self.assertEqual(sum(not q["lines"] for q in DATA["questions"]), 8)
        self.assertEqual(Counter(s["true"] for s in DATA["statements"]), {True: 30, False: 30})

    def test_ids_are_unique(self):
        ids = [item["id"] for item in DATA["questions"] + DATA["statements"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_lines_hold_the_answer(self):
        for item in DATA["questions"] + DATA["statements"]:
            with self.subTest(item["id"]):
                for first, last in item["lines"]:
                    self.assertTrue(1 <= first <= last <= len(LINES[item["document"]]))
                texts = [passage(item["document"], *span) for span in item["lines"]]
                self.assertEqual(bool(texts), bool(item["must_contain"]))
                for words in item["must_contain"]:
                    self.assertTrue(any(words in text for text in texts), words)
                for text in texts:
                    self.assertTrue(any(words in text for words in item["must_contain"]), text)

    def test_altered_statements_say_what_was_altered(self):
        for statement in DATA["statements"]:
            self.assertEqual(statement["true"], statement["altered"] is None, statement["id"])


class Contract(unittest.TestCase):
    def test_the_tool_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(TOOL), folder], check=True)
            for name in ("contract_30k.txt", "contract_30k.json"):
                self.assertEqual((Path(folder) / name).read_bytes(), (HERE / name).read_bytes(), name)

    def test_cross_references(self):
        self.assertEqual(len(FACTS["cross_references"]), 30)
        self.assertEqual(len(re.findall(r"\bSection \d", "\n".join(CONTRACT))), 30)
        starts = [0]
        for line in CONTRACT:
            starts.append(starts[-1] + (len(line.encode("utf-8")) + 1) / FACTS["bytes_per_token"])
        near = 0
        for reference in FACTS["cross_references"]:
            self.assertIn(f"Section {reference['to_section']}", CONTRACT[reference["from_line"] - 1])
            self.assertIn(reference["value"], CONTRACT[reference["to_line"] - 1])
            near += abs(starts[reference["from_line"]] - starts[reference["to_line"]]) < 7000
        self.assertGreaterEqual(near, 15)

    def test_defined_terms(self):
        self.assertEqual(len(FACTS["defined_terms"]), 20)
        for term in FACTS["defined_terms"]:
            self.assertTrue(CONTRACT[term["line"] - 1].startswith(f'"{term["term"]}" means '), term)


if __name__ == "__main__":
    unittest.main()
