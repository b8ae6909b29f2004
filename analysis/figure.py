# SPDX-License-Identifier: GPL-3.0-or-later
"""What all plots share: the right interpreter, the look, saving as PNG and SVG.

A script of this folder reads CSV that icisim wrote and draws one picture; nothing here computes a time.
"""
import os
import sys
import textwrap

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


# What names a row of a sweep: columns that differ name a series, the others stand in the title.
NAMES = ("op", "chip", "profile", "slice", "wrap", "mesh", "axes", "dtype", "size_bytes", "engine", "varied", "strategy",
         "ring")
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("s", "o", "^", "D", "v", "P", "X")


def fail(message):
    """One line for whoever called, as icisim itself says it."""
    print(f"{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr)
    sys.exit(2)


def read(path, numbers=(), texts=()):
    """The rows of a CSV that have numbers; a sweep's `status` says which do. Columns that are needed are named."""
    try:
        table = pd.read_csv(path, comment="#", dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:  # pandas' errors of parsing and of decoding are ValueErrors
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        fail(f"{path}: {reason}; give a CSV that icisim wrote")
    missing = [column for column in (*texts, *numbers) if column not in table]
    if missing:
        fail(f"{path}: has no column {missing[0]}; is it what the script's first lines ask for?")
    if "status" in table:
        for _, row in table[table["status"] != "ok"].iterrows():
            print(f"{path}: left out: {row['status']}", file=sys.stderr)
        table = table[table["status"] == "ok"].copy()
    for column in numbers:
        table[column] = pd.to_numeric(table[column].replace("", "nan"), errors="coerce")
        if column in NUMBERS_NEEDED and table[column].isna().any():
            fail(f"{path}: column {column} has cells that are no numbers; every row needs one")
    if table.empty:
        fail(f"{path}: no rows to draw")
    return table


# Without these a row cannot be drawn at all; of others there may be none.
NUMBERS_NEEDED = ("size_bytes", "time_s", "link_frac", "exposed_comm_s", "comm_s")


def one(table, column, path):
    """The only value of a column, for titles; a picture of several would mix them up."""
    values = [value for value in table[column].unique() if value not in ("", None)]
    if len(values) > 1:
        fail(f"{path}: {column} has several values ({', '.join(map(str, values[:4]))}); sweep one")
    return values[0] if values else ""


def series(table, path, apart=()):
    """Rows by what differs between them, but for columns that are drawn along an axis: a list of (label, rows)."""
    known = [column for column in NAMES if column in table and column not in apart]
    differ = [column for column in known if table[column].nunique() > 1]
    # what follows from another column does not name anything twice: the mesh x=4,y=4 of the slice 4x4
    for column in ("wrap", "mesh", "axes", "dtype", "engine"):
        rest = [other for other in differ if other != column]
        if column in differ and rest and (table.groupby(rest)[column].nunique() == 1).all():
            differ = rest
    if not differ:
        return [("", table)]
    groups = []
    for values, rows in table.groupby(differ if len(differ) > 1 else differ[0], sort=False):
        values = values if isinstance(values, tuple) else (values,)
        words = [f"{size_text(value)}" if column == "size_bytes" else str(value)
                 for column, value in zip(differ, values) if value != ""]
        groups.append((" ".join(words) or "without", rows))
    if len(groups) > len(PALETTE) * len(MARKERS):
        fail(f"{path}: {len(groups)} series are more than a picture shows; sweep fewer {', '.join(differ)}")
    return groups


def looks(labels):
    """Colour and marker of each series: a ring alone has its own, others go through the palette."""
    if all(label in COLOUR and label in MARKER for label in labels):
        return [(COLOUR[label], MARKER[label]) for label in labels]
    count = len(PALETTE)
    return [(PALETTE[i % count], MARKERS[(i + i // count) % len(MARKERS)]) for i in range(len(labels))]


def title(table, skip=(), width=96):
    """What all rows have in common: all-gather of 64 MiB on v5e 16x16, axis x, measured profile."""
    def common(column):
        values = table[column].unique() if column in table and column not in skip else []
        return str(values[0]) if len(values) == 1 else ""

    axes, size = common("axes"), common("size_bytes")
    words = [common("op"), f"of {size_text(float(size))}" if size not in ("", "nan") else "",
             f"on {common('chip')}" if common("chip") else "", common("slice")]
    text = " ".join(word for word in words if word)
    more = [f"mesh {common('mesh')}" if "[" in common("op") else "",
            f"ax{'e' if ',' in axes else 'i'}s {axes}" if axes and "[" not in common("op") else "", common("varied"),
            common("strategy"), common("ring"), f"{common('profile')} profile" if common("profile") == "measured" else ""]
    return wrapped(", ".join([text] + [word for word in more if word]), width)


def wrapped(text, width=96):
    """In lines that a picture is wide enough for."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=True))


def keep_inside(axes, texts):
    """Widens the x axis until texts that were put beside points or bars end within the frame."""
    for _ in range(4):
        axes.figure.draw_without_rendering()
        frame = axes.get_window_extent()
        right = max((text.get_window_extent().x1 for text in texts), default=0)
        if right <= frame.x1:
            return
        low, high = axes.get_xlim()
        axes.set_xlim(low, low + (high - low) * (right - frame.x0 + 6) / frame.width)


def size_text(size_bytes):
    """64 MiB, as --size reads it but for the blank."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size_bytes >= 2**power:
            return f"{size_bytes / 2**power:g} {unit}"
    return f"{size_bytes:g} B"


def save(figure, target):
    """Writes TARGET.png and TARGET.svg."""
    base = target[:-4] if target.endswith((".png", ".svg")) else target
    try:
        os.makedirs(os.path.dirname(base) or ".", exist_ok=True)
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            figure.savefig(f"{base}.{kind}", bbox_inches="tight", metadata=metadata)
    except OSError as error:
        fail(f"{target}: {error.strerror}; name a place that can be written")
    print(f"{base}.png", file=sys.stderr)
    plt.close(figure)


def arguments(doc, count):
    """The command line, or the usage from a script's docstring."""
    if len(sys.argv) != count + 1:
        sys.exit(doc.strip())
    return sys.argv[1:]
