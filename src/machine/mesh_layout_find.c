/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JAX's rule: create_device_mesh, with and without physical axes that are split (jax/_src/mesh_utils.py). */
#include <string.h>

#include "machine/mesh_layout.h"

/* The part of each physical axis that a mesh axis takes. */
struct parts {
    int n[SLICE_AXES];
};

/* Whole axes that nobody has taken, whose lengths multiply to n: as many axes as can be, lower ones first. Returns the
 * set, 0 where there is none. */
static unsigned choose_whole(const struct slice *slice, unsigned taken, int n)
{
    static const unsigned sets[] = {7, 3, 5, 6, 1, 2, 4};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        int product = 1;
        bool fits = !(sets[i] & taken);
        for (int p = 0; p < SLICE_AXES; p++)
            if (sets[i] >> p & 1) {
                fits &= p < slice->axes && slice->len[p] > 1;
                product *= slice->len[p];
            }
        if (fits && product == n)
            return sets[i];
    }
    return 0;
}

static bool lay_whole(const struct slice *slice, const struct axes *axes, struct parts parts[])
{
    unsigned taken = 0;
    for (int a = axes->count - 1; a >= 0; a--) {
        unsigned set = choose_whole(slice, taken, axes->axis[a].n);
        if (!set && axes->axis[a].n > 1)
            return false;
        for (int p = 0; p < SLICE_AXES; p++)
            parts[a].n[p] = set >> p & 1 ? slice->len[p] : 1;
        taken |= set;
    }
    return true;
}

/* What parts are judged by, the first most: the product of the axes taken whole, how many these are, the product of the axes
 * that somebody shares, and the parts themselves. JAX's comment on the third says that axes which nobody has taken are better;
 * its code prefers those that somebody has, and so do we. */
enum { MERITS = 3 + SLICE_AXES };
static void judge(const struct slice *slice, const struct parts *parts, const int taken[], int merit[MERITS])
{
    merit[0] = merit[2] = 1;
    merit[1] = 0;
    for (int p = 0; p < SLICE_AXES; p++) {
        bool whole = p < slice->axes && parts->n[p] == slice->len[p];
        merit[0] *= whole ? parts->n[p] : 1;
        merit[1] += whole && parts->n[p] > 1;
        merit[2] *= taken[p] > 1 ? parts->n[p] : 1;
        merit[3 + p] = parts->n[p];
    }
}

static bool is_better(const struct slice *slice, const struct parts *x, const struct parts *y,
                      const int taken[])
{
    int a[MERITS], b[MERITS], m = 0;
    judge(slice, x, taken, a);
    judge(slice, y, taken, b);
    while (m < MERITS - 1 && a[m] == b[m])
        m++;
    return a[m] > b[m];
}

/* The best parts of what is left that multiply to n. */
static bool choose_parts(const struct slice *slice, const int taken[], int n, struct parts *best)
{
    int left[SLICE_AXES];
    bool found = false;
    for (int p = 0; p < SLICE_AXES; p++)
        left[p] = slice->len[p] / taken[p];
    for (int i = 1; i <= left[0]; i++) {
        for (int j = 1; left[0] % i == 0 && n % i == 0 && j <= left[1]; j++) {
            if (left[1] % j != 0 || n % (i * j) != 0 || left[2] % (n / (i * j)) != 0)
                continue;
            struct parts parts = {{i, j, n / (i * j)}};
            if (!found || is_better(slice, &parts, best, taken))
                *best = parts;
            found = true;
        }
    }
    return found;
}

static bool lay_parts(const struct slice *slice, const struct axes *axes, struct parts parts[])
{
    int taken[SLICE_AXES] = {1, 1, 1};
    for (int a = axes->count - 1; a >= 0; a--) {
        if (!choose_parts(slice, taken, axes->axis[a].n, &parts[a]))
            return false;
        for (int p = 0; p < SLICE_AXES; p++)
            taken[p] *= parts[a].n[p];
    }
    return true;
}

bool mesh_layout_find(struct mesh_layout *layout, const struct slice *slice, const struct axes *axes)
{
    struct parts parts[AXES_MAX];
    int inner[SLICE_AXES] = {1, 1, 1};
    memset(layout, 0, sizeof *layout);
    if (!lay_whole(slice, axes, parts) && !lay_parts(slice, axes, parts))
        return false;
    for (int a = axes->count - 1; a >= 0; a--)
        for (int p = 0; p < SLICE_AXES; p++) {
            if (parts[a].n[p] == 1)
                continue;
            layout->side[a][layout->sides[a]++] = (struct side){p, parts[a].n[p], inner[p], false};
            inner[p] *= parts[a].n[p];
        }
    return true;
}
