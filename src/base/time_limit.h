/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * time_limit: a bound on the processor time of this process, for what nobody looks at a clock in: readers, passes, builders.
 *
 * Units: seconds. Errors: none; beyond the bound the process ends with status 2 and a line that names --time-limit. Ownership: the
 * bound is the process's, so libraries leave it alone.
 */
#ifndef ICISIM_TIME_LIMIT_H
#define ICISIM_TIME_LIMIT_H

/* From now on the process may compute for so long, 0: for ever, and a tenth more, for who looks at a clock to be first. */
void time_hold(double seconds);
void time_release(void);

#endif
