# SPDX-License-Identifier: GPL-3.0-or-later
# libicisim: the public interface over what it needs of the core, of which nothing else can be seen from outside.
file(GLOB api_sources CONFIGURE_DEPENDS src/faces/api*.c)
add_library(icisim_api OBJECT ${api_sources})
target_include_directories(icisim_api PUBLIC include PRIVATE src)

add_library(icisim_shared SHARED $<TARGET_OBJECTS:icisim_api>)
set_target_properties(icisim_shared PROPERTIES OUTPUT_NAME icisim)
if(NOT ICISIM_PYTHON) # a wheel has no symbolic links
  set_target_properties(icisim_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
endif()
target_include_directories(icisim_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_link_libraries(icisim_shared PRIVATE icisim_core)
target_link_options(icisim_shared PRIVATE -Wl,--as-needed)

# The static one is a single object, in which all names but the public ones are local.
set(static_library ${CMAKE_BINARY_DIR}/libicisim.a)
add_custom_command(OUTPUT ${static_library}
  COMMAND ${CMAKE_LINKER} -r -o icisim_whole.o $<TARGET_OBJECTS:icisim_api> $<TARGET_FILE:icisim_core>
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden icisim_whole.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${static_library}
  COMMAND ${CMAKE_AR} qcD ${static_library} icisim_whole.o
  DEPENDS icisim_api icisim_core $<TARGET_OBJECTS:icisim_api> COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(icisim_static ALL DEPENDS ${static_library})
