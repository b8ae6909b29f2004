/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/boxes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_multiple(const int len[], const int of[])
{
    for (int a = 0; a < SLICE_AXES; a++)
        if (len[a] % of[a] != 0)
            return false;
    return true;
}

/* Sets box->offered. An offered box gets the order of axes in the chip's file. */
static void look_up(const struct chip *chip, struct box *box)
{
    const struct chip_offers *offers = &chip->offers;
    box->offered = offers->shapes == 0;
    for (int i = 0; i < offers->shapes && !box->offered; i++) {
        int sorted[SLICE_AXES];
        slice_sort_lengths(offers->len[i], SLICE_AXES, sorted);
        if (memcmp(sorted, box->len, sizeof sorted) == 0) {
            memcpy(box->len, offers->len[i], sizeof box->len);
            box->offered = true;
        } else if (offers->multiples && i == offers->shapes - 1) {
            box->offered = is_multiple(box->len, sorted);
        }
    }
}

bool box_is_offered(const struct chip *chip, const int len[SLICE_AXES])
{
    struct box box;
    slice_sort_lengths(len, SLICE_AXES, box.len);
    look_up(chip, &box);
    return box.offered;
}

static int by_cubicity(const void *a, const void *b)
{
    int x[SLICE_AXES], y[SLICE_AXES], order = 0;
    slice_sort_lengths(((const struct box *)a)->len, SLICE_AXES, x);
    slice_sort_lengths(((const struct box *)b)->len, SLICE_AXES, y);
    for (int i = SLICE_AXES - 1; i >= 0 && order == 0; i--)
        order = x[i] - y[i];
    return order;
}

int boxes_of(const struct chip *chip, int chips, struct box box[static BOXES_MAX])
{
    int sorted[SLICE_AXES], boxes = 0;
    slice_sort_lengths(chip->pod, chip->axes, sorted);
    for (int i = 1; i <= sorted[0] && i <= chips; i++) {
        if (chips % i != 0)
            continue;
        for (int j = i; j <= sorted[1] && (long long)i * j * j <= chips; j++) {
            int k = chips / i / j;
            if (chips / i % j != 0 || k > sorted[2])
                continue;
            if (boxes < BOXES_MAX) {
                /* A chip with two axes has no name for the third one, of length 1. */
                box[boxes] = (struct box){.len = {i, j, k}};
                look_up(chip, &box[boxes]);
            }
            boxes++;
        }
    }
    int kept = boxes < BOXES_MAX ? boxes : BOXES_MAX;
    if (kept > 0)
        qsort(box, (size_t)kept, sizeof *box, by_cubicity);
    return boxes;
}

char *box_print(const struct box *box, const struct chip *chip, char text[static SLICE_TEXT])
{
    int skip = SLICE_AXES - chip->axes, n = 0; /* this many sides of length 1 are not axes of the chip */
    for (int a = 0; a < SLICE_AXES; a++) {
        if (box->len[a] == 1 && skip > 0) {
            skip--;
            continue;
        }
        n += snprintf(text + n, (size_t)(SLICE_TEXT - n), "%s%d", n ? "x" : "", box->len[a]);
    }
    return text;
}

static bool find_offered(const struct chip *chip, int chips, struct box *found)
{
    struct box box[BOXES_MAX];
    int boxes = boxes_of(chip, chips, box);
    for (int b = 0; b < boxes && b < BOXES_MAX; b++)
        if (box[b].offered) {
            *found = box[b];
            return true;
        }
    return false;
}

int boxes_offered(const struct chip *chip, int chips, struct box *box, struct status *st)
{
    char less_text[SLICE_TEXT] = "", more_text[SLICE_TEXT] = "";
    int less = chips - 1, more = chips + 1, pod = 1;
    struct box smaller, larger;
    if (find_offered(chip, chips, box))
        return 0;
    for (int a = 0; a < chip->axes; a++)
        pod *= chip->pod[a];
    less = less < pod ? less : pod;
    while (less > 0 && !find_offered(chip, less, &smaller))
        less--;
    while (more <= pod && !find_offered(chip, more, &larger))
        more++;
    if (less > 0)
        snprintf(less_text, sizeof less_text, "%d", less);
    if (more <= pod)
        snprintf(more_text, sizeof more_text, "%d", more);
    return status_fail(
        st, STATUS_INPUT,
        "no slice of %d chips is offered of %s; the nearest have %s%s%s. Say which with --slice", chips,
        chip->name, less_text, *less_text && *more_text ? " and " : "", more_text);
}
