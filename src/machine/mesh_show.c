/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Printing a mesh for people, and its invariants. */
#include <stdlib.h>

#include "machine/mesh.h"
#include "machine/route.h"

int mesh_hybrid_device(const struct mesh *mesh, const struct axes *dcn, int device, int *slice)
{
    struct axes whole = mesh->axes;
    int within = 0;
    *slice = 0;
    for (int a = 0; a < whole.count; a++)
        whole.axis[a].n *= dcn->axis[a].n;
    for (int a = 0; a < whole.count; a++) {
        int n = mesh->axes.axis[a].n, at = axes_coord(&whole, device, a);
        *slice = *slice * dcn->axis[a].n + at / n;
        within = within * n + at % n;
    }
    return within;
}

static void show_devices(const struct mesh *mesh, const struct axes *dcn, FILE *out)
{
    struct axes whole = mesh->axes;
    for (int a = 0; a < whole.count && dcn; a++)
        whole.axis[a].n *= dcn->axis[a].n;
    fprintf(out, "# device  %schip  at%s", dcn ? "slice  " : "", mesh->cores > 1 ? "  core" : "");
    for (int a = 0; a < whole.count; a++)
        fprintf(out, "  %s", whole.axis[a].name);
    fputc('\n', out);
    for (int device = 0; device < axes_devices(&whole); device++) {
        int slice = 0, within = dcn ? mesh_hybrid_device(mesh, dcn, device, &slice) : device;
        int chip = mesh_chip(mesh, within);
        fprintf(out, "%8d", device);
        if (dcn)
            fprintf(out, "  %5d", slice);
        fprintf(out, "  %4d  (", chip);
        for (int a = 0; a < mesh->slice->axes; a++)
            fprintf(out, "%s%d", a ? "," : "", slice_coord(mesh->slice, chip, a));
        fputc(')', out);
        if (mesh->cores > 1)
            fprintf(out, "  %d", axes_coord(&mesh->axes, within, mesh->core_axis) % mesh->cores);
        for (int a = 0; a < whole.count; a++)
            fprintf(out, "  %d", axes_coord(&whole, device, a));
        fputc('\n', out);
    }
}

/* Prints the steps of the first group; all other groups are translated copies of it. */
static void show_ring(const struct mesh *mesh, const struct ring *ring, const char *name, const char *how,
                      FILE *out)
{
    fprintf(out, "# ring over %s (on %s): %d chips, %s; links of each edge:", name, how, ring->n,
            ring->n < 2    ? "nothing to do"
            : ring->closed ? "closed"
                           : "a line");
    int chip = 0;
    while (ring_position(ring, mesh->slice, chip) != 0)
        chip++;
    for (int i = 0; i < ring->n && ring->n > 1; i++) {
        int to = ring_next(ring, mesh->slice, chip);
        struct hop hop[ROUTE_HOPS];
        int hops = route_between(mesh->slice, chip, to, hop, NULL);
        fprintf(out, " %s%d", i == ring->n - 1 ? "back " : "", hops < 0 ? hops : route_length(hop, hops));
        chip = to;
    }
    fputc('\n', out);
}

/* Prints the ring over several axes in logical order, where a step of a slow axis may be long. */
static int show_logical_ring(const struct mesh *mesh, const struct axis_list *list, FILE *out,
                             struct status *st)
{
    int n = axis_list_size(list, &mesh->axes);
    char name[AXES_TEXT];
    struct ring ring;
    int32_t *chip = malloc((size_t)mesh->devices * sizeof *chip);
    if (!chip)
        return status_nomem(st);
    mesh_groups(mesh, list, chip);
    int code = ring_of_groups(&ring, mesh->slice, chip, mesh->devices / n, n, st);
    free(chip);
    if (code < 0)
        return code;
    show_ring(mesh, &ring, axis_list_print(list, &mesh->axes, name), "the mesh, in this order", out);
    ring_free(&ring);
    return 0;
}

static int show_rings(const struct mesh *mesh, const struct axis_list *list, FILE *out, struct status *st)
{
    for (int a = 0; a < mesh->axes.count; a++) {
        struct ring ring;
        if (ring_of_loop(&ring, mesh, &(struct axis_list){.count = 1, .axis = {a}}, st) < 0)
            return st->code;
        show_ring(mesh, &ring, mesh->axes.axis[a].name, mesh->lay[a].how, out);
        ring_free(&ring);
    }
    return list && list->count > 1 ? show_logical_ring(mesh, list, out, st) : 0;
}

int mesh_show(const struct mesh *mesh, const struct axis_list *list, const struct axes *dcn, FILE *out,
              struct status *st)
{
    char mapping[MESH_TEXT], sizes[AXES_TEXT];
    struct mesh chips = {.devices = 0};
    fprintf(out, "# mesh %s: %s", axes_print(&mesh->axes, sizes), mesh_print_mapping(mesh, mapping));
    if (dcn)
        fprintf(out, ", on each slice; over slices %s", axes_print(dcn, sizes));
    fputc('\n', out);
    show_devices(mesh, dcn, out);
    int code = mesh->cores > 1 ? mesh_init_of_chips(&chips, mesh, st) : 0;
    if (code == 0)
        code = show_rings(mesh->cores > 1 ? &chips : mesh, list, out, st);
    mesh_free(&chips);
    return code;
}

int mesh_check(const struct mesh *mesh, struct status *st)
{
    int devices = 0;
    for (int chip = 0; chip < mesh->slice->chips; chip++)
        devices += mesh_device(mesh, chip) >= 0 ? mesh->cores : 0;
    if (devices != mesh->devices || axes_devices(&mesh->axes) != devices)
        return status_fail(st, STATUS_CHECK, "mesh: its chips are %d of its %d devices, its axes make %d",
                           devices, mesh->devices, axes_devices(&mesh->axes));
    for (int device = 0; device < mesh->devices; device++) {
        int chip = mesh_chip(mesh, device);
        int first = chip < 0 || chip >= mesh->slice->chips ? -1 : mesh_device(mesh, chip);
        if (first < 0 || first > device || (mesh->cores == 1 && first != device))
            return status_fail(st, STATUS_CHECK, "mesh: device %d is on chip %d, which is device %d", device,
                               chip, first);
    }
    for (int a = 0; a < mesh->axes.count && mesh->cores == 1; a++) {
        struct ring ring;
        if (ring_along(&ring, mesh, a, st) < 0)
            return st->code;
        int bad = -1;
        for (int device = 0; device < mesh->devices && bad < 0; device++) {
            int chip = mesh_chip(mesh, device), at = ring_piece(&ring, mesh->slice, chip);
            int logical = ring.slot ? ring.slot[at] : at;
            int next = ring_piece(&ring, mesh->slice, ring_next(&ring, mesh->slice, chip));
            if (next != (at + 1) % ring.n || axes_coord(&mesh->axes, device, a) != logical)
                bad = chip;
        }
        ring_free(&ring);
        if (bad >= 0)
            return status_fail(st, STATUS_CHECK, "mesh axis %s: chip %d is not where its ring has it",
                               mesh->axes.axis[a].name, bad);
    }
    return 0;
}
