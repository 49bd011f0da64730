"""Queries, keys and values of a case, and what attention over them is by NumPy in float64."""

import numpy


def inputs(case):
    """q [q, Hq, D], k [kv, Hkv, D], v [kv, Hkv, D], float32, the same for every program."""
    random = numpy.random.default_rng(case.kv * 31 + case.q)
    q = random.standard_normal((case.q, case.q_heads, case.dim), dtype=numpy.float32)
    k, v = (random.standard_normal((case.kv, case.kv_heads, case.dim), dtype=numpy.float32) for _ in range(2))
    return q, k, v


def visible(case):
    """bool [q, kv]: which keys a query sees. Query i stands at position kv - q + i."""
    distance = numpy.arange(case.kv)[None, :] - (case.kv - case.q + numpy.arange(case.q))[:, None]  # key's minus query's position
    seen = numpy.ones(distance.shape, dtype=bool)
    if case.causal:
        seen &= distance <= 0
    if case.left is not None:
        seen &= distance >= -case.left
    if case.right is not None:
        seen &= distance <= case.right
    return seen


def additive_mask(case):
    """float32 [q, kv], 0 or -inf; None where a query sees every key."""
    seen = visible(case)
    return None if seen.all() else numpy.where(seen, numpy.float32(0), numpy.float32(-numpy.inf))


def reference(case, q, k, v):
    """softmax(q k^T / sqrt(D)) v over the visible keys, float64 [q, Hq, D]."""
    group = case.q_heads // case.kv_heads
    seen = visible(case)
    out = numpy.empty(q.shape, dtype=numpy.float64)
    for head in range(case.q_heads):
        keys, values = (x[:, head // group].astype(numpy.float64) for x in (k, v))
        scores = numpy.where(seen, q[:, head].astype(numpy.float64) @ keys.T / numpy.sqrt(case.dim), -numpy.inf)
        weights = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, head] = weights @ values / weights.sum(axis=1, keepdims=True)
    return out
