# SPDX-License-Identifier: GPL-3.0-or-later
# cmake --install: nothing in it knows its own path, so that the tree may be moved. The SimGrid module is a component of
# its own, as all else runs without it, and so is what only those need who build programs upon the library.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME icisim)
install(CODE "foreach(file libicisim.so libicisim.a manual/icisim.1.gz)
  if(NOT EXISTS \"${CMAKE_BINARY_DIR}/\${file}\")
    message(FATAL_ERROR \"${CMAKE_BINARY_DIR}/\${file} is not built: ./dev build makes all that is installed\")
  endif()
endforeach()")
install(TARGETS icisim)
install(TARGETS icisim_shared EXPORT icisim LIBRARY NAMELINK_COMPONENT dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${static_library} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY include/icisim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(DIRECTORY topologies workloads DESTINATION ${CMAKE_INSTALL_DATADIR}/icisim)
install(TARGETS icisim_simgrid LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/icisim COMPONENT simgrid)

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
configure_file(src/faces/install/icisim.pc.in ${CMAKE_BINARY_DIR}/icisim.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/icisim.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# find_package(icisim), then target_link_libraries(NAME icisim::icisim).
include(CMakePackageConfigHelpers)
set_target_properties(icisim_shared PROPERTIES EXPORT_NAME icisim)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/icisimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/icisimConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/icisim COMPONENT dev)
install(EXPORT icisim NAMESPACE icisim:: FILE icisimConfig.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/icisim COMPONENT dev)

# The scripts that draw: icisim-plot NAME ...
file(GLOB plots CONFIGURE_DEPENDS analysis/*.py)
install(PROGRAMS analysis/icisim-plot DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${plots} DESTINATION ${CMAKE_INSTALL_DATADIR}/icisim/plots)

# Manual pages and shell completions, from the tables of options, columns and closed forms.
file(GLOB manual CONFIGURE_DEPENDS src/faces/manual*.c)
add_executable(icisim_manual ${manual})
target_link_libraries(icisim_manual PRIVATE icisim_commands)
set(manual_files)
function(manual template folder)
  string(REGEX REPLACE "\\.in$" "" name ${template})
  set(file ${CMAKE_BINARY_DIR}/manual/${name})
  if(${folder} MATCHES "man")
    set(compress COMMAND gzip -9nf ${name})
    set(made ${file}.gz)
  else()
    set(made ${file})
  endif()
  add_custom_command(OUTPUT ${made}
    COMMAND icisim_manual ${PROJECT_SOURCE_DIR}/src/faces/install/${template} ${file} ${compress}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/manual DEPENDS icisim_manual src/faces/install/${template} VERBATIM)
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} ${ARGN})
  set(manual_files ${manual_files} ${made} PARENT_SCOPE)
endfunction()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/manual)
manual(icisim.1.in man/man1)
manual(icisim-workload.5.in man/man5)
manual(icisim.bash.in bash-completion/completions RENAME icisim)
manual(_icisim.in zsh/site-functions)
add_custom_target(manuals ALL DEPENDS ${manual_files})
