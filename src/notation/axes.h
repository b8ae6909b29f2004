/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * axes: the named axes of a logical mesh, `dp=4,tp=2`, and lists of them, `(tp,dp)`.
 *
 * Devices of a mesh are numbered in mesh order: the first axis varies slowest, so that on dp=4,tp=2 device 5
 * is (dp 2, tp 1). A list of axes numbers the devices that it spans too, in its own order, the first again
 * slowest: over (tp,dp) the same device has position 1*4+2 = 6. What mesh order calls 5 and the list calls 6
 * is the reason why a ring over several axes must say which order it steps in. Where devices lie on the slice
 * is not known here (mesh.h).
 *
 * Units: none. Errors: STATUS_INPUT with text and column. Ownership: plain values, nothing is allocated.
 */
#ifndef ICISIM_AXES_H
#define ICISIM_AXES_H

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

/* Reads "dp=4,tp=2". */
int axes_parse(const char *text, struct axes *axes, struct status *st);

/* "dp=4,tp=2" again. Returns `text`. */
char *axes_print(const struct axes *axes, char text[static AXES_TEXT]);

/* Number of devices: 1 where there is no axis. */
int axes_devices(const struct axes *axes);

/* Index of an axis by name, -1 if there is none. */
int axes_find(const struct axes *axes, const char *name);

/* Coordinate of a device, numbered in mesh order, on an axis. */
int axes_coord(const struct axes *axes, int device, int axis);

/* The next order of n axes in that of dictionaries; after the last it is the first again, and the answer is false. */
bool axes_next_order(int order[], int n);

/* Appends an axis by name. Errors: an axis that the mesh does not have, or that the list has already. */
int axis_list_add(struct axis_list *list, const struct axes *axes, const char *name, struct status *st);

/* Reads "tp", "tp,dp" or "(tp,dp)"; "()" and "" are no axis. */
int axis_list_parse(const char *text, const struct axes *axes, struct axis_list *list, struct status *st);

/* Does the list have an axis; the list as a set of bits, and a set in mesh order; with another list after it. */
bool axis_list_has(const struct axis_list *list, int axis);
unsigned axis_list_set(const struct axis_list *list);
struct axis_list axis_list_of_set(unsigned set);
void axis_list_append(struct axis_list *list, const struct axis_list *more);

/* How many axes two lists begin with alike. */
int axis_list_common(const struct axis_list *a, const struct axis_list *b);

/* "tp" or "(tp,dp)". Returns `text`. */
char *axis_list_print(const struct axis_list *list, const struct axes *axes, char text[static AXES_TEXT]);

/* How many devices the list spans, and a device's position among them, the first axis slowest. */
int axis_list_size(const struct axis_list *list, const struct axes *axes);
int axis_list_position(const struct axis_list *list, const struct axes *axes, int device);

/* A number is written in digits, the last of which varies fastest; `step` is how far apart two numbers are that a digit tells
 * apart by one. Writes the numbers of all digits in that order: number[product of all n]. */
struct axes_digit {
    int64_t n, step;
};
void axes_count(const struct axes_digit digit[], int digits, int32_t number[]);

/* All devices, in groups of those that differ only along the list, in each by their position there: device[axes_devices()].
 * Groups are ordered by what their devices have in common. */
void axis_list_groups(const struct axis_list *list, const struct axes *axes, int32_t device[]);

#endif
