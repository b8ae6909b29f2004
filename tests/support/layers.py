#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds the folders of src/ against the ordered table in src/README.md: layers.py SRC BUILD [LIZARD]

A row of the table is a folder: `name/`, and what it does. A folder may use only folders above it, by includes and by symbols;
a header that says "Private to NAME/." is included there only, and one that nobody else includes says so; a file name stands in
one folder only. There are at most 16 folders of at most 32 sources; in a folder at most three concepts (a header with its
source) include each other in a circle. LIZARD, a program that measures functions, says how long they are: nine in ten have
at most 24 lines, none more than 60, and none has more than 6 parameters. Prints each fault on a line and exits with 1 if
there are any.
"""
import collections
import csv
import glob
import os
import re
import subprocess
import sys


FOLDERS_MOST, SOURCES_MOST, CIRCLE_MOST = 16, 32, 3
NINE_IN_TEN_LINES, LINES_MOST, PARAMETERS_MOST = 24, 60, 6


def read_table(path):
    """The folders in the order of the table."""
    return re.findall(r"^\| `(\w+)/` \|[^|]*\|$", open(path).read(), re.M)


def is_private(src, folder, header):
    path = "%s/%s/%s" % (src, folder, header)
    return os.path.exists(path) and "/* Private to %s/. */" % folder in open(path).read()


def includes(src):
    """(folder, file, included folder, included header) of all includes across folders."""
    for path in sorted(glob.glob(src + "/*/*.[ch]")):
        folder = path.split("/")[-2]
        for header in re.findall(r'^#include "([^"]+)"', open(path).read(), re.M):
            other = os.path.dirname(header)
            if other != folder:
                yield folder, os.path.basename(path), other, os.path.basename(header)


def symbols(src, build):
    """(folder, object, folder of the definition, symbol) of all symbols used across folders."""
    home, used = {}, []
    objects = sorted(glob.glob(build + "/CMakeFiles/*.dir/src/**/*.o", recursive=True))
    objects = [o for o in objects if os.path.exists(src + "/" + o.split("/src/")[-1][:-len(".o")])]  # others are of old sources
    for line in subprocess.run(["nm", "-A", "-P", *objects], capture_output=True, text=True, check=True).stdout.splitlines():
        path, symbol, kind = re.match(r"(.*): (\S+) (\w)", line).groups()
        folder = path.split("/src/")[-1].split("/")[0]
        if kind in "TDBRC":
            home[symbol] = folder
        elif kind == "U":
            used.append((folder, os.path.basename(path), symbol))
    for folder, name, symbol in used:
        if home.get(symbol, folder) != folder:
            yield folder, name, home[symbol], symbol


def reached(graph, start):
    """All that can be reached from `start`, in one step or more."""
    found, todo = set(), [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo += new
    return found


def circles(src):
    """Concepts of one folder that include each other, each circle once: a header and a source of one name are one concept."""
    graph = collections.defaultdict(set)
    for path in sorted(glob.glob(src + "/*/*.[ch]")):
        concept = path[len(src) + 1:-len(".h")]
        for other in re.findall(r'^#include "([^"]+)\.h"', open(path).read(), re.M):
            if other != concept and os.path.dirname(other) == os.path.dirname(concept):
                graph[concept].add(other)
    reach = {concept: reached(graph, concept) for concept in list(graph)}
    return sorted({tuple(sorted(o for o in reach[c] if c in reach.get(o, ()))) for c in reach if c in reach[c]})


def twice(src):
    """(header, included): what a header includes although it has it from another."""
    graph = collections.defaultdict(set)
    for path in sorted(glob.glob(src + "/*/*.h")):
        graph[path[len(src) + 1:]] = set(re.findall(r'^#include "([^"]+)"', open(path).read(), re.M))
    reach = {header: reached(graph, header) for header in list(graph)}
    return [(header, one) for header in list(graph) for one in sorted(graph[header])
            if any(one in reach.get(other, ()) for other in graph[header] if other != one)]


def functions(src, lizard):
    """(place, lines, parameters) of every function."""
    said = subprocess.run([lizard, "-l", "c", "--csv", src], capture_output=True, text=True, check=True).stdout
    for row in csv.reader(said.splitlines()):
        yield "%s: %s()" % (os.path.relpath(row[6], src), row[7]), int(row[10]) - int(row[9]) + 1, int(row[3])


def long_functions(src, lizard):
    found = list(functions(src, lizard))
    if len(found) < 100:
        yield "%s: only %d functions found" % (src, len(found))
        return
    for place, lines, parameters in found:
        if lines > LINES_MOST:
            yield "%s has %d lines; %d at most" % (place, lines, LINES_MOST)
        if parameters > PARAMETERS_MOST:
            yield "%s has %d parameters; %d at most" % (place, parameters, PARAMETERS_MOST)
    nine_in_ten = sorted(lines for _, lines, _ in found)[len(found) * 9 // 10]
    if nine_in_ten > NINE_IN_TEN_LINES:
        yield "one function in ten has %d lines or more; %d at most" % (nine_in_ten, NINE_IN_TEN_LINES)


def sizes(src):
    folders = sorted(glob.glob(src + "/*/"))
    if len(folders) > FOLDERS_MOST:
        yield "%d folders; %d at most" % (len(folders), FOLDERS_MOST)
    for folder in folders:
        sources = len(glob.glob(folder + "*.c"))
        if sources > SOURCES_MOST:
            yield "%s: %d sources; %d at most" % (os.path.relpath(folder, src), sources, SOURCES_MOST)


def faults(src, build, lizard):
    yield from sizes(src)
    for circle in circles(src):
        if len(circle) > CIRCLE_MOST:
            yield "%s: include each other in a circle; %d at most" % (" ".join(circle), CIRCLE_MOST)
    for header, one in twice(src):
        yield "%s: includes %s, which it has from another header" % (header, one)
    if lizard:
        yield from long_functions(src, lizard)
    table = read_table(src + "/README.md")
    order = {name: at for at, name in enumerate(table)}
    folders = {path.split("/")[-2] for path in glob.glob(src + "/*/*.[ch]")}
    for name in sorted(folders ^ set(order)):
        yield "%s/: %s" % (name, "is in the table, but not there" if name in order else "is not in the table of src/README.md")
    used = collections.defaultdict(set)
    for path in glob.glob(src + "/*/*.h"):  # others have it with a header that is theirs, too
        folder, name = path.split("/")[-2:]
        if not is_private(src, folder, name):
            used[folder].update(re.findall(r'^#include "%s/([^"]+)"' % folder, open(path).read(), re.M))
    for folder, name, other, header in includes(src):
        used[other].add(header)
        if order.get(other, len(order)) > order.get(folder, -1):
            yield "%s/%s: includes %s/%s, which stands above it" % (folder, name, other, header)
        elif is_private(src, other, header):
            yield "%s/%s: includes %s/%s, a header of that folder's own" % (folder, name, other, header)
    for path in sorted(glob.glob(src + "/*/*.h")):
        folder, header = path.split("/")[-2:]
        if header not in used[folder] and not is_private(src, folder, header):
            yield "%s/%s: no other folder includes it; let it say /* Private to %s/. */" % (folder, header, folder)
    count = 0
    for folder, name, other, symbol in symbols(src, build):
        count += 1
        if order.get(other, len(order)) > order.get(folder, -1):
            yield "%s/%s: uses %s of %s/, which stands above it" % (folder, name, symbol, other)
    if count < 100:
        yield "%s: only %d symbols are used across folders; are these the objects?" % (build, count)
    places = collections.defaultdict(list)
    for path in sorted(glob.glob(src + "/*/*.[ch]")):
        places[os.path.basename(path)].append(path)
    for name, paths in places.items():
        if len(paths) > 1:
            yield "%s: stands in %d folders; a file name stands in one" % (name, len(paths))


def main():
    found = list(faults(sys.argv[1].rstrip("/"), sys.argv[2].rstrip("/"), sys.argv[3] if len(sys.argv) > 3 else None))
    print("\n".join(found) if found else "all arrows go one way")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
