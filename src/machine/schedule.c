/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/schedule.h"

#include <stddef.h>

#include "base/text.h"

static const char *const ring_kinds[RING_KINDS + 1] = {"uni", "bidi", "bidi-half", NULL};

static const char *const algorithms[ALGORITHMS] = {"as-compiled", "schedule", "best", "xla"};

const char *algorithm_name(enum algorithm algorithm)
{
    return algorithms[algorithm];
}

const char *ring_kind_name(enum ring_kind kind)
{
    return ring_kinds[kind];
}

int ring_kind_or(int asked, bool all_to_all, const char *usual, struct status *st)
{
    if (asked >= 0)
        return asked;
    return all_to_all ? RING_BIDI : ring_kind_by_name(usual, st);
}

int ring_kind_by_name(const char *name, struct status *st)
{
    return text_choice("ring", name, ring_kinds, st);
}
