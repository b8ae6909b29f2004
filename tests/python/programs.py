# SPDX-License-Identifier: GPL-3.0-or-later
"""Small jitted programs for eight devices, as people write them: data, fully sharded and tensor parallel, shard_map, scans,
experts, pipelines by ppermute, rings. Each is a function of a mesh maker that returns (fun, args, options of ij.compile)."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

D, F, B = 384, 768, 512  # never a power of two alone


def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def mlp(x, w, v):
    return jax.nn.relu(x @ w) @ v


def loss(x, w, v):
    return jnp.mean(mlp(x, w, v) ** 2)


def step(x, w, v):
    grads = jax.grad(loss, argnums=(1, 2))(x, w, v)
    return w - 0.1 * grads[0], v - 0.1 * grads[1]


def jitted(fun, shapes, mesh, specs, out=None):
    return lambda: (fun, [array(*shape) for shape in shapes], {"mesh": mesh, "in_shardings": specs, "out_shardings": out})


MLP = [(B, D), (D, F), (F, D)]
ONE, TWO = {"x": 8}, {"dp": 2, "tp": 4}


def mapped(fun, mesh, ins, outs, shapes):
    def make():
        def whole(*args):
            return jax.shard_map(fun, mesh=jax.sharding.get_abstract_mesh(), in_specs=ins, out_specs=outs, check_vma=False)(*args)

        return whole, [array(*shape) for shape in shapes], {"mesh": mesh, "in_shardings": ins, "out_shardings": outs}

    return make


def scanned(x, ws):
    return lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)[0]


def scanned_step(x, ws):
    return jax.grad(lambda ws: jnp.sum(scanned(x, ws) ** 2))(ws)


def ring_matmul(x, w):
    """x is gathered a block at a time, by permutes."""
    def body(i, carry):
        block, total = carry
        rows = lax.dynamic_slice_in_dim(w, 48 * ((lax.axis_index("x") + i) % 8), 48)
        return lax.ppermute(block, "x", [(j, (j - 1) % 8) for j in range(8)]), total + block @ rows

    return lax.fori_loop(0, 8, body, (x, jnp.zeros((x.shape[0], w.shape[1]), x.dtype)))[1]


def ring_unrolled(x, w):
    total = jnp.zeros((x.shape[0], w.shape[1]), x.dtype)
    for i in range(8):
        rows = lax.dynamic_slice_in_dim(w, 48 * ((lax.axis_index("x") + i) % 8), 48)
        total = total + x @ rows
        x = lax.ppermute(x, "x", [(j, (j - 1) % 8) for j in range(8)])
    return total


def pipeline(x, w, batches=5):
    """Stages pass their batches on: x is [batches, rows, D] on the first, w [1, D, D] of each."""
    stage = lax.axis_index("x")

    def tick(carry, i):
        held, out = carry
        inside = jnp.where(stage == 0, x[jnp.clip(i, 0, batches - 1)], held)
        after = jnp.tanh(inside @ w[0])
        return (lax.ppermute(after, "x", [(j, j + 1) for j in range(7)]), after), None

    return lax.scan(tick, (x[0], x[0]), jnp.arange(batches + 7))[0][1]


def experts(x, w):
    """One expert a device: tokens [8 experts, rows, D] go there and back."""
    sent = lax.all_to_all(x, "x", 0, 0, tiled=True)
    done = jax.nn.relu(sent.reshape(-1, D) @ w[0]).reshape(sent.shape)
    return lax.all_to_all(done, "x", 0, 0, tiled=True)


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def gathered(x, w):
    return x @ lax.all_gather(w, "x", axis=0, tiled=True)


def scattered(x, w):
    return lax.psum_scatter(x @ w, "x", scatter_dimension=0, tiled=True)


def summed(x, w):
    return lax.psum(x @ w, "x")


def accumulated(x, w, v):
    """Gradients of four micro-batches, added up in a loop."""
    def add(sums, part):
        grads = jax.grad(loss, argnums=(1, 2))(part, w, v)
        return jax.tree.map(jnp.add, sums, grads), None

    zero = (jnp.zeros_like(w), jnp.zeros_like(v))
    return lax.scan(add, zero, x.reshape(4, -1, x.shape[-1]))[0]


def nested(x, ws):
    def outer(h, _):
        return lax.scan(lambda g, w: (jnp.tanh(g @ w), None), h, ws)[0], None

    return lax.scan(outer, x, None, length=3)[0]


PROGRAMS = {
    "mlp_dp": jitted(mlp, MLP, ONE, (P("x"), P(), P()), P("x")),
    "mlp_tp": jitted(mlp, MLP, ONE, (P(), P(None, "x"), P("x")), P()),
    "mlp_dp_tp": jitted(mlp, MLP, TWO, (P("dp"), P(None, "tp"), P("tp")), P("dp")),
    "mlp_tp_scatter": jitted(mlp, MLP, TWO, (P("dp", "tp"), P(None, "tp"), P("tp")), P("dp", "tp")),
    "mlp_fsdp": jitted(mlp, MLP, ONE, (P("x"), P("x"), P("x")), P("x")),
    "mlp_fsdp_tp": jitted(mlp, MLP, TWO, (P("dp"), P("dp", "tp"), P("tp", "dp")), P("dp")),
    "step_dp": jitted(step, MLP, ONE, (P("x"), P(), P()), (P(), P())),
    "step_fsdp": jitted(step, MLP, ONE, (P("x"), P("x"), P("x")), (P("x"), P("x"))),
    "step_tp": jitted(step, MLP, ONE, (P(), P(None, "x"), P("x")), (P(None, "x"), P("x"))),
    "step_dp_tp": jitted(step, MLP, TWO, (P("dp"), P(None, "tp"), P("tp")), (P(None, "tp"), P("tp"))),
    "step_fsdp_tp": jitted(step, MLP, TWO, (P("dp"), P("dp", "tp"), P("tp", "dp")), (P("dp", "tp"), P("tp", "dp"))),
    "step_accumulated": jitted(accumulated, MLP, ONE, (P("x"), P(), P()), (P(), P())),
    "scan_tp": jitted(scanned, [(B, D), (6, D, D)], ONE, (P(), P(None, None, "x")), P()),
    "scan_fsdp": jitted(scanned, [(B, D), (6, D, D)], ONE, (P("x"), P(None, "x")), P("x")),
    "scan_step_dp": jitted(scanned_step, [(B, D), (5, D, D)], ONE, (P("x"), P()), P()),
    "scan_step_fsdp": jitted(scanned_step, [(B, D), (5, D, D)], ONE, (P("x"), P(None, "x")), P(None, "x")),
    "scan_nested": jitted(nested, [(B, D), (4, D, D)], TWO, (P("dp"), P(None, None, "tp")), P("dp")),
    "attention_heads": jitted(attention, [(2, 192, 8, 96)] * 3, ONE, (P(None, None, "x"),) * 3, P(None, None, "x")),
    "attention_context": jitted(attention, [(2, 192, 8, 96)] * 3, ONE, (P(None, "x"),) * 3, P(None, "x")),
    "map_gather": mapped(gathered, ONE, (P("x"), P("x")), P("x"), [(B, D), (D, F)]),
    "map_scatter": mapped(scattered, ONE, (P(None, "x"), P("x")), P("x"), [(B, D), (D, F)]),
    "map_psum": mapped(summed, ONE, (P(None, "x"), P("x")), P(), [(B, D), (D, F)]),
    "map_psum_grad": mapped(jax.grad(lambda w, x: jnp.sum(summed(x, w))), ONE, (P("x"), P(None, "x")), P("x"), [(D, F), (B, D)]),
    "map_ring_loop": mapped(ring_matmul, ONE, (P(None, "x"), P()), P("x"), [(B, D), (D, F)]),
    "map_ring_unrolled": mapped(ring_unrolled, ONE, (P(None, "x"), P()), P("x"), [(B, D), (D, F)]),
    "pipeline": mapped(pipeline, ONE, (P(), P("x")), P("x"), [(5, 64, D), (8, D, D)]),
    "pipeline_three": mapped(functools.partial(pipeline, batches=3), ONE, (P(), P("x")), P("x"), [(3, 96, D), (8, D, D)]),
    "experts": mapped(experts, ONE, (P(None, "x"), P("x")), P(None, "x"), [(8, 8 * 24, D), (8, D, D)]),
    "experts_step": mapped(jax.grad(lambda w, x: jnp.sum(experts(x, w) ** 2)), ONE, (P("x"), P(None, "x")), P("x"),
                           [(8, D, D), (8, 8 * 24, D)]),
    "einsum_batch": jitted(lambda a, b: jnp.einsum("bij,bjk->bik", a, b), [(16, 96, D), (16, D, 160)], ONE,
                           (P("x"), P("x")), P("x")),
}
