"""OpenVINO's ScaledDotProductAttention (opset13) as a worker of the attention comparison: float32 and bfloat16."""

from attention_worker import Unsupported, head_major, serve


def stored(openvino, dtype, array, shape):
    """A copy as the library stores it; it shows bf16 as something else, so its bits are set."""
    import ml_dtypes

    tensor = openvino.Tensor(dtype, list(shape))
    if dtype == openvino.Type.bf16:
        tensor.data.view("uint16")[:] = array.reshape(shape).astype(ml_dtypes.bfloat16).view("uint16")
    else:
        tensor.data[:] = array.reshape(shape)
    return tensor


class Layer:
    """The op has no groups. For a prompt a K/V head is a batch whose one head is broadcast over the group's query heads. Over a
    cache the group's query heads become rows of one head, so that K and V are read once for the group."""

    def __init__(self, openvino, compiled, shapes, mask, case, tensors):
        self.case, self.request = case, compiled.create_infer_request()
        self.inputs = []  # the request reads them where they are
        for x, shape in zip([*tensors, *([] if mask is None else [mask])], shapes):
            self.inputs.append(stored(openvino, compiled.inputs[0].get_element_type(), x, shape))
            self.request.set_input_tensor(len(self.inputs) - 1, self.inputs[-1])

    def run(self):
        self.request.infer()

    def output(self):
        import ml_dtypes

        out = self.request.get_output_tensor(0).data
        out = out.astype("float32") if out.dtype == "float32" else out.view(ml_dtypes.bfloat16).astype("float32")
        return out.reshape(self.case.q_heads, self.case.q, self.case.dim).transpose(1, 0, 2)


class Worker:
    def __init__(self, args):
        import openvino

        self.openvino, self.core = openvino, openvino.Core()
        if args.dtype == "bf16" and "BF16" not in self.core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            raise Unsupported("OpenVINO sees no bf16 product on this processor")
        self.type = {"f32": openvino.Type.f32, "bf16": openvino.Type.bf16}[args.dtype]
        self.bytes_per_value = self.type.size
        self.settings = {"INFERENCE_NUM_THREADS": args.threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": args.dtype}
        self.case = None

    def header(self):
        return {
            "program": "OpenVINO",
            "version": self.openvino.__version__.split("-")[0],
            "settings": "opset13 ScaledDotProductAttention, " + ", ".join(f"{key} {value}" for key, value in self.settings.items()),
        }

    def layer(self, case, q, k, v):
        if case != self.case:
            self._compile(case)
        tensors = [head_major(x) for x in (q, k, v)]
        return Layer(self.openvino, self.compiled, self.shapes, self.mask, case, tensors)

    def _compile(self, case):
        import numpy
        from attention_data import additive_mask
        from openvino import opset13

        group = case.q_heads // case.kv_heads
        folds = case.q < case.kv
        causal = case.kind == "prefill" and case.causal
        q_shape = (1, case.kv_heads, group * case.q, case.dim) if folds else (case.kv_heads, group, case.q, case.dim)
        kv_shape = (1, case.kv_heads, case.kv, case.dim) if folds else (case.kv_heads, 1, case.kv, case.dim)
        self.shapes = [q_shape, kv_shape, kv_shape]
        self.mask = None if causal else additive_mask(case)
        if self.mask is not None:
            self.mask = numpy.tile(self.mask, (group if folds else 1, 1))
            self.shapes.append((1, 1, *self.mask.shape))
        parameters = [opset13.parameter(list(shape), self.type) for shape in self.shapes]
        node = opset13.scaled_dot_product_attention(*parameters, causal=causal)
        self.compiled = self.core.compile_model(self.openvino.Model([node], parameters, "attention"), "CPU", self.settings)
        self.case = case


if __name__ == "__main__":
    serve(Worker, ["f32", "bf16"])
