"""A program that runs bench tests as they are asked for: `attend bench --stdin` and the peers' workers speak this."""

import json
import subprocess


class Runner:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.header = self._answer()

    def seconds(self, test):
        """Seconds of one run, by the program's own clock."""
        self.process.stdin.write(test + "\n")
        self.process.stdin.flush()
        return self._answer()["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise SystemExit(f"{self.name}: {answer['error']}")
        return answer
