# SPDX-License-Identifier: GPL-3.0-or-later
"""A collective matmul by hand, compiled for a slice that is not there: writes ring.hlo. Each line has its number in there."""
import os
os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost"}
import jax, jax.numpy as jnp
from jax import lax
from jax.experimental import topologies
from jax.sharding import NamedSharding, PartitionSpec as P

slice_ = topologies.get_topology_desc("v6e:2x4", platform="tpu", wrap=(False, False, False))
mesh = topologies.make_mesh(slice_, (8,), ("x",))
n = mesh.devices.size
right = [(i, (i + 1) % n) for i in range(n)]
def f(a, b):  # rows of this chip, and its columns: while it multiplies the rows that it has, it passes them on
    me, r = lax.axis_index("x"), a.shape[0]
    def step(i, s):
        a, y = s
        nxt = lax.ppermute(a, "x", right)
        return nxt, lax.dynamic_update_slice(y, a @ b, (((me - i) % n) * r, 0))
    return lax.fori_loop(0, n, step, (a, jnp.zeros((n * r, b.shape[1]), jnp.bfloat16)))[1]
g = jax.shard_map(f, mesh=mesh, in_specs=(P("x", None), P(None, "x")), out_specs=P(None, "x"), check_vma=False)
a, b = (jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=NamedSharding(mesh, spec))
        for shape, spec in (((16384, 8192), P("x", None)), ((8192, 16384), P(None, "x"))))
with open("ring.hlo", "w") as text:
    text.write(jax.jit(g).lower(a, b).compile().as_text())
with open("devices.csv", "w") as chips:  # where the mesh's devices are
    chips.write("id,x,y,z\n" + "".join(f"{i},{d.coords[0]},{d.coords[1]},{d.coords[2]}\n" for i, d in enumerate(mesh.devices.flat)))
