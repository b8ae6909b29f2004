/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slice: the box of chips a job gets, a 1D, 2D or 3D torus or mesh, and its one-way links.
 *
 * Chips are numbered row by row, the last axis fastest: on 4x4x8 chip 13 is (0,1,5). A link leaves a chip
 * along an axis, by + or by -; a cable is two links. An axis of length 1 has no links; an axis of length 2
 * has one cable, so that + and - are the same link; a longer axis wraps if its ends are joined.
 *
 * Links are the rows of a table {from, to, kind, bandwidth, latency}, which the slice's topology fills. While
 * every link is as built the table is not kept: its rows are worked out when they are asked for, which is
 * what makes a pod cheap. The first link with a speed of its own, or a dead one, makes the table.
 *
 * A slice may be a quotient (fold.h): `len` chips stand for `span` of them along an axis, and the last one's
 * neighbour is the first. Without folding the two are equal.
 *
 * Units: in the names; bandwidths are one-way. Errors: status.h. Ownership: the caller's struct;
 * slice_init() allocates nothing, slice_free() frees what slice_set_link() and its like made.
 */
#ifndef ICISIM_SLICE_H
#define ICISIM_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { SLICE_AXES = 3 };

enum link_kind {
    LINK_NONE, /* an id that no link has */
    LINK_ICI,
    LINK_DEAD, /* built, but nothing passes */
};
/* Chips whose small slices have an order of devices of their own in JAX (device_trays.c). */
enum slice_trays { TRAYS_NONE, TRAYS_PAIRS, TRAYS_FLAT, TRAYS_CORES };
extern const char *const slice_trays_names[];

struct slice_link {
    int32_t from, to; /* chips */
    enum link_kind kind;
    double bandwidth_Bps, latency_s; /* a dead link's bandwidth is 0 */
};

struct topology;

struct slice {
    const struct topology *topology;
    int axes;               /* 1, 2 or 3 */
    int len[SLICE_AXES];    /* chips simulated along each axis; 1 beyond `axes` */
    int span[SLICE_AXES];   /* chips they stand for */
    bool wrap[SLICE_AXES];  /* are the ends joined: what a topology makes of that, slice_ring() says */
    int chips;              /* product of len */
    enum slice_trays trays; /* by which JAX numbers its devices */
    double link_Bps;        /* of every link as built */
    double hop_latency_s;   /* of every link as built */
    double joint_Bps;       /* between two devices of a chip, one way; 0: they meet in its HBM */
    double reduce_Bps;      /* at which a chip adds what comes over one link; 0: adding takes no time */
    double hbm_Bps;         /* of a chip, both ways together; 0: nobody waits for it */
    double pcie_Bps;        /* of a chip, to and from its host; 0: nobody waits for it */
    int order
        [SLICE_AXES]; /* in which routes take axes: x, y, z while every link is as built, else by what axes are like, not called */
    double unlike
        [SLICE_AXES]; /* where the links are that are not as built: sums of their places along each axis */
    struct slice_link *link; /* [slice_link_ids]; NULL while every link is as built */
    double *chip_frac; /* [chips]: share of its peak and HBM bandwidth that a chip has; NULL: all have all */
};

/* Reads "4x4x8" into `len`; returns the number of axes or a negative code. "4x4x8_NAME" has a topology by its
 * name, NULL after a failure; without one it is the torus. */
int slice_parse_shape(const char *text, int len[SLICE_AXES], struct status *st);
const struct topology *slice_parse_topology(const char *text, struct status *st);

/* Lengths in rising order, 1 beyond `axes`: a slice may be named in any order of its axes. */
void slice_sort_lengths(const int len[], int axes, int sorted[SLICE_AXES]);

/* A torus of `axes` axes. `wrap` counts for axes of length 3 and more only: shorter ones never wrap.
 * Errors: lengths below 1, more than 2^24 chips, a bandwidth that is not above 0, a negative latency. */
int slice_init(struct slice *slice, int axes, const int len[], const bool wrap[], double link_Bps,
               double hop_latency_s, struct status *st);
void slice_free(struct slice *slice);
/* Gives all links another speed and latency; NaN: as they are. */
int slice_set_speed(struct slice *slice, double link_Bps, double hop_latency_s, struct status *st);

/* "4x4x8" and "x,z" ("all", "none"): what slice_parse_shape() and --wrap read. Returns `text`. */
enum { SLICE_TEXT = 40 };
char *slice_print_shape(const struct slice *slice, char text[static SLICE_TEXT]);
char *slice_print_wrap(const struct slice *slice, char text[static SLICE_TEXT]);

/* The letter of an axis, and back (-1 if it is none). */
char slice_axis_name(int axis);
int slice_axis_by_name(char name);

/* Coordinate of a chip on an axis, and the chip at coordinates; "(1,0)", where a chip is. */
int slice_coord(const struct slice *slice, int chip, int axis);
int slice_chip(const struct slice *slice, const int coord[]);
enum { SLICE_PLACE = 40 };
char *slice_print_place(const struct slice *slice, int chip, char text[static SLICE_PLACE]);

/* Links have ids below slice_link_ids(); not every id is a link. */
static inline int slice_link_ids(const struct slice *slice)
{
    return slice->chips * slice->axes * 2;
}

/* The link that leaves `chip` along `axis` by + (sign > 0) or - (sign < 0); -1 where there is none or a dead
 * one. slice_link_built() gives the dead ones too. */
int slice_link(const struct slice *slice, int chip, int axis, int sign);
int slice_link_built(const struct slice *slice, int chip, int axis, int sign);

/* The row of an id. Its kind is LINK_NONE where the id names no link (on an axis of 2 only that of + does). */
struct slice_link slice_link_row(const struct slice *slice, int link);

/* Does the id name a link that is alive; where it starts, where it ends. */
bool slice_is_link(const struct slice *slice, int link);
static inline int slice_link_start(const struct slice *slice, int link)
{
    return link / (2 * slice->axes);
}
int slice_link_end(const struct slice *slice, int link);
static inline int slice_link_axis(const struct slice *slice, int link)
{
    return link / 2 % slice->axes;
}
/* "x+ of TPU:5"-like parts for reports: the sign of the direction. */
static inline int slice_link_sign(int link)
{
    return link % 2 ? -1 : 1;
}

static inline double slice_link_Bps(const struct slice *slice, int link)
{
    return slice->link ? slice->link[link].bandwidth_Bps : slice->link_Bps;
}
static inline double slice_link_latency_s(const struct slice *slice, int link)
{
    return slice->link ? slice->link[link].latency_s : slice->hop_latency_s;
}

/* Gives one link a speed and a latency of its own. */
/* The slowest link along an axis, of all that are alive where it is negative. */
double slice_slowest_Bps(const struct slice *slice, int axis);
int slice_set_link(struct slice *slice, int link, double link_Bps, double latency_s, struct status *st);
/* Nothing passes a link any more: routes go round it. */
int slice_kill_link(struct slice *slice, int link, struct status *st);

/* Makes a chip compute at a share of its speed, above 0 and at most 1. */
int slice_slow_chip(struct slice *slice, int chip, double frac, struct status *st);
static inline double slice_chip_frac(const struct slice *slice, int chip)
{
    return slice->chip_frac ? slice->chip_frac[chip] : 1;
}

/* The ring along an axis, as the topology has it: how many chips one passes by stepping + until one is back at the first,
 * which may be more than the axis has; 0 where that comes to an end, -1 where its routes leave the axis. */
int slice_ring(const struct slice *slice, int axis);

/* Is it all there is to an axis: a ring of its own chips, or a line of them, whose shortest routes stay on it? */
bool slice_is_straight(const struct slice *slice, int axis);

/* The symmetries of the slice as built: where a chip comes to lie when all chips move so many places along an axis, by + or by -,
 * round its end as its cables go, so that links come to lie on links; -1 where they cannot. */
int slice_moved(const struct slice *slice, int chip, int axis, int places);

/* Does + lead from the last chip of an axis to its first? */
bool slice_closes(const struct slice *slice, int axis);

/* Is it a shape that may be twisted, n x n x 2n or n x 2n x 2n with wraps on all axes; and is it? */
bool slice_can_twist(const struct slice *slice);
bool slice_is_twisted(const struct slice *slice);
/* Twists it, or makes it a plain torus. Errors: a shape that may not be twisted. */
int slice_twist(struct slice *slice, bool on, struct status *st);

/* How many live links there are: in all, and out of one chip (as many come in). */
int slice_count_links(const struct slice *slice);
int slice_count_ports(const struct slice *slice, int chip);

/* Bandwidth one way over the cheapest plane through the middle of an axis, wraps included (facts: Bisection); 0 for a single
 * chip. */
double slice_bisection_Bps(const struct slice *slice);

/* Invariants: the table says what the topology says, every link's far end has a link back, counts agree. */
int slice_check(const struct slice *slice, struct status *st);

#endif
