"""A program that runs bench tests as they are asked for: `attend bench --stdin` and the peers' workers speak this."""

import json
import subprocess


class Unsupported(Exception):
    """What the program says that it cannot run."""


class Failed(SystemExit):
    """The program answered an error or ended. Ends a comparison that does not go on without it."""


class Runner:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.header = self._answer()
        except (Unsupported, Failed):
            self.close()
            raise

    def answer(self, test):
        """What one run says: {"seconds": by the program's own clock, ...}."""
        try:
            self.process.stdin.write(test + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its answer is then that it ended
        return self._answer()

    def seconds(self, test):
        return self.answer(test)["seconds"]

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.process.wait()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.name} ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "unsupported" in answer:
            raise Unsupported(answer["unsupported"])
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer
