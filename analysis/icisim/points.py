# SPDX-License-Identifier: GPL-3.0-or-later
"""Points from keyword arguments, and running them: here, or by an executor."""

from __future__ import annotations

import concurrent.futures
import csv
import difflib
import io
import itertools
import os
import tempfile
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

from . import _native
from ._native import Error
from .results import Result, Results


def version() -> str:
    """Of the library: "0.2.0"."""
    return _native.library().icisim_version().decode()


def options() -> dict[str, str]:
    """The options of a point, as keyword arguments, each with a line of help."""
    return {name.replace("-", "_"): text for name, (text, _) in _native.option_table().items()}


def columns() -> dict[str, str]:
    """The columns of a result, each with what it means."""
    return {name: meaning for name, (meaning, _) in _native.column_table().items()}


def _text(value: Any) -> str:
    """A value as the command line writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ",".join(f"{name}={_text(part)}" for name, part in value.items())
    if isinstance(value, tuple):  # a shape
        return "x".join(map(_text, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _path(op: Any) -> Any:
    """Workloads that are compiled in need no folder."""
    if isinstance(op, str) and _native.is_workload(op) and os.sep not in op.removeprefix("by-hand/").removeprefix("steps/") and not Path(op).exists():
        return "workloads/" + op
    return op


def _given(op: Any, keywords: Mapping[str, Any], others: Iterable[str] = ()) -> dict[str, list[str]]:
    """The values of each option, in the order in which the program's grids have them."""
    known = list(_native.option_table())
    given = {"op": [_text(_path(one)) for one in (op if isinstance(op, list) else [op])]}
    for keyword, value in keywords.items():
        name = keyword.replace("_", "-")
        if name not in known and name not in others:
            near = difflib.get_close_matches(name, [*known, *others], 1)
            raise Error(f"there is no option '{keyword}'{f'; nearest: {near[0]}' if near else ''}; icisim.options() lists them")
        if value is not None:
            given[name] = [_text(one) for one in (value if isinstance(value, list) else [value])]
    return {name: given[name] for name in [*known, *others] if name in given}


def _simulate(point: dict[str, str]) -> Result:
    return Result(_native.with_point(point, _native.Point.columns), point)


def bar(things: Iterable[Any], total: int, what: str) -> Iterator[Any]:
    """The things, with a bar on a terminal or in a notebook where tqdm is installed."""
    shown = _native.progress_bar(iterable=things, total=total, desc=what, delay=1) if total > 1 else None
    return iter(things if shown is None else shown)


def run(op: str | list[str], *, executor: concurrent.futures.Executor | None = None, **keywords: Any) -> Results:
    """Simulates a collective, a matmul, a workload file or HLO text: a result a point.

    Parameters
    ----------
    op : str or list of str
        "all-gather", "bf16[1024@X,2048@Y] . bf16[2048,8192@Y] -> bf16[1024@X,8192@Y]", "step.yaml", "module.hlo".
    executor : concurrent.futures.Executor, optional
        Runs the points: a ProcessPoolExecutor, dask.distributed's `client.get_executor()`, Ray's. The results do not
        depend on it.
    **keywords
        Options of the program, `options()`. A list has several values: every combination is a point, the last option of
        `options()` varying fastest. A tuple is a shape, a dict a mesh: `slice=(4, 4), mesh={"dp": 4, "tp": 4}`. Quantities
        have units: `size="64MiB"`; a number alone is in bytes.

    Returns
    -------
    Results
        A list of Result, in the order of the program's rows.

    Raises
    ------
    Error
        Of the first point that is wrong: one line, and the command that does the same.
    """
    given = _given(op, keywords)
    points = [dict(zip(given, values)) for values in itertools.product(*given.values())]
    made = executor.map(_simulate, points) if executor else map(_simulate, points)
    return Results(bar(made, len(points), "points"))


def _fits(result: Result) -> bool:
    return result.memory_fit != "over"


def _shard(line: list[str]) -> str:
    return _native.program(*line)


def sweep(op: str | list[str], *, top: int | None = None, jobs: int | None = None,
          executor: concurrent.futures.Executor | None = None, **keywords: Any) -> Results:
    """The program's sweep: ranges ("1MiB:1GiB:x4"), `mesh="all"`, `slice="offered"`, `chips=512`.

    Parameters
    ----------
    op : str or list of str
        As of `run`.
    top : int, optional
        Only the N fastest, fastest first. Meshes that cannot be among them are not simulated, unless an executor is given.
    jobs : int, optional
        Processes at a time; default: as many as there are processors.
    executor : concurrent.futures.Executor, optional
        Each of its tasks takes a share of the points. The table is the same.
    **keywords
        Options of the program.

    Returns
    -------
    Results
        A row a point; those that could not run have their reason in the column `status`, and no time.
    """
    given = _given(op, keywords, ("chips",))
    line = ["sweep", *given.pop("op")]
    for name, values in given.items():
        line += [word for value in values for word in (f"--{name}", value)]
    if executor:
        shards = 4 * (getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
        texts = executor.map(_shard, [[*line, "--shard", f"{i}/{shards}", "--csv", "-"] for i in range(shards)])
        parts = [_rows(text) for text in bar(texts, shards, "shards")]
        rows = [row for turn in itertools.zip_longest(*parts) for row in turn if row]  # row i is shard i mod N's
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sweep.csv")
            more = ["--top", str(top)] if top else ["-j", str(jobs or len(os.sched_getaffinity(0)))]
            _native.program(*line, *more, "--csv", path, quiet=not _native.is_seen())
            rows = _rows(Path(path).read_text())
    results = Results(Result(row, _options_of(row)) for row in rows)
    if not top:
        return results
    timed = [result for result in results if result.time_s is not None and result.status == "ok" and _fits(result)]
    return Results(sorted(timed, key=lambda result: result.time_s)[:top])


def _options_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The options of a row: its column `command` says them."""
    import shlex

    words = shlex.split(row.get("command") or "run")[1:]
    point, name = {}, "op"
    for word in words:
        if word.startswith("--") and name == "op":
            name = word[2:]
        else:
            point[name], name = word, "op"
    return point


def _rows(text: str) -> list[dict[str, Any]]:
    """The rows of the program's CSV, numbers as numbers."""
    kinds = _native.column_table()
    rows = csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#"))
    return [{name: None if value == "" else value if name == "command" or kinds[name][1] else float(value)
             for name, value in row.items()} for row in rows]


def _model(source: str, config: Any, out: str | os.PathLike[str] | None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        if not isinstance(config, (str, os.PathLike, list, tuple)):
            import json

            path = os.path.join(folder, "config.json")
            Path(path).write_text(json.dumps(config if isinstance(config, Mapping) else config.to_dict()))
            config = path
        text = _native.program("model", source, *(config if isinstance(config, (list, tuple)) else [config]))
    if out is None:
        return text
    Path(out).write_text(text)
    return os.fspath(out)


def from_hf(config: Any, out: str | os.PathLike[str] | None = None) -> str:
    """A workload from a Hugging Face configuration.

    Parameters
    ----------
    config : path, dict, or transformers.PretrainedConfig
        `config.json`, or what is in it.
    out : path, optional
        Where to write it.

    Returns
    -------
    str
        The workload's text, or `out`. Comments in it name what it cannot say.
    """
    return _model("from-hf", config, out)


def from_maxtext(config: Any, out: str | os.PathLike[str] | None = None) -> str:
    """A workload from MaxText's configuration: a path, or a list of which a later one takes precedence, base.yml and a model of
    configs/models; see `from_hf`."""
    return _model("from-maxtext", config, out)
