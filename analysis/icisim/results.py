# SPDX-License-Identifier: GPL-3.0-or-later
"""What simulations have found."""

from __future__ import annotations

import csv
import html
import io
import os
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import pandas

_TIMELINES = 4  # of the first results
_SHOWN = ("op", "chip", "slice", "mesh", "axes", "size_bytes", "ring", "strategy", "time_s", "formula_exact_s", "bound_s",
          "algbw_Bps", "compute_s", "exposed_comm_s", "memory_bytes", "mfu_frac", "status")


class Result:
    """One simulated point. Columns are attributes, None where one does not apply: `time_s`, `exposed_comm_s`, `ring`.

    Attributes
    ----------
    columns : dict
        All columns of the program's CSV, in SI units; `icisim.columns()` says what each means.
    options : dict
        The point, as options of the program.
    """

    def __init__(self, columns: dict[str, Any], options: dict[str, str]) -> None:
        self.columns, self.options = columns, options

    def __getattr__(self, name: str) -> Any:
        columns = self.__dict__.get("columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(f"a result has no column '{name}'; icisim.columns() lists them")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.columns]

    @property
    def command(self) -> str:
        """The program's command line of the point."""
        return _native.shown(_native.command_line("run", self.options))

    def _text(self, what: str) -> str:
        return _native.with_point(self.options, lambda point: point.text(what))

    def trace(self, path: str | os.PathLike[str]) -> str:
        """Writes the run as Chrome trace events, which https://ui.perfetto.dev opens. Returns the path."""
        _native.with_point(self.options, lambda point: point.write("trace", os.fspath(path)))
        return os.fspath(path)

    def html(self, path: str | os.PathLike[str]) -> str:
        """Writes a page for a browser: time breakdown, timeline, use of links, collectives. Returns the path."""
        _native.program(*_native.command_line("run", self.options, "--html", os.fspath(path)))
        return os.fspath(path)

    def _csv(self, what: str) -> list[dict[str, Any]]:
        return [{name: _number(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(self._text(what)))]

    def rows(self) -> list[dict[str, Any]]:
        """Of a module or a model: each instruction, in XProf's words, times in seconds."""
        return self._csv("instructions")

    @property
    def table(self) -> pandas.DataFrame:
        """`rows()` as a table."""
        return _frame(self.rows())

    @property
    def collectives(self) -> pandas.DataFrame:
        """The rows of the table that communicate, those that are exposed most first."""
        rows = [row for row in self.rows() if row["category"] in _COLLECTIVES]
        return _frame(sorted(rows, key=lambda row: -(row["exposed_time_s"] or 0)))

    def by_source(self) -> pandas.DataFrame:
        """Time by lines of the program: of what computes, and of what of the collectives is exposed."""
        sums: dict[str, dict[str, Any]] = {}
        for row in self.rows():
            of = sums.setdefault(row["source_info"] or "", {"source": row["source_info"] or "", "compute_s": 0.0,
                                                            "collectives_s": 0.0, "exposed_s": 0.0})
            communicates = row["category"] in _COLLECTIVES
            of["collectives_s" if communicates else "compute_s"] += row["total_time_s"] or 0
            of["exposed_s"] += (row["exposed_time_s"] or 0) if communicates else 0
        return _frame(sorted(sums.values(), key=lambda of: -(of["compute_s"] + of["exposed_s"])))

    @property
    def links(self) -> pandas.DataFrame:
        """Bytes of each link, and the share of its bandwidth that is used."""
        return _frame(self._csv("links"))

    def torus(self) -> str:
        """The slice and the use of its links as SVG, for `IPython.display.SVG`."""
        return self._text("torus")

    def report(self) -> str:
        """What the program prints of the point: tables by phase, by category, by axis, and why what is exposed is."""
        return _native.program(*_native.command_line("run", self.options))

    def to_pandas(self) -> pandas.DataFrame:
        """A table of one row."""
        return _frame([self.columns])

    def __repr__(self) -> str:
        time = "no time" if self.time_s is None else f"{self.time_s:.6g} s"
        return f"<icisim.Result {self.op}: {time}>"

    def _repr_html_(self) -> str:
        return _html_table([self.columns]) + self._timeline()

    def _timeline(self) -> str:
        from .timeline import svg

        if (self.columns.get("transfers") or 0) > 2_000_000 or self.columns.get("status") != "ok":
            return ""  # a trace of more takes long
        return svg(self._text("trace"))


_COLLECTIVES = {"all-gather", "all-reduce", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
                "collective-broadcast", "broadcast"}


class Results(list):
    """A list of Result."""

    def to_pandas(self) -> pandas.DataFrame:
        """A row a result, all columns."""
        return _frame([result.columns for result in self])

    def __repr__(self) -> str:
        return "[" + ",\n ".join(map(repr, self)) + "]"

    def _repr_html_(self) -> str:
        return _html_table([result.columns for result in self]) + "".join(
            f"<p>{html.escape(one.command)}</p>{one._timeline()}" for one in self[:_TIMELINES])


def _frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise _native.Error("tables need pandas: pip install pandas") from None
    return pandas.DataFrame(rows)


def _number(text: str) -> Any:
    try:
        return float(text) if text else None
    except ValueError:
        return text


def _html_table(rows: list[dict[str, Any]]) -> str:
    names = [name for name in _SHOWN if any(row.get(name) is not None for row in rows)]
    cells = [[f"{value:.6g}" if isinstance(value, float) else html.escape(str(value or "")) for value in map(row.get, names)]
             for row in rows]
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
