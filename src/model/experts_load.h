/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * experts_load: the number of rows of each expert and each device in a step with experts.
 *
 * If each layer has a routing of its own, experts of different layers are counted apart; a device counts
 * those of all layers.
 *
 * Units: rows. Errors: status.h. Ownership: the caller's struct, freed with experts_loads_free(), safe when zeroed.
 */
#pragma once

#include "model/model.h"

struct load {
    int index, layer; /* of an expert, or a device; layer 0: the sum of all */
    double routed, kept;
};

struct experts_loads {
    const struct model_experts *experts;
    int routings, each, devices;
    struct load *expert;    /* [routings][each], of all devices together; allocated with the others */
    struct load *in_layer;  /* [routings][devices] */
    struct load *device;    /* [devices], of all routings */
    double routed, dropped; /* all rows */
    double mean;            /* rows per device, of all routings */
};

int experts_loads_count(struct experts_loads *loads, const struct model_experts *experts, struct status *st);
void experts_loads_free(struct experts_loads *loads);

/* The load with most rows kept; of equal ones the first. */
const struct load *experts_hottest(const struct load load[], int count);
