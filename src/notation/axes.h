/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * axes: the named axes of a logical mesh, `dp=4,tp=2`, and lists of them, `(tp,dp)`.
 *
 * Devices of a mesh are numbered in mesh order: the first axis varies slowest, so that on dp=4,tp=2 device 5
 * is (dp 2, tp 1). A list of axes also numbers the devices that it spans, in its own order, again with the
 * first axis slowest: over (tp,dp) the same device has position 1*4+2 = 6. Since the two numbers differ, a
 * ring over several axes must say in which order it steps. This module does not know where devices lie on the
 * slice (mesh.h does).
 *
 * Units: none. Errors: STATUS_INPUT with text and column. Ownership: plain values, nothing is allocated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { AXES_MAX = 8, AXIS_NAME = 16, AXES_DEVICES_MAX = 1 << 24, AXES_TEXT = 256 };

struct axes {
    int count;
    struct {
        char name[AXIS_NAME];
        int n;
    } axis[AXES_MAX];
};

/* Some axes of a mesh by index, in the order given. Empty: no axis. */
struct axis_list {
    int count;
    int axis[AXES_MAX];
};

/* Appends one axis. Errors: a name twice, a size below 1, too many axes or devices. */
int axes_add(struct axes *axes, const char *name, int n, struct status *st);

/* Reads a mesh, "dp=4,tp=2". */
int axes_parse(const char *text, struct axes *axes, struct status *st);

/* Prints what axes_parse() reads, "dp=4,tp=2". Returns `text`. */
char *axes_print(const struct axes *axes, char text[static AXES_TEXT]);

/* Number of devices; 1 if there is no axis. */
int axes_devices(const struct axes *axes);

/* Index of an axis by name, -1 if there is none. */
int axes_find(const struct axes *axes, const char *name);

/* Coordinate of a device, numbered in mesh order, on an axis. */
int axes_coord(const struct axes *axes, int device, int axis);

/* Steps to the next permutation of n axes in lexicographic order; after the last one it starts over with the
 * first and returns false. */
bool axes_next_order(int order[], int n);

/* Appends an axis by name. Errors: an axis that the mesh does not have, or that the list has already. */
int axis_list_add(struct axis_list *list, const struct axes *axes, const char *name, struct status *st);

/* Reads "tp", "tp,dp" or "(tp,dp)"; "()" and "" are no axis. */
int axis_list_parse(const char *text, const struct axes *axes, struct axis_list *list, struct status *st);

/* axis_list_has(): is an axis in the list? axis_list_set(): the list as a set of bits. axis_list_of_set():
 * the axes of such a set in mesh order. axis_list_append(): adds the axes of another list at the end. */
bool axis_list_has(const struct axis_list *list, int axis);
unsigned axis_list_set(const struct axis_list *list);
struct axis_list axis_list_of_set(unsigned set);
void axis_list_append(struct axis_list *list, const struct axis_list *more);

/* Length of the common prefix of two lists. */
int axis_list_common(const struct axis_list *a, const struct axis_list *b);

/* "tp" or "(tp,dp)". Returns `text`. */
char *axis_list_print(const struct axis_list *list, const struct axes *axes, char text[static AXES_TEXT]);

/* Number of devices that the list spans, and a device's position among them, the first axis slowest. */
int axis_list_size(const struct axis_list *list, const struct axes *axes);
int axis_list_position(const struct axis_list *list, const struct axes *axes, int device);

/* A digit of a mixed-radix number: it runs from 0 to n-1, and one step of it adds `step` to the number.
 * axes_count() writes the numbers of all combinations of digits, the last digit fastest: number[product of
 * all n]. */
struct axes_digit {
    int64_t n, step;
};
void axes_count(const struct axes_digit digit[], int digits, int32_t number[]);

/* Lists all devices in groups that differ only along the axes of the list, device[axes_devices()].
 * Within a group they are sorted by position along the list; groups are sorted by their coordinates
 * on the other axes. */
void axis_list_groups(const struct axis_list *list, const struct axes *axes, int32_t device[]);
