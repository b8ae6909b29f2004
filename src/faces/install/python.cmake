# SPDX-License-Identifier: GPL-3.0-or-later
# What the Python package has beside its modules: the library and the program, in icisim/native.
install(TARGETS icisim icisim_shared RUNTIME DESTINATION icisim/native LIBRARY DESTINATION icisim/native)
