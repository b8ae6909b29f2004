# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced with the program's path. As begin.sh has it, in the scratch folder: $source is the project's.
source=$PWD
. tests/support/begin.sh
cd "$scratch" || exit 1
