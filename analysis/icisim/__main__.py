# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m icisim` and the script `icisim` are the program."""

import os
import sys

from ._native import PROGRAM


def main() -> None:
    os.execv(PROGRAM, ["icisim", *sys.argv[1:]])


if __name__ == "__main__":
    main()
