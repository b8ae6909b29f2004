#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time and algorithm bandwidth against size, a curve for each ring, algorithm or slice, the closed forms as lines.

usage: latency_bandwidth.py SWEEP.csv TARGET

SWEEP.csv is a collective over sizes, and whatever is to be compared:
    icisim sweep all-gather --chip v5e --slice 16x16 --axis x --size 4KiB:1GiB:x2 --ring uni,bidi,bidi-half --csv ...
"""
import figure
from figure import plt

NUMBERS = ("size_bytes", "time_s", "algbw_Bps", "formula_exact_s")


def draw_series(time, bandwidth, label, rows, look):
    rows = rows.sort_values("size_bytes")
    colour, marker = look
    known = rows[rows["formula_exact_s"].notna()]
    line = "none" if len(known) else ":"
    points = {"color": colour, "marker": marker, "linestyle": line, "linewidth": 1, "markersize": 5}
    time.plot(rows["size_bytes"], rows["time_s"] * 1e6, label=f"{label}, simulated".lstrip(", "), **points)
    bandwidth.plot(rows["size_bytes"], rows["algbw_Bps"] / 1e9, **points)
    if len(known):
        # algbw is data over time, and what it counts as data depends on the collective
        ratio = known["time_s"] / known["formula_exact_s"]
        time.plot(known["size_bytes"], known["formula_exact_s"] * 1e6, color=colour, linewidth=1,
                  label=f"{label}, closed form".lstrip(", "))
        bandwidth.plot(known["size_bytes"], known["algbw_Bps"] * ratio / 1e9, color=colour, linewidth=1)


def size_ticks(sizes):
    """Powers of two that are not too near each other; of few sizes all."""
    ticks = [2**k for k in range(0, 50, 4) if sizes.min() <= 2**k <= sizes.max()]
    return ticks if len(ticks) > 1 else sorted(sizes.unique())[:6]


def draw(path, target):
    table = figure.read(path, NUMBERS, ("op", "chip", "slice", "axes", "ring", "strategy"))
    groups = figure.series(table, path, apart=("size_bytes", "engine"))
    for label, rows in groups:
        if rows["size_bytes"].duplicated().any():
            figure.fail(f"{path}: {label or 'the series'} has a size twice; sweep each once")
    canvas, (time, bandwidth) = plt.subplots(1, 2, figsize=(9, 3.9 + 0.12 * len(groups)), layout="constrained")
    for (label, rows), look in zip(groups, figure.looks([label for label, _ in groups])):
        draw_series(time, bandwidth, label, rows, look)
    for axes in (time, bandwidth):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        ticks = size_ticks(table["size_bytes"])
        axes.set_xticks(ticks, [figure.size_text(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("size")
    time.set_ylabel("time (us)")
    bandwidth.set_ylabel("algorithm bandwidth (GB/s)")
    canvas.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncol=3, fontsize=8.5)
    canvas.suptitle(figure.title(table, skip=("size_bytes",)), fontsize=11)
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 2))
