/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/assignments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "machine/mesh.h"

/* Axes of a mesh with open sizes. All their orders are tried, hence the limit. */
enum { OPEN_MAX = 4 };

/* A mesh with open sizes (0), and the part of its layout chosen so far on a slice. */
struct pattern {
    struct assignments *assignments; /* the results */
    const struct slice *slice;
    const char *shape;
    int count, open;
    bool numbered; /* the program numbers its devices by these axes, so their order is fixed */
    int cored;     /* the axis that has the devices of a chip innermost; -1: one device per chip */
    char name[AXES_MAX][AXIS_NAME];
    int n[AXES_MAX];
    int part[AXES_MAX][SLICE_AXES]; /* the part that a mesh axis takes of each physical axis */
};

bool assignments_is_open_slice(const char *slice)
{
    return slice && (strcmp(slice, "all") == 0 || strcmp(slice, "offered") == 0);
}

bool assignments_is_open_mesh(const char *mesh)
{
    return mesh && strchr(mesh, '?');
}

void assignments_free(struct assignments *assignments)
{
    free(assignments->item);
    *assignments = (struct assignments){0};
}

static int add(struct assignments *assignments, const char *slice, const char *mesh, struct status *st)
{
    if (assignments->count == ASSIGNMENTS_MAX)
        return status_fail(st, STATUS_LIMIT,
                           "there are more than %d ways to lay the mesh; give some axes a size, such as tp=8",
                           ASSIGNMENTS_MAX);
    if (!GROW(assignments->item, assignments->count, assignments->room))
        return status_nomem(st);
    struct assignment *place = &assignments->item[assignments->count++];
    snprintf(place->slice, sizeof place->slice, "%s", slice);
    int n = snprintf(place->mesh, sizeof place->mesh, "%s", mesh);
    return n < ASSIGNMENT_MESH
               ? 0
               : status_fail(st, STATUS_LIMIT, "mesh '%.40s...': too long; use shorter names", mesh);
}

/* Reads "dp=?,tp=8". Sizes are checked as in any mesh, with 1 in place of '?'. */
static int read_pattern(const char *text, struct pattern *pattern, struct status *st)
{
    char closed[AXES_TEXT];
    struct axes axes;
    *pattern = (struct pattern){.cored = -1};
    for (int a = 0; a < AXES_MAX; a++)
        for (int p = 0; p < SLICE_AXES; p++)
            pattern->part[a][p] = 1;
    size_t n = 0;
    for (; text[n] && n + 1 < sizeof closed; n++)
        closed[n] = text[n] == '?' ? '1' : text[n];
    closed[n] = '\0';
    for (const char *at = strchr(text, '?'); at; at = strchr(at + 1, '?'))
        if (at == text || at[-1] != '=' || (at[1] && at[1] != ','))
            return status_fail(st, STATUS_INPUT, "mesh '%s': write '?' for a whole size, as in dp=?,tp=8",
                               text);
    if (strpbrk(text, "*:"))
        return status_fail(st, STATUS_INPUT,
                           "mesh '%s': sizes may be open, or axes of the slice named, but not both", text);
    int code = axes_parse(closed, &axes, st);
    if (code < 0)
        return code;
    const char *at = text;
    for (pattern->count = 0; pattern->count < axes.count; pattern->count++, at += strcspn(at, ",") + 1) {
        int a = pattern->count;
        bool open = at[strcspn(at, "=") + 1] == '?';
        snprintf(pattern->name[a], AXIS_NAME, "%s", axes.axis[a].name);
        pattern->n[a] = open ? 0 : axes.axis[a].n;
        pattern->open += open;
    }
    return axes.count <= OPEN_MAX
               ? 0
               : status_fail(st, STATUS_LIMIT, "mesh '%s': with open sizes it has %d axes at most", text,
                             OPEN_MAX);
}

/* Lists the mesh axes that share each physical axis, in a given order. Two orders with the same key give the
 * same layout. */
static int shared_in(const struct pattern *pattern, const int order[], int key[SLICE_AXES * OPEN_MAX])
{
    int n = 0;
    for (int p = 0; p < SLICE_AXES; p++) {
        for (int i = 0; i < pattern->count; i++)
            if (pattern->part[order[i]][p] > 1)
                key[n++] = order[i];
        key[n++] = -1;
    }
    return n;
}

static bool is_rising(const int order[], int n)
{
    for (int i = 1; i < n; i++)
        if (order[i] < order[i - 1])
            return false;
    return true;
}

/* Prints the mesh. Its axes are in the order that nests their parts; or, if the program numbers its devices
 * by them, in their own order, and the parts give their strides. */
static void print_mesh(const struct pattern *pattern, const int order[], const int physical[],
                       char text[static ASSIGNMENT_MESH])
{
    struct mesh_layout layout = {0};
    bool said = pattern->numbered && !is_rising(order, pattern->count);
    *text = '\0';
    for (int k = 0; k < pattern->slice->axes; k++)
        for (int i = pattern->count - 1, stride = 1; i >= 0;
             stride *= pattern->part[order[i--]][physical[k]]) {
            int p = physical[k], axis = order[i], n = pattern->part[axis][p];
            if (n > 1)
                layout.side[axis][layout.sides[axis]++] = (struct side){p, n, stride, said};
        }
    for (int i = 0; i < pattern->count; i++) {
        char how[MESH_LAYOUT_TEXT];
        int axis = pattern->numbered ? i : order[i], sides = layout.sides[axis];
        const char *cores = axis != pattern->cored ? "" : sides ? "*cores" : "cores";
        const char *one = axis != pattern->cored ? "1" : "";
        text_add(text, ASSIGNMENT_MESH, "%s%s=%s%s", i ? "," : "", pattern->name[axis],
                 sides ? mesh_layout_print(&layout, pattern->slice, axis, how) : one, cores);
    }
}

/* Are two axes of the slice equal, and split in the same way? */
static bool is_alike(const struct pattern *pattern, int p, int q)
{
    const struct slice *slice = pattern->slice;
    bool alike = slice->len[p] == slice->len[q] && slice_ring(slice, p) == slice_ring(slice, q);
    for (int a = 0; a < pattern->count; a++)
        alike = alike && pattern->part[a][p] == pattern->part[a][q];
    return alike;
}

/* Does the same assignment also appear with two axes of the slice exchanged? */
static bool exchanges_alike(const struct pattern *pattern, const int physical[])
{
    for (int i = 0; i < pattern->slice->axes; i++)
        for (int j = 0; j < i; j++)
            if (physical[i] < physical[j] && is_alike(pattern, physical[i], physical[j]))
                return true;
    return false;
}

/* Adds the assignments for chosen parts. A mesh axis runs through its physical axes row by row; if the
 * program numbers its devices, the order of the physical axes matters, and all orders are added. */
static int add_rows(const struct pattern *pattern, const int order[], struct status *st)
{
    struct assignments *assignments = pattern->assignments;
    int physical[SLICE_AXES] = {0, 1, 2}, axes = pattern->slice->axes, first = assignments->count, code = 0;
    do {
        char mesh[ASSIGNMENT_MESH];
        bool known = exchanges_alike(pattern, physical);
        print_mesh(pattern, order, physical, mesh);
        for (int i = first; i < assignments->count && !known; i++)
            known = strcmp(assignments->item[i].mesh, mesh) == 0;
        code = known ? 0 : add(assignments, pattern->shape, mesh, st);
    } while (code == 0 && pattern->numbered && axes_next_order(physical, axes));
    return code;
}

/* Adds the chosen parts in every order of the mesh axes that nests them differently. */
static int add_orders(const struct pattern *pattern, struct status *st)
{
    enum { ORDERS = 24, KEY = SLICE_AXES * OPEN_MAX + SLICE_AXES };
    int key[ORDERS][KEY], order[OPEN_MAX] = {0, 1, 2, 3}, keys = 0, code = 0;
    do {
        int n = shared_in(pattern, order, key[keys]);
        bool known = false;
        for (int k = 0; k < keys && !known; k++)
            known = memcmp(key[k], key[keys], (size_t)n * sizeof **key) == 0;
        if (known)
            continue;
        keys++;
        code = add_rows(pattern, order, st);
    } while (code == 0 && axes_next_order(order, pattern->count));
    return code;
}

/* Are the parts of axis p, compared from the first mesh axis on, not larger than those of an earlier, equal
 * axis? Otherwise the assignment also appears with the two axes exchanged and is skipped here. */
static bool is_first_of_alike(const struct pattern *pattern, int p)
{
    const struct slice *slice = pattern->slice;
    for (int q = 0; q < p; q++) {
        if (slice->len[q] != slice->len[p] || slice_ring(slice, q) != slice_ring(slice, p))
            continue;
        int a = 0;
        while (a < pattern->count && pattern->part[a][q] == pattern->part[a][p])
            a++;
        if (a < pattern->count && pattern->part[a][q] < pattern->part[a][p])
            return false;
    }
    return true;
}

static bool sizes_fit(const struct pattern *pattern)
{
    for (int a = 0; a < pattern->count; a++) {
        int n = 1;
        for (int p = 0; p < SLICE_AXES; p++)
            n *= pattern->part[a][p];
        if (pattern->n[a] > 0 && pattern->n[a] != n)
            return false;
    }
    return true;
}

/* Distributes the rest of physical axis p among mesh axis a and those after it, in every way, and then the
 * physical axes after p. */
static int choose_parts(struct pattern *pattern, int p, int a, int left, struct status *st)
{
    const struct slice *slice = pattern->slice;
    if (p == slice->axes)
        return sizes_fit(pattern) ? add_orders(pattern, st) : 0;
    if (a == pattern->count - 1) {
        pattern->part[a][p] = left;
        if (!is_first_of_alike(pattern, p))
            return 0;
        int next = p + 1 < slice->axes ? slice->len[p + 1] : 1;
        return choose_parts(pattern, p + 1, 0, next, st);
    }
    int code = 0;
    for (int n = left; n >= 1 && code == 0; n--) {
        if (left % n != 0 || (pattern->n[a] > 0 && pattern->n[a] % n != 0))
            continue;
        pattern->part[a][p] = n;
        code = choose_parts(pattern, p, a + 1, left / n, st);
    }
    return code;
}

/* Adds all ways to lay a pattern. If a chip is several devices, each axis whose size they divide has them
 * innermost in turn. */
static int choose_all(const struct pattern *open, int cores, struct status *st)
{
    int code = 0;
    for (int a = cores > 1 ? 0 : -1; a < (cores > 1 ? open->count : 0) && code == 0; a++) {
        struct pattern pattern = *open;
        pattern.cored = a;
        if (a >= 0 && pattern.n[a] % cores)
            continue;
        if (a >= 0)
            pattern.n[a] /= cores;
        code = choose_parts(&pattern, 0, 0, open->slice->len[0], st);
    }
    return code;
}

/* The number of devices per chip of a mesh whose sizes are given. */
static int cores_filled(const struct pattern *pattern, const struct chip *chip)
{
    int devices = 1, chips = pattern->slice->chips;
    for (int a = 0; a < pattern->count; a++)
        devices *= pattern->n[a];
    return devices % chips == 0 && devices / chips <= chip->tensorcores ? devices / chips : 1;
}

/* Adds the assignments of the query's mesh on one slice. */
static int lay(struct assignments *assignments, const struct chip *chip,
               const struct assignments_query *query, const char *shape, struct status *st)
{
    struct pattern pattern;
    struct slice slice;
    if (!assignments_is_open_mesh(query->mesh) && !query->all_ways)
        return add(assignments, shape, query->mesh ? query->mesh : "", st);
    int code = read_pattern(query->mesh, &pattern, st);
    if (code == 0)
        code = chip_slice(chip, shape, query->wrap, &slice, st);
    if (code < 0)
        return code;
    pattern.assignments = assignments;
    pattern.slice = &slice;
    pattern.shape = shape;
    pattern.numbered = query->all_ways;
    int before = assignments->count;
    code = choose_all(&pattern, query->all_ways ? cores_filled(&pattern, chip) : query->cores, st);
    slice_free(&slice);
    if (code == 0 && assignments->count == before && !assignments_is_open_slice(query->slice))
        return status_fail(st, STATUS_INPUT,
                           "mesh '%s' cannot be laid on slice %s: no sizes multiply to its %s", query->mesh,
                           shape, query->cores > 1 ? "devices" : "chips");
    return code;
}

/* The number of chips that the query gives; 0 if only the slice gives it. */
static int count_chips(const struct assignments_query *query, int *chips, struct status *st)
{
    struct axes axes;
    *chips = query->chips;
    if (*chips > 0 || !query->mesh || strpbrk(query->mesh, "?*:"))
        return 0;
    int code = axes_parse(query->mesh, &axes, st);
    *chips = code < 0 ? 0 : axes_devices(&axes);
    return code < 0 ? code : 0;
}

/* Adds the assignments on all slices of a number of chips. */
static int lay_on_boxes(struct assignments *assignments, const struct chip *chip,
                        const struct assignments_query *query, int chips, struct status *st)
{
    struct box box[BOXES_MAX];
    char shape[SLICE_TEXT];
    bool all = query->slice && strcmp(query->slice, "all") == 0;
    int boxes = boxes_of(chip, chips, box), before = assignments->count, code = 0;
    if (!query->slice) {
        boxes = 1;
        code = boxes_offered(chip, chips, &box[0], st);
    }
    for (int b = 0; b < boxes && b < BOXES_MAX && code == 0; b++)
        if (all || box[b].offered)
            code = lay(assignments, chip, query, box_print(&box[b], chip, shape), st);
    if (code < 0 || assignments->count > before)
        return code;
    if (!all && boxes_offered(chip, chips, &box[0], st) < 0)
        return st->code;
    return status_fail(st, STATUS_INPUT, "no box of %d chips fits the pod of %s%s%s", chips, chip->name,
                       query->mesh ? ", or none has the mesh " : "", query->mesh ? query->mesh : "");
}

int assignments_find(struct assignments *assignments, const struct chip *chip,
                     const struct assignments_query *query, struct status *st)
{
    int chips, len[SLICE_AXES], code = count_chips(query, &chips, st);
    if (code < 0)
        return code;
    if (query->slice && !assignments_is_open_slice(query->slice)) {
        int axes = slice_parse_shape(query->slice, len, st), n = 1;
        for (int a = 0; a < axes; a++)
            n *= len[a];
        if (axes > 0 && query->chips > 0 && n != query->chips)
            return status_fail(st, STATUS_INPUT, "--chips %d: slice %s has %d; leave one of them out",
                               query->chips, query->slice, n);
        return axes < 0 ? axes : lay(assignments, chip, query, query->slice, st);
    }
    if (chips < 1)
        return status_fail(st, STATUS_INPUT, "how many chips? add --chips, such as --chips 64");
    return lay_on_boxes(assignments, chip, query, chips, st);
}
