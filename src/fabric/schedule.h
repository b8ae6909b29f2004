/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * schedule: the words for how a collective goes round its rings, which builders, formulas and options share.
 *
 * uni       one way: N-1 steps of V/N
 * bidi      whole chunks both ways: floor(N/2) steps
 * bidi-half each chunk cut in two halves, one each way: N-1 steps of V/2N
 *
 * Units: elements. Errors: a name that is unknown is STATUS_INPUT and names those that are known. Ownership: none.
 */
#ifndef ICISIM_SCHEDULE_H
#define ICISIM_SCHEDULE_H

#include <stdint.h>

#include "base/status.h"

enum ring_kind { RING_UNI, RING_BIDI, RING_BIDI_HALF, RING_KINDS };

/* "uni", "bidi", "bidi-half", and back (a failure names them). */
const char *ring_kind_name(enum ring_kind kind);
int ring_kind_by_name(const char *name, struct status *st);

/* All-to-all: every pair at once on shortest routes, or step by step round a ring per axis. */
enum algorithm { ALGORITHM_DIRECT, ALGORITHM_RING, ALGORITHMS };
const char *algorithm_name(enum algorithm algorithm);
int algorithm_by_name(const char *name, struct status *st);

enum { COLLECTIVE_RINGS = 3 };

/* Elements of the largest of n chunks. */
static inline int64_t chunk_elements(int64_t elements, int64_t n)
{
    return (elements + n - 1) / n;
}

#endif
