/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nccl_text: what nccl-tests prints, as CSV.
 *
 * Its table has blanks between columns, and their names in a comment:
 *
 *     # Collective test starting: all_reduce_perf
 *     #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw ...
 *     #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s) ...
 *          8388608       2097152     float     sum      -1    80.46  104.26  182.45      0    79.94  104.94 ...
 *
 * The CSV has a line for each line, so that faults are found by their number. The second set of columns is that of the
 * run in place; it is kept by other names. A column `op` has the collective where a line names the test.
 *
 * Units: as printed. Errors: out of memory. Ownership: the caller frees the text.
 */
#ifndef NCCL_TEXT_H
#define NCCL_TEXT_H

#include <stddef.h>

#include "base/status.h"

/* Leaves NULL in *csv if the text is no such table. */
int nccl_text_to_csv(const char *text, char **csv, size_t *bytes, struct status *st);

#endif
