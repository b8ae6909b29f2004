/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices and meshes: lines of chip, slice, wrap, mesh, chips that it is laid over, slow links, slow chips and axes. What is
 * opened has the invariants, and rings over its axes. */
#include <stdlib.h>

#include "fuzz.h"
#include "settings/option.h"
#include "study/machine.h"

/* Larger ones are as right, and slow. */
enum { CHIPS = 4096 };

static void check(const struct machine *machine, const char *axes)
{
    struct status st = {0}, own = {0};
    struct axis_list list = {0};
    struct ring ring = {0};
    if (machine->slice.chips > CHIPS)
        return;
    fuzz_promise(slice_check(&machine->slice, &st) == 0, "the slice is right", &st);
    fuzz_promise(mesh_check(&machine->mesh, &st) == 0, "the mesh is right", &st);
    if (mesh_parse_axes(&machine->mesh, axes, &list, &own) < 0 ||
        ring_through(&ring, &machine->mesh, &list, &own) < 0)
        fuzz_refused(&own);
    ring_free(&ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const option[] = {"chip", "slice", "wrap", "mesh", "on", "link", "slow-chip"};
    struct status st = {0};
    struct point point;
    struct catalog catalog = {0};
    struct machine machine = {0};
    char *text = fuzz_text(data, bytes), *rest = text;
    int code = 0;
    if (!text)
        return 0;
    point_init(&point);
    for (size_t i = 0; i < sizeof option / sizeof *option && code == 0; i++) {
        const char *value = fuzz_line(&rest);
        bool given = *value && (i > 0 || !chip_is_path(value)); /* no files */
        if (given)
            code = option_set(option_by_name(option[i]), value, &point, &st);
    }
    if (code == 0)
        code = machine_open(&machine, &point, &catalog, &st);
    if (code < 0)
        fuzz_refused(&st);
    else
        check(&machine, fuzz_line(&rest));
    machine_close(&machine);
    catalog_free(&catalog);
    free(text);
    return 0;
}
