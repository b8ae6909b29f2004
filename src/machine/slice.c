/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/topology.h"

enum { CHIPS_MAX = 1 << 24 };

static const char axis_names[] = "xyz";

char slice_axis_name(int axis)
{
    assert(axis >= 0 && axis < SLICE_AXES);
    return axis_names[axis];
}

int slice_axis_by_name(char name)
{
    const char *at = name ? strchr(axis_names, name) : NULL;
    return at ? (int)(at - axis_names) : -1;
}

static int by_length(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void slice_sort_lengths(const int len[], int axes, int sorted[SLICE_AXES])
{
    for (int a = 0; a < SLICE_AXES; a++)
        sorted[a] = a < axes ? len[a] : 1;
    qsort(sorted, SLICE_AXES, sizeof *sorted, by_length);
}

int slice_parse_shape(const char *text, int len[SLICE_AXES], struct status *st)
{
    int axes = 0;
    const char *at = text;
    for (;;) {
        char *end = NULL;
        long n = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;
        if (n < 1 || n > CHIPS_MAX || axes == SLICE_AXES)
            break;
        len[axes++] = (int)n;
        if (*end == '\0' || *end == '_') {
            for (int a = axes; a < SLICE_AXES; a++)
                len[a] = 1;
            return axes;
        }
        if (*end != 'x')
            break;
        at = end + 1;
    }
    return status_fail(st, STATUS_INPUT,
                       "slice '%s': not a shape; write one to three lengths, such as 16, 4x4 or 4x4x8", text);
}

int slice_init(struct slice *slice, int axes, const int len[], const bool wrap[], double link_Bps,
               double hop_latency_s, struct status *st)
{
    *slice = (struct slice){.topology = topologies[0], .axes = axes};
    if (axes < 1 || axes > SLICE_AXES)
        return status_fail(st, STATUS_INPUT, "a slice has one to three axes, not %d", axes);
    int64_t chips = 1;
    for (int a = 0; a < SLICE_AXES; a++) {
        slice->len[a] = slice->span[a] = a < axes ? len[a] : 1;
        slice->wrap[a] = a < axes && wrap[a] && len[a] > 2;
        if (slice->len[a] < 1)
            return status_fail(st, STATUS_INPUT, "axis %c has %d chips; the least is 1", slice_axis_name(a),
                               slice->len[a]);
        chips *= slice->len[a];
        if (chips > CHIPS_MAX)
            return status_fail(st, STATUS_LIMIT, "the slice has more than %d chips", CHIPS_MAX);
    }
    slice->chips = (int)chips;
    for (int a = 0; a < SLICE_AXES; a++)
        slice->order[a] = a;
    return slice_set_speed(slice, link_Bps, hop_latency_s, st);
}

int slice_set_speed(struct slice *slice, double link_Bps, double hop_latency_s, struct status *st)
{
    slice->link_Bps = isnan(link_Bps) ? slice->link_Bps : link_Bps;
    slice->hop_latency_s = isnan(hop_latency_s) ? slice->hop_latency_s : hop_latency_s;
    if (!(slice->link_Bps > 0) || isinf(slice->link_Bps))
        return status_fail(st, STATUS_INPUT, "link bandwidth %g B/s; it must be above 0", slice->link_Bps);
    if (!(slice->hop_latency_s >= 0) || isinf(slice->hop_latency_s))
        return status_fail(st, STATUS_INPUT, "hop latency %g s; it must be 0 or above", slice->hop_latency_s);
    return 0;
}

void slice_free(struct slice *slice)
{
    free(slice->link);
    free(slice->chip_frac);
    slice->link = NULL;
    slice->chip_frac = NULL;
}

char *slice_print_shape(const struct slice *slice, char text[static SLICE_TEXT])
{
    char *end = text;
    for (int a = 0; a < slice->axes; a++)
        end += sprintf(end, a > 0 ? "x%d" : "%d", slice->span[a]);
    if (slice->topology && slice->topology != topologies[0])
        snprintf(end, (size_t)(SLICE_TEXT - (end - text)), "_%s", slice->topology->name);
    return text;
}

char *slice_print_wrap(const struct slice *slice, char text[static SLICE_TEXT])
{
    int wraps = 0;
    char *at = text;
    for (int a = 0; a < slice->axes; a++) {
        if (!slice->wrap[a])
            continue;
        if (wraps++)
            *at++ = ',';
        *at++ = slice_axis_name(a);
    }
    *at = '\0';
    if (wraps == 0)
        strcpy(text, "none");
    else if (wraps == slice->axes)
        strcpy(text, "all");
    return text;
}

int slice_coord(const struct slice *slice, int chip, int axis)
{
    for (int a = SLICE_AXES - 1; a > axis; a--)
        chip /= slice->len[a];
    return chip % slice->len[axis];
}

int slice_chip(const struct slice *slice, const int coord[])
{
    int chip = 0;
    for (int a = 0; a < slice->axes; a++)
        chip = chip * slice->len[a] + coord[a];
    return chip;
}

char *slice_print_place(const struct slice *slice, int chip, char text[static SLICE_PLACE])
{
    int n = 0;
    for (int a = 0; a < slice->axes; a++)
        n +=
            snprintf(text + n, (size_t)(SLICE_PLACE - n), "%c%d", a ? ',' : '(', slice_coord(slice, chip, a));
    snprintf(text + n, (size_t)(SLICE_PLACE - n), ")");
    return text;
}

int slice_link_built(const struct slice *slice, int chip, int axis, int sign)
{
    sign = slice->span[axis] == 2 ? 1 : sign;
    if (slice->topology->neighbour(slice, chip, axis, sign) < 0)
        return -1;
    return (chip * slice->axes + axis) * 2 + (sign < 0);
}

int slice_link(const struct slice *slice, int chip, int axis, int sign)
{
    if (!slice->link)
        return slice_link_built(slice, chip, axis, sign);
    int id = (chip * slice->axes + axis) * 2 + (sign < 0 && slice->span[axis] != 2);
    return slice->link[id].kind == LINK_ICI ? id : -1;
}

struct slice_link slice_link_row(const struct slice *slice, int link)
{
    if (slice->link)
        return slice->link[link];
    int from = slice_link_start(slice, link), axis = slice_link_axis(slice, link);
    int sign = slice_link_sign(link);
    int to = slice->span[axis] == 2 && sign < 0 ? -1 : slice->topology->neighbour(slice, from, axis, sign);
    if (to < 0)
        return (struct slice_link){.from = from, .to = from, .kind = LINK_NONE};
    return (struct slice_link){from, to, LINK_ICI, slice->link_Bps, slice->hop_latency_s};
}

bool slice_is_link(const struct slice *slice, int link)
{
    return slice_link(slice, slice_link_start(slice, link), slice_link_axis(slice, link),
                      slice_link_sign(link)) == link;
}

int slice_link_end(const struct slice *slice, int link)
{
    if (slice->link)
        return slice->link[link].to;
    return slice->topology->neighbour(slice, slice_link_start(slice, link), slice_link_axis(slice, link),
                                      slice_link_sign(link));
}

static int make_table(struct slice *slice, struct status *st)
{
    if (slice->link)
        return 0;
    struct slice_link *row = calloc((size_t)slice_link_ids(slice) + 1, sizeof *row);
    if (!row)
        return status_nomem(st);
    for (int id = 0; id < slice_link_ids(slice); id++)
        row[id] = slice_link_row(slice, id);
    slice->link = row;
    return 0;
}

/* Short axes first; among equal ones, axes that close; then axes with defective links, or on which defects
 * lie farther along. */
static bool goes_first(const struct slice *slice, int a, int b)
{
    if (slice->len[a] != slice->len[b])
        return slice->len[a] < slice->len[b];
    if ((slice_ring(slice, a) > 0) != (slice_ring(slice, b) > 0))
        return slice_ring(slice, a) > 0;
    return slice->unlike[a] > slice->unlike[b] * (1 + 1e-9);
}

/* Updates the order of axes after a link became slow or dead. */
static void order_axes(struct slice *slice, int link)
{
    double frac = 1.5 - slice->link[link].bandwidth_Bps / slice->link_Bps;
    int chip = slice_link_start(slice, link);
    for (int a = 0; a < slice->axes; a++)
        slice->unlike[a] +=
            frac * (1 + slice_coord(slice, chip, a) + (slice_link_axis(slice, link) == a ? slice->chips : 0));
    for (int i = 0; i < slice->axes; i++)
        for (int k = slice->axes - 1; k > i; k--)
            if (goes_first(slice, slice->order[k], slice->order[k - 1])) {
                int was = slice->order[k];
                slice->order[k] = slice->order[k - 1];
                slice->order[k - 1] = was;
            }
}

/* Replaces a link's row; a dead one has no bandwidth. */
static int put_link(struct slice *slice, int link, enum link_kind kind, double link_Bps, double latency_s,
                    struct status *st)
{
    int code = make_table(slice, st);
    if (code < 0)
        return code;
    slice->link[link].kind = kind;
    slice->link[link].bandwidth_Bps = link_Bps;
    slice->link[link].latency_s = latency_s;
    order_axes(slice, link);
    return 0;
}

int slice_set_link(struct slice *slice, int link, double link_Bps, double latency_s, struct status *st)
{
    if (!(link_Bps > 0) || !(latency_s >= 0))
        return status_fail(st, STATUS_INPUT, "link %d: %g B/s and %g s; a link needs a bandwidth above 0",
                           link, link_Bps, latency_s);
    return put_link(slice, link, LINK_ICI, link_Bps, latency_s, st);
}

double slice_slowest_Bps(const struct slice *slice, int axis)
{
    double least_Bps = slice->link_Bps;
    for (int link = 0; link < slice_link_ids(slice) && slice->link; link++)
        if (slice_is_link(slice, link) && (axis < 0 || slice_link_axis(slice, link) == axis))
            least_Bps = fmin(least_Bps, slice_link_Bps(slice, link));
    return least_Bps;
}

int slice_kill_link(struct slice *slice, int link, struct status *st)
{
    return put_link(slice, link, LINK_DEAD, 0, slice->hop_latency_s, st);
}

int slice_slow_chip(struct slice *slice, int chip, double frac, struct status *st)
{
    if (!(frac > 0 && frac <= 1))
        return status_fail(st, STATUS_INPUT, "chip %d at %g of its speed; write a share above 0, at most 1",
                           chip, frac);
    if (!slice->chip_frac) {
        slice->chip_frac = malloc((size_t)slice->chips * sizeof *slice->chip_frac);
        if (!slice->chip_frac)
            return status_nomem(st);
        for (int c = 0; c < slice->chips; c++)
            slice->chip_frac[c] = 1;
    }
    slice->chip_frac[chip] = frac;
    return 0;
}

int slice_count_ports(const struct slice *slice, int chip)
{
    int ports = 0;
    for (int a = 0; a < slice->axes; a++) {
        int plus = slice_link(slice, chip, a, 1), minus = slice_link(slice, chip, a, -1);
        ports += (plus >= 0) + (minus >= 0 && minus != plus);
    }
    return ports;
}

int slice_ring(const struct slice *slice, int axis)
{
    return slice->topology->ring(slice, axis);
}

bool slice_is_straight(const struct slice *slice, int axis)
{
    int ring = slice_ring(slice, axis);
    return ring == 0 || ring == slice->len[axis];
}

int slice_moved(const struct slice *slice, int chip, int axis, int places)
{
    return slice->topology->moved(slice, chip, axis, places);
}

bool slice_closes(const struct slice *slice, int axis)
{
    int last[SLICE_AXES] = {0};
    last[axis] = slice->len[axis] - 1;
    return slice->topology->neighbour(slice, slice_chip(slice, last), axis, 1) == 0;
}

bool slice_is_twisted(const struct slice *slice)
{
    return slice->topology == &topology_twisted && slice_can_twist(slice);
}

int slice_count_links(const struct slice *slice)
{
    int links = 0;
    for (int id = 0; id < slice_link_ids(slice); id++)
        links += slice_is_link(slice, id);
    return links;
}

int slice_twist(struct slice *slice, bool on, struct status *st)
{
    char text[SLICE_TEXT];
    if (on && !slice_can_twist(slice))
        return status_fail(st, STATUS_INPUT,
                           "slice %s is not twisted; nxnx2n and nx2nx2n are, such as 4x4x8, if all axes wrap",
                           slice_print_shape(slice, text));
    slice->topology = on ? &topology_twisted : &topology_torus;
    return 0;
}

/* One-way bandwidth over the plane below a coordinate of an axis (1 to len-1), including wrap-around
 * links. */
static double cut_Bps(const struct slice *slice, int axis, int plane)
{
    double sum_Bps = 0;
    for (int id = 0; id < slice_link_ids(slice); id++) {
        struct slice_link link = slice_link_row(slice, id);
        if (link.kind == LINK_ICI && slice_coord(slice, link.from, axis) < plane &&
            slice_coord(slice, link.to, axis) >= plane)
            sum_Bps += link.bandwidth_Bps;
    }
    return sum_Bps;
}

double slice_bisection_Bps(const struct slice *slice)
{
    double least_Bps = INFINITY;
    for (int a = 0; a < slice->axes; a++)
        if (slice->len[a] > 1)
            least_Bps = fmin(least_Bps, cut_Bps(slice, a, slice->len[a] / 2));
    return isinf(least_Bps) ? 0 : least_Bps;
}

struct extent slice_extent(const struct slice *slice, const int32_t group[], int n)
{
    struct extent extent = {{0}, {0}};
    for (int a = 0; a < slice->axes; a++)
        for (int i = 1, first = slice_coord(slice, group[0], a); i < n; i++) {
            int off = slice_coord(slice, group[i], a) - first;
            extent.low[a] = off < extent.low[a] ? off : extent.low[a];
            extent.high[a] = off > extent.high[a] ? off : extent.high[a];
        }
    return extent;
}

bool slice_is_moved(const struct slice *slice, const int32_t first[], const int32_t group[], int n,
                    const struct extent *extent)
{
    bool moved = !slice->link;
    for (int a = 0; a < slice->axes && moved; a++) {
        int at = slice_coord(slice, group[0], a);
        moved = at + extent->low[a] >= 0 && at + extent->high[a] < slice->len[a];
    }
    for (int i = 1; i < n && moved; i++)
        moved = group[i] - group[0] == first[i] - first[0];
    return moved;
}
