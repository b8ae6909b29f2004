/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mesh: the logical, named axes of a job, laid on the chips of a slice; and the rings that collectives walk.
 *
 * A mesh "dp=4,tp=2" numbers its devices row by row, the last axis fastest. Each of its axes is laid on
 * physical axes: one to one, on several that are merged ("X=x*y"), or on a part of one that is split. Without a mesh the axes
 * are the physical ones. Numbering matters: a ring over (tp,dp) steps in the order given, ppermute numbers
 * chips in the order of the mesh; taking one for the other permutes the data silently.
 *
 * Devices are numbered as JAX's create_device_mesh does: along merged axes row by row, in some small slices in an order of
 * their own (device_trays.h). Or in ring order: along merged axes as a snake, so that neighbours stay neighbours and the ends
 * meet where they can. A collective's ring goes from neighbour to neighbour in both, as its pieces may have any order; a
 * permute, and a loop of permutes, goes as devices are numbered.
 *
 * A mesh may also be laid over a list of chips in an order, so that two meshes share a slice, or a dead chip is left out:
 * then device i is the i-th chip of the list, and the other chips of the slice take no part in what runs on it.
 *
 * Where a chip is several devices (chip.cores), one axis of the mesh has them innermost: the devices of a chip follow each
 * other along it. What runs on such a mesh is a module (compile/placement.h); rings and what is said of chips ask for one device a chip.
 *
 * A ring is the way round one axis (or through a list of chips): who stands at which position, who is next.
 * It is closed if stepping from the last to the first costs no more links than the other steps; else it is a
 * line. A ring that a dead link breaks becomes a line that begins after the break: then positions are counted
 * from there, while every chip keeps its piece of the data.
 *
 * Units: none. Errors: status.h. Ownership: the caller's structs, freed with mesh_free() and ring_free(); the
 * slice is borrowed.
 */
#ifndef ICISIM_MESH_H
#define ICISIM_MESH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "machine/mesh_layout.h"
#include "machine/slice.h"
#include "notation/axes.h"
#include "notation/groups.h"

enum { MESH_TEXT = 512 };

/* How devices are numbered along axes; names by number, up to NULL. */
enum device_order { DEVICE_ORDER_JAX, DEVICE_ORDER_RING };
extern const char *const device_order_names[];

/* How sizes alone are laid. Zeroed: as JAX does, one device a chip. */
struct mesh_rule {
    enum device_order order;
    bool split; /* physical axes may be split, which JAX refuses without allow_split_physical_axes */
    int cores;  /* devices a chip, where a mesh has as many; 0 is 1 */
};

struct mesh {
    const struct slice *slice;
    struct axes axes; /* names and sizes */
    int devices;      /* the slice's chips, or those listed; times cores */
    int cores;        /* devices a chip */
    int core_axis;    /* the axis that has them innermost, where they are several */
    struct {
        int physical;               /* the whole physical axis that it is, coordinate by coordinate, or -1 */
        char how[MESH_LAYOUT_TEXT]; /* what it is laid on: "x", "x*y", "x:2" for a part of 2 */
    } lay[AXES_MAX];
    struct mesh_layout layout;
    enum device_order order;
    bool plain;       /* no axis lies on several physical ones, or is listed: the orders are the same */
    int32_t *chip_of; /* [devices]: of the mesh's device number; NULL where the two are equal */
    int32_t *
        device_of; /* [chips of the slice]: the way back, to a chip's first device; -1 for chips that are not in the
                           mesh; NULL too */
};

/* Lays "dp=4,tp=2" or "X=x*y:2,Z=y:4" on the slice; NULL or "" is one mesh axis per physical axis, of its name.
 * Sizes alone are laid by a rule; NULL: a zeroed one.
 * Errors: names given twice, sizes that do not multiply to the number of chips or of devices, axes of the slice used twice or
 * in part, sizes that JAX refuses to lay. */
int mesh_init(struct mesh *mesh, const struct slice *slice, const char *text, const struct mesh_rule *rule,
              struct status *st);
/* Lays "dp=4,tp=2" over chips of the slice in the order listed. Errors: a list that is not as long as the mesh has
 * devices, a chip that is not there or listed twice. */
int mesh_init_on(struct mesh *mesh, const struct slice *slice, const char *text, const int32_t chip[],
                 int chips, struct status *st);
/* Makes each chip of a mesh so many devices, which follow each other along an axis: that becomes so many times as long. */
int mesh_add_cores(struct mesh *mesh, int axis, int cores, struct status *st);
/* The mesh of its chips, one device each: as it was before mesh_add_cores(). */
int mesh_init_of_chips(struct mesh *chips, const struct mesh *mesh, struct status *st);
void mesh_free(struct mesh *mesh);

/* "dp on x*y as axes, tp and sp on one chip, jax order": what each mesh axis lies on, with so many words after those that are marked
 * (bit a for axis a), and the order of devices where there are several. Returns the length, which may be beyond the room. */
char *mesh_print_marked(const struct mesh *mesh, unsigned marked, const char *how,
                        char text[static MESH_TEXT]);
/* The same, none marked; returns `text`. */
char *mesh_print_mapping(const struct mesh *mesh, char text[static MESH_TEXT]);

/* Reads "x", "x,y" or "(tp,dp)"; NULL or "" is all axes. */
int mesh_parse_axes(const struct mesh *mesh, const char *text, struct axis_list *list, struct status *st);

/* Device number of a chip, -1 if it is in no mesh, and back. */
static inline int mesh_device(const struct mesh *mesh, int chip)
{
    return mesh->device_of ? mesh->device_of[chip] : chip;
}
static inline int mesh_chip(const struct mesh *mesh, int device)
{
    return mesh->chip_of ? mesh->chip_of[device] : device;
}

/* The chips that take part in a collective over some axes together: groups of axis_list_size() chips each, as
 * many as it takes. Writes for every group the chips in the order of axis_list_position(): [devices]. */
void mesh_groups(const struct mesh *mesh, const struct axis_list *list, int32_t chip[]);
/* The chips of groups of devices, group by group, each once; groups on the chips of an earlier one, as are those of the other devices
 * of these, are left out. The caller's to free. */
int mesh_chips_of(const struct mesh *mesh, const struct groups *groups, struct groups *chips,
                  struct status *st);

/* Marks the chips of the mesh by 1, all others by 0: [chips of the slice]. */
void mesh_mask(const struct mesh *mesh, uint8_t mask[]);

/* The axes of the slice, a bit each, that these groups span from end to end, and nothing else; else 0. */
unsigned mesh_spanned(const struct mesh *mesh, const struct axis_list *list);

struct ring {
    int n;
    bool closed;
    bool broken; /* it would close, but for dead links */
    int axis;    /* the physical axis whose coordinate is the position and whose links are the steps; or -1 */
    int along; /* the physical axis that it is the whole of, with all its links, though it may not close on itself; or -1 */
    int32_t *position; /* [chips], -1 for chips that take no part; NULL where axis >= 0 */
    int32_t *next;     /* [chips]: the chip at position + 1, the last one's is the first; NULL too */
    int32_t *piece; /* [chips]: the number of the chip's own piece of data; NULL where it is the position */
    int32_t *slot;  /* [n]: the logical index of a piece; NULL where it is the number of the piece itself */
    int edge_links; /* links of the longest step but the closing one */
    int closing_links; /* links of the step from the last to the first */
    int overlap; /* so many steps one way pass the link that most of them pass: 1 where each is a link of its own */
};

/* The rings along a whole axis of the slice, of all its chips. */
int ring_of_axis(struct ring *ring, const struct slice *slice, int axis, struct status *st);
/* The rings along part of an axis, of all its chips. */
int ring_of_part(struct ring *ring, const struct slice *slice, const struct side *part, struct status *st);
/* The ring along one mesh axis. */
int ring_along(struct ring *ring, const struct mesh *mesh, int axis, struct status *st);
/* One ring through all chips of some mesh axes: along neighbours where they fill a box, closed where that can be. Its slots
 * give the position in the list's order (axis_list_position). */
int ring_through(struct ring *ring, const struct mesh *mesh, const struct axis_list *list, struct status *st);
/* The ring that a loop of permutes goes round: as the devices are numbered, with devices in ring order along neighbours. */
int ring_of_loop(struct ring *ring, const struct mesh *mesh, const struct axis_list *list, struct status *st);
/* The ring through each of the groups, in the order listed: `chip` lists groups * n chips, none twice. */
int ring_of_groups(struct ring *ring, const struct slice *slice, const int32_t chip[], int groups, int n,
                   struct status *st);
void ring_free(struct ring *ring);

static inline int ring_position(const struct ring *ring, const struct slice *slice, int chip)
{
    return ring->axis >= 0 ? slice_coord(slice, chip, ring->axis) : ring->position[chip];
}

/* The number of a chip's own piece: pieces follow each other along the ring, as positions do, and round its end. */
static inline int ring_piece(const struct ring *ring, const struct slice *slice, int chip)
{
    return ring->piece ? ring->piece[chip] : ring_position(ring, slice, chip);
}

/* Is every step one link that the ring shares with no other of its kind? With `closes` a line is walked as a ring: only an
 * axis goes back over links that are its own. */
static inline bool ring_is_of_links(const struct ring *ring, bool closes)
{
    return ring->edge_links <= 1 && (ring->closed ? ring->closing_links == 1 : !closes || ring->axis >= 0);
}

/* The chip one step on; the last one's is the first. */
int ring_next(const struct ring *ring, const struct slice *slice, int chip);

/* A hybrid mesh has this one on each of several slices, and each of its axes `dcn` times over slices, slowest (JAX's
 * create_hybrid_device_mesh). Where its devices are: the answer is one of this mesh, on the slice of that number. */
int mesh_hybrid_device(const struct mesh *mesh, const struct axes *dcn, int device, int *slice);

/* Prints which chip is where and what each edge of each axis' ring costs in links; and of the ring over all axes of a
 * list, in its order, if that has several (it may be NULL). `dcn`: of a hybrid mesh, or NULL. */
int mesh_show(const struct mesh *mesh, const struct axis_list *list, const struct axes *dcn, FILE *out,
              struct status *st);

/* Invariants: the numbering is a permutation, positions of a ring are each taken once in every group. */
int mesh_check(const struct mesh *mesh, struct status *st);

#endif
