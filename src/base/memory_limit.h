/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory_limit: how much there is, and a bound on how much of it this process takes: beyond it malloc() returns NULL, as it would
 * where memory is used up, instead of the machine swapping.
 *
 * The bound counts what is reserved, touched or not (RLIMIT_DATA), and holds for processes that are started later.
 *
 * Units: bytes. Errors: none. Ownership: the bound is the process's, so libraries leave it alone.
 */
#ifndef ICISIM_MEMORY_LIMIT_H
#define ICISIM_MEMORY_LIMIT_H

#include <stdint.h>

/* What the machine can give before it swaps; UINT64_MAX if the system does not tell. */
uint64_t memory_free_bytes(void);

/* The most memory that this process has held at once since it was loaded, without its children; 0 if the system
 * does not tell. (ru_maxrss would count what the process that started it held.) */
uint64_t memory_peak_bytes(void);

/* Bounds what the process takes from now on, on top of what it has; and takes the bound away. */
void memory_hold(uint64_t bytes);
void memory_release(void);

#endif
