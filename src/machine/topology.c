/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/topology.h"

#include <string.h>

#include "base/text.h"

const struct topology *slice_parse_topology(const char *text, struct status *st)
{
    enum { NAMED = 16 }; /* at most this many names in the message */
    const char *name = strchr(text, '_'), *known[NAMED + 1] = {NULL};
    for (int i = 0; topologies[i] && i < NAMED; i++) {
        if (!name || strcmp(topologies[i]->name, name + 1) == 0)
            return topologies[i];
        known[i] = topologies[i]->name;
    }
    text_unknown("topology", name + 1, known, st);
    return NULL;
}
