/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slice: the box of chips of a job, a 1D, 2D or 3D torus or mesh, and its one-way links.
 *
 * Chips are numbered row by row, the last axis fastest: on 4x4x8 chip 13 is (0,1,5). A link leaves a chip
 * along an axis in + or - direction; a cable is two links. An axis of length 1 has no links; an axis of
 * length 2 has one cable, so that + and - are the same link; a longer axis wraps if its ends are joined.
 *
 * Links are the rows of a table {from, to, kind, bandwidth, latency}, which the slice's topology fills. While
 * all links are equal, the table is not stored and its rows are computed on demand, which makes a pod cheap.
 * The first slow or dead link creates the table.
 *
 * A slice may be a quotient (fold.h): then `len` chips stand for `span` chips along an axis, and the
 * neighbour of the last one is the first. Without folding the two are equal.
 *
 * Units: in the names; bandwidths are one-way. Errors: status.h. Ownership: the caller's struct;
 * slice_init() allocates nothing, slice_free() frees what slice_set_link() and its like made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { SLICE_AXES = 3 };

enum link_kind {
    LINK_NONE, /* an id without a link */
    LINK_ICI,
    LINK_DEAD, /* built, but not working */
};
/* JAX's special orders of devices on small slices (device_trays.c). */
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
    int span[SLICE_AXES];   /* chips that `len` stands for */
    bool wrap[SLICE_AXES];  /* are the ends joined? slice_ring() tells what the topology makes of it */
    int chips;              /* product of len */
    enum slice_trays trays; /* JAX's order of devices */
    double link_Bps;        /* of every link without a defect */
    double hop_latency_s;   /* of every link without a defect */
    double joint_Bps;       /* between two devices of a chip, one way; 0: they exchange data through HBM */
    double reduce_Bps;      /* rate at which a chip adds data from one link; 0: adding takes no time */
    double hbm_Bps;         /* of a chip, reads and writes together; 0: not simulated */
    double pcie_Bps;        /* of a chip, to and from its host; 0: not simulated */
    /* order of axes in routes: x, y, z without defects, else by properties of the axes, not their names */
    int order[SLICE_AXES];
    double unlike[SLICE_AXES]; /* weighted sums of the coordinates of defective links, to order axes by */
    struct slice_link *link;   /* [slice_link_ids]; NULL while no link has a defect */
    double *chip_frac;         /* [chips]: share of peak and HBM bandwidth that a chip has; NULL: 1 for all */
};

/* Reads "4x4x8" into `len`; returns the number of axes or a negative code. slice_parse_topology() finds the
 * topology named in "4x4x8_NAME", or the torus if none is named; NULL after a failure. */
int slice_parse_shape(const char *text, int len[SLICE_AXES], struct status *st);
const struct topology *slice_parse_topology(const char *text, struct status *st);

/* Sorts lengths in rising order, with 1 beyond `axes`, to compare shapes whatever the order of their axes. */
void slice_sort_lengths(const int len[], int axes, int sorted[SLICE_AXES]);

/* Makes a torus with `axes` axes. `wrap` only applies to axes of length 3 or more: shorter ones never wrap.
 * Errors: lengths below 1, more than 2^24 chips, a bandwidth that is not above 0, a negative latency. */
int slice_init(struct slice *slice, int axes, const int len[], const bool wrap[], double link_Bps,
               double hop_latency_s, struct status *st);
void slice_free(struct slice *slice);
/* Sets the bandwidth and latency of all links; NaN: unchanged. */
int slice_set_speed(struct slice *slice, double link_Bps, double hop_latency_s, struct status *st);

/* Print the shape, "4x4x8", and the wraps, "x,z" ("all", "none"), as slice_parse_shape() and --wrap read
 * them. Both return `text`. */
enum { SLICE_TEXT = 40 };
char *slice_print_shape(const struct slice *slice, char text[static SLICE_TEXT]);
char *slice_print_wrap(const struct slice *slice, char text[static SLICE_TEXT]);

/* The letter of an axis, and the axis of a letter (-1 if there is none). */
char slice_axis_name(int axis);
int slice_axis_by_name(char name);

/* The coordinate of a chip on an axis; the chip at some coordinates; the coordinates of a chip as text,
 * "(1,0)". */
int slice_coord(const struct slice *slice, int chip, int axis);
int slice_chip(const struct slice *slice, const int coord[]);
enum { SLICE_PLACE = 40 };
char *slice_print_place(const struct slice *slice, int chip, char text[static SLICE_PLACE]);

/* Links have ids below slice_link_ids(); not every id is a link. */
static inline int slice_link_ids(const struct slice *slice)
{
    return slice->chips * slice->axes * 2;
}

/* The link that leaves `chip` along `axis` in + (sign > 0) or - (sign < 0) direction; -1 if there is none or
 * it is dead. slice_link_built() returns dead links, too. */
int slice_link(const struct slice *slice, int chip, int axis, int sign);
int slice_link_built(const struct slice *slice, int chip, int axis, int sign);

/* The row of an id. Its kind is LINK_NONE if the id has no link (on an axis of length 2, ids of -
 * have none). */
struct slice_link slice_link_row(const struct slice *slice, int link);

/* Is there a live link with this id? The chips where a link starts and ends; its axis. */
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
/* The direction of a link along its axis, +1 or -1. */
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

/* Bandwidth of the slowest live link along an axis; of the whole slice if `axis` is negative.
 * slice_set_link() sets the bandwidth and latency of one link. */
double slice_slowest_Bps(const struct slice *slice, int axis);
int slice_set_link(struct slice *slice, int link, double link_Bps, double latency_s, struct status *st);
/* Makes a link dead: routes avoid it. */
int slice_kill_link(struct slice *slice, int link, struct status *st);

/* Makes a chip compute at a share of its speed, above 0 and at most 1. */
int slice_slow_chip(struct slice *slice, int chip, double frac, struct status *st);
static inline double slice_chip_frac(const struct slice *slice, int chip)
{
    return slice->chip_frac ? slice->chip_frac[chip] : 1;
}

/* The length of the ring along an axis: the number of + steps after which a walk is back at its first chip,
 * which may be more than the length of the axis; 0 if the walk comes to an end; -1 if shortest routes leave
 * the axis. */
int slice_ring(const struct slice *slice, int axis);

/* How far the chips of a group lie from its first one, on each axis. */
struct extent {
    int low[SLICE_AXES], high[SLICE_AXES];
};
struct extent slice_extent(const struct slice *slice, const int32_t group[], int n);
/* On a slice without defects: are the n chips of a group those of another, of that extent, all moved alike and none past an
 * end, so that their distances are the same? */
bool slice_is_moved(const struct slice *slice, const int32_t first[], const int32_t group[], int n,
                    const struct extent *extent);

/* Is the axis straight: a ring or a line of its own chips only, whose shortest routes stay on it? */
bool slice_is_straight(const struct slice *slice, int axis);

/* The symmetries of the slice without defects: the image of a chip when all chips move by a signed
 * number of places along an axis, over its end along the cables. Links map onto links. -1 if there is
 * no such symmetry. */
int slice_moved(const struct slice *slice, int chip, int axis, int places);

/* Does the + link of the last chip of an axis lead to the first chip? */
bool slice_closes(const struct slice *slice, int axis);

/* May the slice be twisted, being n x n x 2n or n x 2n x 2n with wraps on all axes? Is it twisted? */
bool slice_can_twist(const struct slice *slice);
bool slice_is_twisted(const struct slice *slice);
/* Twists the slice, or makes it a plain torus. Errors: a shape that may not be twisted. */
int slice_twist(struct slice *slice, bool on, struct status *st);

/* Number of live links: of the slice, and out of one chip. */
int slice_count_links(const struct slice *slice);
int slice_count_ports(const struct slice *slice, int chip);

/* One-way bandwidth over the plane through the middle of an axis, including wrap-around links, for the axis
 * where it is least (facts: Bisection); 0 for a single chip. */
double slice_bisection_Bps(const struct slice *slice);

/* Invariants: the table agrees with the topology, the far end of every link has a link back, counts agree. */
int slice_check(const struct slice *slice, struct status *st);
