"""The law firm's case by hand: 320 pages are 128,000 tokens, a 13B model, one card of 80 GB, 2 TB/s and 100 TFLOP/s."""
TOKENS, PIECES, ROUNDS = 128_000, 8, 3
LAYERS, HEADS, KV_HEADS, HEAD_DIM, PARAMETERS = 40, 40, 8, 128, 13_000_000_000
FLOPS_A_SECOND, BYTES_A_SECOND = 100e12, 2e12


def numbers():
    token = 2 * LAYERS * KV_HEADS * HEAD_DIM * 2
    attention = 4 * TOKENS**2 * HEADS * HEAD_DIM * LAYERS  # every pair, also those that no token sees
    linear = 2 * PARAMETERS * TOKENS
    attention_s, linear_s = attention / FLOPS_A_SECOND, linear / FLOPS_A_SECOND
    pieces_s = attention_s / PIECES  # each is an eighth as long: a 64th of the pairs, eight times
    saved_s = attention_s - pieces_s
    kv, weights = token * TOKENS, 2 * PARAMETERS
    return {
        "token_bytes": token, "kv_bytes": kv, "mha_kv_bytes": kv * HEADS // KV_HEADS,
        "score_bytes": HEADS * TOKENS**2 * 2,
        "attention_flops": attention, "attention_s": attention_s, "causal_s": attention_s / 2,
        "linear_flops": linear, "linear_s": linear_s, "pieces_attention_s": pieces_s,
        "pass_s": attention_s + linear_s, "pieces_s": pieces_s + linear_s,
        "causal_pass_s": attention_s / 2 + linear_s, "causal_pieces_s": pieces_s / 2 + linear_s,
        "rounds_attention_s": ROUNDS * attention_s, "rounds_s": ROUNDS * (attention_s + linear_s),
        "saved_s": saved_s, "rounds_saved_s": ROUNDS * saved_s, "review_s": 30 * 60,
        "kv_read_s": kv / BYTES_A_SECOND, "read_s": (kv + weights) / BYTES_A_SECOND,
        "weights_bytes": weights, "total_bytes": weights + kv}
