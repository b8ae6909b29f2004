/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slice: the box of chips that a job gets, with a mesh of named axes laid on it.
 *
 * Chips are numbered row by row, the last physical axis fastest: on 4x4x8 chip 13 is (0,1,5). Devices of the
 * mesh are numbered in the same way over the mesh axes, and each device is one chip. Without a mesh the two
 * numbers are equal.
 *
 * Units: in the names. Errors: ICISIM_INPUT. Ownership: icisim_slice_free(), after the programs on it.
 */
#ifndef ICISIM_API_SLICE_H
#define ICISIM_API_SLICE_H

#include <icisim/point.h>
#include <icisim/status.h>

ICISIM_BEGIN

struct icisim_slice;

/* The slice of a point, from its options for chip, slice, wrap, mesh and link speeds. The op need not be set.
 * The point may be changed or freed afterwards. */
ICISIM_API struct icisim_slice *icisim_slice_new(const struct icisim_point *point, struct icisim_status *st);
ICISIM_API void icisim_slice_free(struct icisim_slice *slice);

/* Number of chips; number of physical axes; the length of an axis (1 if there is no such axis), and whether
 * its ends are joined. */
ICISIM_API int icisim_slice_chips(const struct icisim_slice *slice);
ICISIM_API int icisim_slice_axes(const struct icisim_slice *slice);
ICISIM_API int icisim_slice_length(const struct icisim_slice *slice, int axis);
ICISIM_API int icisim_slice_wraps(const struct icisim_slice *slice, int axis);

/* Coordinate of a chip; -1 if there is no such chip or axis. */
ICISIM_API int icisim_slice_coordinate(const struct icisim_slice *slice, int chip, int axis);

/* The chip of a device of the mesh; -1 if there is none. */
ICISIM_API int icisim_slice_chip(const struct icisim_slice *slice, int device);

/* How the mesh lies on the slice: "dp on x, tp on y*z". */
ICISIM_API const char *icisim_slice_mapping(const struct icisim_slice *slice);

ICISIM_END

#endif
