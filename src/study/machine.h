/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * machine: the machine of a point: its chip, its slice and the mesh laid out on it.
 *
 * A slice that is not given is the one that the chip's cloud offers for as many chips as the mesh has devices. Chips that
 * were loaded already are kept in a catalog, so that a sweep reads each chip's file once.
 *
 * Units: in the names. Errors: status.h. Ownership: machine_close() frees slice and mesh, safe after a
 * failure and on a zeroed machine; the mesh points to the slice beside it, so a machine is not copied. Chips
 * belong to the catalog, which outlives the machine.
 */
#pragma once

#include "hlo/hlo_read.h"
#include "hlo/memory_analysis.h"
#include "machine/chip.h"
#include "machine/mesh.h"
#include "settings/point.h"

struct catalog_entry;
struct drawn;
struct catalog {
    struct catalog_entry *first;
    struct drawn *drawn; /* what experts are sent (model/model.h) */
    struct listing *text;
    double step_efficiency; /* of all chips that it loads from now on, instead of their own; 0: their own */
};
const struct chip *catalog_chip(struct catalog *catalog, const char *name, enum chip_profile profile,
                                struct status *st);
/* The chip of a point. Without --profile, HLO text uses the measured profile if the chip's file has one,
 * everything else the book's. */
const struct chip *catalog_chip_of(struct catalog *catalog, const struct point *point, struct status *st);
void catalog_free(struct catalog *catalog);

/* HLO text as points name it, which a catalog reads once for all points that follow, so that a sweep does not read a module again
 * for each slice, and stdin can be the module of several points. */
struct listing {
    struct listing *next;
    char *key; /* everything it depends on */
    struct module module;
    char path[HLO_PATH];           /* the file that was read */
    int disguised;                 /* reduce-scatters found, which replace the originals in the module */
    struct memory_analysis memory; /* of a scheduled text, as written */
};

/* Writes the mesh of the devices into a module's header, unless it already has such an entry. */
int listing_write_mesh(struct module *module, const struct point *point, struct status *st);

/* The listing of a point, read if it is not in the catalog yet; NULL after a failure. */
const struct listing *listing_of(struct catalog *catalog, const struct point *point, struct status *st);

/* Reads it for a caller who frees the module. As compilers write it; or, since TPUs run them so, with reduce-scatters for what
 * is one in disguise. What it takes of memory is left out where `memory` is NULL. */
int listing_read(const struct point *point, struct module *module, char path[HLO_PATH], int *disguised,
                 struct memory_analysis *memory, struct status *st);

/* What becomes of links that are slower than as built: they are passed as they are, or taken as dead, or all links go as slowly as
 * they do, so that none brings more than the slowest takes on. */
enum slow_links { SLOW_LINKS_PASSED, SLOW_LINKS_AVOIDED, SLOW_LINKS_PACED, SLOW_LINKS_WAYS };

struct machine {
    const struct chip *chip;
    struct slice slice;
    struct mesh mesh;
    enum slow_links slow_links;
    bool held_back;       /* sends are, as if hops took as long as the slice's links then do */
    bool meshed, of_text; /* the mesh was given; or HLO text has it (listing_write_mesh()) */
};

int machine_open(struct machine *machine, const struct point *point, struct catalog *catalog,
                 struct status *st);
/* The same machine, that treats slow links in another way. */
int machine_set_slow_links(struct machine *machine, enum slow_links way, const struct point *point,
                           struct catalog *catalog, struct status *st);
/* Reads "0-3,7,6" into chip[] and returns their number; `most` is the room. */
int machine_read_chips(const char *text, int32_t chip[], int most, struct status *st);
void machine_close(struct machine *machine);
