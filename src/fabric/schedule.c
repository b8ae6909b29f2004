/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fabric/schedule.h"

#include <stddef.h>

#include "base/text.h"

static const char *const ring_kinds[RING_KINDS + 1] = {"uni", "bidi", "bidi-half", NULL};
static const char *const algorithms[ALGORITHMS + 1] = {"direct", "ring", NULL};

const char *ring_kind_name(enum ring_kind kind)
{
    return ring_kinds[kind];
}

int ring_kind_by_name(const char *name, struct status *st)
{
    int kind = text_index(name, ring_kinds);
    return kind >= 0 ? kind : text_unknown("ring", name, ring_kinds, st);
}

const char *algorithm_name(enum algorithm algorithm)
{
    return algorithms[algorithm];
}

int algorithm_by_name(const char *name, struct status *st)
{
    int algorithm = text_index(name, algorithms);
    return algorithm >= 0 ? algorithm : text_unknown("algorithm", name, algorithms, st);
}
