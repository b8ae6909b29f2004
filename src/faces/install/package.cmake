# SPDX-License-Identifier: GPL-3.0-or-later
# cpack: icisim_VERSION_ARCH.deb; the SimGrid module as icisim-simgrid_VERSION_ARCH.deb, which the first recommends; and
# libicisim-dev_VERSION_ARCH.deb for those who build upon the library.
configure_file(src/faces/install/changelog.in ${CMAKE_BINARY_DIR}/changelog @ONLY)
execute_process(COMMAND gzip -9nf changelog WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMAND_ERROR_IS_FATAL ANY)
foreach(package icisim icisim-simgrid libicisim-dev)
  string(REGEX REPLACE "^(lib)?icisim-" "" component ${package})
  install(FILES ${CMAKE_BINARY_DIR}/changelog.gz src/faces/install/copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL icisim simgrid dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_NAME icisim)
set(CPACK_PACKAGE_CONTACT "icisim developers <icisim@users.noreply.github.com>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ICISIM_PACKAGE_NAME icisim)
set(CPACK_DEBIAN_ICISIM_PACKAGE_RECOMMENDS "icisim-simgrid (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_ICISIM_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/src/faces/install/triggers)
set(CPACK_DEBIAN_ICISIM_DESCRIPTION "simulator of the interconnect of TPU slices
How long a collective or a sharded matmul takes on a slice of TPU chips,
and where the time goes: a discrete-event model of 1D, 2D and 3D tori,
as a program and as a library for C.")
set(CPACK_DEBIAN_SIMGRID_PACKAGE_NAME icisim-simgrid)
set(CPACK_DEBIAN_SIMGRID_PACKAGE_DEPENDS "icisim (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_SIMGRID_DESCRIPTION "simulator of the interconnect of TPU slices: SimGrid engine
The engine of icisim that runs on SimGrid's kernel, the reference for its
own engine.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libicisim-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "icisim (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libyaml-dev, libcsv-dev, libyajl-dev, zlib1g-dev, libgsl-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "simulator of the interconnect of TPU slices: development files
Headers of libicisim, the static library, and what pkg-config and CMake
find it by. The static library needs the libraries that are suggested.")
include(CPack)
