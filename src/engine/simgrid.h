/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/* The only function of the module icisim_simgrid.so, and the name by which simgrid_load.c finds it. */
#pragma once

#include "engine/trace.h"

#define ENGINE_SIMGRID_MODULE "icisim_simgrid.so"
#define ENGINE_SIMGRID_SYMBOL "icisim_engine_simgrid_run"

typedef int engine_simgrid_function(const struct program *program, double expected_s, struct trace *trace,
                                    struct status *st);

/* May be called once per process, since SimGrid never releases its platform. `expected_s` is the time of the
 * program to within a factor of ten, from which SimGrid's precision is set. */
__attribute__((visibility("default"))) engine_simgrid_function icisim_engine_simgrid_run;
