/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * routing: which experts the tokens of each device go to, and with what gates.
 *
 * It is given in a file, or drawn: every token has top_k different experts, chosen one after the other by weights, of those
 * that are left; its gates are the softmax of as many normal numbers, the largest first, as a router's would be.
 *
 *     even         token after token, expert after expert: loads that differ by one at most, the same for every device
 *     uniform      all experts alike
 *     zipf         expert e with weight (e + 1)^-exponent
 *     multinomial  weights as given
 *     hot          each device has an expert of its own, drawn too, that takes a share of its weight; the others are alike
 *
 * Units: tokens. Errors: with file, line and column. Ownership: the caller's struct, freed with routing_free(), safe when
 * zeroed.
 */
#ifndef ROUTING_H
#define ROUTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/document.h"
#include "base/status.h"

struct routing {
    int devices, experts, top_k;
    int64_t tokens; /* of a device */
    int32_t
        *expert;  /* [devices][tokens * top_k]: entry t * top_k + slot; NULL where only `routed` is known */
    double *gate; /* the same */
    int64_t *routed; /* [devices][experts]: entries */
};

/* Room for all of it; what `routed` says is counted by routing_count(). */
int routing_init(struct routing *routing, struct status *st);
void routing_count(struct routing *routing);
/* Leaves the counts. */
void routing_forget_entries(struct routing *routing);
void routing_free(struct routing *routing);

/* Fills a routing whose four numbers are set from the workload's `routing:`, {draw: zipf, exponent: 1.2, seed: 3}, {file:
 * FILE.csv} with the columns device, token, expert, gate, or {counts: FILE.csv} with device, expert, count. Files lie beside the
 * workload's; {} in the name of one is the layer's number, from 1. `draw` counts draws: each is another one of the same seed, and so is
 * each layer's. */
int routing_read(struct routing *routing, const struct node *node, const char *file, int draw, int layer,
                 struct status *st);
/* Has each layer one of its own? */
bool routing_differs(const struct node *node);

/* Of a routing that knows its entries, the same on one device: its block b of tokens is that of device[b]. */
int routing_join(struct routing *one, const struct routing *of, const int device[], struct status *st);

#endif
