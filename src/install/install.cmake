# SPDX-License-Identifier: GPL-3.0-or-later
# cmake --install: nothing in it knows its own path, so that the tree may be moved. The SimGrid module is a component of
# its own, as all else runs without it.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME icisim)
install(TARGETS icisim icisim_shared)
install(FILES ${static_library} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/icisim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY topologies workloads DESTINATION ${CMAKE_INSTALL_DATADIR}/icisim)
install(TARGETS icisim_simgrid LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/icisim COMPONENT simgrid)

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
configure_file(src/install/icisim.pc.in ${CMAKE_BINARY_DIR}/icisim.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/icisim.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
