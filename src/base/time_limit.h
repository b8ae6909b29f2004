/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * time_limit: a limit on the processor time of this process, for code that does not check a clock itself:
 * readers, passes, builders.
 *
 * Units: seconds. Errors: none; beyond the limit the process ends with status 2 and a line that names
 * --time-limit. Ownership: the limit belongs to the process, so libraries do not set it.
 */
#pragma once

/* From now on the process may compute for `seconds` (0: no limit). The timer allows a tenth more, so that
 * code that does check a clock stops first, with a better message. */
void time_hold(double seconds);
void time_release(void);
