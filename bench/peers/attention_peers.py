"""The programs of the attention comparison: ours in two numerics classes, and the peers, each with its dtypes."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent

# name: (worker, dtype of K and V)
PEERS = {
    "ONNX Runtime f32": ("onnxruntime_worker.py", "f32"),
    "PyTorch f32": ("torch_worker.py", "f32"),
    "PyTorch bf16": ("torch_worker.py", "bf16"),
    "OpenVINO f32": ("openvino_worker.py", "f32"),
    "OpenVINO bf16": ("openvino_worker.py", "bf16"),
    "ggml f32": ("ggml_worker.py", "f32"),
    "ggml f16": ("ggml_worker.py", "f16"),
    "ggml bf16": ("ggml_worker.py", "bf16"),
    "ggml q8_0": ("ggml_worker.py", "q8_0"),
    "ggml q4_0": ("ggml_worker.py", "q4_0"),
}
OURS = ["bf16", "f32"]  # class and cache
# What a program's result may differ from NumPy's by: inputs are normal, so are outputs of rows that see few keys.
TOLERANCES = {"f32": 1e-5, "f16": 1e-2, "bf16": 5e-2, "q8_0": 0.1, "q4_0": 1.0}


def our_name(dtype):
    return f"attend {dtype}"


def our_command(attend, dtype, threads, isa):
    options = ["--compute", dtype, "--kv", dtype, "--threads", str(threads)] + (["--isa", isa] if isa else [])
    return [attend, "bench", "attention", "--stdin", *options]


def peer_command(name, threads, *options):
    worker, dtype = PEERS[name]
    return [sys.executable, str(HERE / worker), "--threads", str(threads), "--dtype", dtype, *options]


def chosen(words):
    """Names that begin with one of the comma-separated words."""
    names = [name for name in PEERS if any(name.startswith(word.strip()) for word in words.split(","))]
    if not names:
        raise ValueError(f"no peer begins with {words}; there are: {', '.join(PEERS)}")
    return names
