/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/topology.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

const struct topology *slice_parse_topology(const char *text, struct status *st)
{
    enum { NAMED = 16 }; /* in the message */
    const char *name = strchr(text, '_'), *known[NAMED + 1] = {NULL};
    for (int i = 0; topologies[i] && i < NAMED; i++) {
        if (!name || strcmp(topologies[i]->name, name + 1) == 0)
            return topologies[i];
        known[i] = topologies[i]->name;
    }
    text_unknown("topology", name + 1, known, st);
    return NULL;
}

void topology_fill(const struct slice *slice, struct slice_link row[])
{
    for (int id = 0; id < slice_link_ids(slice); id++) {
        int from = slice_link_start(slice, id), axis = slice_link_axis(slice, id), sign = slice_link_sign(id);
        bool named = sign > 0 || slice->span[axis] != 2;
        int to = named ? slice->topology->neighbour(slice, from, axis, sign) : -1;
        row[id] = (struct slice_link){.from = from, .to = from, .kind = LINK_NONE};
        if (to >= 0)
            row[id] = (struct slice_link){from, to, LINK_ICI, slice->link_Bps, slice->hop_latency_s};
    }
}
