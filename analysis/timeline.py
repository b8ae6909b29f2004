#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Schedules below each other, on one scale of time: what each chip computes, when it waits, its collectives and
what flows over its links.

usage: timeline.py TRACE.json [TRACE.json ...] TARGET [--chips 0,1]

A TRACE.json is what icisim writes:
    icisim run "int32[1024@X,2048@Y] . int32[2048,8192@Y] -> int32[1024@X,8192@Y]" --mesh X=2,Y=4 --device-order ring --chip v5e \\
        --profile measured --strategy naive --trace naive.json
Rows are those of the trace, but for its row of steps; the number in a box is the step. Of a model, the row on top says
which layer's operations stand below it, forward and backward. An arrow goes from a send to what waits for it, where both
are shown. TARGET.png and TARGET.svg are written.
"""
import argparse
import json
import re
from collections import defaultdict

import figure
from figure import COLOUR, plt

LAYER = re.compile(r" ((?:fwd|bwd) \S+?)(?:-done)?(?:\[\d+\])?$")  # at the end of a name, "dot.9 fwd 1"
KINDS = {  # what a box is: colour, name in the legend
    "layer": ("#FFFFFF", "layer"),
    "compute": (COLOUR["compute"], "compute"),
    "wait": (COLOUR["exposed"], "compute waits"),
    "async": ("#BBBBBB", "collective, from start to done"),
    "link": (COLOUR["bidi-half"], "bytes on a link"),
}


class Trace:
    """The events of one file by row; a row is (chip, name) and keeps the order of the trace."""

    def __init__(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
            self.about, events = document["otherData"], document["traceEvents"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = getattr(error, "strerror", None) or "is no trace"
            figure.fail(f"{path}: {reason}; write it by icisim run --trace")
        self.rows = {}  # (pid, tid): name
        self.boxes = defaultdict(list)  # (pid, tid): events
        ends = defaultdict(dict)
        for event in events:
            row = (event["pid"], event.get("tid", 0))
            if event["ph"] == "M" and event["name"] == "thread_name":
                self.rows[row] = event["args"]["name"]
            elif event["ph"] == "X":
                self.boxes[row].append(event)
            elif event["ph"] in "sf":
                ends[event["id"]][event["ph"]] = (row, event["ts"])
        self.name_layers()
        self.arrows = [(pair["s"], pair["f"]) for pair in ends.values()]
        self.end = max((e["ts"] + e["dur"] for row in self.boxes.values() for e in row), default=0)

    def name_layers(self):
        """A row of layers above the operations of each chip: from the first of a layer to the last before another."""
        rows = {}
        for row, name in self.rows.items():
            spans = []
            for event in sorted(self.boxes[row], key=lambda e: e["ts"]) if name == "XLA Ops" else []:
                layer = LAYER.search(event["name"])
                if not layer:
                    continue
                if not spans or spans[-1]["name"] != layer[1]:
                    spans.append({"name": layer[1], "ts": event["ts"], "cat": "layer", "args": {"step": layer[1]}})
                spans[-1]["dur"] = event["ts"] + event["dur"] - spans[-1]["ts"]
            if spans:
                rows[row[0], "layers"] = "Layers"
                self.boxes[row[0], "layers"] = spans
            rows[row] = name
        self.rows = rows

    def shown(self, chips):
        """Rows with something on them, chip by chip."""
        return [row for row, name in self.rows.items()
                if row[0] in chips and self.boxes[row] and not name.startswith("Steps")]

    def title(self):
        name = self.about.get("strategy") or self.about.get("ring") or self.about.get("op", "")
        return f"{name}: {self.end:.2f} us"


def kind_of(row_name, event):
    if row_name.startswith("ICI"):
        return "link"
    if row_name.startswith("Async"):
        return "async"
    return event["cat"]


def draw_row(axes, at, name, events, scale):
    for event in events:
        kind = kind_of(name, event)
        axes.barh(at, event["dur"], 0.72, left=event["ts"], color=KINDS[kind][0], edgecolor="black", linewidth=0.4)
        step = event["args"].get("step")
        # A letter needs about 0.006 of the width.
        if step is not None and event["dur"] > (0.004 + 0.006 * len(str(step))) * scale:
            axes.text(event["ts"] + event["dur"] / 2, at, step, ha="center", va="center", fontsize=7)


def draw_trace(axes, trace, chips, scale):
    rows = trace.shown(chips)
    place = {row: at for at, row in enumerate(rows)}
    for row in rows:
        draw_row(axes, place[row], trace.rows[row], trace.boxes[row], scale)
    for (start_row, start), (end_row, end) in trace.arrows:
        if start_row in place and end_row in place and start_row != end_row:
            axes.annotate("", xy=(end, place[end_row]), xytext=(start, place[start_row]),
                          arrowprops={"arrowstyle": "->", "linewidth": 0.7, "color": "#444444",
                                      "shrinkA": 0, "shrinkB": 0})
    for at in range(1, len(rows)):
        if rows[at][0] != rows[at - 1][0]:
            axes.axhline(at - 0.5, color="black", linewidth=0.6)
    axes.set_yticks(range(len(rows)), [f"TPU:{chip}  {trace.rows[chip, tid]}" for chip, tid in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_title(trace.title(), loc="left", fontsize=9.5)
    return {kind_of(trace.rows[row], event) for row in rows for event in trace.boxes[row]}


def draw(paths, target, chips):
    traces = [Trace(path) for path in paths]
    for path, trace in zip(paths, traces):
        for chip in chips:
            if not trace.shown([chip]):
                known = sorted({pid for pid, _ in trace.rows if trace.shown([pid])})
                figure.fail(f"{path}: shows nothing of chip {chip}; it has {', '.join(map(str, known)) or 'none'}")
    heights = [max(1, len(trace.shown(chips))) for trace in traces]
    canvas, all_axes = plt.subplots(len(traces), 1, sharex=True, squeeze=False, layout="constrained",
                                    figsize=(10, 1.1 + sum(0.5 + 0.27 * h for h in heights)),
                                    gridspec_kw={"height_ratios": heights})
    scale = max(trace.end for trace in traces)
    kinds = set()
    for axes, trace in zip(all_axes[:, 0], traces):
        kinds |= draw_trace(axes, trace, chips, scale)
    all_axes[-1, 0].set_xlabel("time (us)")
    all_axes[-1, 0].set_xlim(0, scale * 1.01)
    about = traces[0].about
    place = (f"{about.get('chip', '')} {about.get('slice', '')}, mesh {about.get('mesh', '')}, "
             f"{about.get('profile', '')} profile")
    canvas.suptitle("\n".join(map(figure.wrapped, (about.get("op", ""), place))), fontsize=9.5)
    boxes = [plt.Rectangle((0, 0), 1, 1, facecolor=colour, edgecolor="black", linewidth=0.4, label=label)
             for kind, (colour, label) in KINDS.items() if kind in kinds]
    below = 0.45 / (0.27 * heights[-1])  # inches below the last axes, as a part of their height
    all_axes[-1, 0].legend(handles=boxes, loc="upper center", bbox_to_anchor=(0.5, -below), ncol=len(boxes),
                           fontsize=8.5)
    figure.save(canvas, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="+", metavar="TRACE.json")
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument("--chips", default="0", help="chips to show, 0,1 (default: 0)")
    given = parser.parse_args()
    if not all(chip.isdigit() for chip in given.chips.split(",")):
        figure.fail(f"--chips '{given.chips}': write numbers, such as 0,1")
    draw(given.trace, given.target, [int(chip) for chip in given.chips.split(",")])


if __name__ == "__main__":
    main()
