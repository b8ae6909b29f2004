# SPDX-License-Identifier: GPL-3.0-or-later
"""What all plots share: the right interpreter, the look, saving as PNG and SVG.

A script of this folder reads CSV that icisim wrote and draws one picture; nothing here computes a time.
"""
import os
import sys

DEBIAN_PYTHON = "/usr/bin/python3"


def _import_or_switch():
    """matplotlib and pandas are Debian's. Another python3 that stands first in PATH has none: then Debian's runs
    the script again."""
    try:
        import matplotlib
        import pandas  # noqa: F401
    except ImportError as error:
        here = os.path.realpath(sys.executable)
        if here != os.path.realpath(DEBIAN_PYTHON) and os.path.exists(DEBIAN_PYTHON):
            os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON] + sys.argv)
        sys.exit(f"{sys.argv[0]}: {error}; install python3-matplotlib and python3-pandas")
    matplotlib.use("Agg")


_import_or_switch()

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402,F401
import pandas as pd  # noqa: E402
from matplotlib.cm import ScalarMappable  # noqa: E402,F401
from matplotlib.colors import Normalize  # noqa: E402,F401

# Colours that differ in brightness, too (Okabe and Ito's), so that they survive grey print.
COLOUR = {
    "uni": "#D55E00",
    "bidi": "#0072B2",
    "bidi-half": "#009E73",
    "compute": "#56B4E9",
    "hidden": "#CCCCCC",
    "exposed": "#D55E00",
    "measured": "#000000",
}
MARKER = {"uni": "o", "bidi": "s", "bidi-half": "^"}

plt.rcParams.update({
    "figure.dpi": 100,
    "savefig.dpi": float(os.environ.get("ICISIM_PLOT_DPI", 150)),
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "icisim",  # equal input, equal bytes
})


def read(path):
    """The rows of a CSV that have numbers; a sweep's `status` says which do."""
    table = pd.read_csv(path, comment="#")
    if "status" in table:
        for _, row in table[table["status"] != "ok"].iterrows():
            print(f"{path}: left out: {row['status']}", file=sys.stderr)
        table = table[table["status"] == "ok"]
    if table.empty:
        sys.exit(f"{path}: no rows to draw")
    return table


def one(table, column, path):
    """The only value of a column, for titles; a picture of several would mix them up."""
    values = table[column].dropna().unique()
    if len(values) > 1:
        sys.exit(f"{path}: {column} has several values ({', '.join(map(str, values))}); sweep one")
    return values[0] if len(values) else ""


def size_text(size_bytes):
    """64 MiB, as --size reads it but for the blank."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size_bytes >= 2**power:
            return f"{size_bytes / 2**power:g} {unit}"
    return f"{size_bytes:g} B"


def place_text(table, path):
    """v5e 16x16, axis x."""
    axes = one(table, "axes", path)
    return f"{one(table, 'chip', path)} {one(table, 'slice', path)}, ax{'e' if ',' in axes else 'i'}s {axes}"


def save(figure, target):
    """Writes TARGET.png and TARGET.svg."""
    base = target[:-4] if target.endswith((".png", ".svg")) else target
    os.makedirs(os.path.dirname(base) or ".", exist_ok=True)
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        figure.savefig(f"{base}.{kind}", bbox_inches="tight", metadata=metadata)
    print(f"{base}.png", file=sys.stderr)
    plt.close(figure)


def arguments(doc, count):
    """The command line, or the usage from a script's docstring."""
    if len(sys.argv) != count + 1:
        sys.exit(doc.strip())
    return sys.argv[1:]
