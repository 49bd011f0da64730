"""ONNX Runtime's GroupQueryAttention as a worker of the attention comparison: a model of that one node, float32."""

import os
import time

from attention_worker import Unsupported, head_major, serve

INPUTS = ["query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length"]
OUTPUTS = ["output", "present_key", "present_value"]
FLASH_SWITCH = "ORT_GQA_DISABLE_FLASH_ATTENTION"  # read when a session is made
MAX_SCORES_BYTES = 8 << 30  # without flash attention all scores are stored


def one_node_model(case):
    """Sizes that the runs give are left open. Over a cache the past is an input; the present's buffer is the same memory."""
    from onnx import TensorProto, helper

    has_past = case.q < case.kv
    names = [name if has_past or not name.startswith("past") else "" for name in INPUTS]
    attributes = {"num_heads": case.q_heads, "kv_num_heads": case.kv_heads}
    if case.left is not None:
        attributes["local_window_size"] = case.left + 1  # counts the query's own position
    node = helper.make_node("GroupQueryAttention", names, OUTPUTS, domain="com.microsoft", **attributes)

    def value(name):
        if name == "seqlens_k":
            return helper.make_tensor_value_info(name, TensorProto.INT32, [1])
        if name == "total_sequence_length":
            return helper.make_tensor_value_info(name, TensorProto.INT32, [])
        rank = 4 if name.startswith(("past", "present")) else 3
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank)

    graph = helper.make_graph([node], "attention", [value(name) for name in names if name], [value(name) for name in OUTPUTS])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def own(runtime, array):
    """A copy in memory as the library aligns it."""
    value = runtime.OrtValue.ortvalue_from_shape_and_type(array.shape, array.dtype)
    value.update_inplace(array)
    return value


class Layer:
    def __init__(self, runtime, session, case, q, k, v):
        import numpy

        self.session, self.case, self.binding = session, case, session.io_binding()
        new_k, new_v = (x[case.kv - case.q :].reshape(1, case.q, -1) for x in (k, v))
        present_shape = (1, case.kv_heads, case.kv, case.dim)
        values = {
            "query": q.reshape(1, case.q, -1),
            "key": new_k,
            "value": new_v,
            "seqlens_k": numpy.array([case.kv - 1], dtype=numpy.int32),
            "total_sequence_length": numpy.array(case.kv, dtype=numpy.int32),
        }
        for name, value in values.items():
            self.binding.bind_ortvalue_input(name, own(runtime, value))
        for name, cache in [("key", k), ("value", v)]:
            if case.q < case.kv:
                buffer = own(runtime, head_major(cache)[None])
                self.binding.bind_ortvalue_input("past_" + name, buffer)
            else:
                buffer = runtime.OrtValue.ortvalue_from_shape_and_type(present_shape, numpy.float32)
            self.binding.bind_ortvalue_output("present_" + name, buffer)
        self.out = runtime.OrtValue.ortvalue_from_shape_and_type((1, case.q, case.q_heads * case.dim), numpy.float32)
        self.binding.bind_ortvalue_output("output", self.out)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def output(self):
        return self.out.numpy().reshape(self.case.q, self.case.q_heads, self.case.dim)


class Worker:
    bytes_per_value = 4

    def __init__(self, args):
        import onnx  # noqa: F401, needed for the models
        import onnxruntime

        self.runtime, self.threads, self.case, self.session, self.setting = onnxruntime, args.threads, None, None, ""

    def header(self):
        return {
            "program": "ONNX Runtime",
            "version": self.runtime.__version__,
            "settings": "GroupQueryAttention, for each case the faster of flash attention on and off; inputs and outputs bound, the past's "
            "buffer is the present's, and it also writes new K and V into it",
        }

    def layer(self, case, q, k, v):
        if not case.causal or (case.right or 0) > 0:
            raise Unsupported("GroupQueryAttention is causal")
        if case != self.case:
            self.session, self.setting = min((self._try(flash, case, q, k, v) for flash in (True, False)), key=lambda one: one[0])[1:]
            self.case = case
        return Layer(self.runtime, self.session, case, q, k, v)

    def _session(self, flash, case):
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        # Its threads must not spin into the next program's time.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        os.environ[FLASH_SWITCH] = "0" if flash else "1"
        return self.runtime.InferenceSession(one_node_model(case), options, providers=["CPUExecutionProvider"])

    def _try(self, flash, case, q, k, v):
        """(seconds, session, setting) with flash attention or without it: the better of two calls after a first one."""
        if not flash and 4 * case.q_heads * case.q * case.kv > MAX_SCORES_BYTES:
            return float("inf"), None, ""
        session = self._session(flash, case)
        layer, seconds = Layer(self.runtime, session, case, q, k, v), []
        for _ in range(3):
            begin = time.perf_counter()
            layer.run()
            seconds.append(time.perf_counter() - begin)
        return min(seconds[1:]), session, f"flash attention {'on' if flash else 'off'}"


if __name__ == "__main__":
    serve(Worker, ["f32"])
