/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random_slice.h"

#include <stdio.h>

#include "machine/route.h"

/* Is every chip still reached from chip 0, and chip 0 from it? */
static bool hangs_together(const struct slice *slice)
{
    struct hop hop[ROUTE_HOPS];
    for (int chip = 1; chip < slice->chips; chip++)
        if (route_between(slice, 0, chip, hop, NULL) < 0 || route_between(slice, chip, 0, hop, NULL) < 0)
            return false;
    return true;
}

/* On some slices up to three cables are dead, one way or both, as long as no chip is cut off. */
static void break_cables(struct slice *slice, struct suite_random *random, struct status *st)
{
    for (int cables = suite_random(random, 3) ? 0 : 3; cables > 0; cables--) {
        int id = (int)suite_random(random, (unsigned)slice_link_ids(slice));
        struct slice_link row = slice_link_row(slice, id);
        if (!slice_is_link(slice, id))
            continue;
        int back = slice_link(slice, row.to, slice_link_axis(slice, id), -slice_link_sign(id));
        bool both = back >= 0 && suite_random(random, 2);
        OKAY(slice_kill_link(slice, id, st), *st);
        if (both)
            OKAY(slice_kill_link(slice, back, st), *st);
        if (hangs_together(slice))
            continue;
        slice_free(slice); /* as built again */
        return;
    }
}

/* A mesh of up to three axes over some of the chips, in any order. */
static void lay_over_list(struct mesh *mesh, const struct slice *slice, struct suite_random *random,
                          struct status *st)
{
    int32_t chip[RANDOM_SLICE_CHIPS];
    int chips = slice->chips, n[3] = {1, 1, 1}, devices = 1;
    for (int c = 0; c < chips; c++) {
        int other = (int)suite_random(random, (unsigned)c + 1);
        chip[c] = chip[other];
        chip[other] = c;
    }
    for (int a = 0; a < 3; a++) {
        n[a] = 1 + (int)suite_random(random, 4);
        n[a] = devices * n[a] > chips ? 1 : n[a];
        devices *= n[a];
    }
    char text[32];
    snprintf(text, sizeof text, "a=%d,b=%d,c=%d", n[0], n[1], n[2]);
    OKAY(mesh_init_on(mesh, slice, text, chip, devices, st), *st);
    OKAY(mesh_check(mesh, st), *st);
}

void twisted_slice(struct slice *slice, const int len[], struct status *st)
{
    OKAY(slice_init(slice, 3, len, (bool[]){true, true, true}, 45e9, 1e-6, st), *st);
    OKAY(slice_twist(slice, true, st), *st);
}

void random_slice(struct slice *slice, struct mesh *mesh, struct suite_random *random, struct status *st)
{
    int axes, len[SLICE_AXES], chips;
    bool wrap[SLICE_AXES];
    do {
        axes = 1 + (int)suite_random(random, 3);
        chips = 1;
        for (int a = 0; a < axes; a++) {
            len[a] = 1 + (int)suite_random(random, axes == 1 ? 16 : 8);
            wrap[a] = suite_random(random, 2);
            chips *= len[a];
        }
    } while (chips > 64);
    OKAY(slice_init(slice, axes, len, wrap, 45e9, 1e-6, st), *st);
    if (suite_random(random, 12) == 0) {
        static const int twisted[][SLICE_AXES] = {{3, 3, 6}, {3, 6, 3}, {6, 3, 3}, {3, 6, 6}, {6, 3, 6}};
        const int *some = twisted[suite_random(random, 5)];
        twisted_slice(slice, some, st);
    }
    OKAY(slice_check(slice, st), *st);
    slice->reduce_Bps = 17e9 * (double)suite_random(random, 2); /* sums at once, or as ops of their own */
    break_cables(slice, random, st);
    if (suite_random(random, 4) > 0)
        OKAY(mesh_init(mesh, slice, NULL, NULL, st), *st);
    else
        lay_over_list(mesh, slice, random, st);
}
