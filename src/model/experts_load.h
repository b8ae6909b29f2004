/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * experts_load: how many rows come to each expert and each device of a step with experts.
 *
 * Where each layer has a routing of its own, an expert of one layer is not that of another; a device has those of all.
 *
 * Units: rows. Errors: status.h. Ownership: the caller's struct, freed with experts_loads_free(), safe when zeroed.
 */
#ifndef ICISIM_EXPERTS_LOAD_H
#define ICISIM_EXPERTS_LOAD_H

#include "model/model.h"

struct load {
    int index, layer; /* of an expert, or a device; layer 0: all together */
    double routed, kept;
};

struct experts_loads {
    const struct model_experts *experts;
    int routings, each, devices;
    struct load *expert;    /* [routings][each], of all devices together; allocated with the others */
    struct load *in_layer;  /* [routings][devices] */
    struct load *device;    /* [devices], of all routings */
    double routed, dropped; /* all rows */
    double mean;            /* rows that come to a device, of all routings */
};

int experts_loads_count(struct experts_loads *loads, const struct model_experts *experts, struct status *st);
void experts_loads_free(struct experts_loads *loads);

/* The one with most rows, of several the first. */
const struct load *experts_hottest(const struct load load[], int count);

#endif
