# SPDX-License-Identifier: GPL-3.0-or-later
# Writes OUT, a C file that holds each of FILES as a string, in a list called LIST (embedded.h):
# cmake -DOUT=... -DFILES=... -DLIST=... -P embed.cmake
set(text "/* Made by embed.cmake: do not edit. */\n#include <stddef.h>\n#include \"base/embedded.h\"\n")
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  if(file MATCHES "/workloads/(.*)[.]yaml$")
    set(name ${CMAKE_MATCH_1})
  endif()
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  string(MAKE_C_IDENTIFIER "file_${name}" id)
  string(APPEND text "static const char ${id}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", ${id}, sizeof ${id} - 1},\n")
endforeach()
file(WRITE ${OUT} "${text}const struct embedded_file ${LIST}[] = {\n${rows}    {NULL, NULL, 0},\n};\n")
