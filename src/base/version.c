/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/version.h"

#include <stddef.h>

const struct version_part version_parts[] = {
    {"icisim", BUILT_ICISIM}, {"SimGrid", BUILT_SIMGRID}, {"GSL", BUILT_GSL},
    {"libcsv", BUILT_CSV},    {"libyaml", BUILT_YAML},    {"yajl", BUILT_YAJL},
    {"zlib", BUILT_ZLIB},     {"compiler", BUILT_CC},     {NULL, NULL},
};
