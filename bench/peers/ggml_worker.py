"""ggml's flash attention op as a worker of the attention comparison: f32 queries over a cache of f16, f32, bf16, q8_0 or q4_0."""

import math

import ggml_library
from attention_worker import head_major, serve


class Layer:
    """One op's graph with its own tensors: q [D, q, Hq], k and v [D, kv, Hkv], mask f16 [kv, q], in ggml's order of dimensions."""

    def __init__(self, ggml, backend, dtype, case, q, k, v):
        from attention_data import additive_mask

        self.ggml, self.backend, self.case = ggml, backend, case
        self.context = ggml.ggml_init(ggml_library.InitParams(ggml_library.CONTEXT_BYTES, None, True))
        mask = additive_mask(case)
        kv_shape = (case.dim, case.kv, case.kv_heads, 1)
        tensors = {
            "q": self._tensor("f32", case.dim, case.q, case.q_heads, 1),
            "k": self._tensor(dtype, *kv_shape),
            "v": self._tensor(dtype, *kv_shape),
            "mask": None if mask is None else self._tensor("f16", case.kv, case.q, 1, 1),
        }
        self.out = ggml.ggml_flash_attn_ext(self.context, *tensors.values(), 1 / math.sqrt(case.dim), 0.0, 0.0)
        ggml.ggml_flash_attn_ext_set_prec(self.out, ggml_library.PRECISION_F32)
        self.graph = ggml.ggml_new_graph(self.context)
        ggml.ggml_build_forward_expand(self.graph, self.out)
        self.buffer = ggml.ggml_backend_alloc_ctx_tensors(self.context, backend)
        if not self.buffer:
            raise MemoryError("ggml made no buffer")
        self._set(tensors["q"], head_major(q))
        self._set(tensors["k"], self._stored(head_major(k), dtype, tensors["k"]))
        self._set(tensors["v"], self._stored(head_major(v), dtype, tensors["v"]))
        if mask is not None:
            self._set(tensors["mask"], mask.astype("float16"))

    def _tensor(self, dtype, *shape):
        return self.ggml.ggml_new_tensor_4d(self.context, ggml_library.TYPES[dtype], *shape)

    def _set(self, tensor, values):
        self.ggml.ggml_backend_tensor_set(tensor, values.ctypes.data, 0, values.nbytes)

    def _stored(self, x, dtype, tensor):
        """The values as ggml stores them."""
        import numpy

        if dtype == "f32":
            return x
        stored = numpy.empty(self.ggml.ggml_nbytes(tensor), dtype=numpy.uint8)
        rows = x.shape[0] * x.shape[1]
        self.ggml.ggml_quantize_chunk(ggml_library.TYPES[dtype], x.ctypes.data, stored.ctypes.data, 0, rows, x.shape[2], None)
        return stored

    def run(self):
        if self.ggml.ggml_backend_graph_compute(self.backend, self.graph) != 0:
            raise RuntimeError("ggml_backend_graph_compute failed")

    def output(self):
        import numpy

        out = numpy.empty((self.case.q, self.case.q_heads, self.case.dim), dtype=numpy.float32)
        self.ggml.ggml_backend_tensor_get(self.out, out.ctypes.data, 0, out.nbytes)
        return out

    def __del__(self):
        if getattr(self, "buffer", None):
            self.ggml.ggml_backend_buffer_free(self.buffer)
        if getattr(self, "context", None):
            self.ggml.ggml_free(self.context)


class Worker:
    def __init__(self, args):
        self.ggml, self.dtype = ggml_library.Library(), args.dtype
        self.backend = self.ggml.ggml_backend_cpu_init()
        self.ggml.ggml_backend_cpu_set_n_threads(self.backend, args.threads)
        self.bytes_per_value = ggml_library.BYTES_PER_VALUE[args.dtype]

    def header(self):
        return {
            "program": "ggml",
            "version": self.ggml.ggml_version().decode(),
            "settings": f"ggml_flash_attn_ext, q f32, k and v {self.dtype}, as built for this processor",
        }

    def layer(self, case, q, k, v):
        return Layer(self.ggml, self.backend, self.dtype, case, q, k, v)


if __name__ == "__main__":
    serve(Worker, ["f16", "f32", "bf16", "q8_0", "q4_0"])
