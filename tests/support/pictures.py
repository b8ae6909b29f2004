# SPDX-License-Identifier: GPL-3.0-or-later
"""What pictures.sh checks inside one Python, which starts slowly: refusals, names of series, labels within the frame.

usage: pictures.py ANALYSIS, in a folder with the files that pictures.sh has made.
"""
import contextlib
import importlib
import io
import os
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
failed = 0

for name, text in (("empty.csv", b""), ("header.csv", b"op,chip\n"), ("binary.csv", b"\x00\xff\xfe"),
                   ("ragged.csv", b"a,b\n1,2,3,4\n"), ("no-trace.json", b'{"traceEvents": []}')):
    with open(name, "wb") as file:
        file.write(text)


def complain(message):
    global failed
    failed = 1
    print(message)


def refused(says, script, *arguments):
    """One line that says the fault, exit status 2, no picture."""
    module, err, status = importlib.import_module(script), io.StringIO(), 0
    with contextlib.redirect_stderr(err):
        try:
            module.draw(*arguments)
        except SystemExit as end:
            status = end.code
    said = err.getvalue()
    if status != 2 or said.count("\n") != 1 or says not in said or os.path.exists("picture.png"):
        complain(f"{script} {arguments}: exit {status}, must say '{says}', says: {said}")


for script in ("latency_bandwidth", "overlap_bars", "shape_heatmap", "simulated_measured"):
    refused("missing.csv: No such file", script, "missing.csv", "picture")
    refused("empty.csv: No columns", script, "empty.csv", "picture")
    refused("header.csv: has no column", script, "header.csv", "picture")
    refused("binary.csv: ", script, "binary.csv", "picture")
    refused("ragged.csv: ", script, "ragged.csv", "picture")
refused("all-reduce computes nothing", "overlap_bars", "reduce.csv", "picture")
refused("time_s has cells that are no numbers", "latency_bandwidth", "soon.csv", "picture")
refused("has a size twice", "latency_bandwidth", "twice.csv", "picture")
refused("size_bytes has several values", "shape_heatmap", "reduce.csv", "picture")
refused("'x=4,y=4,z=4' has no two axes", "shape_heatmap", "cube.csv", "picture")
refused("the column spent of all-reduce is empty", "waterfall", "reduce.csv", "picture")
refused("has no column slice", "waterfall", "header.csv", "picture")
refused("all-reduce has no MFU", "step_ratios", "reduce.csv", "picture", "chips")
refused("'size': write chips, tokens or mesh", "step_ratios", "reduce.csv", "picture", "size")
refused("all-reduce has no MFU", "step_tokens", "meshes-none.csv", "picture")
refused("has no column slice", "step_tokens", "header.csv", "picture")
refused("a mesh has a number of tokens twice", "step_tokens", "meshes-twice.csv", "picture")
refused("no number of tokens a chip is there for 3 meshes", "step_tokens", "meshes-apart.csv", "picture")
refused("has no column part", "simulated_measured", "reduce.csv", "picture")
refused("has no column axis", "link_map", "header.csv", "picture", "title")
refused("has no column axis", "link_map", "to-all.csv", "picture", "title")
refused("no-trace.json: is no trace", "timeline", ["no-trace.json"], "picture", [0])
refused("reduce.csv: is no trace", "timeline", ["reduce.csv"], "picture", [0])
refused("missing.json: No such file", "timeline", ["missing.json"], "picture", [0])
refused("shows nothing of chip 7; it has 0, 1, 2, 3", "timeline", ["trace.json"], "picture", [7])
refused("name a place that can be written", "latency_bandwidth", "reduce.csv", "trace.json/picture")

# What is drawn, instead of being saved.
figure = importlib.import_module("figure")
drawn = []
figure.save = lambda canvas, target: drawn.append(canvas)


def texts_of(script, *arguments):
    importlib.import_module(script).draw(*arguments)
    canvas = drawn.pop()
    canvas.draw_without_rendering()
    return canvas


canvas = texts_of("latency_bandwidth", "to-all.csv", "unused")
labels = [text.get_text() for text in canvas.legends[0].get_texts()]
wanted = [f"{shape} {how}, simulated" for shape in ("4x4", "8x8") for how in ("direct", "ring bidi")]
if sorted(labels) != sorted(wanted):
    complain(f"series are named {labels}")
if canvas._suptitle.get_text() != "all-to-all on v5e, axes x,y":
    complain(f"the title is {canvas._suptitle.get_text()}")

canvas = texts_of("overlap_bars", "block.csv", "unused")
axes = canvas.axes[0]
labels = [label.get_text() for label in axes.get_yticklabels()]
if labels != ["v5e naive", "v5e bidi-half", "v6e naive", "v6e bidi-half"]:
    complain(f"bars are named {labels}")
for text in axes.texts:
    if text.get_window_extent().x1 > axes.get_window_extent().x1:
        complain(f"'{text.get_text()}' runs out of the frame")
heading = canvas._suptitle.get_window_extent()
if heading.x0 < 0 or heading.x1 > canvas.bbox.x1:
    complain("the title runs out of the picture")
if len(axes.texts) != 4 or "as fast as naive" not in axes.texts[1].get_text():
    complain("bars have no texts")
# Four meshes of llama-8b in meshes.csv: the slowest with the most tokens that three have is left out.
canvas = texts_of("step_tokens", "meshes.csv", "unused")
labels = [text.get_text() for text in canvas.legends[0].get_texts()]
wanted = ["2x2x4: fsdp on x*y*z", "2x2x4: dp on x*z, tp on y", "2x2x4: tp on z, fsdp on x*y", "the model's operations at the peak"]
if labels != wanted:
    complain(f"meshes are named {labels}")
time, mfu, memory = canvas.axes
if [len(line.get_xdata()) for line in time.lines] != [2, 2, 2, 2] or list(time.lines[0].get_xdata()) != [4096, 8192]:
    complain("points of meshes are not drawn at their tokens")
if any(len(panel.lines) != 3 for panel in (mfu, memory)) or min(memory.lines[1].get_ydata()) < 20:
    complain("MFU and memory are not drawn for each mesh")
if not all(peak < own for line in time.lines[:3] for peak, own in zip(time.lines[3].get_ydata(), line.get_ydata())):
    complain("a step takes less than its operations at the peak")
sys.exit(failed)
