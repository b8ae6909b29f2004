/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JAX's rule: create_device_mesh, with and without split physical axes (jax/_src/mesh_utils.py). */
#include <string.h>

#include "machine/mesh_layout.h"

/* Physical axes as JAX sees them: the axes of the slice, and the devices of a chip. */
enum { CORES = SLICE_AXES, PHYSICAL };

/* The part of each physical axis that a mesh axis takes. */
struct parts {
    int n[PHYSICAL];
};

static bool has(unsigned set, int p)
{
    return set >> (PHYSICAL - 1 - p) & 1;
}

/* Chooses whole free axes whose lengths multiply to n: as many axes as possible, lower ones first. The lowest
 * axis is the highest bit of a set, so that falling numbers are the combinations in JAX's order. Returns the
 * set; 0 if there is none. */
static unsigned choose_whole(const int len[PHYSICAL], unsigned taken, int n)
{
    for (int count = PHYSICAL; count > 0; count--)
        for (unsigned set = (1u << PHYSICAL) - 1; set > 0; set--) {
            int product = 1;
            bool fits = __builtin_popcount(set) == count && !(set & taken);
            for (int p = 0; p < PHYSICAL && fits; p++)
                if (has(set, p)) {
                    fits = len[p] > 1;
                    product *= len[p];
                }
            if (fits && product == n)
                return set;
        }
    return 0;
}

static bool lay_whole(const int len[PHYSICAL], const struct axes *axes, struct parts parts[])
{
    unsigned taken = 0;
    for (int a = axes->count - 1; a >= 0; a--) {
        unsigned set = choose_whole(len, taken, axes->axis[a].n);
        if (!set && axes->axis[a].n > 1)
            return false;
        for (int p = 0; p < PHYSICAL; p++)
            parts[a].n[p] = has(set, p) ? len[p] : 1;
        taken |= set;
    }
    return true;
}

/* The criteria for parts, the most important first: the product of the axes taken whole, their number, the
 * product of the parts of axes that are partly taken already, and the parts themselves. JAX's comment on the
 * third one says that free axes are better; its code prefers axes that are partly taken, and so do we. */
enum { MERITS = 3 + PHYSICAL };
static void judge(const int len[PHYSICAL], const struct parts *parts, const int taken[], int merit[MERITS])
{
    merit[0] = merit[2] = 1;
    merit[1] = 0;
    for (int p = 0; p < PHYSICAL; p++) {
        bool whole = parts->n[p] == len[p];
        merit[0] *= whole ? parts->n[p] : 1;
        merit[1] += whole && parts->n[p] > 1;
        merit[2] *= taken[p] > 1 ? parts->n[p] : 1;
        merit[3 + p] = parts->n[p];
    }
}

static bool is_better(const int len[PHYSICAL], const struct parts *x, const struct parts *y,
                      const int taken[])
{
    int a[MERITS], b[MERITS], m = 0;
    judge(len, x, taken, a);
    judge(len, y, taken, b);
    while (m < MERITS - 1 && a[m] == b[m])
        m++;
    return a[m] > b[m];
}

/* The product of the prime factors of n that JAX finds. It tries divisors up to the root of n, and if more
 * than 1 is left then, it returns only that rest: for 28 only 7. So it refuses some meshes that could be
 * laid, and so do we. */
static int known_factors(int n)
{
    int rest = n;
    for (int p = 2; (p - 1) * (p - 1) <= n; p++)
        while (rest % p == 0)
            rest /= p;
    return rest > 1 ? rest : n;
}

/* Chooses the best parts of the remaining axes that multiply to n. */
static bool choose_parts(const int len[PHYSICAL], const int taken[], int n, struct parts *best)
{
    int left[PHYSICAL], size = known_factors(n);
    bool found = false;
    for (int p = 0; p < PHYSICAL; p++)
        left[p] = known_factors(len[p] / taken[p]);
    for (int i = 1; i <= left[0]; i++)
        for (int j = 1; left[0] % i == 0 && size % i == 0 && j <= left[1]; j++)
            for (int k = 1; left[1] % j == 0 && size % (i * j) == 0 && k <= left[2]; k++) {
                if (left[2] % k || size % (i * j * k) || left[CORES] % (size / (i * j * k)))
                    continue;
                struct parts parts = {{i, j, k, size / (i * j * k)}};
                if (!found || is_better(len, &parts, best, taken))
                    *best = parts;
                found = true;
            }
    return found && size == n;
}

static bool lay_parts(const int len[PHYSICAL], const struct axes *axes, struct parts parts[])
{
    int taken[PHYSICAL] = {1, 1, 1, 1};
    for (int a = axes->count - 1; a >= 0; a--) {
        if (!choose_parts(len, taken, axes->axis[a].n, &parts[a]))
            return false;
        for (int p = 0; p < PHYSICAL; p++)
            taken[p] *= parts[a].n[p];
    }
    return true;
}

int mesh_layout_find(struct mesh_layout *layout, const struct slice *slice, const struct axes *axes,
                     int cores, bool split)
{
    struct parts parts[AXES_MAX];
    int len[PHYSICAL] = {slice->len[0], slice->len[1], slice->len[2], cores}, cored = cores > 1 ? -1 : 0;
    int inner[SLICE_AXES] = {1, 1, 1};
    memset(layout, 0, sizeof *layout);
    if (!lay_whole(len, axes, parts) && !(split && lay_parts(len, axes, parts)))
        return -1;
    for (int a = axes->count - 1; a >= 0; a--) {
        for (int p = 0; p < SLICE_AXES; p++) {
            if (parts[a].n[p] == 1)
                continue;
            layout->side[a][layout->sides[a]++] = (struct side){p, parts[a].n[p], inner[p], false};
            inner[p] *= parts[a].n[p];
        }
        cored = cores > 1 && parts[a].n[CORES] == cores ? a : cored;
    }
    return cored;
}
