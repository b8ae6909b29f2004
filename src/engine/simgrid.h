/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/* The one function of the module icisim_simgrid.so, and the name that simgrid_load.c finds it by. */
#ifndef ENGINE_SIMGRID_H
#define ENGINE_SIMGRID_H

#include "base/status.h"
#include "engine/trace.h"
#include "program/program.h"

#define ENGINE_SIMGRID_MODULE "icisim_simgrid.so"
#define ENGINE_SIMGRID_SYMBOL "icisim_engine_simgrid_run"

typedef int engine_simgrid_function(const struct program *program, double expected_s, struct trace *trace,
                                    struct status *st);

/* Once a process: SimGrid keeps its platform for good. `expected_s` says how long the program takes, to within a factor of
 * ten: SimGrid must be told beforehand how close instants may be. */
__attribute__((visibility("default"))) engine_simgrid_function icisim_engine_simgrid_run;

#endif
