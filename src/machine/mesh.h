/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mesh: the logical, named axes of a job, laid on the chips of a slice; and the rings of collectives.
 *
 * A mesh "dp=4,tp=2" numbers its devices row by row, the last axis fastest. Each of its axes is laid on
 * physical axes: on one, on several merged axes ("X=x*y"), or on a part of a split axis. Without a mesh the
 * axes are the physical ones. Numbering matters: a ring over (tp,dp) steps in the given order, but ppermute
 * numbers chips in the order of the mesh; mistaking one for the other silently permutes the data.
 *
 * Devices are numbered as by JAX's create_device_mesh: along merged axes row by row, in some small slices in
 * a special order (device_trays.h). The alternative is ring order: along merged axes as a snake, so that
 * consecutive devices are neighbours, and the ends meet if possible. In both orders the ring of a collective
 * goes from neighbour to neighbour, as its pieces may have any order; a permute, and a loop of permutes,
 * follows the numbers of the devices.
 *
 * A mesh may also be laid over a list of chips, so that two meshes can share a slice, or a dead chip can be
 * left out: then device i is the i-th chip of the list, and the other chips of the slice take no part.
 *
 * If a chip is several devices (chip.cores), one axis of the mesh has them innermost: the devices of a chip
 * follow each other along it. Only modules run on such a mesh (compile/placement.h); rings, and all functions
 * about chips, require one device per chip.
 *
 * A ring is a cyclic order of chips along an axis (or through a list): the position of each chip, and the
 * next chip. It is closed if the step from the last to the first chip takes no more links than the other
 * steps; otherwise it is a line. A ring broken by a dead link becomes a line that begins after the break:
 * positions then count from there, while every chip keeps its piece of the data.
 *
 * Units: none. Errors: status.h. Ownership: the caller's structs, freed with mesh_free() and ring_free(); the
 * slice is borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "machine/mesh_layout.h"
#include "notation/groups.h"

enum { MESH_TEXT = 512 };

/* How devices are numbered along merged axes; the names by number, up to NULL. */
enum device_order { DEVICE_ORDER_JAX, DEVICE_ORDER_RING };
extern const char *const device_order_names[];

/* How a mesh given by sizes alone is laid. Zeroed: as JAX does, one device per chip. */
struct mesh_rule {
    enum device_order order;
    bool split; /* physical axes may be split; JAX only allows that with allow_split_physical_axes */
    int cores;  /* devices per chip, if the mesh has that many; 0 means 1 */
};

struct mesh {
    const struct slice *slice;
    struct axes axes; /* names and sizes */
    int devices;      /* chips of the slice, or of the list, times cores */
    int cores;        /* devices per chip */
    int core_axis;    /* the axis that has the devices of a chip innermost, if cores > 1 */
    struct {
        int physical;               /* the physical axis, if it is exactly one whole axis; or -1 */
        char how[MESH_LAYOUT_TEXT]; /* its physical axes: "x", "x*y", "x:2" for a part of 2 */
    } lay[AXES_MAX];
    struct mesh_layout layout;
    enum device_order order;
    bool plain;       /* no axis lies on several physical ones or on a list, so both orders are equal */
    bool split;       /* some axis lies on a part of a physical one */
    int32_t *chip_of; /* [devices]: the chip of each device; NULL if the numbers are equal */
    int32_t
        *device_of; /* [chips of the slice]: the first device of a chip; -1 for chips outside the mesh; may be
                    * NULL, too */
};

/* Lays "dp=4,tp=2" or "X=x*y:2,Z=y:4" on the slice; NULL or "" gives one mesh axis for each physical axis, with
 * its name. Sizes alone are laid by a rule (NULL: a zeroed one). Errors: names given twice, sizes that do not
 * multiply to the number of chips or of devices, physical axes used twice or only partly, sizes that JAX refuses
 * to lay. */
int mesh_init(struct mesh *mesh, const struct slice *slice, const char *text, const struct mesh_rule *rule,
              struct status *st);
/* Lays "dp=4,tp=2" over a list of chips, in its order. Errors: a list whose length is not the number of
 * devices, a chip that does not exist or is listed twice. */
int mesh_init_on(struct mesh *mesh, const struct slice *slice, const char *text, const int32_t chip[],
                 int chips, struct status *st);
/* Splits each chip of a mesh into `cores` devices, which follow each other along an axis; the axis becomes
 * that many times as long. */
int mesh_add_cores(struct mesh *mesh, int axis, int cores, struct status *st);
/* The mesh of chips, one device each, as it was before mesh_add_cores(). */
int mesh_init_of_chips(struct mesh *chips, const struct mesh *mesh, struct status *st);
void mesh_free(struct mesh *mesh);

/* Prints "dp on x*y as axes, tp and sp on one chip, jax order": the physical axes of each mesh axis, with the
 * words `how` after marked axes (bit a for axis a), and the order of devices if that matters. Returns the
 * length. */
char *mesh_print_marked(const struct mesh *mesh, unsigned marked, const char *how,
                        char text[static MESH_TEXT]);
/* The same without marked axes; returns `text`. */
char *mesh_print_mapping(const struct mesh *mesh, char text[static MESH_TEXT]);

/* Reads "x", "x,y" or "(tp,dp)"; NULL or "" means all axes. */
int mesh_parse_axes(const struct mesh *mesh, const char *text, struct axis_list *list, struct status *st);

/* The (first) device of a chip, -1 if the chip is not in the mesh; and the chip of a device. */
static inline int mesh_device(const struct mesh *mesh, int chip)
{
    return mesh->device_of ? mesh->device_of[chip] : chip;
}
static inline int mesh_chip(const struct mesh *mesh, int device)
{
    return mesh->chip_of ? mesh->chip_of[device] : device;
}

/* The groups of a collective over some axes together, of axis_list_size() chips each. Writes the chips of
 * every group in the order of axis_list_position(): [devices]. */
void mesh_groups(const struct mesh *mesh, const struct axis_list *list, int32_t chip[]);
/* The chips of groups of devices, group by group, each chip once. A group on the same chips as an earlier one
 * (of their other devices) is left out. The caller frees the result. */
int mesh_chips_of(const struct mesh *mesh, const struct groups *groups, struct groups *chips,
                  struct status *st);

/* Marks the chips of the mesh with 1 and all others with 0: [chips of the slice]. */
void mesh_mask(const struct mesh *mesh, uint8_t mask[]);

/* The set of physical axes that the groups over some mesh axes span completely, one bit each; 0 if they span
 * parts of axes or listed chips. */
unsigned mesh_spanned(const struct mesh *mesh, const struct axis_list *list);

struct ring {
    int n;
    bool closed;
    bool broken; /* it would be closed without dead links */
    int axis;    /* the physical axis whose coordinates are the positions and whose links the steps; or -1 */
    int along; /* the physical axis that it covers completely with live links, even if its steps leave it (twisted); or -1 */
    int32_t *position; /* [chips]; -1 for chips that take no part; NULL if axis >= 0 */
    int32_t *next;     /* [chips]: the chip at position + 1, cyclically; NULL if axis >= 0 */
    int32_t *piece;    /* [chips]: the number of the chip's piece of data; NULL if it is the position */
    int32_t *slot;     /* [n]: the logical index of a piece; NULL if it is the piece's number */
    int edge_links;    /* links of the longest step, except for the closing one */
    int closing_links; /* links of the step from the last to the first */
    /* Through all chips of a slice without defects: the hop that is the same for all steps, of lines except the closing one; or 0 */
    int step_axis, step_delta;
    int overlap; /* most steps in one direction over the same link; 1 if each step has its own link */
};

/* The rings of all chips along a whole axis of the slice. */
int ring_of_axis(struct ring *ring, const struct slice *slice, int axis, struct status *st);
/* The rings of all chips along a part of an axis. */
int ring_of_part(struct ring *ring, const struct slice *slice, const struct side *part, struct status *st);
/* The ring along one mesh axis. */
int ring_along(struct ring *ring, const struct mesh *mesh, int axis, struct status *st);
/* One ring through all chips of some mesh axes: from neighbour to neighbour if the chips fill a box, and
 * closed if possible. Its slots give the position in the list's order (axis_list_position). */
int ring_through(struct ring *ring, const struct mesh *mesh, const struct axis_list *list, struct status *st);
/* The ring of a loop of permutes: it follows the numbers of the devices; with devices in ring order it goes
 * from neighbour to neighbour. Its overlap is not counted. Of chips with several devices, it is that of the chips. */
int ring_of_loop(struct ring *ring, const struct mesh *mesh, const struct axis_list *list, struct status *st);
/* The ring through each group in the order listed: `chip` lists groups * n different chips. */
int ring_of_groups(struct ring *ring, const struct slice *slice, const int32_t chip[], int groups, int n,
                   struct status *st);
void ring_free(struct ring *ring);
/* A closed ring each step of which has a link of its own, with no places: for bounds. */
static inline struct ring ring_ideal(int n)
{
    return (struct ring){.n = n, .closed = true, .edge_links = 1, .closing_links = 1, .overlap = 1};
}

static inline int ring_position(const struct ring *ring, const struct slice *slice, int chip)
{
    return ring->axis >= 0 ? slice_coord(slice, chip, ring->axis) : ring->position[chip];
}

/* The number of a chip's piece. Pieces are consecutive along the ring, like positions, cyclically. */
static inline int ring_piece(const struct ring *ring, const struct slice *slice, int chip)
{
    return ring->piece ? ring->piece[chip] : ring_position(ring, slice, chip);
}

/* The number of a chip's piece on several rings: its pieces on all of them, row by row. */
int rings_piece(const struct ring *const ring[], int rings, const struct slice *slice, int chip);

/* Is every step a single link that no other ring of the kind uses? With `closes` a line is walked as a ring,
 * and only a line along an axis returns over its own links. */
static inline bool ring_is_of_links(const struct ring *ring, bool closes)
{
    return ring->edge_links <= 1 && (ring->closed ? ring->closing_links == 1 : !closes || ring->axis >= 0);
}

/* The next chip on the ring, cyclically. */
int ring_next(const struct ring *ring, const struct slice *slice, int chip);

/* A hybrid mesh repeats this mesh on each of several slices, each axis `dcn` times over slices, which vary
 * slowest (JAX's create_hybrid_device_mesh). Finds the place of a hybrid device: returns its device number in
 * this mesh, and sets *slice to the number of its slice. */
int mesh_hybrid_device(const struct mesh *mesh, const struct axes *dcn, int device, int *slice);

/* Prints the chip of each device, and the links of each step of each axis' ring; also for the ring
 * over all axes of a list, in its order, if the list has several (it may be NULL). `dcn`: of a hybrid
 * mesh, or NULL. */
int mesh_show(const struct mesh *mesh, const struct axis_list *list, const struct axes *dcn, FILE *out,
              struct status *st);

/* Invariants: the numbering is a permutation, and every group of a ring has each position once. */
int mesh_check(const struct mesh *mesh, struct status *st);
