/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * platform: a slice as a SimGrid platform file (XML 4.1), for users of SimGrid and for our own engine.
 *
 * A host is a chip, "TPU:5"; a link is one of our one-way links, "TPU:5.x+" for the one that leaves chip 5
 * along x by +, shared by whatever crosses it. All routes are listed in one Full zone, because SimGrid's own
 * torus knows neither open axes nor axes of 2 chips with one cable. Routes are ours: dimension-ordered (x,
 * then y, then z), shortest, a tie by +.
 *
 * Our engine writes a file of another content (links without latency, only the routes that a program takes:
 * lanes.h) with the same pieces.
 *
 * Units: in the names; bandwidths are one-way. Errors: STATUS_LIMIT above PLATFORM_CHIPS_MAX chips (a route
 * for each pair of chips), STATUS_IO. Ownership: the stream is the caller's.
 */
#ifndef ICISIM_PLATFORM_H
#define ICISIM_PLATFORM_H

#include <stdio.h>

#include "base/status.h"
#include "machine/slice.h"

enum { PLATFORM_CHIPS_MAX = 1024, PLATFORM_NAME = 32 };

/* Writes the platform of a slice. A slice does not know how fast its chips compute: `chip_flops` says. */
int platform_write(const struct slice *slice, double chip_flops, FILE *out, struct status *st);

/* "TPU:5" and "TPU:5.x+". Both return `name`. */
char *platform_chip_name(int chip, char name[static PLATFORM_NAME]);
char *platform_link_name(const struct slice *slice, int link, char name[static PLATFORM_NAME]);

/* The pieces, to be written in this order. `note` stands as a comment at the top. */
void platform_begin(FILE *out, const char *note);
void platform_host(FILE *out, const char *name, double flops);
void platform_link(FILE *out, const struct slice *slice, int link, double link_Bps, double latency_s);
void platform_route(FILE *out, const struct slice *slice, const char *from, const char *to, const int link[],
                    int links);
int platform_end(FILE *out, struct status *st);

#endif
