#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of a sharded matmul goes, a pair of bars for each strategy: compute and what is exposed of the
communication make the total; what hides runs beside the compute.

usage: overlap_bars.py SWEEP.csv TARGET

SWEEP.csv is one matmul, all strategies:
    icisim sweep "int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]" --mesh X=2,Y=4 \\
        --chip v5e --profile measured --strategy naive,uni,bidi,bidi-half --csv ...
"""
import figure
from figure import COLOUR, plt


def draw(path, target):
    table = figure.read(path)
    height = 1.6 + 0.7 * len(table)
    canvas, axes = plt.subplots(figsize=(8.2, height))
    for at, (_, row) in enumerate(table.iterrows()):
        exposed, total = row["exposed_comm_s"] * 1e6, row["time_s"] * 1e6
        compute = total - exposed  # busy, launch overheads included
        hidden = max(0, row["comm_s"] * 1e6 - exposed)
        name = (lambda text: text) if at == 0 else (lambda text: None)
        axes.barh(at, compute, 0.4, color=COLOUR["compute"], label=name("compute"))
        axes.barh(at, exposed, 0.4, left=compute, color=COLOUR["exposed"], label=name("communication, exposed"))
        axes.barh(at - 0.31, hidden, 0.18, color=COLOUR["hidden"], hatch="////", edgecolor="#888888", linewidth=0,
                  label=name("communication, hidden behind compute"))
        compared = row["strategy"] != "naive" and row["speedup"] == row["speedup"]
        speedup = f", {row['speedup']:.2f} times as fast as naive" if compared else ""
        axes.text(total, at, f"  {total:.1f} us{speedup}", va="center", fontsize=9)
    axes.set_yticks(range(len(table)), table["strategy"])
    axes.invert_yaxis()
    axes.set_xlim(0, table["time_s"].max() * 1e6 * 1.25)
    axes.set_xlabel("time on the critical chip (us)")
    axes.grid(axis="y", visible=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.55 / (height - 1)), ncol=3, fontsize=9)
    axes.set_title(f"{figure.one(table, 'op', path)}\n{figure.one(table, 'chip', path)} "
                   f"{figure.one(table, 'slice', path)}, mesh {figure.one(table, 'mesh', path)}", fontsize=9.5)
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 2))
