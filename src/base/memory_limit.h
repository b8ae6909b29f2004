/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory_limit: how much memory there is, and a limit on what this process takes. Beyond the limit malloc()
 * returns NULL, so that the process reports the fault before the machine swaps.
 *
 * The limit counts reserved memory, touched or not (RLIMIT_DATA), and child processes started later inherit
 * it.
 *
 * Units: bytes. Errors: none. Ownership: the limit belongs to the process, so libraries do not set it.
 */
#pragma once

#include <stdint.h>

/* Memory that the machine can give before it swaps; UINT64_MAX if the system does not tell. */
uint64_t memory_free_bytes(void);

/* The most memory that this process has held at once since it was loaded, without its children; 0 if the
 * system does not tell. (ru_maxrss would include the memory of the process that forked this one.) */
uint64_t memory_peak_bytes(void);

/* memory_hold() limits what the process may take from now on, in addition to what it has; memory_release()
 * removes the limit. */
void memory_hold(uint64_t bytes);
void memory_release(void);
