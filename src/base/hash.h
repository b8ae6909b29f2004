/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hash: uthash's tables, set up so that running out of memory is an error and not the end of the process: an entry
 * whose hh.tbl is NULL after HASH_ADD was not added.
 *
 * Units: none. Errors: as above. Ownership: entries are the caller's.
 */
#ifndef ICISIM_HASH_H
#define ICISIM_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
