#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the draws of a routing are spread: the time of the exchange of tokens, and the imbalance of the chips, as histograms.

usage: draw_histogram.py DRAWS.csv TARGET TITLE

DRAWS.csv has a row for each draw:
    icisim run workloads/moe-zipf.yaml --draws 1000 --csv DRAWS.csv
"""
import figure
from figure import np, plt

NUMBERS = ("time_s", "imbalance")
BINS = 30


def draw_one(axes, values, label):
    axes.hist(values, bins=min(BINS, max(5, len(values) // 10)), color=figure.COLOUR["bidi"])
    low, middle, high = np.percentile(values, (5, 50, 95))
    for at, name in ((low, "5 %"), (middle, "50 %"), (high, "95 %")):
        axes.axvline(at, color=figure.COLOUR["measured"], linestyle=":", linewidth=1)
        axes.annotate(name, (at, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=8)
    axes.set_xlabel(label)
    axes.set_ylabel("draws")


def draw(path, target, title):
    table = figure.read(path, NUMBERS)
    canvas, (time, imbalance) = plt.subplots(1, 2, figsize=(8.2, 3.4), layout="constrained")
    draw_one(time, table["time_s"] * 1e6, "time of the exchange (us)")
    draw_one(imbalance, table["imbalance"], "rows of the busiest chip / mean")
    canvas.suptitle(f"{title}: {len(table)} draws", fontsize=9.5)
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 3))
