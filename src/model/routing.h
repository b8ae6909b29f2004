/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * routing: the experts of the tokens on each device, their gates, and the dropped entries.
 *
 * A routing is read from a file, or drawn: every token has top_k different experts, chosen one after the
 * other by weight, without replacement; its gates are the softmax of as many normal numbers, the largest
 * first, as a router's would be.
 *
 *     even         token after token, expert after expert: loads that differ by one at most, the same for every device
 *     uniform      all experts alike
 *     zipf         expert e with weight (e + 1)^-exponent
 *     multinomial  weights as given
 *     hot          each device has an expert of its own, drawn too, that takes a share of its weight; the others are alike
 *
 * An entry is a token's slot, number token * top_k + slot. An expert takes `capacity` entries of every
 * sender: those with the highest gates, of equal ones the first; the others are dropped. Experts lie on the
 * devices of groups of `peers`: expert e at position e / (experts / peers).
 *
 * Units: tokens, entries. Errors: with file, line and column. Ownership: the caller's struct, freed with routing_free(), after a
 * failure, too; safe when zeroed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/document.h"

struct routing_entry {
    int32_t expert;
    bool dropped;
    double gate;
};

struct routing {
    int devices, experts, top_k, peers;
    int64_t tokens; /* of a device */
    int64_t capacity;
    bool counted;                /* drawn entries are only counted */
    struct drawn **drawn;        /* the counts of other points, with which these are kept; NULL: none are */
    struct routing_entry *entry; /* [devices][tokens * top_k]; NULL if only `routed` is known */
    int64_t *routed, *kept;      /* [devices][experts]: entries */
};

/* A list of counts that were drawn, since many points of a sweep have the same. */
struct drawn {
    struct drawn *next;
    uint64_t key; /* a hash of everything that they depend on */
    size_t bytes; /* of these and the next */
    int64_t routed[];
};

/* Fills a routing whose numbers are set, but for the capacity, from the workload's `routing:`, {draw: zipf, exponent: 1.2,
 * seed: 3}, {file: FILE.csv} with the columns device, token, expert, gate, or {counts: FILE.csv} with device, expert, count.
 * Files lie beside the workload's; {} in the name of one is the layer's number, from 1. `draw` counts draws: each is another
 * one of the same seed, and so is each layer's. */
int routing_read(struct routing *routing, const struct node *node, const char *file, int draw, int layer,
                 struct status *st);
/* Does each layer have a routing of its own? */
bool routing_differs(const struct node *node);

/* The capacity that a factor makes, ceil(tokens * top_k * peers / experts * factor), exactly; the factor is a decimal number
 * as it is written, "1.25". Errors: anything else, or a capacity of more than all entries of a group need. */
int routing_capacity(const struct routing *routing, const char *factor, int64_t *capacity, struct status *st);
/* Determines kept and dropped entries, by the capacity. */
int routing_limit(struct routing *routing, struct status *st);

/* Converts a routing with known entries to one device, where the same entries are dropped: its block b of
 * tokens is that of device[b]. */
int routing_join(struct routing *one, const struct routing *of, const int device[], struct status *st);

/* Allocates entries, and counts of 0. */
int routing_init(struct routing *routing, struct status *st);
/* Frees the entries, and keeps the counts. */
void routing_forget_entries(struct routing *routing);
void routing_free(struct routing *routing);

/* The number of entries of a device. */
static inline int64_t routing_entries(const struct routing *routing)
{
    return routing->tokens * routing->top_k;
}

/*
 * A dispatch is what each device sends to the experts' devices: in which order the entries of its routing go, how many rows to
 * whom. A device's entries stand in the order (device of the expert, dropped or not, expert), and else as they are. So what
 * goes to a device is one block of rows; input offsets count dropped rows too, sizes do not. Of a routing that is known by
 * counts only, there are sizes and offsets, but no order.
 */
struct dispatch {
    int devices, peers;     /* peers: devices per group */
    int64_t rows;           /* places per device; not all are used */
    int64_t *size, *offset; /* [devices][peers]: rows to each peer, and where they begin at the sender */
    /* [devices][rows]: the entry at each place, 0 where there is none; NULL if only counts are known. */
    int64_t *order;
};

int dispatch_init(struct dispatch *dispatch, const struct routing *routing, struct status *st);
void dispatch_free(struct dispatch *dispatch);

/* One of several parts of what is sent, so that one can be on its way while another is multiplied: of each block of rows
 * those from size * part / parts on, without gaps and those that are dropped. */
int dispatch_part(struct dispatch *part, const struct dispatch *whole, int number, int parts,
                  struct status *st);
