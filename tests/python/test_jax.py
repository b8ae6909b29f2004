# SPDX-License-Identifier: GPL-3.0-or-later
"""icisim.jax: from a function to where its time goes; what needs libtpu is marked so."""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import icisim
import icisim.jax as ij
import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

EXAMPLES = Path(__file__).resolve().parents[2] / "analysis/examples"
sys.path.insert(0, str(EXAMPLES))
import llama_step  # noqa: E402

SHAPES = [jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((512, 768), (768, 1536), (1536, 768))]
SPECS = (P("dp"), P(None, "tp"), P("tp"))


def mlp(x, w, v):
    return jax.nn.relu(x @ w) @ v


def compile_mlp(topology="v5e:2x4", **options):
    return ij.compile(mlp, *SHAPES, topology=topology, mesh={"dp": 2, "tp": 4}, in_shardings=SPECS, out_shardings=P("dp"), **options)


def small_step(mesh):
    return llama_step.make_step(mesh, batch=16, length=128, layers=2)


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_compile_and_simulate():
    c = compile_mlp()
    r = ij.simulate(c)
    assert r.time_s > 0 and r.chip == "v5e" and r.slice == "2x4" and not c.is_tpu and "XLA:CPU" in c.compiler
    assert list(r.collectives["category"]) == ["all-reduce"]
    assert any("test_jax.py" in str(source) for source in r.by_source()["source"])
    # bf16[256, 768], twice bf16[.., 384]: arguments of a device
    assert c.memory["argument_size_in_bytes"] == 2 * (256 * 768 + 2 * 768 * 384)


def test_without_libtpu_it_is_said():
    with pytest.warns(UserWarning, match="not the TPU compiler's text"):
        compile_mlp()


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ICISIM_CACHE", str(tmp_path))
    first, when = compile_mlp(), lambda c: os.stat(c.path).st_mtime_ns
    written = when(first)
    assert compile_mlp() == first and when(first) == written
    assert compile_mlp(compiler_options={"xla_cpu_enable_fast_math": True}).path != first.path
    assert compile_mlp(topology="v6e:2x4").path != first.path
    assert len(list(tmp_path.iterdir())) == 3
    compile_mlp(cache=False)
    assert when(first) != written


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_what_can_be_simulated(tmp_path):
    c = compile_mlp()
    time_s, where = ij.simulate(c).time_s, dict(chip="v5e", slice="2x4")
    mesh = ij.topology("v5e:2x4").mesh({"dp": 2, "tp": 4})
    with jax.set_mesh(mesh):
        real = jax.jit(mlp, out_shardings=jax.NamedSharding(mesh, P("dp"))).lower(
            *(jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=jax.NamedSharding(mesh, p)) for s, p in zip(SHAPES, SPECS))).compile()
    (tmp_path / "module_0001.jit_mlp.after_optimizations.txt").write_text(c.as_text())
    for program in (real, c.path, Path(c.path)):  # these know where their devices are
        assert ij.simulate(program, **where).time_s == pytest.approx(time_s, rel=1e-6)
    for program in (c.as_text(), tmp_path):
        assert ij.simulate(program, mesh={"dp": 2, "tp": 4}, **where).time_s == pytest.approx(time_s, rel=1e-6)
        with pytest.warns(UserWarning, match="assumed row by row"):
            ij.simulate(program, **where)
    with pytest.raises(icisim.Error, match="where?"):
        ij.simulate(c.as_text())
    with pytest.raises(icisim.Error, match="no compiled program"):
        ij.simulate(jax.jit(mlp), **where)
    # text of XLA:CPU has no buffers: memory_analysis() says what it takes
    assert ij.simulate(c).memory_bytes == ij.simulate(real, **where).memory_bytes == c.memory_bytes > 0


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_what_a_jitted_function_has_is_kept():
    def step(w, x, times):
        for _ in range(times):
            x = jax.nn.relu(x @ w)
        return w - 1e-3 * w, x

    shapes = [jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((512, 512), (1024, 512))]
    specs = (P("dp", "tp"), P("dp"))
    of = dict(topology="v5e:2x4", mesh={"dp": 2, "tp": 4}, in_shardings=specs)
    plain = ij.compile(step, *shapes, 3, out_shardings=specs, static_argnums=2, **of)
    donated = ij.compile(step, *shapes, 3, out_shardings=specs, static_argnums=2, donate_argnums=0, **of)
    jitted = ij.compile(jax.jit(step, static_argnums=2, donate_argnums=0), *shapes, 3, out_shardings=specs, **of)
    # w, bf16[256, 128] of a device, is given back in its own place
    assert plain.memory_bytes - donated.memory_bytes == plain.memory_bytes - jitted.memory_bytes == donated.memory["alias_size_in_bytes"] > 0
    assert ij.simulate(jitted).time_s == ij.simulate(donated).time_s
    assert plain.memory["argument_size_in_bytes"] == 2 * (256 * 128 + 512 * 512)
    with pytest.raises(icisim.Error, match="1 entries, for 2 arguments"):
        ij.compile(mlp, *shapes, topology="v5e:2x4", in_shardings=(P(),))


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_ctrl_c_ends_a_compilation(interrupted):
    """XLA cannot be cancelled: it goes on in its thread, and the process leaves it."""
    code = ("import icisim.jax as ij, sys; sys.path.insert(0, sys.argv[1]); import llama_step\n"
            "step, args, options = llama_step.make_step(None, batch=16, length=1024, layers=4)\n"
            "topo = ij.topology('v6e', '8x8'); print('go', flush=True)\n"
            "for i in range(199): ij.compile(step, *args, topology=topo, mesh={'fsdp': 8, 'tp': 8}, cache=False, **options)")
    said, status, loops = interrupted(code, EXAMPLES, alone_s=3, most_s=60)
    assert loops < 2.4 and said.rstrip().endswith("KeyboardInterrupt") and status in (130, -signal.SIGINT)


def test_topology():
    topo = ij.topology("v5litepod:2x4")
    assert topo.chip == "v5e" and topo.coords[:3] == [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0)] and topo.wrap == (False, False)
    assert ij.topology("v5p", "4x4x4").wrap == (True,) * 3 and len(ij.topology("ironwood", (2, 2, 1)).devices) == 8
    assert [ij.topology(name, "2x2").chip for name in ("TPU v5 lite", "tpu_v6e", "tpu-v5litepod", "Trillium")] == ["v5e", "v6e", "v5e", "v6e"]
    with pytest.raises(icisim.Error, match="nearest is v6e"):
        ij.topology("v6e-8", "2x4")
    with pytest.raises(icisim.Error, match="which slice?"):
        ij.topology("v6e")
    mesh = topo.mesh("dp=y:2,tp=x*y:2")
    assert dict(mesh.shape) == {"dp": 2, "tp": 4}
    with pytest.raises(icisim.Error, match="has 8"):
        topo.mesh({"dp": 3})
    # tp=2 splits an axis of four chips, where jax.make_mesh would fail
    split = ij.topology("v6e", "4x4").mesh({"fsdp": 8, "tp": 2})
    assert [device.id for device in split.devices.flat] == [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_search():
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        found = ij.search(small_step, chip="v6e", chips=4, executor=executor)
    alone = ij.search(small_step, chip="v6e", chips=4)
    assert found.to_pandas().to_csv() == alone.to_pandas().to_csv()
    assert len(found) == 3 and [c.time_s for c in found] == sorted(c.time_s for c in found)
    for one in found:  # from its text alone
        assert ij.simulate(one.compiled.path, chip="v6e", slice=one.slice).time_s == one.time_s


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_what_does_not_fit_is_dropped():
    def huge(mesh):
        return (lambda x: x * 2), [jax.ShapeDtypeStruct((1 << 20, 1 << 14), jnp.bfloat16)], {"in_shardings": P("fsdp")}

    found = ij.search(huge, chip="v5e", chips=4, meshes=[{"fsdp": 4}])  # 2 * 34.36 GB / 4 of 16 GB
    assert not found and "does not fit: 17.18 GB of 1" in found.dropped[0].status and "17.18 GB" in repr(found)

    def uneven(mesh):
        return mlp, [jax.ShapeDtypeStruct((6, 8), jnp.bfloat16), *[jax.ShapeDtypeStruct((8, 8), jnp.bfloat16)] * 2], {"in_shardings": P("fsdp")}

    with pytest.warns(UserWarning, match="not the TPU compiler's text"):
        found = ij.search(uneven, chip="v5e", chips=4)
    assert [one.mesh["fsdp"] for one in found + found.dropped] == [2, 1, 4] or len(found) == 2
    assert "IndivisibleError" in found.dropped[0].status and "6" in found.dropped[0].refusal


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_all_that_xla_says_of_a_refusal_is_kept():
    def refused(mesh):
        class Step:
            def lower(self, *args):
                lowered = jax.jit(mlp).lower(*SHAPES)
                lowered.compile = lambda **options: (_ for _ in ()).throw(RuntimeError(f"RESOURCE_EXHAUSTED: {mesh.size} chips\n\n  1.\tSize: 3.00G\n"))
                return lowered

        return Step(), SHAPES

    found = ij.search(refused, chip="v5e", chips=4, meshes=[{"fsdp": 4}])
    assert found.dropped[0].status == "XLA does not compile it for v5e 2x2: RESOURCE_EXHAUSTED: 4 chips 1. Size: 3.00G"
    assert found.dropped[0].refusal == "RESOURCE_EXHAUSTED: 4 chips\n\n  1.\tSize: 3.00G\n"


@pytest.mark.filterwarnings("ignore:compiled for virtual CPU")
def test_roofline():
    shapes = [jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((512, 768), (768, 1536))]
    out, roof = ij.roofline(lambda x, w: jax.lax.psum(x @ w, "x"), mesh={"x": 4}, in_specs=(P(None, "x"), P("x")), out_specs=P(),
                            topology="v5e:2x2")(*shapes)
    assert out.shape == (512, 1536)
    # a ring all-reduce sends 2 * 3/4 of f32[512, 1536], as XLA:CPU sums in
    assert roof.flops == pytest.approx(2 * 512 * 768 * 1536 / 4) and roof.time_s > 0 and roof.ici_bytes == {"x": 2 * 3 * 512 * 1536}
    assert roof.peak_hbm_bytes > 2 * (512 * 192 + 192 * 1536 + 512 * 1536)
    # jax.experimental.roofline's call: the mesh says where it is
    of = dict(mesh=ij.topology("v5e:2x4").mesh({"dp": 2, "tp": 4}), in_specs=(P("dp", "tp"), P("tp")), out_specs=P("dp"))
    _, roof = ij.roofline(lambda x, w: jax.lax.psum(x @ w, "tp"), **of)(*shapes)
    gradients, back = ij.roofline(lambda x, w: jax.lax.psum(x @ w, "tp"), vjp=True, **of)(*shapes)
    assert list(roof.ici_bytes) == ["tp"] and set(back.ici_bytes) == {"dp", "tp"} and back.flops == 3 * roof.flops
    assert [g.shape for g in gradients] == [s.shape for s in shapes]
    with pytest.raises(icisim.Error, match="where is the mesh?"):
        ij.roofline(mlp, jax.sharding.Mesh(jax.devices("cpu")[:2], ("other",)))(*SHAPES)
    with pytest.raises(icisim.Error, match="XLA decides"):
        ij.roofline(mlp, pin_lhs_in_vmem=True)


@pytest.mark.parametrize("chip, slice_, device", [
    pytest.param(chip, slice_, device, marks=pytest.mark.libtpu) for chip, slice_, device in
    [("v5e", "2x4", 8), ("v5p", "2x2x2", 8), ("v6e", "2x4", 8), ("v4", "2x2x2", 8), ("v7x", "2x2x1", 8)]])
def test_tpu_text(chip, slice_, device):
    c = ij.compile(mlp, *SHAPES, topology=f"{chip}:{slice_}", mesh={"dp": 2, "tp": 4}, in_shardings=SPECS, out_shardings=P("dp"))
    r = ij.simulate(c)
    assert c.is_tpu and "libtpu" in c.compiler and "T(8,128)" in c.as_text() and r.time_s > 0
    assert r.memory_bytes == pytest.approx(c.memory["argument_size_in_bytes"] + c.memory["output_size_in_bytes"]
                                           + c.memory["temp_size_in_bytes"], rel=0.1)
    assert len(Path(c.path).with_name("devices.csv").read_text().splitlines()) == device + 1


@pytest.mark.libtpu
def test_tpu_devices():
    topo = ij.topology("v5p", "4x4x4")
    assert topo.is_tpu and topo.devices[0].platform == "tpu" and len(topo.devices) == 64 and topo.wrap == (True,) * 3
    assert dict(topo.mesh({"fsdp": 16, "tp": 4}).shape) == {"fsdp": 16, "tp": 4}


@pytest.mark.libtpu
@pytest.mark.parametrize("fsdp, tp", [(16, 1), (8, 2), (4, 4), (2, 8)])
def test_meshes_are_those_of_the_cpu(fsdp, tp, monkeypatch):
    """JAX lays a mesh over TPUs as we lay it over virtual devices."""
    def ids():
        return [device.id for device in ij.topology("v6e", "4x4").mesh({"fsdp": fsdp, "tp": tp}).devices.flat]

    on_tpu = ids()
    monkeypatch.setenv("ICISIM_LIBTPU", "0")
    assert ids() == on_tpu


def test_example(tmp_path):
    """analysis/examples/door.py answers, with the compiler that is here."""
    done = subprocess.run([sys.executable, EXAMPLES / "door.py"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "ICISIM_LIBTPU": "0"})
    assert done.returncode == 0, done.stderr
    assert "GB a device" in done.stdout and (tmp_path / "all-gather.json").exists()
