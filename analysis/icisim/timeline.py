# SPDX-License-Identifier: GPL-3.0-or-later
"""A trace as a picture for notebooks: the rows of the chip that ends last, as SVG."""

from __future__ import annotations

import html
import json
from typing import Any

_LEFT, _WIDTH, _ROW, _ROWS, _SPANS = 140, 760, 18, 12, 1500
_COLOURS = {"compute": "#4c78a8", "comm": "#f58518", "wait": "#c8c8c8", "": "#72b7b2"}


def svg(trace: str) -> str:
    """The chip of a trace that ends last. Of more spans than a picture can show, the longest."""
    events = json.loads(trace)["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    if not spans:
        return ""
    last = max(spans, key=lambda span: span["ts"] + span["dur"])
    chip, end = last["pid"], last["ts"] + last["dur"]
    names = {event["tid"]: event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] == "thread_name" and event["pid"] == chip}
    rows = sorted(names)[:_ROWS]
    own = [span for span in spans if span["pid"] == chip and span["tid"] in rows]
    own = sorted(own, key=lambda span: -span["dur"])[:_SPANS]
    drawn = "".join(_label(names[tid], row) for row, tid in enumerate(rows))
    drawn += "".join(_box(span, rows.index(span["tid"]), end) for span in own)
    height = _ROW * (len(rows) + 1)
    axis = f'<text x="{_LEFT}" y="{height - 4}">0</text><text x="{_LEFT + _WIDTH}" y="{height - 4}" text-anchor="end">{end:.6g} us</text>'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH}" height="{height}" font-size="11" '
            f'font-family="sans-serif">{drawn}{axis}</svg>')


def _label(name: str, row: int) -> str:
    return f'<text x="{_LEFT - 6}" y="{_ROW * row + 13}" text-anchor="end">{html.escape(name)}</text>'


def _box(span: dict[str, Any], row: int, end: float) -> str:
    x, width = _LEFT + _WIDTH * span["ts"] / end, max(0.4, _WIDTH * span["dur"] / end)
    colour = _COLOURS.get(span.get("cat", ""), _COLOURS[""])
    says = f'{span["name"]}: {span["dur"]:.6g} us'
    return (f'<rect x="{x:.2f}" y="{_ROW * row + 2}" width="{width:.2f}" height="{_ROW - 4}" fill="{colour}" '
            f'stroke="#fff" stroke-width="0.3"><title>{html.escape(says)}</title></rect>')
