# SPDX-License-Identifier: GPL-3.0-or-later
"""A training step like Llama's, in plain JAX: four layers, scanned, rematerialised; weights cut over fsdp and tp."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

LAYERS, D, F, HEADS, VOCAB, BATCH, LENGTH = 4, 2048, 5632, 16, 32000, 16, 2048
WEIGHTS = {"qkv": ((D, 3, HEADS, D // HEADS), P("fsdp", None, "tp")), "out": ((HEADS, D // HEADS, D), P("tp", None, "fsdp")),
           "up": ((D, 2, F), P("fsdp", None, "tp")), "down": ((F, D), P("tp", "fsdp"))}


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x.astype(jnp.float32) ** 2, -1, keepdims=True) + 1e-5).astype(x.dtype)


def layer(x, w):
    q, k, v = jnp.einsum("bld,dchk->cblhk", norm(x), w["qkv"])
    scores = jnp.einsum("bqhk,bshk->bhqs", q, k).astype(jnp.float32) * (D // HEADS) ** -0.5
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    probs = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1).astype(x.dtype)
    x = x + jnp.einsum("bhqs,bshk,hkd->bqd", probs, v, w["out"])
    gate, up = jnp.einsum("bld,dcf->cblf", norm(x), w["up"])
    x = x + (jax.nn.silu(gate) * up) @ w["down"]
    return jax.lax.with_sharding_constraint(x, P("fsdp")), None


def loss(weights, tokens):
    x = jax.lax.with_sharding_constraint(weights["embed"][tokens], P("fsdp"))
    x, _ = jax.lax.scan(jax.checkpoint(layer), x, weights["layers"])
    logits = jnp.einsum("bld,dv->blv", norm(x), weights["unembed"]).astype(jnp.float32)
    return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, tokens[..., None], -1)[..., 0])


def step(weights, tokens):
    value, gradients = jax.value_and_grad(loss)(weights, tokens)
    return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradients), value


def make_step(mesh, batch=BATCH, length=LENGTH, layers=LAYERS):
    """What icisim.jax.search asks for: the function, its arguments' shapes, and how they are cut."""
    def shape(dims):
        return jax.ShapeDtypeStruct(dims, jnp.bfloat16)

    weights = {"embed": shape((VOCAB, D)), "unembed": shape((D, VOCAB)),
               "layers": {name: shape((layers, *dims)) for name, (dims, _) in WEIGHTS.items()}}
    specs = {"embed": P("fsdp"), "unembed": P("fsdp", "tp"),
             "layers": {name: P(None, *spec) for name, (_, spec) in WEIGHTS.items()}}
    tokens = jax.ShapeDtypeStruct((batch, length), jnp.int32)
    return step, (weights, tokens), {"in_shardings": (specs, P("fsdp")), "out_shardings": (specs, P()), "donate_argnums": 0}
