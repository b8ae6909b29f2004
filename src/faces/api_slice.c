/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chips, and slices of them. */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "faces/api.h"

struct icisim_chip {
    struct chip chip;
};

struct icisim_chip *icisim_chip_new(const char *name_or_path, const char *profile, struct icisim_status *st)
{
    struct api_call call = api_begin();
    struct icisim_chip *chip = calloc(1, sizeof *chip);
    int code = !api_given(&call, name_or_path && profile)
                   ? call.st.code
                   : text_choice("profile", profile, chip_profile_names, &call.st);
    if (code >= 0)
        code = chip ? chip_load(&chip->chip, name_or_path, (enum chip_profile)code, &call.st)
                    : status_nomem(&call.st);
    if (api_end(&call, code, st) == 0)
        return chip;
    icisim_chip_free(chip);
    return NULL;
}

void icisim_chip_free(struct icisim_chip *chip)
{
    if (chip)
        chip_free(&chip->chip);
    free(chip);
}

double icisim_chip_hbm_bytes(const struct icisim_chip *chip)
{
    return chip->chip.hbm_bytes > 0 ? (double)chip->chip.hbm_bytes : NAN;
}

int icisim_chip_cores(const struct icisim_chip *chip)
{
    return chip->chip.cores;
}

static int open_slice(struct icisim_slice *slice, const struct icisim_point *point, struct status *st)
{
    struct point said;
    if (api_point(point, &said, st) < 0 || machine_open(&slice->machine, &said, &slice->catalog, st) < 0)
        return st->code;
    mesh_print_mapping(&slice->machine.mesh, slice->mapping);
    return 0;
}

struct icisim_slice *icisim_slice_new(const struct icisim_point *point, struct icisim_status *st)
{
    struct api_call call = api_begin();
    struct icisim_slice *slice = calloc(1, sizeof *slice);
    int code = !api_given(&call, point) ? call.st.code
               : slice                  ? open_slice(slice, point, &call.st)
                                        : status_nomem(&call.st);
    if (api_end(&call, code, st) == 0)
        return slice;
    icisim_slice_free(slice);
    return NULL;
}

void icisim_slice_free(struct icisim_slice *slice)
{
    if (!slice)
        return;
    machine_close(&slice->machine);
    catalog_free(&slice->catalog);
    free(slice);
}

int icisim_slice_chips(const struct icisim_slice *slice)
{
    return slice->machine.slice.chips;
}

int icisim_slice_axes(const struct icisim_slice *slice)
{
    return slice->machine.slice.axes;
}

static bool has_axis(const struct icisim_slice *slice, int axis)
{
    return axis >= 0 && axis < slice->machine.slice.axes;
}

int icisim_slice_length(const struct icisim_slice *slice, int axis)
{
    return has_axis(slice, axis) ? slice->machine.slice.len[axis] : 1;
}

int icisim_slice_wraps(const struct icisim_slice *slice, int axis)
{
    return has_axis(slice, axis) && slice_ring(&slice->machine.slice, axis) != 0;
}

int icisim_slice_coordinate(const struct icisim_slice *slice, int chip, int axis)
{
    bool there = chip >= 0 && chip < slice->machine.slice.chips && has_axis(slice, axis);
    return there ? slice_coord(&slice->machine.slice, chip, axis) : -1;
}

int icisim_slice_chip(const struct icisim_slice *slice, int device)
{
    bool known = device >= 0 && device < slice->machine.mesh.devices;
    return known ? mesh_chip(&slice->machine.mesh, device) : -1;
}

const char *icisim_slice_mapping(const struct icisim_slice *slice)
{
    return slice->mapping;
}
