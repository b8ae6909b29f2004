#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds src/README.md and tests/README.md against what there is: pages.py ROOT

In `backquotes`, a word that ends like a file or has a / is a path, unless NAME is in it: from the root, from src/ or from tests/, or in the folder
of the path before it in its line; a word of no folder stands somewhere. A word with () is a function of the sources. Each
word in the second column of the table of tests is a test, unless it is one of those, an option or a command; and each
test is named on the page. Prints each fault on a line and exits with 1 if there are any.
"""
import glob
import os
import re
import sys

FILE = re.compile(r"[\w*./-]*(/[\w*./-]*|\.(c|h|sh|py|yaml|json|md|console|txt|in|cmake))")
TABLE_OF_TESTS = "| a bug in | is seen by |\n"


def words(text):
    return re.findall(r"`([^`]+)`", text)


def lines(page):
    """(number, line) outside of blocks of code."""
    code = False
    for number, line in enumerate(page.splitlines(), 1):
        code ^= line.startswith("```")
        if not code:
            yield number, line


def paths_missing(root, line):
    """Paths of a line that are not there."""
    folder = None
    for word in words(line):
        if not FILE.fullmatch(word) or word.startswith((".", "/")) or "NAME" in word:
            continue
        homes = [root, root + "/src", root + "/tests"] + ([folder] if folder else [])
        found = [home + "/" + word for home in homes if glob.glob(home + "/" + word)]
        if "/" in word and found:
            folder = os.path.dirname(found[-1])
        if not found and ("/" in word or not glob.glob(root + "/src/*/" + word)):
            yield word


def functions_missing(sources, line):
    for word in words(line):
        name = re.fullmatch(r"(\w+)\(\)", word)
        if name and not re.search(r"\b%s\(" % name[1], sources):
            yield word


def tests_of(root):
    """The names of all tests, as ctest knows them."""
    kinds = {"test_*.c": "test_", "*.sh": "", "fuzz/fuzz_*.c": ""}
    return {os.path.basename(path).rsplit(".", 1)[0][len(prefix):]
            for pattern, prefix in kinds.items() for path in glob.glob(root + "/tests/" + pattern)}


def rows_of_tests(page):
    return page.split(TABLE_OF_TESTS)[1].split("\n\n")[0].splitlines()[1:]


def tests_missing(page, tests):
    for row in rows_of_tests(page):
        for word in words(row.split(" | ", 1)[-1]):
            if re.fullmatch(r"\w+", word) and word not in tests:
                yield word


def faults(root):
    sources = "".join(open(path).read() for path in glob.glob(root + "/src/*/*.[ch]") + glob.glob(root + "/tests/*/*.[ch]"))
    for name in ("src/README.md", "tests/README.md"):
        for number, line in lines(open(root + "/" + name).read()):
            for word in [*paths_missing(root, line), *functions_missing(sources, line)]:
                yield "%s:%d: there is no %s" % (name, number, word)
    page, tests = open(root + "/tests/README.md").read(), tests_of(root)
    for word in tests_missing(page, tests):
        yield "tests/README.md: there is no test %s" % word
    named = set(words(page))
    for test in sorted(tests - named):
        if not (test.startswith("fuzz_") and "fuzz_units" in named):
            yield "tests/README.md: the test %s is in no row" % test


def main():
    found = list(faults(sys.argv[1].rstrip("/")))
    print("\n".join(found) if found else "all that the pages name is there")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
