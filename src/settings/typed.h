/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * typed: the options of a command line as they were typed, one after the other, so that the same can be typed again by a
 * job of a cluster.
 *
 * Units: values are text, as written: a range is one word. Errors: STATUS_NOMEM. Ownership: the caller's struct, freed
 * with typed_free(), safe on a zeroed one.
 */
#ifndef ICISIM_TYPED_H
#define ICISIM_TYPED_H

#include "base/status.h"
#include "settings/option.h"

struct typed_option {
    const struct option_row *option;
    char *text; /* the value; of a flag, whatever it is */
};
struct typed {
    struct typed_option *of;
    int count, room;
};

int typed_add(struct typed *typed, const struct option_row *option, const char *text, struct status *st);
void typed_free(struct typed *typed);

/* Puts the words of a command line that says the same, without the options whose names are among the words of
 * `without`: "--size", "1MiB", and last what stands without an option. */
void typed_words(const struct typed *typed, const char *without, void (*put)(void *context, const char *word),
                 void *context);

#endif
