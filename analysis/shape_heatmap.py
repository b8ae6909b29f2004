#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Heat map of the time of one collective or matmul over mesh shapes with two axes.

usage: shape_heatmap.py SWEEP.csv TARGET

SWEEP.csv has one row a shape:
    icisim sweep all-reduce --chip v5e --slice 2x2,2x4,4x4,4x8,8x8,8x16,16x16 --size 64MiB --csv ...
"""
import figure
from figure import np, plt


def lengths(mesh, path):
    """"x=4,y=8" is (4, 8)."""
    parts = [axis.split("=") for axis in mesh.split(",")]
    if len(parts) != 2 or not all(len(part) == 2 and part[1].isdigit() for part in parts):
        figure.fail(f"{path}: mesh '{mesh}' has no two axes, such as x=4,y=8; sweep meshes of two")
    return tuple(int(part[1]) for part in parts)


def draw(path, target):
    table = figure.read(path, ("time_s",), ("op", "mesh"))
    shapes = table["mesh"].map(lambda mesh: lengths(mesh, path))
    for column in ("op", "chip", "profile", "dtype", "size_bytes", "varied", "strategy", "ring"):
        if column in table:
            figure.one(table, column, path)
    if table["mesh"].duplicated().any():
        again = table["mesh"][table["mesh"].duplicated()].iloc[0]
        figure.fail(f"{path}: mesh {again} has several rows; sweep one slice, wrap and axis for each")
    names = [axis.split("=")[0] for axis in table["mesh"].iloc[0].split(",")]
    rows, columns = sorted({s[0] for s in shapes}), sorted({s[1] for s in shapes})
    grid = np.full((len(rows), len(columns)), np.nan)
    for (first, second), time_s in zip(shapes, table["time_s"]):
        grid[rows.index(first), columns.index(second)] = time_s * 1e6
    canvas, axes = plt.subplots(figsize=(1.6 + 0.8 * len(columns), 1.4 + 0.62 * len(rows)))
    image = axes.imshow(grid, cmap="cividis", norm="log", origin="lower", aspect="auto")
    middle = np.sqrt(np.nanmin(grid) * np.nanmax(grid))
    for i, j in np.ndindex(grid.shape):
        if not np.isnan(grid[i, j]):
            colour = "white" if grid[i, j] < middle else "black"
            axes.text(j, i, f"{grid[i, j]:.4g}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel(f"chips along {names[1]}")
    axes.set_ylabel(f"chips along {names[0]}")
    axes.grid(False)
    bar = canvas.colorbar(image, label="time (us)")
    for ticks in (bar.ax.yaxis.set_major_formatter, bar.ax.yaxis.set_minor_formatter):
        ticks("{x:.0f}")
    axes.set_title(figure.wrapped(figure.title(table, skip=("axes",)), max(40, 12 * len(columns))), fontsize=10)
    figure.save(canvas, target)


if __name__ == "__main__":
    draw(*figure.arguments(__doc__, 2))
