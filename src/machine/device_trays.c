/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/device_trays.h"

const char *const slice_trays_names[] = {"none", "pairs", "flat", "cores", NULL};

/* Applies an order of n to each run of n of JAX's ids, which count x fastest. */
static bool repeat(const struct slice *slice, const int order[], int n, int32_t chip[])
{
    const int *len = slice->len;
    for (int i = 0; i < slice->chips; i++) {
        int id = i / n * n + order[i % n];
        chip[i] =
            (int32_t)slice_chip(slice, (int[]){id % len[0], id / len[0] % len[1], id / len[0] / len[1]});
    }
    return true;
}

/* Lists the chips host by host, 2x2 chips each; both hosts and chips count x first. */
static void list_hosts(const struct slice *slice, const int order[4], int32_t chip[])
{
    int hosts_x = slice->len[0] / 2;
    for (int i = 0; i < slice->chips; i++) {
        int host = i / 4, at = order[i % 4];
        int coord[SLICE_AXES] = {host % hosts_x * 2 + at % 2, host / hosts_x * 2 + at / 2, 0};
        chip[i] = (int32_t)slice_chip(slice, coord);
    }
}

static bool is_box(const struct slice *slice, int x, int y, int z)
{
    return slice->len[0] == x && slice->len[1] == y && slice->len[2] == z;
}

static bool order_flat(const struct slice *slice, const struct axes *axes, int32_t chip[])
{
    static const int two_by_two[] = {0, 1, 3, 2}, eight[] = {0, 1, 2, 3, 7, 6, 5, 4};
    static const int four_by_four[] = {0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4};
    bool one_axis = false;
    for (int a = 0; a < axes->count; a++)
        one_axis |= axes->axis[a].n == slice->chips;
    if (is_box(slice, 2, 2, 1))
        return repeat(slice, two_by_two, 4, chip);
    if (slice->chips == 8)
        return repeat(slice, eight, 8, chip);
    return is_box(slice, 4, 4, 1) && one_axis && repeat(slice, four_by_four, 16, chip);
}

static bool order_pairs(const struct slice *slice, const struct axes *axes, int32_t chip[])
{
    static const int ring[] = {0, 1, 3, 2}, rows[] = {0, 1, 2, 3};
    if (slice->len[0] % 2 || slice->len[1] % 2)
        return false;
    list_hosts(slice, slice->chips == 4 || axes->axis[axes->count - 1].n == 8 ? ring : rows, chip);
    return true;
}

bool device_trays_order(const struct slice *slice, const struct axes *axes, int cores, int32_t chip[])
{
    static const int plane[] = {0, 1, 3, 2};
    switch (slice->trays) {
    case TRAYS_PAIRS:
        return cores == 2 && order_pairs(slice, axes, chip);
    case TRAYS_FLAT:
        return order_flat(slice, axes, chip);
    case TRAYS_CORES:
        return cores == 2 && slice->len[0] <= 2 && slice->len[1] <= 2 && slice->chips % 4 == 0 &&
               slice->chips <= 16 && repeat(slice, plane, 4, chip);
    default:
        return false;
    }
}
