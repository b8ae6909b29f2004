#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A training step's time against the tokens of a chip, for the best three meshes; the MFU of each, and a chip's memory.

usage: step_tokens.py BEST.csv TARGET

BEST.csv is a transformer on some meshes, with several tokens a chip: what best_meshes.sh makes of a search. Of more than three
meshes those are drawn that take least for a token, with the most tokens that three of them have a time for.
"""
import os

import figure
from figure import MARKERS, PALETTE, plt

NUMBERS = ("time_s", "mfu_frac", "tokens_per_s", "memory_bytes", "chips")
MESHES = 3


def best(table, path):
    """The meshes with their rows, in the order of time for a token."""
    meshes = list(table.groupby(["slice", "mesh", "rings"], sort=False))
    for tokens in sorted(table["tokens"].unique(), reverse=True):
        there = [(rows.loc[rows["tokens"] == tokens, "time_s"].iloc[0], at)
                 for at, (_, rows) in enumerate(meshes) if (rows["tokens"] == tokens).any()]
        if len(there) >= min(MESHES, len(meshes)):
            return [meshes[at] for _, at in sorted(there)[:MESHES]]
    figure.fail(f"{path}: no number of tokens a chip is there for {min(MESHES, len(meshes))} meshes; sweep the same for all")


def draw(path, target):
    table = figure.read(path, NUMBERS, ("op", "chip", "slice", "mesh", "rings"))
    if table["mfu_frac"].isna().any():
        figure.fail(f"{path}: {table['op'].iloc[0]} has no MFU; sweep the step of a transformer")
    table["tokens"] = (table["tokens_per_s"] * table["time_s"] / table["chips"]).round().astype(int)
    table["peak_s"] = table["time_s"] * table["mfu_frac"]
    if table.duplicated(["slice", "mesh", "rings", "tokens"]).any():
        figure.fail(f"{path}: a mesh has a number of tokens twice; sweep each once")
    meshes = best(table, path)
    canvas, (time, mfu, memory) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    drawn = set()
    for at, ((shape, _, rings), rows) in enumerate(meshes):
        rows = rows.sort_values("tokens")
        used = ", ".join(part for part in rings.split(", ") if not part.endswith(("on one chip", " order"))) or rings
        look = {"color": PALETTE[at], "marker": MARKERS[at], "markersize": 5, "linewidth": 1.2}
        time.plot(rows["tokens"], rows["time_s"], label=figure.wrapped(f"{shape}: {used}", 60), **look)
        mfu.plot(rows["tokens"], 100 * rows["mfu_frac"], **look)
        memory.plot(rows["tokens"], rows["memory_bytes"] / 1e9, **look)
        drawn.update(rows["tokens"])
    ideal = table.drop_duplicates("tokens").sort_values("tokens")
    ideal = ideal[ideal["tokens"].isin(drawn)]
    time.plot(ideal["tokens"], ideal["peak_s"], ":", color="#555555", label="the model's operations at the peak")
    time.set_ylabel("time of a step (s)")
    mfu.set_ylabel("MFU (%)")
    mfu.set_ylim(0, 100)
    memory.set_ylabel("memory of a chip (GB)")
    memory.set_ylim(0, None)
    for axes in (time, mfu, memory):
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted(drawn), [f"{tokens:,}" for tokens in sorted(drawn)])
        axes.minorticks_off()
        axes.set_xlabel("tokens a chip")
    time.set_yscale("log", base=2)
    time.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    canvas.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncol=2, fontsize=8.5)
    name = os.path.splitext(os.path.basename(figure.one(table, "op", path)))[0]
    canvas.suptitle(f"{name} on {table['chips'].iloc[0]:.0f} chips of {figure.one(table, 'chip', path)}", fontsize=11)
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 2))
