# SPDX-License-Identifier: GPL-3.0-or-later
"""The door: what `import icisim` and `import icisim.jax` do, from a collective to the best mesh of a training step.

    python -m venv venv && venv/bin/pip install ".[pandas]" jax     # and libtpu, to have the TPU's compiler
    venv/bin/python analysis/examples/door.py

Without libtpu JAX compiles for virtual CPU devices; the numbers then are those of that text, as the warning says. With libtpu each
of its five programs takes about a minute of a processor's time the first time; texts are kept in ICISIM_CACHE. libtpu looks for a
TPU and says on stderr that there is none ("Failed to find host bounds"): nothing follows from that.
"""

import icisim
import icisim.jax as ij
from jax.sharding import PartitionSpec as P
from llama_step import make_step

# A collective, two ways round: a result a point.
r = icisim.run("all-gather", chip="v5e", slice="4x4", size="64MiB", ring=["uni", "bidi"])
print(r.to_pandas()[["ring", "time_s", "algbw_Bps"]])
r[0].trace("all-gather.json")  # for https://ui.perfetto.dev

# Which mesh for Llama 8B? A workload that is compiled in, as the textbook counts it; ways to lay it that cannot be the best are
# not simulated.
best = icisim.sweep("by-hand/llama-8b.yaml", chip="v5p", chips=16, mesh="all", top=3)
print(best.to_pandas()[["slice", "rings", "time_s", "mfu_frac"]].to_string())

# A jitted step, for chips that are not here.
topo = ij.topology("v5p", "2x2x4")
print(topo, topo.coords[:3])
step, args, options = make_step(None, batch=8, length=512)
c = ij.compile(step, *args, topology=topo, mesh={"fsdp": 4, "tp": 4}, **options)
s = ij.simulate(c)
print(f"{s.time_s * 1e3:.2f} ms, {c.memory_bytes / 1e9:.2f} GB a device; by {c.compiler}")
print(s.collectives[["hlo_op_name", "occurrences", "total_time_s", "exposed_time_s", "source_info"]].head().to_string())
print(s.by_source().head().to_string())

# Which mesh? Each is compiled and simulated.
found = ij.search(lambda mesh: make_step(mesh, batch=16, length=512), chip="v6e", chips=4, meshes="all")
print(found.to_pandas().to_string())

# jax.experimental.roofline's question, with time.
shapes, roof = ij.roofline(lambda x, w: x @ w, mesh={"x": 4}, in_specs=(P("x"), P()), out_specs=P("x"), topology="v5e:2x2")(*(
    __import__("jax").ShapeDtypeStruct(dims, "bfloat16") for dims in ((4096, 4096), (4096, 8192))))
print(f"{roof.flops:.4g} flop, {roof.hbm_bytes:.4g} bytes of HBM, {roof.time_s * 1e6:.1f} us")
