#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of a sharded matmul goes, a pair of bars for each strategy: compute and what is exposed of the
communication make the total; what hides runs beside the compute.

usage: overlap_bars.py SWEEP.csv TARGET

SWEEP.csv is one matmul or several, all strategies:
    icisim sweep "int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]" --mesh X=2,Y=4 --device-order ring \\
        --chip v5e --profile measured --strategy naive,uni,bidi,bidi-half --csv ...
"""
import figure
from figure import COLOUR, plt

NUMBERS = ("time_s", "compute_s", "comm_s", "exposed_comm_s", "speedup")


def draw_bars(axes, at, row):
    """Returns the text beside the bars."""
    exposed, total = row["exposed_comm_s"] * 1e6, row["time_s"] * 1e6
    compute = total - exposed  # busy, launch overheads included
    hidden = max(0, row["comm_s"] * 1e6 - exposed)
    name = (lambda text: text) if at == 0 else (lambda text: None)
    axes.barh(at, compute, 0.4, color=COLOUR["compute"], label=name("compute"))
    axes.barh(at, exposed, 0.4, left=compute, color=COLOUR["exposed"], label=name("communication, exposed"))
    axes.barh(at - 0.31, hidden, 0.18, color=COLOUR["hidden"], hatch="////", edgecolor="#888888", linewidth=0,
              label=name("communication, hidden by compute"))
    compared = row["strategy"] != "naive" and row["speedup"] == row["speedup"]
    speedup = f", {row['speedup']:.2f} times as fast as naive" if compared else ""
    return axes.text(total, at, f"  {total:.1f} us{speedup}", va="center", fontsize=9)


def draw(path, target):
    table = figure.read(path, NUMBERS, ("op", "strategy"))
    if not (table["compute_s"] > 0).all():
        figure.fail(f"{path}: {table['op'].iloc[0]} computes nothing; sweep a matmul, such as 'bf16[...] . bf16[...]'")
    groups = figure.series(table, path, apart=("engine", "ring"))
    height = 1.6 + 0.7 * len(table)
    canvas, axes = plt.subplots(figsize=(8.2, height), layout="constrained")
    texts, labels = [], []
    for label, rows in groups:
        for _, row in rows.iterrows():
            texts.append(draw_bars(axes, len(texts), row))
            labels.append(label or row["strategy"])
    axes.set_yticks(range(len(labels)), [figure.wrapped(label, 40) for label in labels])
    axes.invert_yaxis()
    axes.set_xlabel("time on the critical chip (us)")
    axes.grid(axis="y", visible=False)
    canvas.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncol=3, fontsize=9)
    canvas.suptitle(figure.title(table, skip=("ring",), width=84), fontsize=9.5)
    figure.keep_inside(axes, texts)
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 2))
