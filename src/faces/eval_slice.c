/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds a slice for a mesh without one: the mesh's own shape, axis by axis, "X=2,Y=4" on 2x4. If the mesh has
 * more axes than slices have, neighbours share one; if an axis is longer than the chip's pod, or links have
 * more coordinates, it is split over several. The results do not depend on the slice. */
#include <string.h>

#include "faces/eval.h"

enum { PIECES = AXES_MAX + SLICE_AXES };

/* The axes of the mesh, cut into pieces, each assigned to a slice axis. */
struct layout {
    int pieces, sides;
    struct {
        int axis, side, n;
    } piece[PIECES];
};

static int side_length(const struct layout *layout, int side)
{
    int n = 1;
    for (int p = 0; p < layout->pieces; p++)
        n *= layout->piece[p].side == side ? layout->piece[p].n : 1;
    return n;
}

/* Merges the two neighbours with the smallest product into one slice axis. */
static void merge(struct layout *layout)
{
    int best = 0;
    int64_t least = INT64_MAX;
    for (int s = 0; s + 1 < layout->sides; s++) {
        int64_t length = (int64_t)side_length(layout, s) * side_length(layout, s + 1);
        if (length < least) {
            least = length;
            best = s;
        }
    }
    for (int p = 0; p < layout->pieces; p++)
        layout->piece[p].side -= layout->piece[p].side > best;
    layout->sides--;
}

/* Splits the longest piece into two factors, as equal as possible; the smaller one gets a slice axis of its
 * own. */
static void split(struct layout *layout)
{
    int longest = 0, n = 1;
    for (int p = 1; p < layout->pieces; p++)
        if (layout->piece[p].n > layout->piece[longest].n)
            longest = p;
    int whole = layout->piece[longest].n, axis = layout->piece[longest].axis;
    for (int d = 2; d <= whole / d; d++)
        n = whole % d ? n : d;
    layout->piece[longest].n = whole / n;
    layout->piece[layout->pieces].axis = axis;
    layout->piece[layout->pieces].n = n;
    layout->piece[layout->pieces++].side = layout->sides++;
}

static void lay(const struct axes *axes, int sides, struct layout *layout)
{
    *layout = (struct layout){.pieces = axes->count, .sides = axes->count};
    for (int a = 0; a < axes->count; a++) {
        layout->piece[a].axis = layout->piece[a].side = a;
        layout->piece[a].n = axes->axis[a].n;
    }
    while (layout->sides > sides)
        merge(layout);
    while (layout->sides < sides)
        split(layout);
}

/* Prints "4x2" and "dp=x,tp=y", with sizes if an axis takes only part of a slice axis. */
static void print(const struct layout *layout, const struct axes *axes, struct eval_slice *of)
{
    *of->slice = *of->mesh = '\0';
    for (int s = 0; s < layout->sides; s++)
        text_add(of->slice, sizeof of->slice, "%s%d", s ? "x" : "", side_length(layout, s));
    for (int a = 0; a < axes->count; a++) {
        const char *between = "=";
        text_add(of->mesh, sizeof of->mesh, "%s%s", a ? "," : "", axes->axis[a].name);
        for (int p = 0; p < layout->pieces; p++) {
            int side = layout->piece[p].side, n = layout->piece[p].n;
            if (layout->piece[p].axis != a)
                continue;
            text_add(of->mesh, sizeof of->mesh, "%s%c", between, slice_axis_name(side));
            between = "*";
            if (n < side_length(layout, side))
                text_add(of->mesh, sizeof of->mesh, ":%d", n);
        }
    }
}

/* Does the chip have such slices? A negative code if memory is out. */
static int fits(const char *chip, const char *shape, const struct point *point, struct catalog *catalog,
                struct status *st)
{
    struct status why = {0};
    struct slice slice = {0};
    const struct chip *of = catalog_chip(catalog, chip, point->machine.profile, &why);
    bool yes = of && chip_slice(of, shape, NULL, &slice, &why) >= 0;
    slice_free(&slice);
    return why.code == STATUS_NOMEM ? status_nomem(st) : yes;
}

/* The number of coordinates in link names, 1 if no link is named. */
static int count_coordinates(const char *link)
{
    int n = 1;
    for (; link && *link && *link != ':'; link++)
        n += *link == ',';
    return n;
}

int eval_slice(struct point *point, bool any_chip, struct eval_slice *of, struct catalog *catalog,
               struct status *st)
{
    const char *chip[] = {any_chip ? "v5e" : point->machine.chip, any_chip ? "v5p" : NULL};
    const char *shape = point->machine.slice, *mesh = point->machine.mesh;
    struct axes axes = {0};
    point->machine.split_axes = true; /* the results do not depend on device placement */
    if (!shape && mesh && strpbrk(mesh, "*:"))
        return status_fail(st, STATUS_INPUT,
                           "mesh '%s' does not say the slice's shape; add --slice, such as 4x4", mesh);
    if (!shape && (!mesh || axes_parse(mesh, &axes, st) < 0))
        return mesh ? st->code : 0;
    int first = point->machine.link ? count_coordinates(point->machine.link) : axes.count;
    first = first > SLICE_AXES ? SLICE_AXES : first;
    for (int c = 0; c < 2 && chip[c]; c++)
        for (int i = 0; i < (any_chip ? SLICE_AXES + 1 - first : SLICE_AXES); i++) {
            struct layout layout;
            if (!shape) {
                /* as many slice axes as the mesh has, then more, then fewer */
                lay(&axes, first + i <= SLICE_AXES ? first + i : SLICE_AXES - i, &layout);
                print(&layout, &axes, of);
            }
            int fit = fits(chip[c], shape ? shape : of->slice, point, catalog, st);
            if (fit < 0)
                return fit;
            if (fit == 0)
                continue;
            point->machine.chip = chip[c];
            point->machine.slice = shape ? shape : of->slice;
            if (!shape && !point->machine.on)
                point->machine.mesh = of->mesh;
            return 0;
        }
    return 0;
}
