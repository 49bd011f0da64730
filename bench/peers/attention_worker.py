"""What the workers of the attention comparison share: they speak the protocol of `attend bench attention --stdin`.

A header line of JSON, then for every case read from stdin one line {"seconds": s, "layers": n, "setting": ...}: the time of one call over one
layer, by the worker's own clock. With --check it also has "max_error", the largest difference from NumPy's result.
A worker is a class made from the arguments, with

  header()              what it is: program, version, settings
  bytes_per_value       of its K and V
  setting               where it has several: the one that it chose for the last case
  layer(case, q, k, v)  an object with its own copy of them, run() and output() -> [q, Hq, D]; raises Unsupported
"""

import argparse
import gc
import json
import os
import sys
import time

import attention_case


class Unsupported(Exception):
    pass


def head_major(x):
    """[tokens, heads, D] -> [heads, tokens, D], in memory too."""
    return x.transpose(1, 0, 2).copy()


class Session:
    """Keeps the layers of the last case, so that the rounds of one case share them."""

    def __init__(self, worker, check):
        self.worker, self.check, self.line, self.layers = worker, check, None, []

    def run(self, line):
        if line != self.line:
            self._prepare(line)
        begin = time.perf_counter()
        for layer in self.layers:
            layer.run()
        seconds = (time.perf_counter() - begin) / len(self.layers)
        answer = {"seconds": seconds, "layers": len(self.layers), "setting": getattr(self.worker, "setting", "")}
        return {**answer, "max_error": self._max_error()} if self.check else answer

    def _prepare(self, line):
        from attention_data import inputs

        self.line, self.layers = None, []
        gc.collect()
        self.case = attention_case.parse(line)
        tensors = inputs(self.case)
        count = 2 if self.check else self.case.layers(self.worker.bytes_per_value)
        self.layers = [self.worker.layer(self.case, *tensors) for _ in range(count)]
        self.line = line

    def _max_error(self):
        from attention_data import inputs, reference

        expected = reference(self.case, *inputs(self.case))
        return max(float(abs(layer.output() - expected).max()) for layer in self.layers)


def described(error):
    return f"{type(error).__name__}: {error}".splitlines()[0]


def say(answer):
    print(json.dumps(answer), flush=True)


def serve(make_worker, dtypes):
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--dtype", choices=dtypes, default=dtypes[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    try:
        worker = make_worker(args)
    except ModuleNotFoundError as error:
        return say({"unsupported": f"{error.name} is not installed"})
    except Unsupported as error:
        return say({"unsupported": str(error)})
    except Exception as error:  # a library that cannot be loaded
        return say({"unsupported": described(error)})
    say({**worker.header(), "dtype": args.dtype, "threads": args.threads})
    session = Session(worker, args.check)
    for line in sys.stdin:
        try:
            say(session.run(line.strip()))
        except Unsupported as error:
            say({"unsupported": str(error)})
        except Exception as error:  # whatever a library throws is its answer to this case
            say({"error": described(error)})
