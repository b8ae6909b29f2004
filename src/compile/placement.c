/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/placement.h"

#include <stdlib.h>
#include <string.h>

#include "machine/snake.h"

int placement_init(struct placement *placement, const struct slice *slice, int devices, int cores,
                   const struct mesh *mesh, const int32_t chip_of[], struct status *st)
{
    char shape[SLICE_TEXT];
    if (!chip_of)
        cores = placement_cores(slice, devices, mesh ? mesh->cores : cores);
    *placement =
        (struct placement){.slice = slice, .devices = devices, .cores = cores, .mesh = chip_of ? NULL : mesh};
    if (mesh && mesh->devices < slice->chips && devices != mesh->devices)
        return status_fail(st, STATUS_INPUT, "the module runs on %d devices, but its mesh has %d", devices,
                           mesh->devices);
    if (devices != slice->chips * cores && !chip_of && !(mesh && devices == mesh->devices))
        return status_fail(
            st, STATUS_INPUT,
            "the module runs on %d devices, but the slice %s has %d chip%s; give a --slice of %d chips",
            devices, slice_print_shape(slice, shape), slice->chips, slice->chips == 1 ? "" : "s", devices);
    placement->chip_of = malloc((size_t)devices * sizeof *placement->chip_of);
    if (!placement->chip_of)
        return status_nomem(st);
    for (int d = 0; d < devices; d++)
        placement->chip_of[d] = chip_of ? chip_of[d] : mesh ? mesh_chip(mesh, d) : d / cores;
    return 0;
}

void placement_free(struct placement *placement)
{
    free(placement->chip_of);
    placement->chip_of = NULL;
}

/* The chips of a group that is a product of sets of coordinates, one set for each axis: a box if the coordinates are
 * consecutive, or every second chip of a box, two of every four, and so on. */
struct box {
    int len[SLICE_AXES];
    int *offset[SLICE_AXES]; /* [len] coordinates minus the lowest one, ascending */
};

static void box_free(struct box *box)
{
    for (int a = 0; a < SLICE_AXES; a++)
        free(box->offset[a]);
    *box = (struct box){0};
}

static int box_init(struct box *box, const struct slice *slice, struct status *st)
{
    bool room = true;
    *box = (struct box){0};
    for (int a = 0; a < SLICE_AXES; a++) {
        box->offset[a] = malloc((size_t)slice->len[a] * sizeof *box->offset[a]);
        room = room && box->offset[a];
    }
    if (room)
        return 0;
    box_free(box);
    return status_nomem(st);
}

/* Finds the coordinates of a group's chips along an axis. */
static void bound(const struct slice *slice, const int32_t chip[], int n, int axis, struct box *box)
{
    int *seen = box->offset[axis], len = 0, low = 0, step = 1, whole = slice->len[axis];
    for (int a = axis + 1; a < SLICE_AXES; a++)
        step *= slice->len[a];
    memset(seen, 0, (size_t)whole * sizeof *seen);
    for (int i = 0; i < n; i++)
        seen[chip[i] / step % whole] = 1;
    for (int c = 0; c < whole; c++) {
        if (!seen[c])
            continue;
        low = len == 0 ? c : low;
        box->offset[axis][len++] = c - low; /* overwrites seen[], which has been read up to c */
    }
    box->len[axis] = len;
}

/* Is a group the product of its coordinates? It is if the numbers of chips are equal. */
static bool bound_all(const struct slice *slice, const int32_t chip[], int n, struct box *box)
{
    int64_t chips = 1;
    for (int a = 0; a < SLICE_AXES; a++) {
        bound(slice, chip, n, a, box);
        chips *= box->len[a];
    }
    return chips == n;
}

static bool same_shape(const struct box *a, const struct box *b)
{
    for (int axis = 0; axis < SLICE_AXES; axis++)
        if (a->len[axis] != b->len[axis] ||
            memcmp(a->offset[axis], b->offset[axis], (size_t)a->len[axis] * sizeof *a->offset[axis]) != 0)
            return false;
    return true;
}

/* Do all groups of chips have the same shape? `box` becomes that of the first. Returns 1, 0 or a negative code. */
static int find_box(const struct slice *slice, const struct groups *chips, struct box *box, struct status *st)
{
    struct box other;
    int n = chips->size;
    if (box_init(&other, slice, st) < 0)
        return st->code;
    bool is_box = bound_all(slice, chips->member, n, box);
    struct extent extent = slice_extent(slice, chips->member, n);
    for (int g = 1; g < chips->count && is_box; g++) {
        const int *group = chips->member + (size_t)g * (size_t)n;
        is_box = slice_is_moved(slice, chips->member, group, n, &extent) ||
                 (bound_all(slice, group, n, &other) && same_shape(box, &other));
    }
    box_free(&other);
    return is_box;
}

/* Lists the lines of all boxes along an axis, each line from its lowest coordinate up. Boxes of one shape may lie
 * anywhere, so a line starts at the lowest coordinate of its own box. */
static void list_lines(const struct slice *slice, const struct groups *chips, const struct box *box, int axis,
                       int32_t line[])
{
    for (int g = 0; g < chips->count; g++) {
        const int *group = chips->member + (size_t)g * (size_t)chips->size;
        int low = slice->len[axis], coord[SLICE_AXES];
        for (int i = 0; i < chips->size; i++) {
            int c = slice_coord(slice, group[i], axis);
            low = c < low ? c : low;
        }
        for (int i = 0; i < chips->size; i++) {
            if (slice_coord(slice, group[i], axis) != low)
                continue;
            for (int a = 0; a < slice->axes; a++)
                coord[a] = slice_coord(slice, group[i], a);
            for (int k = 0; k < box->len[axis]; k++) {
                coord[axis] = low + box->offset[axis][k];
                *line++ = slice_chip(slice, coord);
            }
        }
    }
}

/* The least or the greatest distance between neighbours along an axis, in hops. */
static int step_of(const struct box *box, int axis, bool most)
{
    int found = box->offset[axis][1];
    for (int k = 1; k < box->len[axis]; k++) {
        int step = box->offset[axis][k] - box->offset[axis][k - 1];
        if (most ? step > found : step < found)
            found = step;
    }
    return found;
}

static void print_ring(struct layout *layout, const struct box *box, int axis)
{
    const struct ring *ring = &layout->ring[layout->rings];
    int least = step_of(box, axis, false), most = step_of(box, axis, true);
    size_t n = strlen(layout->text);
    n += (size_t)snprintf(layout->text + n, sizeof layout->text - n, "%s%c %s", layout->rings ? ", " : " (",
                          slice_axis_name(axis), ring->closed ? "ring" : "line");
    if (most > 1 && n < sizeof layout->text)
        n += (size_t)snprintf(layout->text + n, sizeof layout->text - n, " by %d", least);
    if (most > least && n < sizeof layout->text)
        snprintf(layout->text + n, sizeof layout->text - n, " to %d", most);
}

static int ring_on_axis(struct layout *layout, const struct slice *slice, const struct groups *chips,
                        const struct box *box, int axis, struct status *st)
{
    struct ring *ring = &layout->ring[layout->rings];
    int n = box->len[axis], listed = chips->count * chips->size;
    if (n == slice->len[axis] && listed == slice->chips)
        return ring_of_axis(ring, slice, axis, st);
    int32_t *line = malloc((size_t)listed * sizeof *line);
    if (!line)
        return status_nomem(st);
    list_lines(slice, chips, box, axis, line);
    int code = ring_of_groups(ring, slice, line, listed / n, n, st);
    free(line);
    return code;
}

static int walk_box(struct layout *layout, const struct slice *slice, const struct groups *chips,
                    const struct box *box, struct status *st)
{
    const int *len = box->len;
    size_t n =
        (size_t)snprintf(layout->text, sizeof layout->text, "%s of ", chips->count > 1 ? "boxes" : "box");
    for (int a = 0; a < slice->axes; a++)
        n += (size_t)snprintf(layout->text + n, sizeof layout->text - n, "%s%d", a ? "x" : "", len[a]);
    for (int a = 0; a < slice->axes; a++) {
        if (len[a] < 2)
            continue;
        int code = ring_on_axis(layout, slice, chips, box, a, st);
        if (code < 0)
            return code;
        print_ring(layout, box, a);
        layout->rings++;
    }
    n = strlen(layout->text);
    snprintf(layout->text + n, sizeof layout->text - n, layout->rings ? ")" : "");
    return 0;
}

static int walk_list(struct layout *layout, const struct slice *slice, const struct groups *chips,
                     struct status *st)
{
    int code = ring_of_groups(&layout->ring[0], slice, chips->member, chips->count, chips->size, st);
    if (code < 0)
        return code;
    layout->rings = 1;
    snprintf(layout->text, sizeof layout->text, "one %s of %d, edges of up to %d hops",
             layout->ring[0].closed ? "ring" : "line", chips->size, layout->ring[0].edge_links);
    return 0;
}

/* The number of a group's members on each of its chips; -1 if it differs between chips. `times` is scratch, [chips],
 * and is zero before and after. */
static int devices_a_chip(const struct placement *placement, const int member[], int size, int32_t times[])
{
    for (int i = 0; i < size; i++)
        times[placement->chip_of[member[i]]]++;
    int each = times[placement->chip_of[member[0]]];
    for (int i = 0; i < size; i++)
        each = times[placement->chip_of[member[i]]] == each ? each : -1;
    for (int i = 0; i < size; i++)
        times[placement->chip_of[member[i]]] = 0;
    return each;
}

/* Appends a group with the first device on each chip of a group. seen[chips] is 1 + the index of the chip's group. */
static void append_chips(const struct placement *placement, const int member[], int size, int32_t seen[],
                         struct groups *chips)
{
    int *to = chips->member + (size_t)chips->count * (size_t)chips->size, n = 0;
    for (int i = 0; i < size; i++) {
        int32_t *of = &seen[placement->chip_of[member[i]]];
        if (*of == 0)
            to[n++] = member[i];
        *of = chips->count + 1;
    }
    chips->count++;
}

/* Is it a group of the other devices of a kept group's chips, in the same order of chips? */
static bool is_beside(const struct placement *placement, const int member[], const int32_t seen[],
                      const struct groups *chips)
{
    const int *kept = chips->member + (size_t)(seen[placement->chip_of[member[0]]] - 1) * (size_t)chips->size;
    for (int i = 0; i < chips->size; i++)
        if (placement->chip_of[member[i]] != placement->chip_of[kept[i]])
            return false;
    return true;
}

static int neither(struct status *st)
{
    return status_fail(
        st, STATUS_INPUT,
        "a group of devices has some devices of a chip and not the others; groups must have all "
        "devices of each of their chips, or one of each with the others in groups alike: take a "
        "--slice of as many chips as there are devices");
}

static int keep_groups(const struct placement *placement, const struct groups *groups, int each,
                       int32_t seen[], struct groups *chips, struct status *st)
{
    for (int g = 0; g < groups->count; g++) {
        const int *member = groups->member + (size_t)g * (size_t)groups->size;
        bool known = seen[placement->chip_of[member[0]]] > 0;
        if (known && !is_beside(placement, member, seen, chips))
            return neither(st);
        if (!known)
            append_chips(placement, member, groups->size, seen, chips);
    }
    return chips->count * (each == 1 ? placement->cores : 1) == groups->count ? 0 : neither(st);
}

/* Makes `chips`, groups of one device per chip; layout.chips and layout.together say how they relate to `groups`. */
static int fold_cores(struct layout *layout, const struct placement *placement, const struct groups *groups,
                      struct groups *chips, struct status *st)
{
    int32_t *seen = calloc((size_t)placement->slice->chips, sizeof *seen);
    int each = 0, code = seen ? 0 : status_nomem(st);
    for (int g = 0; g < groups->count && code == 0; g++) {
        int now =
            devices_a_chip(placement, groups->member + (size_t)g * (size_t)groups->size, groups->size, seen);
        if ((now != 1 && now != placement->cores) || (g > 0 && now != each))
            code = neither(st);
        each = now;
    }
    if (code == 0) {
        layout->chips = groups->size / each;
        layout->together = each == 1 ? placement->cores : 1;
        code = groups_init(chips, groups->count, layout->chips, st);
    }
    if (code == 0) {
        chips->count = 0;
        code = keep_groups(placement, groups, each, seen, chips, st);
    }
    free(seen);
    return code;
}

int layout_init(struct layout *layout, const struct placement *placement, const struct groups *groups,
                struct status *st)
{
    struct box box = {0};
    struct groups of_chips = {0}, chips = {0};
    *layout = (struct layout){.devices = groups->size,
                              .chips = groups->size,
                              .together = 1,
                              .root_chip = placement->chip_of[groups->member[0]]};
    if (placement->cores > 1) {
        if (fold_cores(layout, placement, groups, &of_chips, st) < 0) {
            groups_free(&of_chips);
            return st->code;
        }
        groups = &of_chips;
    }
    int code = groups_init(&chips, groups->count, groups->size, st);
    for (int i = 0; i < groups->count * groups->size && code == 0; i++)
        chips.member[i] = placement->chip_of[groups->member[i]];
    if (code == 0)
        code = box_init(&box, placement->slice, st);
    if (code == 0)
        code = find_box(placement->slice, &chips, &box, st);
    layout->box = code > 0;
    if (code >= 0)
        code = layout->box ? walk_box(layout, placement->slice, &chips, &box, st)
                           : walk_list(layout, placement->slice, &chips, st);
    groups_free(&chips);
    box_free(&box);
    groups_free(&of_chips);
    if (code < 0)
        layout_free(layout);
    return code;
}

static int rising(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

/* Lists the chips of each box in the order of a snake; its chips in rising order are its points row by row. */
static int list_snakes(const struct layout *layout, const struct placement *placement,
                       const struct groups *groups, int32_t chip[], struct status *st)
{
    int sides[COLLECTIVE_RINGS], n = groups->size;
    bool closed[COLLECTIVE_RINGS];
    for (int r = 0; r < layout->rings; r++) {
        sides[r] = layout->ring[r].n;
        closed[r] = layout->ring[r].closed;
    }
    int32_t *order = malloc(2 * (size_t)n * sizeof *order), *row = order + n;
    int code = order ? snake_order(layout->rings, sides, closed, order, st) : status_nomem(st);
    for (int g = 0; g < groups->count && code == 0; g++) {
        for (int i = 0; i < n; i++)
            row[i] = placement->chip_of[groups->member[g * n + i]];
        qsort(row, (size_t)n, sizeof *row, rising);
        for (int i = 0; i < n; i++)
            chip[g * n + i] = row[order[i]];
    }
    free(order);
    return code;
}

int layout_join(struct layout *layout, const struct placement *placement, const struct groups *groups,
                struct status *st)
{
    struct groups of_chips = {0};
    struct layout same;
    int code = placement->cores > 1 ? fold_cores(&same, placement, groups, &of_chips, st) : 0;
    groups = placement->cores > 1 ? &of_chips : groups;
    int32_t *chip =
        code < 0 ? NULL : malloc(((size_t)groups->count * (size_t)groups->size + 1) * sizeof *chip);
    if (code == 0)
        code = chip ? list_snakes(layout, placement, groups, chip, st) : status_nomem(st);
    if (code == 0)
        code = ring_of_groups(&layout->through, placement->slice, chip, groups->count, groups->size, st);
    free(chip);
    groups_free(&of_chips);
    return code;
}

void layout_free(struct layout *layout)
{
    ring_free(&layout->through);
    for (int r = 0; r < COLLECTIVE_RINGS; r++)
        ring_free(&layout->ring[r]);
    *layout = (struct layout){0};
}
