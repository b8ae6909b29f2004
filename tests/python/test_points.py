# SPDX-License-Identifier: GPL-3.0-or-later
"""icisim.run, sweep and Result: the numbers of the program and of the library, whoever runs them; faults; Ctrl-C."""

import concurrent.futures
import csv
import importlib.metadata
import io
import json
import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import time
import xml.dom.minidom
import zlib
from pathlib import Path

import icisim
import pytest
from icisim import _native

ROOT = Path(__file__).resolve().parents[2]
SPAWN = multiprocessing.get_context("spawn")


def random_point(rng):
    """A collective or a matmul, on a slice of a chip, with odd sizes."""
    chip, slices = rng.choice([("v5e", ["4x4", "8", "2x4", "16x16"]), ("v5p", ["2x2x2", "4x4x4", "2x2x4"]), ("v6e", ["2x4", "4x8"])])
    point = {"chip": chip, "slice": rng.choice(slices), "ring": rng.choice(["uni", "bidi", "bidi-half"])}
    if rng.random() < 0.3:
        rows, inner, cols = (64 * rng.randrange(1, 60) for _ in range(3))
        mesh = "x=2,y=4" if point["slice"] in ("8", "2x4", "2x2x2") else None
        if mesh:
            op = f"bf16[{rows}@x,{inner}@y] . bf16[{inner},{cols}] -> bf16[{rows}@x,{cols}]"
            return {"op": op, "mesh": mesh, **point}
    return {"op": rng.choice(["all-gather", "reduce-scatter", "all-reduce"]), "size": f"{256 * rng.randrange(1, 99999)}", **point}


POINTS = [random_point(random.Random(seed)) for seed in range(50)]


@pytest.fixture(scope="session")
def in_c(tmp_path_factory):
    """A program of C that is linked with the library."""
    program = tmp_path_factory.mktemp("c") / "columns"
    subprocess.run(["cc", "-I", ROOT / "include", ROOT / "tests/python/columns.c", _native.NATIVE / "libicisim.so",
                    f"-Wl,-rpath,{_native.NATIVE}", "-o", program], check=True)
    return program


@pytest.mark.parametrize("point", POINTS, ids=range(50))
def test_same_numbers(point, in_c):
    """To the bit: Python, C and the program with as many digits as a double has."""
    keywords = {name: text for name, text in point.items() if name != "op"}
    result = icisim.run(point["op"], **keywords)[0]
    lines = subprocess.run([in_c, *(f"{name}={text}" for name, text in point.items())], capture_output=True, text=True, check=True)
    in_library = {name: float.fromhex(value) for name, value in map(str.split, lines.stdout.splitlines())}
    row = next(csv.DictReader(io.StringIO(icisim.program(*_native.command_line("run", result.options, "--csv", "-", "--digits", "17")))))
    numbers = 0
    for name, value in in_library.items():
        ours = result.columns[name]
        assert ours == value or (ours is None and value != value)
        if name != "speedup" and ours is not None:  # of the program's it compares rows
            assert ours == float(row[name])
            numbers += 1
    assert numbers >= 8 and result.time_s > 0


def test_grid_is_in_the_order_of_the_program():
    results = icisim.run("all-gather", slice=["4x4", "2x4"], size=["1MiB", "3MB"], ring=["uni", "bidi"])
    text = icisim.program("run", "all-gather", "--slice", "4x4,2x4", "--size", "1MiB,3MB", "--ring", "uni,bidi", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(r.slice, f"{r.size_bytes:.0f}", r.ring, f"{r.time_s:.9g}") for r in results] == [
        (row["slice"], row["size_bytes"], row["ring"], row["time_s"]) for row in rows]


NOT_OF_ALL = ["command", "least_s", "comm_s", "overlap_frac"]  # searches with `top` have bounds, and do not time these


def table(results):
    return results.to_pandas().drop(columns=NOT_OF_ALL, errors="ignore").to_csv()


def test_processes_give_the_same_table():
    points = dict(op=["all-gather", "all-reduce"], slice=["4x4", "2x4"], size=["1MiB", "5MB"], ring=["uni", "bidi"])
    search = dict(op="by-hand/llama-8b.yaml", chip="v5p", chips=8, mesh="all", top=5)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        assert table(icisim.run(**points, executor=executor)) == table(icisim.run(**points))
        swept = icisim.sweep("all-gather", slice="4x4,2x4", size="64KiB:4MiB:x4", executor=executor)
        assert table(swept) == table(icisim.sweep("all-gather", slice="4x4,2x4", size="64KiB:4MiB:x4")) and len(swept) == 8
        assert table(icisim.sweep(**search, executor=executor)) == table(icisim.sweep(**search))


def test_dask_gives_the_same_table():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        points = dict(op="all-reduce", slice=["4x4", "2x4"], size=["1MiB", "5MB", "70000"])
        assert table(icisim.run(**points, executor=client.get_executor())) == table(icisim.run(**points))


def test_results_travel():
    result = icisim.run("all-gather", slice=(4, 4), size="1MiB")[0]
    again = pickle.loads(pickle.dumps(result))
    assert again.columns == result.columns and again.command == "icisim run all-gather --slice 4x4 --size 1MiB"


def test_values_as_python_has_them():
    by_dict = icisim.run("all-gather", slice=(4, 4), mesh={"dp": 4, "tp": 4}, axis="tp", size=1048576, one_ring=True)[0]
    by_text = icisim.run("all-gather", slice="4x4", mesh="dp=4,tp=4", axis="tp", size="1MiB", one_ring="on")[0]
    assert by_dict.columns == by_text.columns


@pytest.mark.parametrize("keywords, says", [
    (dict(chip="v5x"), "unknown chip 'v5x'"), (dict(slcie="4x4"), "nearest: slice"), (dict(ring="both"), "--ring"),
    (dict(op="all-gathr"), "all-gather")])
def test_faults(keywords, says):
    with pytest.raises(icisim.Error, match=says) as caught:
        icisim.run(**{"op": "all-gather", "slice": "4x4", "size": "1MiB", **keywords})
    assert "\n" not in caught.value.text and pickle.loads(pickle.dumps(caught.value)).text == caught.value.text
    assert "slcie" in keywords or "in: icisim run " in str(caught.value)


def test_attributes():
    result = icisim.run("all-gather", slice="4x4", size="1MiB")[0]
    assert result.mfu_frac is None and "time_s" in dir(result) and "time_s" in icisim.columns() and "ring" in icisim.options()
    with pytest.raises(AttributeError, match="icisim.columns"):
        result.time


def test_outputs(tmp_path):
    result = icisim.run("all-gather", slice="4x4", size="1MiB")[0]
    path = result.trace(tmp_path / "out.json")
    events = json.loads(Path(path).read_text())["traceEvents"]
    assert max(e["ts"] + e["dur"] for e in events if e["ph"] == "X") == pytest.approx(result.time_s * 1e6, abs=1e-5)
    assert result.links["link_bytes"].sum() == result.link_bytes
    assert "all-gather of bf16" in result.report()
    page = result._repr_html_()
    assert "<table>" in page
    xml.dom.minidom.parseString(page[page.index("<svg"):])
    assert page.count("<rect") >= 10
    both = icisim.run("all-gather", slice="4x4", size="1MiB", ring=["uni", "bidi"])._repr_html_()
    assert both.count("<svg") == 2 and both.count("<tr>") == 3 and "--ring bidi" in both
    torus = xml.dom.minidom.parseString(result.torus())
    assert len(torus.getElementsByTagName("line")) == 48 and len(torus.getElementsByTagName("circle")) == 16  # 2 (3 4 + 4 3) links
    with pytest.raises(icisim.Error, match="no-such"):
        result.trace(tmp_path / "no-such" / "out.json")


def test_configurations(tmp_path):
    sizes = {"hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16, "num_hidden_layers": 3, "vocab_size": 32000}
    workload = icisim.from_hf(sizes, tmp_path / "model.yaml")
    assert icisim.run(workload, chip="v5e", slice="4x4", mesh={"fsdp": 16})[0].time_s > 0
    (tmp_path / "base.yml").write_text("base_emb_dim: 2048\nbase_mlp_dim: 2816\nbase_num_query_heads: 16\nvocab_size: 32_000\n")
    (tmp_path / "own.yml").write_text("base_emb_dim: 1024\nbase_num_decoder_layers: 3\n")
    text = icisim.from_maxtext([tmp_path / "base.yml", tmp_path / "own.yml"])
    assert "d-model: 1024\n" in text and "layers: 3\n" in text and "vocabulary: 32000\n" in text
    with pytest.raises(icisim.Error, match="hidden_size"):
        icisim.from_hf({name: size for name, size in sizes.items() if name != "hidden_size"})


def test_models_have_tables():
    result = icisim.run("by-hand/llama-8b.yaml", layers=2)[0]
    assert set(result.collectives["category"]) == {"all-gather", "reduce-scatter"}
    assert 0 < result.table["total_time_s"].sum()


def test_ctrl_c_ends_at_once(interrupted):
    """All pairs of 1,024 chips, each of another size, would take minutes."""
    code = ("import icisim; print('go', flush=True); icisim.run('ragged-all-to-all', chip='v5p', slice='8x8x16', size='1GiB', "
            "pair_sizes='random:1')")
    said, _, loops = interrupted(code, alone_s=1, most_s=60)
    assert loops < 1.2 and "KeyboardInterrupt" in said


def test_a_notebook_sees_bars(tmp_path):
    """Of a sweep, which the program runs, and of one long simulation."""
    pytest.importorskip("tqdm")
    (tmp_path / "ipykernel.py").touch()
    code = ("import ipykernel, icisim; print(len(icisim.sweep('all-gather', slice='16x16', size='64KiB:2GiB:+256KiB', ring=['uni', 'bidi'])));"
            "import _thread, threading; threading.Timer(5, _thread.interrupt_main).start();"
            "icisim.run('ragged-all-to-all', chip='v5p', slice='8x8x16', size='1GiB', pair_sizes='random:1')")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"})
    assert "16384" in done.stdout and "/16384" in done.stderr and "simulation:" in done.stderr


def test_the_gil_is_released():
    """Another thread counts on while a point runs."""
    import threading

    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began, before = time.monotonic(), counted[0]
    icisim.run("ragged-all-to-all", chip="v5p", slice="4x4x4", size="1GiB", pair_sizes="random:1")
    spent, during = time.monotonic() - began, counted[0] - before
    stop.set()
    thread.join()
    assert spent > 0.05 and during > 100 * spent


def test_no_slow_imports():
    code = "import icisim, sys; icisim.run('all-gather', slice='4x4', size='1MiB'); print({'pandas', 'jax', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_wheel():
    """One for every Python 3, under 3 MB, with the licences of what is linked in."""
    try:
        wheel = importlib.metadata.distribution("icisim")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("icisim is not installed as a wheel")
    assert "Tag: py3-none-" in wheel.read_text("WHEEL")
    paths = [Path(file.locate()) for file in wheel.files if "__pycache__" not in str(file)]
    assert sum(len(zlib.compress(path.read_bytes())) for path in paths) < 3e6
    licences = {path.name: path.read_text() for path in paths if "dist-info/licenses" in str(path)}
    assert "GNU GENERAL PUBLIC LICENSE" in licences["LICENSE"]
    assert all(name in licences["LICENCES"] for name in ("GSL", "libcsv", "LibYAML", "yajl", "uthash"))


def test_what_is_not_installed_is_named():
    code = ("import sys; sys.modules['pandas'] = sys.modules['jax'] = None\nimport icisim, icisim.jax as ij\n"
            "for what in (icisim.run('all-gather', slice='4x4', size='1MiB').to_pandas, lambda: ij.topology('v5e', '2x4')):\n"
            "    try: what()\n    except icisim.Error as why: print(why)")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == 2 and "pip install pandas" in said[0] and "pip install jax" in said[1]


def test_the_program():
    for line in ([sys.executable, "-m", "icisim"], [os.path.join(os.path.dirname(sys.executable), "icisim")]):
        if os.path.exists(line[0]):
            assert subprocess.run([*line, "--version"], capture_output=True, text=True).stdout.startswith(f"icisim {icisim.__version__}")
    assert icisim.version() == icisim.__version__
