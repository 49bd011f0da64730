"""Tests of how programs are spoken to: python3 -m unittest discover -s bench/peers -p '*_test.py'"""

import sys
import unittest

import attention_peers
import protocol


class ProtocolTest(unittest.TestCase):
    PROGRAM = """import sys
print('{"program": "fake"}', flush=True)
for line in sys.stdin: print({"a\\n": '{"seconds": 2}', "b\\n": '{"unsupported": "b"}'}.get(line, '{"error": "c"}'), flush=True)"""

    def test_answers(self):
        runner = protocol.Runner("fake", [sys.executable, "-c", self.PROGRAM])
        self.assertEqual(runner.header, {"program": "fake"})
        self.assertEqual(runner.seconds("a"), 2)
        self.assertRaises(protocol.Unsupported, runner.seconds, "b")
        self.assertRaises(protocol.Failed, runner.seconds, "c")
        runner.close()

    def test_a_program_that_ended_has_failed(self):
        runner = protocol.Runner("fake", [sys.executable, "-c", "print('{}')"])
        runner.process.wait()
        self.assertRaises(protocol.Failed, runner.seconds, "a")
        runner.close()

    def test_a_worker_without_its_library_says_so(self):
        program = "import sys; sys.modules['torch'] = None; sys.argv[1:] = ['--threads', '1']; from attention_worker import serve\n"
        program += "def load(args): import torch\nserve(load, ['f32'])"
        with self.assertRaisesRegex(protocol.Unsupported, "torch is not installed"):
            protocol.Runner("fake", [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(attention_peers.HERE)!r}); {program}"])


if __name__ == "__main__":
    unittest.main()
