/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collective: an all-gather, a reduce-scatter ... as ops of a program.
 *
 * The options of a point describe the collective: op, size, dtype, axis or groups, ring, all-to-all, and so
 * on. The point's slice must be the program's.
 *
 * Units: none. Errors: ICISIM_INPUT for wrong options, or if the op is a matmul. Ownership: the point is
 * borrowed during the call.
 */
#ifndef ICISIM_API_COLLECTIVE_H
#define ICISIM_API_COLLECTIVE_H

#include <stdint.h>

#include <icisim/point.h>
#include <icisim/program.h>

ICISIM_BEGIN

/* Appends the collective. It starts on each chip when op `after` is done there and everything that the op
 * sends to the chip has arrived (negative: at once). Returns an op that is done on a chip when the collective
 * is done there, so that later ops can wait for it (ICISIM_DONE); or a negative code. */
ICISIM_API int32_t icisim_collective_append(struct icisim_program *program, struct icisim_point *point,
                                            int32_t after, struct icisim_status *st);

/* XLA's names of the collectives, from index 0, and one line of help for each; NULL beyond the last. */
ICISIM_API const char *icisim_collective_name(int index);
ICISIM_API const char *icisim_collective_help(int index);

ICISIM_END

#endif
