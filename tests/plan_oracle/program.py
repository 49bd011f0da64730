"""Runs the built `attend`, whose path is in the environment variable ATTEND, away from the user's own settings."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ.get("ATTEND")
NEEDS_PROGRAM = unittest.skipUnless(
    PROGRAM, "ATTEND is not set: the path of the built program, build/release/apps/attend/attend")
MODELS = Path(__file__).resolve().parents[2] / "data" / "models"
ENOUGH = ("--memory", "8000000TiB", "--reserve", "0")
NOTHING_BESIDE = ("--question-tokens", "0", "-n", "0")
_HOME = tempfile.TemporaryDirectory()


def run(*arguments, text=""):
    """The finished process; `text` is its standard input."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATTEND", "XDG_"))}
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, env={**kept, "HOME": _HOME.name}, text=True,
                          capture_output=True, timeout=120, check=False)


def plan(model, *arguments, status=0):
    """The JSON of `attend plan`; `model`: a name, or a configuration."""
    text = json.dumps(model) if isinstance(model, dict) else ""
    done = run("plan", "-m", "-" if text else model, "--json", *arguments, text=text)
    if done.returncode != status:
        raise AssertionError(f"exit {done.returncode}, not {status}: attend plan {arguments}: {done.stderr}")
    return json.loads(done.stdout)


def whole_pass(model, tokens, *arguments):
    """One pass over `tokens` and nothing else, where memory is no matter."""
    return plan(model, "--tokens", tokens, *NOTHING_BESIDE, *ENOUGH, *arguments)


def write(name, value):
    """The path of a file with `value` as JSON, or as it is where it is text or bytes."""
    path = Path(_HOME.name) / name
    text = value if isinstance(value, (str, bytes)) else json.dumps(value)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def preset(name):
    return json.loads((MODELS / f"{name}.json").read_text(encoding="utf-8"))
