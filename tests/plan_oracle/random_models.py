"""Configurations of models that nobody trained: any heads, windows, latent caches, experts and states."""

WIDTHS = [16, 32, 48, 64, 80, 96, 128, 256]  # of heads; with them every cache format fills its blocks
KV = {"formula": ["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "q8_0,q4_0", "f16,q5_1"],
      "vllm": ["f32", "f16", "bf16", "fp8"], "hf-sdpa": ["f32", "f16", "bf16"]}
KV["llama.cpp"], KV["hf-eager"] = KV["formula"], KV["hf-sdpa"]


def config(r):
    """`r`: a seeded random.Random."""
    kv_heads = r.choice([1, 2, 3, 4, 8])
    c = {"model_type": "llama", "num_hidden_layers": r.randint(1, 64), "num_key_value_heads": kv_heads,
         "num_attention_heads": kv_heads * r.choice([1, 1, 2, 3, 7, 8]), "intermediate_size": r.randint(1, 30_000),
         "vocab_size": r.randint(1, 300_000), "max_position_embeddings": r.choice([2**24, 2**24, 131_072, 40_000])}
    c["hidden_size"] = c["num_attention_heads"] * r.choice(WIDTHS)
    if r.random() < 0.5:
        c["head_dim"], c["hidden_size"] = r.choice(WIDTHS), r.randint(1, 20_000)
    if r.random() < 0.5:
        c["tie_word_embeddings"] = r.random() < 0.5
    if r.random() < 0.3:
        add_experts(r, c)
    r.choice([lambda r, c: None, add_windows, add_latent, add_states])(r, c)
    return c


def add_windows(r, c):
    c["sliding_window"] = r.choice([1, 100, 128, 1024, 4096])
    n = c["num_hidden_layers"]
    way = r.randint(0, 4)
    if way == 0:
        c["layer_types"] = [r.choice(["full_attention", "sliding_attention"]) for _ in range(n)]
    elif way == 1:
        c["sliding_window_pattern"] = r.randint(1, 8)
    elif way == 2:
        c.update(model_type=r.choice(["qwen2", "qwen3_moe"]), use_sliding_window=r.random() < 0.7,
                 max_window_layers=r.randint(0, n + 2))
    else:
        c["model_type"] = r.choice(["mistral", "gemma2", "gemma3_text", "gpt_oss"])


def add_latent(r, c):
    c.update(model_type="deepseek_v3", kv_lora_rank=32 * r.randint(1, 32), qk_rope_head_dim=r.choice([32, 64]),
             qk_nope_head_dim=r.choice(WIDTHS), v_head_dim=r.choice(WIDTHS))
    c["q_lora_rank"] = r.choice([None, 256, 1536])


def add_states(r, c):
    k_heads = r.choice([1, 2, 16])
    c.update(linear_num_key_heads=k_heads, linear_num_value_heads=k_heads * r.choice([1, 2, 4]),
             linear_key_head_dim=r.choice(WIDTHS), linear_value_head_dim=r.choice(WIDTHS),
             linear_conv_kernel_dim=r.randint(1, 8))
    n = c["num_hidden_layers"]
    way = r.randint(0, 2)
    if way == 0:
        c["layer_types"] = [r.choice(["full_attention", "linear_attention"]) for _ in range(n)]
        c["layer_types"][r.randrange(n)] = "full_attention"
    elif way == 1:
        c["full_attention_interval"] = r.randint(1, n)
    else:
        c.update(model_type="qwen3_next", num_hidden_layers=max(4, n))


def add_experts(r, c):
    c["num_experts"] = r.choice([2, 8, 128, 256])
    c["num_experts_per_tok"] = r.randint(1, min(c["num_experts"], 10))
    extras = {"moe_intermediate_size": r.randint(1, 4096), "n_shared_experts": r.randint(0, 2),
              "shared_expert_intermediate_size": r.randint(0, 2048), "first_k_dense_replace": r.randint(0, 3),
              "decoder_sparse_step": r.randint(1, 3)}
    c.update({key: value for key, value in extras.items() if r.random() < 0.4})
