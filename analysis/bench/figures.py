# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of a benchmark: a line each in a table for people, and a row each in a CSV."""
import csv
import statistics
from dataclasses import dataclass

# What a unit is shown in, and how many of them there are of it.
SHOWN = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "us")),
    "B": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "1/s": ((1e6, "M/s"), (1e3, "k/s"), (1, "/s")),
}


def show(value, unit):
    for scale, name in SHOWN.get(unit, ()):
        if abs(value) >= scale:
            return f"{value / scale:.4g} {name}"
    if float(value).is_integer():
        return f"{value:,.0f} {unit}".rstrip()
    return f"{value:.4g} {unit}".rstrip()


@dataclass
class Figure:
    """Several samples of a quantity, and the bar that it is held against."""

    work: str
    quantity: str
    unit: str
    samples: list
    bar: float = None
    at_least: bool = False  # the bar is below, not above

    def median(self):
        return statistics.median(self.samples)

    def reached(self):
        if self.bar is None:
            return ""
        return "yes" if (self.median() >= self.bar if self.at_least else self.median() <= self.bar) else "no"

    def bar_text(self):
        if self.bar is None:
            return ""
        return f"{'>=' if self.at_least else '<='} {show(self.bar, self.unit)}"


class Figures:
    """Prints each figure as soon as it is there, and remembers all for the CSV. Beside it the median that another program
    has for (work, quantity) in `before`, and how many times as much ours is."""

    WIDTHS = (52, 12, 12, 12)

    def __init__(self):
        self.all = []
        self.work = None
        self.before = {}

    def add(self, *arguments, **keywords):
        figure = Figure(*arguments, **keywords)
        if figure.work != self.work:
            self.work = figure.work
            print(f"\n{figure.work}")
        least, most = min(figure.samples), max(figure.samples)
        cells = [f"  {figure.quantity}", show(figure.median(), figure.unit)]
        cells += [show(least, figure.unit), show(most, figure.unit)] if most > least else ["", ""]
        line = "".join(f"{cells[0]:<{self.WIDTHS[0]}}") + "".join(
            f"{cell:>{width}}" for cell, width in zip(cells[1:], self.WIDTHS[1:])
        )
        line += f"  {figure.bar_text():<14}{figure.reached():<8}"
        before = self.before.get((figure.work, figure.quantity))
        if before is not None:
            line += f"{show(before, figure.unit):>12}{figure.median() / before if before else 1:>8.3f}"
        print(line.rstrip(), flush=True)
        self.all.append(figure)
        return figure.median()

    def heading(self, before):
        names = ("#", "median", "least", "most")
        line = f"{names[0]:<{self.WIDTHS[0]}}" + "".join(
            f"{name:>{width}}" for name, width in zip(names[1:], self.WIDTHS[1:])
        )
        others = f"{'before':>12}{'times':>8}" if before else ""
        print(f"{line}  {'bar':<14}{'reached':<8}{others}".rstrip())

    def medians(self):
        return {(figure.work, figure.quantity): figure.median() for figure in self.all}

    def write(self, path):
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(("work", "quantity", "unit", "median", "least", "most", "samples", "bar", "bound", "reached", "before"))
            for f in self.all:
                bar = "" if f.bar is None else f"{f.bar:.9g}"
                side = "" if f.bar is None else "at least" if f.at_least else "at most"
                before = self.before.get((f.work, f.quantity), "")
                numbers = [f"{x:.9g}" for x in (f.median(), min(f.samples), max(f.samples))]
                rows.writerow((f.work, f.quantity, f.unit, *numbers, len(f.samples), bar, side, f.reached(), before))
