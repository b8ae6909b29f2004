#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time and algorithm bandwidth against size, a curve for each ring, the closed forms as lines.

usage: latency_bandwidth.py SWEEP.csv TARGET

SWEEP.csv is one collective on one slice over sizes and rings:
    icisim sweep all-gather --chip v5e --slice 16x16 --axis x --size 4KiB:1GiB:x2 --ring uni,bidi,bidi-half --csv ...
"""
import figure
from figure import COLOUR, MARKER, plt


def draw(path, target):
    table = figure.read(path)
    canvas, (time, bandwidth) = plt.subplots(1, 2, figsize=(9, 3.8))
    for ring, rows in table.groupby("ring", sort=False):
        rows = rows.sort_values("size_bytes")
        sizes = rows["size_bytes"]
        look = {"color": COLOUR[ring], "marker": MARKER[ring], "linestyle": "none", "markersize": 5}
        time.plot(sizes, rows["time_s"] * 1e6, label=f"{ring}, simulated", **look)
        bandwidth.plot(sizes, rows["algbw_Bps"] / 1e9, **look)
        formula = rows["formula_exact_s"]
        if formula.notna().all():
            time.plot(sizes, formula * 1e6, color=COLOUR[ring], linewidth=1, label=f"{ring}, closed form")
            bandwidth.plot(sizes, sizes / formula / 1e9, color=COLOUR[ring], linewidth=1)
    for axes in (time, bandwidth):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        low, high = table["size_bytes"].min(), table["size_bytes"].max()
        ticks = [2**k for k in range(0, 50, 4) if low <= 2**k <= high]
        axes.set_xticks(ticks, [figure.size_text(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("size of the whole array")
    time.set_ylabel("time (us)")
    bandwidth.set_ylabel("algorithm bandwidth (GB/s)")
    time.legend(fontsize=8.5)
    canvas.suptitle(f"{figure.one(table, 'op', path)} on {figure.place_text(table, path)}", fontsize=11)
    canvas.tight_layout()
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 2))
