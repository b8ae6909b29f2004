#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated against measured time of published collectives, with the band of 20 % in which predictions must lie.

usage: simulated_measured.py VALIDATE.csv TARGET

VALIDATE.csv is written by
    icisim validate --published --csv ...
"""
import figure
from figure import plt

BAND = 0.20  # each prediction, as icisim validate judges it


def draw(path, target):
    table = figure.read(path, ("expected_s", "simulated_s", "difference_frac"), ("part", "what", "verdict", "kind"))
    table = table[(table["part"] == "published") & table["expected_s"].notna() & table["simulated_s"].notna()]
    if table.empty:
        figure.fail(f"{path}: no measurements in it; write it by icisim validate --published --csv")
    chips = table["what"].str.extract(r" on (\w+) ", expand=False).fillna("?")
    canvas, (against, error) = plt.subplots(1, 2, figsize=(9.4, 4.2))
    low, high = table["expected_s"].min() * 1e6 / 1.6, table["expected_s"].max() * 1e6 * 1.6
    against.plot([low, high], [low, high], color="black", linewidth=0.8, label="simulated = measured")
    against.fill_between([low, high], [low * (1 - BAND), high * (1 - BAND)], [low * (1 + BAND), high * (1 + BAND)],
                         color="#56B4E9", alpha=0.25, linewidth=0, label="within 20 %")
    error.axhspan(-100 * BAND, 100 * BAND, color="#56B4E9", alpha=0.25, linewidth=0)
    error.axhline(0, color="black", linewidth=0.8)
    known = sorted(chips.unique())
    colours = dict(zip(known, (colour for colour, _ in figure.looks(known))))
    kinds = table["kind"].where(table["verdict"] != "fitted", "fitted").replace("", "predicted")
    for (chip, kind), rows in table.groupby([chips, kinds]):
        measured = rows["expected_s"] * 1e6
        look = {"color": colours[chip], "linestyle": "none", "marker": "D" if kind == "transferred" else "o",
                "markersize": 6.5, "markerfacecolor": "none" if kind == "fitted" else colours[chip]}
        against.plot(measured, rows["simulated_s"] * 1e6, label=f"{chip}, {kind}", **look)
        error.plot(measured, 100 * rows["difference_frac"], **look)
    against.set_yscale("log")
    against.set_ylabel("simulated time (us)")
    error.set_ylabel("simulated / measured - 1 (%)")
    furthest = max(27, 110 * table["difference_frac"].abs().max())
    error.set_ylim(-furthest, furthest)
    for axes in (against, error):
        axes.set_xscale("log")
        axes.set_xlabel("measured time (us)")
        axes.set_xlim(low, high)
    against.set_ylim(low, high)
    against.legend(fontsize=8, loc="upper left")
    canvas.suptitle("Published measurements and the measured profiles", fontsize=11)
    canvas.tight_layout()
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 2))
