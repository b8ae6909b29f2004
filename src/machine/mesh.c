/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/mesh.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/device_trays.h"
#include "machine/snake.h"

const char *const device_order_names[] = {"jax", "ring", NULL};

static void describe(struct mesh *mesh)
{
    mesh->plain = true;
    for (int a = 0; a < mesh->axes.count; a++) {
        const struct side *side = &mesh->layout.side[a][0];
        bool listed = mesh->chip_of != NULL;
        bool whole = !listed && mesh->layout.sides[a] == 1 && side->n == mesh->slice->len[side->axis];
        mesh->lay[a].physical = whole ? side->axis : -1;
        mesh->plain &= mesh->axes.axis[a].n == 1 || (!listed && mesh->layout.sides[a] == 1);
        for (int s = 0; s < mesh->layout.sides[a]; s++)
            mesh->split |= side[s].n < mesh->slice->len[side[s].axis];
        mesh_layout_print(&mesh->layout, mesh->slice, a, mesh->lay[a].how);
        if (listed && mesh->layout.sides[a] == 0 && mesh->axes.axis[a].n > 1)
            snprintf(mesh->lay[a].how, MESH_LAYOUT_TEXT, "chips as JAX lists them");
    }
}

/* For each position along mesh axis a, the coordinates that it contributes to a chip: [n][SLICE_AXES]. */
static int coordinates_along(const struct mesh *mesh, int a, int *coord, struct status *st)
{
    const struct mesh_layout *layout = &mesh->layout;
    int n = mesh->axes.axis[a].n, sides = layout->sides[a], len[SLICE_AXES];
    bool closed[SLICE_AXES];
    memset(coord, 0, (size_t)n * SLICE_AXES * sizeof *coord);
    if (sides == 0)
        return 0;
    for (int s = 0; s < sides; s++) {
        const struct side *side = &layout->side[a][s];
        len[s] = side->n;
        closed[s] =
            side->n > 2 && side->n == mesh->slice->len[side->axis] && slice_closes(mesh->slice, side->axis);
    }
    int32_t *order = malloc((size_t)n * sizeof *order);
    if (!order)
        return status_nomem(st);
    int code = 0;
    for (int i = 0; i < n; i++)
        order[i] = i;
    if (mesh->order == DEVICE_ORDER_RING)
        code = snake_order(sides, len, closed, order, st);
    for (int i = 0; i < n && code == 0; i++) {
        int point = order[i];
        for (int s = sides - 1; s >= 0; s--) {
            coord[i * SLICE_AXES + layout->side[a][s].axis] = point % len[s] * layout->side[a][s].stride;
            point /= len[s];
        }
    }
    free(order);
    return code;
}

/* Allocates the numbering of the mesh's devices; no chip has a device yet. */
static int make_numbering(struct mesh *mesh, struct status *st)
{
    size_t chips = (size_t)mesh->slice->chips;
    mesh->chip_of = malloc(((size_t)mesh->devices + 1) * sizeof *mesh->chip_of);
    mesh->device_of = malloc(chips * sizeof *mesh->device_of);
    if (!mesh->chip_of || !mesh->device_of)
        return status_nomem(st);
    memset(mesh->device_of, -1, chips * sizeof *mesh->device_of);
    mesh->chip_of[0] = 0;
    return 0;
}

/* Numbers the chips. The coordinates of a device are the sum of the contributions of its positions along all
 * axes. In place, axis by axis: each device so far becomes n devices, from the last to the first, since the
 * first of the new devices lands where the old one was. */
static int number_chips(struct mesh *mesh, struct status *st)
{
    size_t rows = 0;
    for (int a = 0; a < mesh->axes.count; a++)
        rows = (size_t)mesh->axes.axis[a].n > rows ? (size_t)mesh->axes.axis[a].n : rows;
    int *coord = malloc((rows + 1) * SLICE_AXES * sizeof *coord), devices = 1;
    int code = coord ? make_numbering(mesh, st) : status_nomem(st);
    for (int a = 0; a < mesh->axes.count && code == 0; a++) {
        int n = mesh->axes.axis[a].n;
        code = coordinates_along(mesh, a, coord, st);
        for (int at = devices - 1; at >= 0 && code == 0; at--)
            for (int k = n - 1; k >= 0; k--)
                mesh->chip_of[at * n + k] =
                    mesh->chip_of[at] + slice_chip(mesh->slice, coord + k * SLICE_AXES);
        devices *= n;
    }
    for (int device = 0; device < devices && code == 0; device++)
        mesh->device_of[mesh->chip_of[device]] = device;
    free(coord);
    return code;
}

/* Makes one mesh axis for each physical axis, with its name; devices have the numbers of their chips. */
static int mesh_of_slice(struct mesh *mesh, struct status *st)
{
    int code = 0;
    for (int a = 0; a < mesh->slice->axes && code == 0; a++) {
        char name[2] = {slice_axis_name(a), '\0'};
        code = axes_add(&mesh->axes, name, mesh->slice->len[a], st);
    }
    mesh_layout_of_slice(&mesh->layout, mesh->slice);
    describe(mesh);
    return code < 0 ? code : 0;
}

static bool is_identity(const struct mesh *mesh)
{
    int last = -1;
    for (int a = 0; a < mesh->axes.count; a++) {
        if (mesh->layout.sides[a] == 0)
            continue;
        if (mesh->lay[a].physical <= last)
            return false;
        last = mesh->lay[a].physical;
    }
    return true;
}

/* The mesh axis that has the devices of a chip innermost if devices are listed: the last axis longer than 1.
 * -1 if its size is not a multiple of their number. */
static int innermost(const struct axes *axes, int cores)
{
    int a = axes->count - 1;
    while (a > 0 && axes->axis[a].n == 1)
        a--;
    return cores == 1 ? 0 : axes->axis[a].n % cores == 0 ? a : -1;
}

/* Lays a mesh whose devices JAX lists in a special order. A mesh axis with all chips lies on all axes of the
 * slice; other axes have no layout besides the list. Returns the mesh axis that has the devices of a chip; -1
 * if there is no such order. */
static int lay_trays(struct mesh *mesh, int cores, struct status *st)
{
    const struct slice *slice = mesh->slice;
    int32_t *order = malloc((size_t)slice->chips * sizeof *order);
    int cored = innermost(&mesh->axes, cores), code = -1;
    if (!order)
        status_nomem(st);
    else if (cored >= 0 && device_trays_order(slice, &mesh->axes, cores, order))
        code = cored;
    if (code >= 0)
        mesh->axes.axis[cored].n /= cores;
    for (int a = 0; a < mesh->axes.count && code >= 0; a++) {
        bool all = slice->chips > 1 && mesh->axes.axis[a].n == slice->chips;
        for (int p = 0; p < slice->axes && all; p++)
            if (slice->len[p] > 1)
                mesh->layout.side[a][mesh->layout.sides[a]++] = (struct side){p, slice->len[p], 1, false};
    }
    if (code >= 0 && make_numbering(mesh, st) < 0)
        code = st->code;
    for (int d = 0; d < slice->chips && code >= 0; d++) {
        mesh->chip_of[d] = order[d];
        mesh->device_of[order[d]] = d;
    }
    free(order);
    return code;
}

/* Lays a mesh given by its sizes alone. The result is a mesh of chips, to which the caller adds the devices
 * of a chip. Returns the mesh axis that has them. */
static int lay_sizes(struct mesh *mesh, const char *text, const struct mesh_rule *rule, int cores,
                     struct status *st)
{
    char shape[SLICE_TEXT];
    int cored = rule->order == DEVICE_ORDER_JAX ? lay_trays(mesh, cores, st) : -1;
    if (st->code < 0 || cored >= 0)
        return cored;
    cored = mesh_layout_find(&mesh->layout, mesh->slice, &mesh->axes, cores, rule->split);
    if (cored >= 0)
        mesh->axes.axis[cored].n /= cores;
    if (cored < 0)
        return status_fail(
            st, STATUS_INPUT,
            rule->split
                ? "mesh '%s': JAX cannot lay it on slice %s; write on what its axes lie, as in X=x*y:2,Z=y:4"
                : "mesh '%s': JAX refuses to split axes of slice %s among its axes, which are then "
                  "slower; write --allow-split-physical-axes, or on what they lie, as in X=x*y:2,Z=y:4",
            text, slice_print_shape(mesh->slice, shape));
    return cored;
}

int mesh_init(struct mesh *mesh, const struct slice *slice, const char *text, const struct mesh_rule *rule,
              struct status *st)
{
    static const struct mesh_rule zeroed;
    rule = rule ? rule : &zeroed;
    *mesh = (struct mesh){
        .slice = slice, .devices = slice->chips, .cores = 1, .order = rule->order, .plain = true};
    if (!text || !*text)
        return mesh_of_slice(mesh, st);
    int named = mesh_layout_parse(&mesh->layout, text, slice, &mesh->axes, st);
    if (named < 0)
        return named;
    char shape[SLICE_TEXT];
    slice_print_shape(slice, shape);
    int devices = axes_devices(&mesh->axes);
    int cores = named == 0 && rule->cores > 1 && devices == slice->chips * rule->cores ? rule->cores : 1;
    if (devices != slice->chips * cores)
        return status_fail(st, STATUS_INPUT,
                           "mesh '%s' has %d devices, but slice %s has %d chip%s; they must be equal", text,
                           devices, shape, slice->chips, slice->chips == 1 ? "" : "s");
    int unnamed = 0; /* an axis of size 1 needs no physical axis */
    for (int a = 0; a < mesh->axes.count; a++)
        unnamed += mesh->layout.sides[a] == 0 && mesh->axes.axis[a].n > 1;
    if (named > 0 && unnamed > 0)
        return status_fail(st, STATUS_INPUT,
                           "mesh '%s': where one axis is written as x*y, all are; name the axes of slice %s",
                           text, shape);
    int cored = named > 0 ? 0 : lay_sizes(mesh, text, rule, cores, st), code = cored < 0 ? cored : 0;
    describe(mesh);
    if (code == 0 && !mesh->chip_of && !is_identity(mesh))
        code = number_chips(mesh, st);
    return code == 0 && cores > 1 ? mesh_add_cores(mesh, cored, cores, st) : code;
}

/* Copies the list, and sets the device of every chip of the slice. */
static int keep_list(struct mesh *mesh, const int32_t chip[], struct status *st)
{
    const struct slice *slice = mesh->slice;
    if (make_numbering(mesh, st) < 0)
        return st->code;
    for (int device = 0; device < mesh->devices; device++) {
        int32_t c = chip[device];
        if (c < 0 || c >= slice->chips)
            return status_fail(st, STATUS_INPUT, "chip %d is not on the slice; its chips are 0 to %d", (int)c,
                               slice->chips - 1);
        if (mesh->device_of[c] >= 0)
            return status_fail(st, STATUS_INPUT, "chip %d is listed twice; a mesh has each chip once",
                               (int)c);
        mesh->chip_of[device] = c;
        mesh->device_of[c] = device;
    }
    return 0;
}

int mesh_init_on(struct mesh *mesh, const struct slice *slice, const char *text, const int32_t chip[],
                 int chips, struct status *st)
{
    *mesh = (struct mesh){.slice = slice, .devices = chips, .cores = 1, .plain = true};
    int code = axes_parse(text, &mesh->axes, st), devices = code < 0 ? 0 : axes_devices(&mesh->axes);
    if (code < 0)
        return code;
    if (devices != chips)
        return status_fail(st, STATUS_INPUT,
                           "mesh '%s' has %d devices, but %d chips are listed; they must be equal", text,
                           devices, chips);
    for (int a = 0; a < mesh->axes.count; a++) {
        mesh->lay[a].physical = -1;
        snprintf(mesh->lay[a].how, MESH_LAYOUT_TEXT, "listed chips");
    }
    return keep_list(mesh, chip, st);
}

/* The number of a device before mesh_add_cores() made an axis `cores` times as long. */
static int device_before(const struct axes *axes, int device, int axis, int cores)
{
    int before = 0;
    for (int a = 0; a < axes->count; a++) {
        int inner = a == axis ? cores : 1;
        before = before * (axes->axis[a].n / inner) + axes_coord(axes, device, a) / inner;
    }
    return before;
}

int mesh_add_cores(struct mesh *mesh, int axis, int cores, struct status *st)
{
    struct mesh chips = *mesh;
    size_t used = mesh->axes.axis[axis].n > 1 ? strlen(mesh->lay[axis].how) : 0;
    mesh->axes.axis[axis].n *= cores;
    mesh->devices *= cores;
    mesh->cores = cores;
    mesh->core_axis = axis;
    mesh->lay[axis].physical = -1;
    snprintf(mesh->lay[axis].how + used, MESH_LAYOUT_TEXT - used, "%s", used ? "*cores" : "cores");
    int code = make_numbering(mesh, st);
    for (int device = mesh->devices - 1; device >= 0 && code == 0; device--) {
        mesh->chip_of[device] = mesh_chip(&chips, device_before(&mesh->axes, device, axis, cores));
        mesh->device_of[mesh->chip_of[device]] = device;
    }
    mesh_free(&chips);
    return code;
}

int mesh_init_of_chips(struct mesh *chips, const struct mesh *mesh, struct status *st)
{
    *chips = *mesh;
    chips->cores = 1;
    chips->devices /= mesh->cores;
    if (mesh->cores > 1)
        chips->axes.axis[mesh->core_axis].n /= mesh->cores;
    if (make_numbering(chips, st) < 0)
        return st->code;
    for (int device = 0; device < mesh->devices; device++) {
        int on_chips = device_before(&mesh->axes, device, mesh->core_axis, mesh->cores);
        chips->chip_of[on_chips] = mesh_chip(mesh, device);
        chips->device_of[mesh_chip(mesh, device)] = on_chips;
    }
    return 0;
}

void mesh_free(struct mesh *mesh)
{
    free(mesh->chip_of);
    free(mesh->device_of);
    mesh->chip_of = mesh->device_of = NULL;
}

char *mesh_print_marked(const struct mesh *mesh, unsigned marked, const char *how,
                        char text[static MESH_TEXT])
{
    text[0] = '\0';
    for (int a = 0; a < mesh->axes.count; a++)
        if (a + 1 < mesh->axes.count && mesh->axes.axis[a].n == 1 && mesh->axes.axis[a + 1].n == 1 &&
            strcmp(mesh->lay[a].how, mesh->lay[a + 1].how) == 0) /* both of size 1: printed together */
            text_add(text, MESH_TEXT, "%s and ", mesh->axes.axis[a].name);
        else
            text_add(text, MESH_TEXT, "%s on %s%s%s", mesh->axes.axis[a].name, mesh->lay[a].how,
                     marked >> a & 1 ? how : "", a + 1 < mesh->axes.count ? ", " : "");
    return mesh->plain ? text : text_add(text, MESH_TEXT, ", %s order", device_order_names[mesh->order]);
}

char *mesh_print_mapping(const struct mesh *mesh, char text[static MESH_TEXT])
{
    return mesh_print_marked(mesh, 0, "", text);
}

int mesh_parse_axes(const struct mesh *mesh, const char *text, struct axis_list *list, struct status *st)
{
    if (text && *text)
        return axis_list_parse(text, &mesh->axes, list, st);
    *list = (struct axis_list){.count = mesh->axes.count};
    for (int a = 0; a < list->count; a++)
        list->axis[a] = a;
    return 0;
}

void mesh_groups(const struct mesh *mesh, const struct axis_list *list, int32_t chip[])
{
    axis_list_groups(list, &mesh->axes, chip);
    for (int at = 0; at < mesh->devices; at++)
        chip[at] = mesh_chip(mesh, chip[at]);
}

int mesh_chips_of(const struct mesh *mesh, const struct groups *groups, struct groups *chips,
                  struct status *st)
{
    int *seen = calloc((size_t)mesh->slice->chips, sizeof *seen), n = 0; /* the group of a chip, from 1 */
    int code = seen ? groups_init(chips, groups->count, groups->size, st) : status_nomem(st);
    chips->count = code == 0 ? 0 : chips->count;
    for (int g = 0; g < groups->count && code == 0; g++) {
        const int *member = groups->member + (size_t)g * (size_t)groups->size;
        if (seen[mesh_chip(mesh, member[0])])
            continue;
        for (int i = 0; i < groups->size; i++) {
            int chip = mesh_chip(mesh, member[i]);
            if (seen[chip] != g + 1)
                chips->member[n++] = chip;
            seen[chip] = g + 1;
        }
        chips->count++;
    }
    chips->size = code == 0 ? n / chips->count : chips->size;
    free(seen);
    return code;
}

void mesh_mask(const struct mesh *mesh, uint8_t mask[])
{
    for (int chip = 0; chip < mesh->slice->chips; chip++)
        mask[chip] = mesh_device(mesh, chip) >= 0;
}

unsigned mesh_spanned(const struct mesh *mesh, const struct axis_list *list)
{
    struct side line[MESH_LAYOUT_LINES];
    int lines = mesh_layout_lines(&mesh->layout, list, line), chips = 1;
    unsigned axes = 0;
    if (mesh->cores > 1)
        return 0;
    for (int i = 0; i < lines; i++) {
        if (line[i].n != mesh->slice->len[line[i].axis])
            return 0;
        axes |= 1u << line[i].axis;
        chips *= line[i].n;
    }
    return chips == axis_list_size(list, &mesh->axes) ? axes : 0;
}
