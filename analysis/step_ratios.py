#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a training step's time changes: each row of a sweep against the first, and the MFU beside it.

usage: step_ratios.py SWEEP.csv TARGET chips|tokens|mesh

SWEEP.csv has steps of one transformer that differ in the chips (weak scaling), in the tokens of a chip, or in the mesh:
    icisim sweep workloads/steps/v6e-llama-8b.yaml --tokens-per-chip 8192,16384,32768 --csv SWEEP.csv
"""
import os

import figure
from figure import COLOUR, plt

NUMBERS = ("time_s", "mfu_frac", "tokens_per_s", "chips")
LABELS = {"chips": "chips", "tokens": "tokens a chip", "mesh": "mesh"}


def label(row, along):
    if along == "tokens":
        return f"{round(row['tokens_per_s'] * row['time_s'] / row['chips'])}"
    return f"{row['chips']:.0f}\n{row['slice']}" if along == "chips" else row["mesh"].replace(",", "\n")


def draw(path, target, along):
    if along not in LABELS:
        figure.fail(f"'{along}': write chips, tokens or mesh")
    table = figure.read(path, NUMBERS, ("op", "chip", "slice", "mesh"))
    if table["mfu_frac"].isna().any():
        figure.fail(f"{path}: {table['op'].iloc[0]} has no MFU; sweep the step of a transformer")
    first = table["time_s"].iloc[0]
    labels = [label(row, along) for _, row in table.iterrows()]
    canvas, (time, mfu) = plt.subplots(1, 2, figsize=(8.2, 3.3), layout="constrained")
    bars = time.bar(range(len(table)), table["time_s"] / first, 0.6, color=COLOUR["compute"])
    time.bar_label(bars, [f"{value:.3f}" for value in table["time_s"] / first], fontsize=8)
    time.set_ylabel(f"time of a step / {first:.3g} s")
    bars = mfu.bar(range(len(table)), 100 * table["mfu_frac"], 0.6, color=COLOUR["bidi-half"])
    mfu.bar_label(bars, [f"{100 * value:.1f}" for value in table["mfu_frac"]], fontsize=8)
    mfu.set_ylabel("MFU (%)")
    for axes in (time, mfu):
        axes.set_xticks(range(len(table)), labels, fontsize=8)
        axes.set_xlabel(LABELS[along])
        axes.grid(axis="x", visible=False)
        axes.margins(y=0.12)
    name = os.path.splitext(os.path.basename(table["op"].iloc[0]))[0]
    canvas.suptitle(f"{name} on {figure.one(table, 'chip', path)}", fontsize=9.5)
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 3))
