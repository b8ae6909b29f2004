#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# No mapping of a workload or a chip file takes a key that it does not know: one is put into each mapping of every file that
# comes with the program, one at a time.
set -euo pipefail
. tests/support/sanitized.sh
every=1
! sanitized "$1" || every=3 # there one key of three
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r workloads topologies "$scratch"
python3 - "$(realpath "$1")" "$scratch" $every <<'END'
import glob, os, re, subprocess, sys

program, folder = sys.argv[1:3]
every = int(sys.argv[3])
os.chdir(folder)
KEY = "unknown-key: 1"


def indent(line):
    return len(line) - len(line.lstrip())


def broken(lines):
    """(line, the file with one more key): at the top, first in a block, in braces, in a list's item."""
    yield 1, [KEY, *lines]
    for i, line in enumerate(lines):
        bare = re.sub(r"(^|\s)#.*", "", line)
        below = lines[i + 1] if i + 1 < len(lines) else ""
        opens = re.fullmatch(r"\s*(- )?([\w.-]+):(\s*&\w+)?\s*", bare)
        if opens and opens[2] != "sources" and indent(below) > indent(line) and below.lstrip()[0] not in "-[":
            yield i + 2, [*lines[: i + 1], " " * indent(below) + KEY, *lines[i + 1 :]]
        for brace in re.finditer(r"(?<=[-:\[,] )\{|(?<=\[)\{", bare):
            if bare[: brace.start()].count('"') % 2 == 0:
                yield i + 1, [*lines[:i], bare[: brace.end()] + KEY + ", " + bare[brace.end() :], *lines[i + 1 :]]
        item = re.fullmatch(r"(\s*)- ([\w-]+: .*)", bare)
        if item:
            yield i + 1, [*lines[:i], f"{item[1]}- {KEY}", f"{item[1]}  {item[2]}", *lines[i + 1 :]]


tried = failed = 0
for path in sorted(glob.glob("workloads/*.yaml") + glob.glob("workloads/steps/*.yaml")[:2] + glob.glob("topologies/*.yaml")):
    with open(path) as file:
        lines = file.read().splitlines()
    other = f"{os.path.dirname(path)}/other.yaml"
    what = [other] if path.startswith("workloads") else ["all-gather", "--chip", other, "--slice", "4", "--size", "1MiB"]
    for at, text in broken(lines):
        with open(other, "w") as file:
            file.write("\n".join(text) + "\n")
        tried += 1
        if tried % every:
            continue
        done = subprocess.run([program, "run", *what], capture_output=True, text=True)
        says = f":{at}:.*unknown-key"
        if done.returncode != 2 or done.stdout or done.stderr.count("\n") != 1 or not re.search(says, done.stderr):
            print(f"{path}, a key in line {at}: exit {done.returncode}: {done.stderr.strip()[:200]}")
            failed += 1
    os.unlink(other)
if tried < 150:
    print(f"{tried} files only")
sys.exit(failed > 0 or tried < 150)
END
