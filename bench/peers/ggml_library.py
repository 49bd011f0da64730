"""The few functions of ggml that one attention op needs, through ctypes on the libraries that llama-cpp-python installs."""

import ctypes
import importlib.util
import pathlib

TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "bf16": 30}  # enum ggml_type
BYTES_PER_VALUE = {"f32": 4, "f16": 2, "bf16": 2, "q8_0": 34 / 32, "q4_0": 18 / 32}
PRECISION_F32 = 10  # enum ggml_prec: what llama.cpp asks for
CONTEXT_BYTES = 1 << 20  # a handful of tensors' descriptions and one graph's


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


_p, _i, _l, _f, _z = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_float, ctypes.c_size_t
_BASE = {  # name: (result, arguments)
    "ggml_version": (ctypes.c_char_p, []),
    "ggml_init": (_p, [InitParams]),
    "ggml_free": (None, [_p]),
    "ggml_new_tensor_4d": (_p, [_p, _i, _l, _l, _l, _l]),
    "ggml_nbytes": (_z, [_p]),
    "ggml_flash_attn_ext": (_p, [_p, _p, _p, _p, _p, _f, _f, _f]),
    "ggml_flash_attn_ext_set_prec": (None, [_p, _i]),
    "ggml_new_graph": (_p, [_p]),
    "ggml_build_forward_expand": (None, [_p, _p]),
    "ggml_quantize_chunk": (_z, [_i, _p, _p, _l, _l, _l, _p]),
    "ggml_backend_alloc_ctx_tensors": (_p, [_p, _p]),
    "ggml_backend_buffer_free": (None, [_p]),
    "ggml_backend_tensor_set": (None, [_p, _p, _z, _z]),
    "ggml_backend_tensor_get": (None, [_p, _p, _z, _z]),
    "ggml_backend_graph_compute": (_i, [_p, _p]),
}
_CPU = {
    "ggml_backend_cpu_init": (_p, []),
    "ggml_backend_cpu_set_n_threads": (None, [_p, _i]),
}


class Library:
    """Every function under its own name."""

    def __init__(self):
        package = importlib.util.find_spec("llama_cpp")
        if package is None:
            raise ModuleNotFoundError("llama-cpp-python", name="llama-cpp-python")
        folder = pathlib.Path(package.origin).parent / "lib"
        for name, functions in [("ggml-base", _BASE), ("ggml-cpu", _CPU)]:
            library = ctypes.CDLL(str(folder / f"lib{name}.so"), mode=ctypes.RTLD_GLOBAL)
            for function, (result, arguments) in functions.items():
                entry = getattr(library, function)
                entry.restype, entry.argtypes = result, arguments
                setattr(self, function, entry)
