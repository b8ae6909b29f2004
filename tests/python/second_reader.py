# SPDX-License-Identifier: GPL-3.0-or-later
"""Another reader of HLO text, which has nothing of icisim: what a program issues and multiplies, loops with their trips."""

import collections
import math
import re

COLLECTIVES = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute")
_LINE = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (\(.*?\)|[\w\[\],{}:()*]+) ([\w\-]+)\((.*)$")


def _computations(text):
    """Lines of each computation by its name; the entry's is ""."""
    found, name = {}, None
    for line in text.splitlines():
        head = re.match(r"^(ENTRY )?%?([\w.\-]+) .*\{\s*$", line)
        if head and not line.startswith(" "):
            name = "" if head[1] else head[2]
            found[name] = []
        elif name is not None and (match := _LINE.match(line)):
            found[name].append(match.groups() + (line,))
    return found


def _dims(shape):
    return [int(n) for n in re.search(r"\[([\d,]*)\]", shape)[1].split(",") if n]


def _called(line):
    names = re.findall(r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.\-]+)", line)
    lists = re.findall(r"(?:branch_computations|called_computations)=\{([^}]*)\}", line)
    return names + [name.strip(" %") for part in lists for name in part.split(",") if name.strip()]


def _dot_flops(shape, arguments, line, shapes):
    left = re.match(r"\s*(?:[\w\[\],{}:]+ )?%?([\w.\-]+)", arguments)[1]
    contracted = [int(n) for n in re.search(r"lhs_contracting_dims=\{([\d,]*)\}", line)[1].split(",") if n]
    return 2 * math.prod(_dims(shape)) * math.prod(_dims(shapes[left])[d] for d in contracted)


def count(text):
    """{kind: how many are issued}, operations of all products, and whether anything loops."""
    computations = _computations(text)
    issued, state = collections.Counter(), {"flops": 0, "loops": False}

    def visit(name, times):
        shapes = {instruction: shape for instruction, shape, *_ in computations[name]}
        for _, shape, opcode, arguments, line in computations[name]:
            kind = opcode.removesuffix("-start")
            if kind in COLLECTIVES:
                issued[kind] += times
                continue  # what it reduces with is no program
            if opcode == "dot":
                state["flops"] += times * _dot_flops(shape, arguments, line, shapes)
            trips = 1
            if opcode == "while":
                state["loops"] = True
                trips = int(re.search(r'known_trip_count"?[:=]\s*\{"?n"?[:=]"?(\d+)', line)[1])
            if opcode in ("while", "fusion", "call", "conditional", "custom-call", "async-start"):
                for called in _called(line):
                    visit(called, times * trips)

    visit("", 1)
    return dict(issued), state["flops"], state["loops"]
