#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How busy each link of a slice was: chips as points, one arrow a link. Of a slice with three axes the first layers
along z are drawn side by side, without the links between them.

usage: link_map.py LINKS.csv TARGET TITLE

LINKS.csv is written by
    icisim run all-to-all --chip v5e --slice 8x8 --size 64MiB --links ...
"""
import figure
from figure import Normalize, ScalarMappable, plt

LAYERS = 4
ARROW = {"arrowstyle": "-|>", "shrinkA": 4, "shrinkB": 4, "mutation_scale": 8, "linewidth": 2}


def draw_link(axes, link, colour, xs, ys):
    """An arrow beside the one that comes back; a wrap leaves the picture on one side and comes in on the other."""
    step = 1 if link["direction"] == "+" else -1
    dx, dy = (step, 0) if link["axis"] == "x" else (0, step)
    x, y = link["x"], link.get("y", 0)
    aside = 0.09
    ax, ay = x + dy * aside, y - dx * aside
    wraps = (dx and not 0 <= x + dx < xs) or (dy and not 0 <= y + dy < ys)
    reach = 0.62 if wraps else 1
    axes.annotate("", (ax + dx * reach, ay + dy * reach), (ax, ay), arrowprops=dict(ARROW, color=colour))


def draw_layer(axes, links, colours, title):
    xs = int(links["x"].max()) + 1
    ys = int(links["y"].max()) + 1 if "y" in links else 1
    for _, link in links[links["axis"] != "z"].iterrows():
        draw_link(axes, link, colours.to_rgba(100 * link["link_frac"]), xs, ys)
    for _, chip in links.drop_duplicates("chip").iterrows():
        axes.plot(chip["x"], chip.get("y", 0), "o", color="#333333", markersize=4, zorder=3)
    axes.set_xlim(-0.8, xs - 0.2)
    axes.set_ylim(-0.8, ys - 0.2)
    axes.set_xticks(range(xs))
    axes.set_yticks(range(ys))
    axes.set_xlabel("x (chips)")
    axes.set_ylabel("y (chips)")
    axes.set_aspect("equal")
    axes.grid(False)
    axes.set_title(title)


def draw(path, target, title):
    links = figure.read(path, ("chip", "x", "link_frac"), ("axis", "direction"))
    for column in ("y", "z"):
        if column in links:
            links[column] = figure.pd.to_numeric(links[column], errors="coerce")
    if not set(links["axis"]) <= {"x", "y", "z"} or not set(links["direction"]) <= {"+", "-"}:
        figure.fail(f"{path}: axis must be x, y or z and direction + or -; write it by icisim run --links")
    layers = [0] if "z" not in links else sorted(links["z"].unique())[:LAYERS]
    highest = 100 * links["link_frac"].max()
    colours = ScalarMappable(Normalize(0, highest if highest > 0 else 1), "viridis_r")
    canvas, grid = plt.subplots(1, len(layers), figsize=(1.2 + 4.6 * len(layers), 4.4), squeeze=False)
    for axes, z in zip(grid[0], layers):
        of_layer = links if "z" not in links else links[links["z"] == z]
        busiest = 100 * of_layer["link_frac"].max()
        draw_layer(axes, of_layer, colours, f"{f'z = {z:g}: ' if 'z' in links else ''}busiest link {busiest:.1f} %")
    canvas.suptitle(figure.wrapped(title, 24 + 52 * len(layers)), fontsize=11)
    canvas.colorbar(colours, ax=list(grid[0]), label="share of a link's bandwidth in use (%)")
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 3))
