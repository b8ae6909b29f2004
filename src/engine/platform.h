/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * platform: a slice as a SimGrid platform file (XML 4.1), for users of SimGrid and for our own engine.
 *
 * A host is a chip, "TPU:5"; a link is one of our one-way links, "TPU:5.x+" for the one that leaves chip 5 in
 * x+ direction, shared by all transfers that cross it. All routes are listed in one Full zone, because
 * SimGrid's own torus supports neither open axes nor axes of 2 chips with one cable. Routes are those of
 * route.h: shortest, dimension-ordered (x, then y, then z), ties in + direction.
 *
 * Our engine writes a different file with the same functions: links without latency, and only the routes that
 * a program takes (lanes.h).
 *
 * Units: in the names; bandwidths are one-way. Errors: STATUS_LIMIT above PLATFORM_CHIPS_MAX chips (a route
 * for each pair of chips), STATUS_IO. Ownership: the stream is the caller's.
 */
#pragma once

#include <stdio.h>

#include "machine/slice.h"

enum { PLATFORM_CHIPS_MAX = 1024, PLATFORM_NAME = 32 };

/* Writes the platform of a slice. `chip_flops` is the speed of its hosts, which the slice does not know. */
int platform_write(const struct slice *slice, double chip_flops, FILE *out, struct status *st);

/* "TPU:5" and "TPU:5.x+". Both return `name`. */
char *platform_chip_name(int chip, char name[static PLATFORM_NAME]);
char *platform_link_name(const struct slice *slice, int link, char name[static PLATFORM_NAME]);

/* The parts of a file, to be written in this order. `note` becomes a comment at the top. */
void platform_begin(FILE *out, const char *note);
void platform_host(FILE *out, const char *name, double flops);
void platform_link(FILE *out, const struct slice *slice, int link, double link_Bps, double latency_s);
void platform_route(FILE *out, const struct slice *slice, const char *from, const char *to, const int link[],
                    int links);
int platform_end(FILE *out, struct status *st);
