#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds the folders of src/ against the ordered table in src/README.md: layers.py SRC BUILD

A row of the table is a folder: `name/`, what it does, and the headers that other folders may include. A folder may use
only folders above it, by includes and by symbols; a header that its row does not list is its own; a file name stands in one
folder only. Prints each fault on a line and exits with 1 if there are any.
"""
import collections
import glob
import os
import re
import subprocess
import sys


def read_table(path):
    """[(folder, headers)] in the order of the table."""
    rows = re.findall(r"^\| `(\w+)/` \|[^|]*\|([^|]*)\|$", open(path).read(), re.M)
    return [(name, re.findall(r"`(\w+\.h)`", headers)) for name, headers in rows]


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


def faults(src, build):
    table = read_table(src + "/README.md")
    order = {name: at for at, (name, _) in enumerate(table)}
    public = dict(table)
    folders = {path.split("/")[-2] for path in glob.glob(src + "/*/*.[ch]")}
    for name in sorted(folders ^ set(order)):
        yield "%s/: %s" % (name, "is in the table, but not there" if name in order else "is not in the table of src/README.md")
    for name, headers in table:
        for header in headers:
            if not os.path.exists("%s/%s/%s" % (src, name, header)):
                yield "%s/%s: is in the table, but not there" % (name, header)
    used = collections.defaultdict(set)
    for folder, name, other, header in includes(src):
        used[other].add(header)
        if order.get(other, len(order)) > order.get(folder, -1):
            yield "%s/%s: includes %s/%s, which stands above it" % (folder, name, other, header)
        elif header not in public.get(other, ()):
            yield "%s/%s: includes %s/%s, a header of that folder's own" % (folder, name, other, header)
    for name, headers in table:
        for header in sorted(set(headers) - used[name]):
            yield "%s/%s: no other folder includes it; take it out of the table" % (name, header)
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
    found = list(faults(sys.argv[1].rstrip("/"), sys.argv[2].rstrip("/")))
    print("\n".join(found) if found else "all arrows go one way")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
