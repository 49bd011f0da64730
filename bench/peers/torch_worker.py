"""PyTorch's scaled_dot_product_attention as a worker of the attention comparison: float32 and bfloat16."""

import os
import sys

from attention_worker import Unsupported, head_major, serve


class Layer:
    """q == kv without a window: is_causal and enable_gqa. Else the query heads of a K/V head become rows of one head and the mask
    is repeated for each: 1.5 to 3 times faster there, because K and V are then read once for the group."""

    def __init__(self, torch, dtype, case, q, k, v):
        from attention_data import additive_mask

        self.torch, self.case = torch, case
        group = case.q_heads // case.kv_heads
        # [1, heads, tokens, D], in memory as PyTorch aligns it
        tensors = [torch.from_numpy(head_major(x)).to(dtype, copy=True)[None] for x in (q, k, v)]
        self.options = {}
        if case.kind == "prefill" and case.causal:
            self.options = {"is_causal": True, "enable_gqa": True}
        else:
            mask = additive_mask(case)
            folds = case.q < case.kv
            if mask is not None:
                self.options["attn_mask"] = torch.from_numpy(mask).to(dtype).repeat(group if folds else 1, 1)
            if folds:
                tensors[0] = tensors[0].view(1, case.kv_heads, group * case.q, case.dim)
            else:
                self.options["enable_gqa"] = True
        self.tensors, self.out = tensors, None

    def run(self):
        with self.torch.inference_mode():
            self.out = self.torch.nn.functional.scaled_dot_product_attention(*self.tensors, **self.options)

    def output(self):
        return self.out.float().view(self.case.q_heads, self.case.q, self.case.dim).numpy().transpose(1, 0, 2)


class Worker:
    def __init__(self, args):
        # install_torch.sh leaves out what only a GPU calls: such functions are looked for when they are called, that is never.
        sys.setdlopenflags(os.RTLD_LAZY)
        import torch

        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            raise Unsupported("PyTorch has no scaled_dot_product_attention")
        torch.set_num_threads(args.threads)
        self.torch = torch
        self.dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[args.dtype]
        self.bytes_per_value = self.dtype.itemsize

    def header(self):
        return {
            "program": "PyTorch",
            "version": self.torch.__version__,
            "settings": f"scaled_dot_product_attention, {self.torch.backends.cpu.get_cpu_capability()}; enable_gqa for prompts, groups as rows over a cache",
        }

    def layer(self, case, q, k, v):
        return Layer(self.torch, self.dtype, case, q, k, v)


if __name__ == "__main__":
    serve(Worker, ["f32", "bf16"])
