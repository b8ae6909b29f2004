/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "numbers/shard.h"

#include <string.h>

static void find_corner(const struct spec *spec, const struct axes *axes, int device,
                        const struct array *block, int64_t corner[ARRAY_DIMS])
{
    for (int d = 0; d < block->dims; d++)
        corner[d] = d < spec->dims ? axis_list_position(&spec->dim[d], axes, device) * block->shape[d] : 0;
}

static int check_entries(const struct spec *spec, const struct axes *axes, const struct array *array,
                         struct status *st)
{
    char text[SPEC_TEXT], shape[ARRAY_TEXT];
    if (spec->dims <= array->dims)
        return 0;
    return status_fail(st, STATUS_INPUT, "spec %s has %d entries, but the array of shape %s has %d dims",
                       spec_print(spec, axes, text), spec->dims, array_print_shape(array, shape),
                       array->dims);
}

int spec_shard(const struct spec *spec, const struct axes *axes, const struct array *global,
               struct array block[], struct status *st)
{
    int devices = axes_devices(axes), code = check_entries(spec, axes, global, st);
    int64_t shape[ARRAY_DIMS], corner[ARRAY_DIMS];
    memset(block, 0, (size_t)devices * sizeof *block);
    memcpy(shape, global->shape, sizeof shape);
    for (int d = 0; code == 0 && d < spec->dims; d++) {
        char text[AXES_TEXT];
        int n = axis_list_size(&spec->dim[d], axes);
        if (shape[d] % n)
            code = status_fail(
                st, STATUS_INPUT,
                "dim %d of length %lld does not divide by %d, the size of %s; take a multiple of %d", d,
                (long long)shape[d], n, axis_list_print(&spec->dim[d], axes, text), n);
        shape[d] /= n;
    }
    int made = 0;
    while (code == 0 && made < devices) {
        code = array_init(&block[made], global->dims, shape, global->dtype, st);
        if (code == 0) {
            find_corner(spec, axes, made, &block[made], corner);
            array_copy_box(global, corner, &block[made], NULL, shape);
            made++;
        }
    }
    while (code < 0 && made > 0)
        array_free(&block[--made]);
    return code;
}

/* Is the device the representative of those that hold the same block? */
static bool stands_for_replicas(const struct spec *spec, const struct axes *axes, int device)
{
    for (int a = 0; a < axes->count; a++)
        if (!spec_names_axis(spec, a) && axes_coord(axes, device, a) != 0)
            return false;
    return true;
}

int spec_assemble(const struct spec *spec, const struct axes *axes, const struct array block[],
                  struct array *global, struct status *st)
{
    int devices = axes_devices(axes);
    int64_t shape[ARRAY_DIMS], corner[ARRAY_DIMS];
    *global = (struct array){0};
    int code = check_entries(spec, axes, &block[0], st);
    if (code < 0)
        return code;
    for (int device = 1; device < devices; device++)
        if (!array_same_shape(&block[device], &block[0]))
            return status_fail(st, STATUS_INPUT, "the blocks of devices 0 and %d differ in shape", device);
    memcpy(shape, block[0].shape, sizeof shape);
    for (int d = 0; d < spec->dims; d++)
        shape[d] *= axis_list_size(&spec->dim[d], axes);
    if ((code = array_init(global, block[0].dims, shape, block[0].dtype, st)) < 0)
        return code;
    for (int device = 0; device < devices; device++)
        if (stands_for_replicas(spec, axes, device)) {
            find_corner(spec, axes, device, &block[device], corner);
            array_copy_box(&block[device], NULL, global, corner, block[device].shape);
        }
    return 0;
}

int spec_check_replicas(const struct spec *spec, const struct axes *axes, const struct array block[],
                        double relative, struct status *st)
{
    int devices = axes_devices(axes);
    for (int a = 0; a < axes->count; a++) {
        if (spec_names_axis(spec, a))
            continue;
        int stride = 1;
        for (int b = a + 1; b < axes->count; b++)
            stride *= axes->axis[b].n;
        for (int device = 0; device < devices; device++) {
            int64_t at;
            int first = device - axes_coord(axes, device, a) * stride;
            if (first == device || array_near(&block[device], &block[first], relative, &at))
                continue;
            char text[SPEC_TEXT];
            const char *name = axes->axis[a].name;
            return status_fail(
                st, STATUS_CHECK,
                "devices %d and %d differ, but %s does not name axis %s that they differ along; "
                "reduce over %s or name it",
                first, device, spec_print(spec, axes, text), name, name);
        }
    }
    return 0;
}
