/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fabric/mesh.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/snake.h"

/* A side of a mesh axis: n places on a physical axis, `stride` links apart. */
struct side {
    int axis, n, stride;
};
/* What every mesh axis is laid on; the first side of one varies slowest. */
struct laying {
    int sides[AXES_MAX];
    struct side side[AXES_MAX][SLICE_AXES];
};

static void lay_side(struct laying *laying, int mesh_axis, struct side side)
{
    laying->side[mesh_axis][laying->sides[mesh_axis]++] = side;
}

/* Reads the value of "NAME=x*y" into a set of axes in the order written. Returns the number of axes, 0 if the
 * value is a number, or a failure. */
static int read_merge(const char *value, size_t length, const struct slice *slice, struct laying *laying,
                      int mesh_axis, struct status *st)
{
    if (length == 0 || isdigit((unsigned char)value[0]) || value[0] == '-')
        return 0;
    for (size_t i = 0; i < length; i++) {
        int axis = i % 2 ? -1 : slice_axis_by_name(value[i]);
        bool known = i % 2 ? value[i] == '*' : axis >= 0 && axis < slice->axes;
        if (!known || (i % 2 && i + 1 == length) || (!(i % 2) && laying->sides[mesh_axis] == SLICE_AXES))
            return status_fail(st, STATUS_INPUT,
                               "mesh: '%.*s' is neither a size nor axes of the slice; write 8 or x*y",
                               (int)length, value);
        if (axis >= 0)
            lay_side(laying, mesh_axis, (struct side){axis, slice->len[axis], 1});
    }
    return laying->sides[mesh_axis];
}

/* Reads the text, where "x*y" stands for its size; `laying` gets the axes that are named so. Returns their
 * number. */
static int read_text(struct mesh *mesh, const char *text, struct laying *laying, struct status *st)
{
    char sizes[AXES_TEXT] = "";
    int merges = 0, item = 0;
    size_t used = 0;
    for (const char *at = text; *at; item++) {
        size_t length = strcspn(at, ","), name = strcspn(at, "=,");
        const char *value = name < length ? at + name + 1 : at + length;
        int merged = item < AXES_MAX
                         ? read_merge(value, (size_t)(at + length - value), mesh->slice, laying, item, st)
                         : 0;
        if (merged < 0)
            return merged;
        int n = 1;
        for (int s = 0; s < merged; s++)
            n *= laying->side[item][s].n;
        merges += merged > 0;
        int wrote =
            merged
                ? snprintf(sizes + used, sizeof sizes - used, "%s%.*s=%d", item ? "," : "", (int)name, at, n)
                : snprintf(sizes + used, sizeof sizes - used, "%s%.*s", item ? "," : "", (int)length, at);
        used += (size_t)wrote;
        if (used >= sizeof sizes)
            return status_fail(st, STATUS_INPUT, "mesh '%.40s...': too long; it has at most %d axes", text,
                               AXES_MAX);
        at += length + (at[length] == ',');
    }
    int code = axes_parse(sizes, &mesh->axes, st);
    return code < 0 ? code : merges;
}

/* Finds for mesh axes a, a+1, … free physical axes whose lengths multiply to their sizes: single ones before
 * pairs before all three, lower ones first, so that equal shapes come out in order. */
static bool lay_whole(const struct mesh *mesh, struct laying *laying, int a, unsigned used)
{
    const struct slice *slice = mesh->slice;
    if (a == mesh->axes.count)
        return true;
    if (mesh->axes.axis[a].n == 1)
        return lay_whole(mesh, laying, a + 1, used);
    static const unsigned sets[] = {1, 2, 4, 3, 5, 6, 7};
    for (int i = 0; i < 7; i++) {
        int n = 1;
        laying->sides[a] = 0;
        for (int axis = 0; axis < slice->axes; axis++) {
            if (!(sets[i] >> axis & 1) || slice->len[axis] == 1)
                continue;
            n *= slice->len[axis];
            lay_side(laying, a, (struct side){axis, slice->len[axis], 1});
        }
        if (!(sets[i] & used) && n == mesh->axes.axis[a].n && lay_whole(mesh, laying, a + 1, used | sets[i]))
            return true;
    }
    laying->sides[a] = 0;
    return false;
}

/* Cuts the physical axes in order: each mesh axis takes what is left of one whole, or a part that divides it.
 */
static bool lay_split(const struct mesh *mesh, struct laying *laying)
{
    int axis = 0, left = mesh->slice->len[0];
    for (int a = 0; a < mesh->axes.count; a++) {
        laying->sides[a] = 0;
        for (int need = mesh->axes.axis[a].n; need > 1;) {
            while (left == 1 && axis < mesh->slice->axes - 1)
                left = mesh->slice->len[++axis];
            int take = need % left == 0 ? left : left % need == 0 ? need : 1;
            if (take == 1 || laying->sides[a] == SLICE_AXES)
                return false;
            left /= take;
            need /= take;
            lay_side(laying, a, (struct side){axis, take, left});
        }
    }
    return true;
}

static void describe(struct mesh *mesh, int a, const struct laying *laying)
{
    char *how = mesh->lay[a].how;
    int sides = laying->sides[a];
    mesh->lay[a].physical = -1;
    size_t used = 0;
    for (int s = 0; s < sides; s++) {
        const struct side *side = &laying->side[a][s];
        bool whole = side->n == mesh->slice->len[side->axis];
        used +=
            (size_t)snprintf(how + used, MESH_HOW - used, "%s%c", s ? "*" : "", slice_axis_name(side->axis));
        if (!whole)
            used += (size_t)snprintf(how + used, MESH_HOW - used, ":%d", side->n);
        if (whole && sides == 1)
            mesh->lay[a].physical = side->axis;
    }
    if (sides == 0)
        snprintf(how, MESH_HOW, "one chip");
}

/* For each place along mesh axis a the coordinates that it adds: [n][SLICE_AXES]. Several sides are snaked.
 */
static int places(const struct mesh *mesh, const struct laying *laying, int a, int *coord, struct status *st)
{
    int n = mesh->axes.axis[a].n, sides = laying->sides[a], len[SLICE_AXES];
    bool closed[SLICE_AXES];
    memset(coord, 0, (size_t)n * SLICE_AXES * sizeof *coord);
    if (sides == 0)
        return 0;
    for (int s = 0; s < sides; s++) {
        const struct side *side = &laying->side[a][s];
        len[s] = side->n;
        closed[s] = slice_is_ring(mesh->slice, side->axis) && side->n == mesh->slice->len[side->axis];
    }
    int32_t *order = malloc((size_t)n * sizeof *order);
    if (!order)
        return status_nomem(st);
    int code = snake_order(sides, len, closed, order, st);
    for (int i = 0; i < n && code == 0; i++) {
        int point = order[i];
        for (int s = sides - 1; s >= 0; s--) {
            coord[i * SLICE_AXES + laying->side[a][s].axis] = point % len[s] * laying->side[a][s].stride;
            point /= len[s];
        }
    }
    free(order);
    return code;
}

/* Numbers the chips: every device's coordinates are the sums of what its places along the axes add. */
static int number_chips(struct mesh *mesh, const struct laying *laying, struct status *st)
{
    size_t chips = (size_t)mesh->slice->chips, rows = 0;
    for (int a = 0; a < mesh->axes.count; a++)
        rows += (size_t)mesh->axes.axis[a].n;
    int *coord = malloc((rows + 1) * SLICE_AXES * sizeof *coord), code = 0;
    mesh->chip_of = malloc(chips * sizeof *mesh->chip_of);
    mesh->device_of = malloc(chips * sizeof *mesh->device_of);
    if (!coord || !mesh->chip_of || !mesh->device_of)
        code = status_nomem(st);
    int *first[AXES_MAX], *free_row = coord;
    for (int a = 0; a < mesh->axes.count && code == 0; a++) {
        first[a] = free_row;
        code = places(mesh, laying, a, first[a], st);
        free_row += mesh->axes.axis[a].n * SLICE_AXES;
    }
    for (int device = 0; device < mesh->slice->chips && code == 0; device++) {
        int at[SLICE_AXES] = {0};
        for (int a = 0; a < mesh->axes.count; a++)
            for (int s = 0; s < SLICE_AXES; s++)
                at[s] += first[a][axes_coord(&mesh->axes, device, a) * SLICE_AXES + s];
        int chip = slice_chip(mesh->slice, at);
        mesh->chip_of[device] = chip;
        mesh->device_of[chip] = device;
    }
    free(coord);
    return code;
}

/* One mesh axis per physical one, of its name; the numbering is the slice's. */
static int mesh_of_slice(struct mesh *mesh, struct status *st)
{
    int code = 0;
    for (int a = 0; a < mesh->slice->axes && code == 0; a++) {
        char name[2] = {slice_axis_name(a), '\0'};
        code = axes_add(&mesh->axes, name, mesh->slice->len[a], st);
        mesh->lay[a].physical = a;
        snprintf(mesh->lay[a].how, MESH_HOW, "%s", name);
    }
    return code < 0 ? code : 0;
}

static bool is_identity(const struct mesh *mesh, const struct laying *laying)
{
    int last = -1;
    for (int a = 0; a < mesh->axes.count; a++) {
        if (mesh->lay[a].physical < 0 && laying->sides[a] > 0)
            return false;
        if (laying->sides[a] > 0 && mesh->lay[a].physical < last)
            return false;
        last = laying->sides[a] > 0 ? mesh->lay[a].physical : last;
    }
    return true;
}

int mesh_init(struct mesh *mesh, const struct slice *slice, const char *text, struct status *st)
{
    *mesh = (struct mesh){.slice = slice, .devices = slice->chips};
    if (!text || !*text)
        return mesh_of_slice(mesh, st);
    struct laying laying;
    memset(&laying, 0, sizeof laying);
    int merges = read_text(mesh, text, &laying, st);
    if (merges < 0)
        return merges;
    char shape[SLICE_TEXT];
    slice_print_shape(slice, shape);
    int devices = axes_devices(&mesh->axes);
    if (devices != slice->chips)
        return status_fail(st, STATUS_INPUT,
                           "mesh '%s' has %d devices, but slice %s has %d chips; they must be equal", text,
                           devices, shape, slice->chips);
    if (merges == 0 ? !lay_whole(mesh, &laying, 0, 0) && !lay_split(mesh, &laying)
                    : merges < mesh->axes.count)
        return status_fail(
            st, STATUS_INPUT,
            merges ? "mesh '%s': where one axis is written as x*y, all are; name the axes of slice %s"
                   : "mesh '%s' cannot be laid on slice %s; an axis takes whole physical axes or a part "
                     "that divides one",
            text, shape);
    unsigned used = 0;
    for (int a = 0; a < mesh->axes.count; a++) {
        describe(mesh, a, &laying);
        for (int s = 0; s < laying.sides[a] && merges; s++) {
            unsigned bit = 1u << laying.side[a][s].axis;
            if (used & bit)
                return status_fail(st, STATUS_INPUT,
                                   "mesh '%s' uses axis %c twice; each belongs to one mesh axis", text,
                                   slice_axis_name(laying.side[a][s].axis));
            used |= bit;
        }
    }
    return is_identity(mesh, &laying) ? 0 : number_chips(mesh, &laying, st);
}

/* Takes the list over; every chip of the slice learns which device it is. */
static int keep_list(struct mesh *mesh, const int32_t chip[], struct status *st)
{
    const struct slice *slice = mesh->slice;
    mesh->chip_of = malloc(((size_t)mesh->devices + 1) * sizeof *mesh->chip_of);
    mesh->device_of = malloc((size_t)slice->chips * sizeof *mesh->device_of);
    if (!mesh->chip_of || !mesh->device_of)
        return status_nomem(st);
    memset(mesh->device_of, -1, (size_t)slice->chips * sizeof *mesh->device_of);
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
    *mesh = (struct mesh){.slice = slice, .devices = chips};
    int code = axes_parse(text, &mesh->axes, st), devices = code < 0 ? 0 : axes_devices(&mesh->axes);
    if (code < 0)
        return code;
    if (devices != chips)
        return status_fail(st, STATUS_INPUT,
                           "mesh '%s' has %d devices, but %d chips are listed; they must be equal", text,
                           devices, chips);
    for (int a = 0; a < mesh->axes.count; a++) {
        mesh->lay[a].physical = -1;
        snprintf(mesh->lay[a].how, MESH_HOW, "listed chips");
    }
    return keep_list(mesh, chip, st);
}

void mesh_free(struct mesh *mesh)
{
    free(mesh->chip_of);
    free(mesh->device_of);
    mesh->chip_of = mesh->device_of = NULL;
}

char *mesh_print_mapping(const struct mesh *mesh, char text[static MESH_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (int a = 0; a < mesh->axes.count && used < MESH_TEXT; a++)
        used += (size_t)snprintf(text + used, MESH_TEXT - used, "%s%s on %s", a ? ", " : "",
                                 mesh->axes.axis[a].name, mesh->lay[a].how);
    return text;
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
    struct axis_list others = {0};
    for (int a = 0; a < mesh->axes.count; a++) {
        bool listed = false;
        for (int i = 0; i < list->count; i++)
            listed |= list->axis[i] == a;
        if (!listed)
            others.axis[others.count++] = a;
    }
    int n = axis_list_size(list, &mesh->axes);
    for (int device = 0; device < mesh->devices; device++) {
        int group = axis_list_position(&others, &mesh->axes, device);
        int at = axis_list_position(list, &mesh->axes, device);
        chip[group * n + at] = mesh_chip(mesh, device);
    }
}

void mesh_mask(const struct mesh *mesh, uint8_t mask[])
{
    for (int chip = 0; chip < mesh->slice->chips; chip++)
        mask[chip] = mesh_device(mesh, chip) >= 0;
}

unsigned mesh_spanned(const struct mesh *mesh, const struct axis_list *list)
{
    unsigned axes = 0;
    for (int i = 0; i < list->count; i++) {
        int axis = list->axis[i];
        if (mesh->axes.axis[axis].n == 1)
            continue;
        if (mesh->lay[axis].physical < 0)
            return 0;
        axes |= 1u << mesh->lay[axis].physical;
    }
    return axes;
}
