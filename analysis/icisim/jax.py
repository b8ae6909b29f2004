# SPDX-License-Identifier: GPL-3.0-or-later
"""Jitted functions: compiled for slices that are not here, and simulated on them.

>>> import icisim.jax as ij
>>> c = ij.compile(step, *args, topology="v5p:4x4x4", mesh={"fsdp": 16, "tp": 4}, in_shardings=..., out_shardings=...)
>>> r = ij.simulate(c)
>>> r.time_s, r.memory_bytes, r.table, r.by_source()

With libtpu (`pip install jax libtpu`; no TPU is needed) XLA:TPU compiles, as it would on the slice. Without it JAX compiles for
as many virtual CPU devices: the same shardings and collectives, but not the TPU compiler's text, and each answer says so.

Import this before JAX is used for the first time: it sets what libtpu needs in the environment, and virtual CPU devices.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import functools
import hashlib
import importlib.metadata
import importlib.util
import itertools
import json
import math
import os
import re
import shutil
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from . import _native
from ._native import Error
from .points import bar
from .points import run as _run
from .results import Result, _frame, _html_table

if TYPE_CHECKING:
    import jax
    import pandas

ROW_BY_ROW = ("a text does not say where its devices are: they are assumed row by row, which can cost a factor of 3; mesh= lays them, or "
              "devices.csv beside the text")
CPU_TEXT = "compiled for virtual CPU devices: not the TPU compiler's text; pip install libtpu"

# What libtpu calls a chip; and the marketing names of chips.
_LIBTPU = {"v2": "v2", "v3": "v3", "v4": "v4", "v5e": "v5e", "v5p": "v5", "v6e": "v6e", "v7x": "tpu7x"}
_SYNONYMS = {"v5litepod": "v5e", "v5lite": "v5e", "v5": "v5p", "v6lite": "v6e", "trillium": "v6e", "ironwood": "v7x", "7x": "v7x",
             "v7": "v7x"}
_SPARSE_CORES = {"v5p", "v6e", "v7x"}

for _name, _value in {"TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}.items():
    os.environ.setdefault(_name, _value)


def _chip_of(name: str) -> str:
    """What icisim calls it: "TPU v5 lite" and "tpu-v5litepod" are v5e."""
    plain = name.lower().translate({ord(parting): None for parting in "-_ "}).removeprefix("tpu")
    return _SYNONYMS.get(plain, plain if plain in _LIBTPU else name)


def _cores(chip: str) -> int:
    """JAX devices of a chip."""
    return _native.chip_memory(chip)[1]


def has_libtpu() -> bool:
    """Can XLA:TPU be asked here? ICISIM_LIBTPU=0 says no."""
    return os.environ.get("ICISIM_LIBTPU") != "0" and importlib.util.find_spec("libtpu") is not None


def _jax() -> Any:
    """JAX, on CPUs unless the environment says otherwise: a libtpu without TPUs must not be its default."""
    if "jax" not in sys.modules and has_libtpu():
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        import jax
    except ImportError:
        raise Error("icisim.jax needs JAX: pip install jax, and libtpu to have the TPU's compiler") from None
    return jax


class Topology:
    """The devices of a slice that need not be here.

    Attributes
    ----------
    chip, slice : str
        As icisim names them: "v5p", "4x4x4".
    devices : list
        JAX devices, the TPU's where libtpu is installed, else virtual ones of the CPU.
    coords : list of tuple of int
        (x, y, z, core) of each.
    compiler : str
        Who compiles for them.
    """

    def __init__(self, chip: str, slice_: str) -> None:
        self.chip, self.slice = chip, slice_
        box = _native.Slice({"chip": chip, "slice": slice_})
        self.shape, self.wrap = box.shape, box.wrap
        self.cores = _cores(chip)
        self.is_tpu = has_libtpu()
        if self.is_tpu:
            self._ask_libtpu()
        else:
            self.devices = _cpu_devices(math.prod(self.shape) * self.cores)
            self.compiler = f"XLA:CPU of jaxlib {importlib.metadata.version('jaxlib')}"
            self.coords = _places(self.shape, self.cores)

    def _ask_libtpu(self) -> None:
        _jax()
        from jax.experimental import topologies

        wrap = self.wrap + (False,) * (3 - len(self.wrap))
        shape = "x".join(map(str, self.shape)) if len(self.shape) > 1 else f"{self.shape[0]}x1"
        more = {"chip_config_name": "megacore"} if self.chip == "v4" else {}
        try:
            self.description = topologies.get_topology_desc(f"{_LIBTPU[self.chip]}:{shape}", platform="tpu", wrap=wrap, **more)
        except Exception as why:
            raise Error(f"libtpu has no topology {self.chip} {self.slice}: {str(why).splitlines()[0]}") from None
        self.compiler = f"libtpu {importlib.metadata.version('libtpu')}"
        self.devices = list(self.description.devices)
        self.coords = [_place(device.coords, getattr(device, "core_on_chip", 0)) for device in self.devices]

    def mesh(self, axes: Mapping[str, int] | str) -> jax.sharding.Mesh:
        """A mesh over all devices: as `jax.experimental.mesh_utils` lays it, which splits physical axes if it has to, or by hand:
        "fsdp=x*y,tp=z"."""
        mesh = self._lay(axes)
        _OF_MESH[mesh] = self
        return mesh

    def _lay(self, axes: Mapping[str, int] | str) -> jax.sharding.Mesh:
        _jax()
        import numpy as np
        from jax.sharding import Mesh

        if not isinstance(axes, str):
            if math.prod(axes.values()) != len(self.devices):
                raise Error(f"mesh {dict(axes)} has {math.prod(axes.values())} devices, {self.chip} {self.slice} has {len(self.devices)}")
            if self.is_tpu:
                from jax.experimental import mesh_utils

                with contextlib.suppress(NotImplementedError, ValueError, AssertionError):
                    return Mesh(mesh_utils.create_device_mesh(tuple(axes.values()), self.devices, allow_split_physical_axes=True),
                                tuple(axes))
            axes = ",".join(f"{name}={size}" for name, size in axes.items())
        if self.cores > 1:
            names, sizes = zip(*((part.split("=")[0], int(part.split("=")[1])) for part in axes.split(",")))
            return Mesh(np.array(self.devices).reshape(sizes), names)
        laid = _native.Slice({"chip": self.chip, "slice": self.slice, "mesh": axes, "allow-split-physical-axes": "on"})
        at = {place[: len(self.shape)]: device for place, device in zip(self.coords, self.devices)}
        shape = _sizes(axes, dict(zip("xyz", self.shape)))
        return Mesh(np.array([at[place] for place in laid.order]).reshape(tuple(shape.values())), tuple(shape))

    def __repr__(self) -> str:
        return f"<icisim.jax.Topology {self.chip} {self.slice}, {len(self.devices)} devices, {self.compiler}>"


_OF_MESH: dict[Any, Topology] = {}  # of a mesh


def _topology_of(mesh: Any) -> Topology:
    """Where a mesh is: over the TPU's devices of a description, or made by Topology.mesh()."""
    found = _OF_MESH.get(mesh)
    if found is None and mesh is not None and hasattr(mesh.devices.flat[0], "coords"):
        of = [device.coords for device in mesh.devices.flat]
        shape = [max(place[axis] for place in of) + 1 for axis in range(3)]
        chip = _chip_of(mesh.devices.flat[0].device_kind)
        axes = len(_native.Slice({"chip": chip, "slice": "2x2"}).wrap) if chip in ("v2", "v3", "v5e", "v6e") else 3
        found = topology(chip, shape[:axes])
    if found is None:
        raise Error('where is the mesh? Make it by icisim.jax.topology("v5e:4x4").mesh({"x": 16}), or add topology="v5e:4x4"')
    return found


def _sizes(axes: str, physical: Mapping[str, int]) -> dict[str, int]:
    """The lengths of "fsdp=x*y:2,tp=4"."""

    def length(factor: str) -> int:
        name, _, part = factor.partition(":")
        return int(part or physical[name]) if name in physical else int(name)

    parts = [axis.partition("=") for axis in axes.split(",")]
    return {name: math.prod(map(length, laid.split("*"))) for name, _, laid in parts}


def _places(shape: Sequence[int], cores: int) -> list[tuple[int, int, int, int]]:
    """Of all devices of a slice, as JAX numbers them: the core fastest, then x."""
    chips = (tuple(reversed(chip)) for chip in itertools.product(*(range(n) for n in reversed(shape))))
    return [_place(chip, core) for chip in chips for core in range(cores)]


def _place(coords: Sequence[int], core: int) -> tuple[int, int, int, int]:
    x, y, z = (*coords, 0, 0)[:3]
    return x, y, z, core


def _cpu_devices(count: int) -> list[Any]:
    """Virtual CPU devices: as many as asked for, if JAX has not been used yet."""
    jax = _jax()
    with contextlib.suppress(RuntimeError):  # once JAX has been used its devices stay
        if jax.config.jax_num_cpu_devices < count:
            jax.config.update("jax_num_cpu_devices", max(count, 1024))
    devices = jax.devices("cpu")
    if len(devices) < count:
        raise Error(f"{count} devices are needed and JAX was started with {len(devices)}: call icisim.jax.topology() of the "
                    f"largest slice before JAX is used, or set JAX_NUM_CPU_DEVICES={count}")
    return devices[:count]


def topology(chip: str, slice: str | Sequence[int] | None = None) -> Topology:
    """Devices of a slice, for jax.sharding.Mesh, with coordinates and the wraparound that the slice has.

    Parameters
    ----------
    chip : str
        "v5p", or "v5p:8x8x8".
    slice : str or sequence of int, optional
        "8x8x8".
    """
    if slice is None:
        chip, _, slice = chip.partition(":")
    if not slice:
        raise Error(f'which slice? icisim.jax.topology("{chip}", "4x4x4"), or "{chip}:4x4x4"')
    return Topology(_chip_of(chip), slice if isinstance(slice, str) else "x".join(map(str, slice)))


@dataclasses.dataclass
class Compiled:
    """A program that was compiled for a slice.

    Attributes
    ----------
    path : str
        Its text; `devices.csv` beside it says where its devices are.
    chip, slice : str
        What for.
    mesh : dict
        Lengths of the mesh's axes.
    compiler : str
        Who compiled it.
    is_tpu : bool
        Is it the TPU compiler's?
    memory : dict
        `memory_analysis()`: bytes of a device, by kind.
    cost : dict
        `cost_analysis()`: it counts the body of a loop once.
    """

    path: str
    chip: str
    slice: str
    mesh: dict[str, int]
    compiler: str
    is_tpu: bool
    memory: dict[str, int]
    cost: dict[str, float]

    def as_text(self) -> str:
        return Path(self.path).read_text()

    @property
    def memory_bytes(self) -> int:
        """Of a device: arguments, outputs that are no argument's, temporaries and code, as the compiler has them."""
        return _memory_bytes(self.memory)


def _memory_bytes(of: Mapping[str, int]) -> int:
    return sum(of.get(f"{kind}_size_in_bytes", 0) for kind in ("argument", "output", "temp", "generated_code")) - of.get(
        "alias_size_in_bytes", 0)


def _sizes_of(memory: Any) -> dict[str, int]:
    return {name: getattr(memory, name) for name in dir(memory) if name.endswith("_in_bytes") and not name.startswith("host_")}


def _cache() -> Path:
    base = os.environ.get("ICISIM_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "icisim")
    return Path(base).absolute()


def _shard(value: Any, shardings: Any, mesh: Any) -> Any:
    """Arguments as shapes with shardings; a spec may stand for a whole tree, as with jax.jit."""
    jax = _jax()
    from jax.sharding import NamedSharding, PartitionSpec, Sharding

    def is_leaf(spec: Any) -> bool:
        return spec is None or isinstance(spec, (PartitionSpec, Sharding))

    def one(spec: Any, leaf: Any) -> Any:
        own = getattr(leaf, "sharding", None)
        if spec is None and isinstance(own, NamedSharding):
            spec = own.spec
        spec = spec.spec if isinstance(spec, NamedSharding) else spec
        aval = jax.eval_shape(lambda: leaf) if not hasattr(leaf, "shape") else leaf
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=NamedSharding(mesh, spec or PartitionSpec()))

    return jax.tree.map(lambda spec, tree: jax.tree.map(lambda leaf: one(spec, leaf), tree), shardings, value, is_leaf=is_leaf)


def _on(mesh: Any, shardings: Any) -> Any:
    """Specs as shardings on a mesh."""
    jax = _jax()
    from jax.sharding import NamedSharding, PartitionSpec

    return jax.tree.map(lambda spec: NamedSharding(mesh, spec) if isinstance(spec, PartitionSpec) else spec, shardings,
                        is_leaf=lambda spec: spec is None or isinstance(spec, PartitionSpec))


def compile(fun: Callable[..., Any], *args: Any, topology: str | Topology, mesh: Any = None, in_shardings: Any = None,
            out_shardings: Any = None, compiler_options: Mapping[str, Any] | None = None, cache: bool = True,
            **jit_options: Any) -> Compiled:
    """Compiles a function for a slice that need not be here.

    Parameters
    ----------
    fun : callable
        A function, jitted or not.
    *args : arrays or jax.ShapeDtypeStruct
        Only shapes and types are used.
    topology : str or Topology
        "v5p:4x4x4".
    mesh : dict, str or jax.sharding.Mesh, optional
        {"fsdp": 16, "tp": 4}, or "fsdp=x*y,tp=z" by hand; default: one axis "x" over all devices.
    in_shardings, out_shardings : trees of jax.sharding.PartitionSpec, optional
        As of jax.jit; `in_shardings` is a tuple, one of each argument. Default: those of the arguments, else not sharded.
    compiler_options : dict, optional
        XLA's.
    cache : bool
        Keep the text on disk, in ICISIM_CACHE, and take it from there if the program, its options and the versions are
        those of an earlier one.
    **jit_options
        Of jax.jit: donate_argnums, static_argnums.

    Returns
    -------
    Compiled
    """
    jax = _jax()
    topo = topology if isinstance(topology, Topology) else globals()["topology"](topology)
    if not topo.is_tpu:
        warnings.warn(CPU_TEXT, stacklevel=2)
    if mesh is None:
        mesh = {"x": len(topo.devices)}
    mesh = mesh if isinstance(mesh, jax.sharding.Mesh) else topo.mesh(mesh)
    static = jit_options.get("static_argnums", ())
    dynamic = [i for i in range(len(args)) if i not in (static if isinstance(static, (tuple, list)) else (static,))]
    if hasattr(fun, "lower"):  # what is static of a jitted function it does not say: what has no arrays
        dynamic = [i for i in dynamic if any(hasattr(leaf, "shape") for leaf in jax.tree.leaves(args[i]))]
    specs = in_shardings if isinstance(in_shardings, (tuple, list)) and not isinstance(in_shardings, jax.sharding.PartitionSpec) else (
        (in_shardings,) * len(dynamic))
    if len(specs) != len(dynamic):
        raise Error(f"in_shardings has {len(specs)} entries, for {len(dynamic)} arguments with arrays: one each, None for none")
    sharded = dict(zip(dynamic, _shard(tuple(args[i] for i in dynamic), tuple(specs), mesh)))
    args = tuple(sharded.get(i, value) for i, value in enumerate(args))
    if out_shardings is not None:
        jit_options["out_shardings"] = _on(mesh, out_shardings)
    with jax.set_mesh(mesh) if hasattr(jax, "set_mesh") else mesh:
        if hasattr(fun, "lower") and jit_options:
            fun = _jitted_again(fun, args, dynamic, jit_options)
        elif not hasattr(fun, "lower"):
            fun = jax.jit(fun, **jit_options)
        lowered = fun.lower(*args)
        return _compile_lowered(lowered, topo, mesh, dict(compiler_options or {}), cache)


def _jitted_again(fun: Any, args: Sequence[Any], dynamic: Sequence[int], options: dict[str, Any]) -> Any:
    """A jitted function with further options, and with what it donates itself."""
    jax = _jax()
    kept = {"static_argnums": tuple(i for i in range(len(args)) if i not in dynamic)}
    if "donate_argnums" not in options:
        of = fun.lower(*args).args_info[0]
        kept["donate_argnums"] = tuple(i for i, info in zip(dynamic, of) if any(leaf.donated for leaf in jax.tree.leaves(info)))
    return jax.jit(functools.wraps(fun)(lambda *all: fun(*all)), **{**kept, **options})


def _compile_lowered(lowered: Any, topo: Topology, mesh: Any, options: dict[str, Any], cache: bool) -> Compiled:
    jax = _jax()
    place = dict(zip((device.id for device in topo.devices), topo.coords))
    order = [place[device.id] for device in mesh.devices.flat]
    said = json.dumps([topo.chip, topo.slice, topo.wrap, topo.compiler, jax.__version__, sorted(options.items()), order,
                       dict(mesh.shape), [os.environ.get(name, "") for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")]])
    key = hashlib.sha256((said + lowered.as_text()).encode()).hexdigest()[:24]
    folder = _cache() / key
    if not (cache and (folder / "compiled.json").exists()):
        _fill(folder, lowered, topo, order, dict(mesh.shape), options)
    about = json.loads((folder / "compiled.json").read_text())
    return Compiled(path=str(folder / "module.hlo"), **about)


def _fill(folder: Path, lowered: Any, topo: Topology, order: list[Any], mesh: dict[str, int], options: dict[str, Any]) -> None:
    """Compiles into a folder of the cache, which is there whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        text, compiled = _compiled_text(lowered, topo, options, new / "dump")
        (new / "module.hlo").write_text(text)
        (new / "devices.csv").write_text(_device_rows(order, topo.cores))
        sizes = _sizes_of(compiled.memory_analysis())
        cost = compiled.cost_analysis() or {}
        cost = cost[0] if isinstance(cost, list) else cost
        about = {"chip": topo.chip, "slice": topo.slice, "mesh": mesh, "compiler": topo.compiler, "is_tpu": topo.is_tpu,
                 "memory": sizes, "cost": {name: cost[name] for name in ("flops", "bytes accessed") if name in cost}}
        (new / "compiled.json").write_text(json.dumps(about))
        shutil.rmtree(new / "dump", ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # another process was as fast
            os.replace(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _compiled_text(lowered: Any, topo: Topology, options: dict[str, Any], dump: Path) -> tuple[str, Any]:
    """What XLA has made of it. JAX cannot print all modules that have something on SparseCores: XLA's dump is read instead."""
    if topo.chip in _SPARSE_CORES and topo.is_tpu:
        options = {**options, "xla_dump_to": str(dump), "xla_dump_hlo_as_text": True}
    try:
        compiled = _native.in_thread(lambda: lowered.compile(compiler_options=options or None))
    except Exception as why:
        said = textwrap.shorten(str(why), 600, placeholder=" ...")
        raise Error(f"XLA does not compile it for {topo.chip} {topo.slice}: {said}") from why
    texts = sorted(dump.glob("*after_codegen.txt"), key=lambda path: path.stat().st_size)
    return texts[-1].read_text() if texts else compiled.as_text(), compiled


def simulate(program: Any, *, chip: str | None = None, slice: str | Sequence[int] | None = None, mesh: Any = None,
             **options: Any) -> Result:
    """How long a compiled program takes on a slice.

    Parameters
    ----------
    program : Compiled, jax.stages.Compiled, str or path
        What `compile` returns; what `jax.jit(f).lower(..).compile()` returns; HLO text; a file of it, or a folder of
        `--xla_dump_to`.
    chip, slice : str, optional
        Where, if the program does not know: "v5p", "4x4x4".
    mesh : dict or str, optional
        Where its devices are; default: as compiled.
    **options
        Of the program `icisim`: `algorithm`, `compute`, `profile`, ...

    Returns
    -------
    Result
        With `time_s`, `memory_bytes`, `table`, `collectives`, `by_source()`, `trace()`.
    """
    if isinstance(program, Compiled):
        path, chip, slice = program.path, chip or program.chip, slice or program.slice
    if chip is None or slice is None:
        raise Error('where? ij.simulate(program, chip="v5p", slice="4x4x4")')
    chip, shape = _chip_of(chip), slice if isinstance(slice, str) else "x".join(map(str, slice))
    if not isinstance(program, Compiled):
        path = _path_of(program, chip, shape)
    result = _run(path, chip=chip, slice=shape, mesh=mesh, **options)[0]
    if mesh is None and not {"devices", "on"} & set(options) and not _devices_of(path).exists():
        warnings.warn(ROW_BY_ROW, stacklevel=2)
    if isinstance(program, Compiled):
        result.compiled = program
    if result.memory_bytes is None and (known := _memory_of(program)) is not None:
        result.columns["memory_bytes"] = float(known)
    return result


def _memory_of(program: Any) -> int | None:
    """Bytes of a device as `memory_analysis()` has them: text of XLA:CPU has no buffers that could be counted."""
    if isinstance(program, Compiled):
        return program.memory_bytes
    found = program.memory_analysis() if hasattr(program, "memory_analysis") else None
    return None if found is None else _memory_bytes(_sizes_of(found))


def _devices_of(path: str) -> Path:
    """The file that says where the devices are: in a dump, or beside a text."""
    return (Path(path) if os.path.isdir(path) else Path(path).parent) / "devices.csv"


def _path_of(program: Any, chip: str, slice_: str) -> str:
    """Where its text is: kept in the cache, with the places of its devices beside it where JAX knows them."""
    text = program.as_text() if hasattr(program, "as_text") else program
    if not isinstance(text, (str, os.PathLike)):
        raise Error(f"{type(program).__name__} is no compiled program: simulate what icisim.jax.compile(step, *args, topology=...) or "
                    "jax.jit(step).lower(*args).compile() returns, HLO text, or a path")
    if isinstance(text, os.PathLike) or (isinstance(text, str) and "\n" not in text):
        return os.fspath(text)
    rows = _device_rows(_order_of(program, chip, slice_), _cores(chip))
    folder = _cache() / "texts" / hashlib.sha256((text + rows).encode()).hexdigest()[:24]
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("devices.csv", rows), ("module.hlo", text)):
        if content and not (folder / name).exists():
            with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".new", delete=False) as file:
                file.write(content)
            os.replace(file.name, folder / name)
    return str(folder / "module.hlo")


def _order_of(program: Any, chip: str, slice_: str) -> list[tuple[int, int, int, int]]:
    """(x, y, z, core) of the devices that a jax Compiled is for, in the order of its numbering; none of what does not know."""
    if not hasattr(program, "output_shardings"):
        return []
    found = [s.mesh for s in _jax().tree.leaves((program.input_shardings, program.output_shardings)) if hasattr(s, "mesh")]
    devices = list(found[0].devices.flat) if found else []
    if all(hasattr(device, "coords") for device in devices):
        return [_place(device.coords, getattr(device, "core_on_chip", 0)) for device in devices]
    places = _places(_native.Slice({"chip": chip, "slice": slice_}).shape, _cores(chip))
    return [places[device.id] for device in devices] if max(device.id for device in devices) < len(places) else []


def _device_rows(order: Sequence[Sequence[int]], cores: int) -> str:
    """devices.csv."""
    rows = [",".join(map(str, (i, *place[: 3 + (cores > 1)]))) for i, place in enumerate(order)]
    return "\n".join(["id,x,y,z" + (",core" if cores > 1 else ""), *rows]) + "\n" if rows else ""


@dataclasses.dataclass
class Candidate:
    """A mesh of a search: what it compiles to and how long that takes, or why there is no time: in `status` on a line, in `refusal`
    all that XLA says."""

    slice: str
    mesh: dict[str, int]
    compiled: Compiled | None = None
    result: Result | None = None
    status: str = "ok"
    refusal: str = ""

    @property
    def time_s(self) -> float | None:
        return self.result.time_s if self.result else None

    @property
    def memory_bytes(self) -> int | None:
        return self.compiled.memory_bytes if self.compiled else None

    def row(self) -> dict[str, Any]:
        mesh = ",".join(f"{name}={size}" for name, size in self.mesh.items())
        exposed = self.result.exposed_comm_s if self.result else None
        return {"slice": self.slice, "mesh": mesh, "time_s": self.time_s, "exposed_comm_s": exposed,
                "memory_bytes": self.memory_bytes, "status": self.status}


class Search(list):
    """Candidates, fastest first; `dropped` are those that do not fit or do not compile."""

    dropped: list[Candidate]

    def to_pandas(self) -> pandas.DataFrame:
        return _frame([one.row() for one in [*self, *self.dropped]])

    def __repr__(self) -> str:
        return "\n".join(str({name: value for name, value in one.row().items() if value is not None}) for one in [*self, *self.dropped])

    def _repr_html_(self) -> str:
        return _html_table([one.row() for one in [*self, *self.dropped]])


def _try(make_step: Callable[..., Any], chip: str, slice_: str, axes: dict[str, int], options: dict[str, Any]) -> Candidate:
    """One mesh; what a process of an executor runs."""
    one = Candidate(slice_, axes)
    try:
        topo = topology(chip, slice_)
        mesh = topo.mesh(axes)
        fun, args, *more = make_step(mesh)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one.compiled = compile(fun, *args, topology=topo, mesh=mesh, **(more[0] if more else {}))
        hbm = _native.chip_memory(topo.chip)[0] / topo.cores
        if one.compiled.memory_bytes > hbm:
            one.status = f"does not fit: {one.compiled.memory_bytes / 1e9:.2f} GB of {hbm / 1e9:.2f} GB"
        else:
            one.result = simulate(one.compiled, **options)
    except Error as why:
        one.status, one.refusal = why.text, str(why.__cause__ or why.text)
    except Exception as why:  # JAX's: a mesh that does not divide a dimension
        one.status, one.refusal = textwrap.shorten(f"{type(why).__name__}: {why}", 600, placeholder=" ..."), str(why)
    return one


def search(make_step: Callable[..., Any], *, chip: str, chips: int, meshes: str | Sequence[Mapping[str, int]] = "all",
           axes: Sequence[str] = ("fsdp", "tp"), slices: Sequence[str] | None = None,
           executor: concurrent.futures.Executor | None = None, **options: Any) -> Search:
    """Compiles a step for each mesh, simulates it, and sorts.

    Parameters
    ----------
    make_step : callable
        make_step(mesh) returns (fun, args), or (fun, args, options of `compile`): the step on a jax.sharding.Mesh.
    chip, chips
        Which, and how many.
    meshes : "all" or list of dict
        {"fsdp": 8, "tp": 2}; all: every factorisation over `axes`.
    slices : list of str, optional
        Boxes of so many chips; default: those that the cloud offers.
    executor : concurrent.futures.Executor, optional
        Where to compile. Of processes: `make_step` is a function of a module.
    **options
        Of `simulate`.

    Returns
    -------
    Search
    """
    name = _chip_of(chip)
    boxes = list(slices or _offered(name, chips))
    devices = chips * _cores(name)
    shapes = [dict(zip(axes, sizes)) for sizes in _factors(devices, len(axes))] if meshes == "all" else [dict(m) for m in meshes]
    tasks = [(make_step, name, box, mesh, options) for box in boxes for mesh in shapes]
    if not has_libtpu():
        warnings.warn(CPU_TEXT, stacklevel=2)
        if not executor:
            _cpu_devices(devices)
    made = executor.map(_try, *zip(*tasks)) if executor else itertools.starmap(_try, tasks)
    tried = list(bar(made, len(tasks), "meshes"))
    best = Search(sorted((one for one in tried if one.result), key=lambda one: one.time_s))
    best.dropped = [one for one in tried if not one.result]
    return best


def _offered(chip: str, chips: int) -> list[str]:
    from .points import sweep

    found = sweep("all-gather", chip=chip, chips=chips, slice="offered", size="1MB", jobs=1)
    return [result.slice for result in found]


def _factors(number: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(number,)]
    return [(first, *rest) for first in range(1, number + 1) if number % first == 0 for rest in _factors(number // first, parts - 1)]


@dataclasses.dataclass
class Roofline:
    """jax.experimental.roofline's fields of a device, as XLA compiled the function, and what icisim adds.

    Attributes
    ----------
    flops, unfused_flops : float
        Operations of its matmuls and convolutions, which fusing does not change.
    ici_bytes : dict
        Bytes that a device sends over links, by axis of the mesh; several axes at once are "x,y".
    ici_latency : dict
        Seconds from start to end of the collectives over an axis.
    hbm_bytes, peak_hbm_bytes, unfused_hbm_bytes : float
        Read and written; the most that is there at once, as `memory_analysis()` has it; XLA fuses, so that no other is known.
    time_s, exposed_s : float
        How long it takes, and what of communication nothing hides.
    result : Result
    """

    flops: float
    unfused_flops: float
    ici_bytes: dict[str, float]
    ici_latency: dict[str, float]
    hbm_bytes: float
    peak_hbm_bytes: float
    unfused_hbm_bytes: float
    time_s: float
    exposed_s: float
    result: Result


def roofline(f: Callable[..., Any], mesh: Any = None, in_specs: Any = None, out_specs: Any = None, *,
             pin_lhs_in_vmem: bool = False, pin_rhs_in_vmem: bool = False, vjp: bool = False, print_jaxpr: bool = False,
             topology: str | Topology | None = None, **options: Any) -> Callable[..., tuple[Any, Roofline]]:
    """jax.experimental.roofline.roofline, from what XLA compiles and icisim simulates.

    Parameters
    ----------
    f : callable
        What a device runs, as of shard_map.
    mesh : dict, str or jax.sharding.Mesh
        One that `Topology.mesh` made, or axes over the devices of `topology`.
    in_specs, out_specs : trees of jax.sharding.PartitionSpec
        As of shard_map.
    pin_lhs_in_vmem, pin_rhs_in_vmem : bool
        Refused: XLA decides what is in VMEM.
    vjp : bool
        Of the function and its gradient.
    print_jaxpr : bool
        Print what is compiled.
    topology : str or Topology, optional
        "v5e:4x4", where `mesh` does not say it.
    **options
        Of `simulate`.

    Returns
    -------
    callable
        Of the arguments; it returns the shapes of the outputs, and a Roofline.
    """
    if pin_lhs_in_vmem or pin_rhs_in_vmem:
        raise Error("pin_lhs_in_vmem, pin_rhs_in_vmem: XLA decides what is in VMEM; leave them out")

    def wrapped(*args: Any) -> tuple[Any, Roofline]:
        jax = _jax()
        topo = topology if isinstance(topology, Topology) else globals()["topology"](topology) if topology else _topology_of(mesh)
        over = mesh if isinstance(mesh, jax.sharding.Mesh) else topo.mesh(mesh or {"x": len(topo.devices)})
        shard_map = getattr(jax, "shard_map", None)
        if shard_map is None:
            from jax.experimental.shard_map import shard_map
        mapped = shard_map(f, mesh=over, in_specs=in_specs, out_specs=out_specs) if in_specs is not None else f
        if vjp:
            mapped = _with_vjp(mapped)
        if print_jaxpr:
            print(jax.make_jaxpr(mapped)(*args))
        specs = in_specs if isinstance(in_specs, tuple) or in_specs is None else (in_specs,) * len(args)
        shapes = jax.eval_shape(mapped, *args)
        result = simulate(compile(mapped, *args, topology=topo, mesh=over, in_shardings=specs), **options)
        return shapes, _roofline_of(result, dict(over.shape))

    return wrapped


def _with_vjp(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients, as jax.experimental.roofline takes them: those of the outputs themselves."""
    def both(*args: Any) -> Any:
        out, back = _jax().vjp(f, *args)
        return back(out)

    return both


def _axes_of(groups: str, mesh: Mapping[str, int]) -> str:
    """Axes over which replica groups, "{{0,1},{2,3}}" or "[2,2]<=[4]", or pairs, go: those whose coordinates differ within one."""
    import numpy as np

    if iota := re.fullmatch(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", groups.replace(" ", "")):
        shape, dims, order = ([int(n) for n in part.split(",")] if part else None for part in iota.groups())
        members = np.arange(math.prod(dims)).reshape(dims).transpose(order).reshape(shape)
    else:
        members = [[int(n) for n in group.split(",")] for group in re.findall(r"\{([\d,]+)\}", groups.replace(" ", ""))]
    if len(members) == 0:
        return ",".join(mesh)
    places = [np.unravel_index(group, tuple(mesh.values())) for group in members]
    return ",".join(name for axis, name in enumerate(mesh) if any(len(set(place[axis].tolist())) > 1 for place in places))


def _roofline_of(result: Result, mesh: Mapping[str, int]) -> Roofline:
    rows = result.rows()
    ici: dict[str, float] = {}
    latency: dict[str, float] = {}
    for row in rows:
        if row["ici_bytes"]:
            axes = _axes_of(str(row["groups"] or ""), mesh)
            ici[axes] = ici.get(axes, 0) + row["ici_bytes"]
            latency[axes] = latency.get(axes, 0) + (row["total_time_s"] or 0)
    flops, hbm = (sum(row[name] or 0 for row in rows) for name in ("flops", "hbm_bytes"))
    return Roofline(flops, flops, ici, latency, hbm, result.memory_bytes or 0, hbm, result.time_s, result.exposed_comm_s or 0, result)
