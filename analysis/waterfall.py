#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of training steps goes, a waterfall for each: from the peak, down by what is lost, to the MFU.

usage: waterfall.py RUNS.csv TARGET

RUNS.csv has a row for each step of a transformer:
    icisim run workloads/steps/v5e-32b.yaml --csv RUNS.csv
"""
import os

import figure
from figure import COLOUR, plt

LOSSES = (("beyond", "recomputed, masked", "#CC79A7"), ("below_peak", "products below the peak", "#0072B2"),
          ("hbm", "products bound by HBM", "#56B4E9"), ("others", "norms, activations,\noptimizer", "#E69F00"),
          ("contention", "computes delayed\nby collectives", "#F0E442"))
LEAST = 0.05  # of the step, in percent: losses below that are left out
COLUMNS = 3


def losses(row, path):
    """(label, percent of the step, colour) from the largest group of causes down, and the MFU that is left."""
    try:
        seconds = dict((name, float(value)) for name, value in
                       (part.rsplit("=", 1) for part in row["spent"].split()))
        share = {name: 100 * value / row["time_s"] for name, value in seconds.items()}
        found = [(label, share[name], colour) for name, label, colour in LOSSES]
        mfu = share["model"]
    except (KeyError, ValueError):
        figure.fail(f"{path}: the column spent of {row['op']} is empty; run the step of a transformer")
    found += [("exposed over " + name[len("exposed:"):], value, COLOUR["exposed"])
              for name, value in share.items() if name.startswith("exposed:")]
    found.append(("rest", share["rest"], "#999999"))
    return [loss for loss in found if loss[1] >= LEAST], mfu


def draw_one(axes, row, path):
    found, mfu = losses(row, path)
    left = 100.0
    for at, (label, value, colour) in enumerate(found):
        left -= value
        axes.barh(at, value, left=left, color=colour)
        axes.text(left - 1, at, f"{value:.1f}", ha="right", va="center", fontsize=8)
    axes.barh(len(found), mfu, color=COLOUR["bidi-half"])
    axes.text(mfu + 1, len(found), f"{mfu:.1f}", va="center", fontsize=8)
    axes.set_yticks(range(len(found) + 1), [label for label, _, _ in found] + ["MFU"], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.grid(axis="y", visible=False)
    name = os.path.splitext(os.path.basename(row["op"]))[0]
    axes.set_title(f"{name} on {row['chip']} {row['slice']}\n{figure.wrapped(row['mesh'], 30)}, {row['time_s']:.3g} s",
                   fontsize=9)
    axes.set_xlabel("of the step's time (%)", fontsize=8)


def draw(path, target):
    table = figure.read(path, ("time_s",), ("op", "chip", "slice", "mesh", "spent"))
    columns = min(COLUMNS, len(table))
    lines = -(-len(table) // columns)
    canvas, grid = plt.subplots(lines, columns, figsize=(4.1 * columns, 2.9 * lines), layout="constrained",
                                squeeze=False)
    for axes, (_, row) in zip(grid.flat, table.iterrows()):
        draw_one(axes, row, path)
    for axes in list(grid.flat)[len(table):]:
        axes.set_visible(False)
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 2))
