/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fabric/slice.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if (*end == '\0') {
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
    *slice = (struct slice){.axes = axes, .link_Bps = link_Bps, .hop_latency_s = hop_latency_s};
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
    if (!(link_Bps > 0) || isinf(link_Bps))
        return status_fail(st, STATUS_INPUT, "link bandwidth %g B/s; it must be above 0", link_Bps);
    if (!(hop_latency_s >= 0) || isinf(hop_latency_s))
        return status_fail(st, STATUS_INPUT, "hop latency %g s; it must be 0 or above", hop_latency_s);
    return 0;
}

void slice_free(struct slice *slice)
{
    free(slice->link_Bps_of);
    free(slice->link_latency_s);
    slice->link_Bps_of = slice->link_latency_s = NULL;
}

char *slice_print_shape(const struct slice *slice, char text[static SLICE_TEXT])
{
    int n = 0;
    for (int a = 0; a < slice->axes; a++)
        n += snprintf(text + n, (size_t)(SLICE_TEXT - n), "%s%d", a ? "x" : "", slice->span[a]);
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

int slice_link(const struct slice *slice, int chip, int axis, int sign)
{
    int span = slice->span[axis];
    if (span == 1)
        return -1;
    if (span == 2)
        sign = 1;
    else if (!slice->wrap[axis]) {
        int c = slice_coord(slice, chip, axis) + sign;
        if (c < 0 || c >= slice->len[axis])
            return -1;
    }
    return (chip * slice->axes + axis) * 2 + (sign < 0);
}

bool slice_is_link(const struct slice *slice, int link)
{
    return slice_link(slice, slice_link_start(slice, link), slice_link_axis(slice, link),
                      slice_link_sign(link)) == link;
}

int slice_link_end(const struct slice *slice, int link)
{
    int chip = slice_link_start(slice, link), axis = slice_link_axis(slice, link);
    int len = slice->len[axis], stride = 1;
    for (int a = axis + 1; a < SLICE_AXES; a++)
        stride *= slice->len[a];
    int c = chip / stride % len;
    int to = c + slice_link_sign(link);
    if (to < 0)
        to = len - 1;
    else if (to >= len)
        to = 0;
    return chip + (to - c) * stride;
}

int slice_set_link(struct slice *slice, int link, double link_Bps, double latency_s, struct status *st)
{
    size_t n = (size_t)slice_link_ids(slice);
    if (!(link_Bps > 0) || !(latency_s >= 0))
        return status_fail(st, STATUS_INPUT, "link %d: %g B/s and %g s; a link needs a bandwidth above 0",
                           link, link_Bps, latency_s);
    if (!slice->link_Bps_of) {
        double *speed = malloc(n * sizeof *speed), *latency = malloc(n * sizeof *latency);
        if (!speed || !latency) {
            free(speed);
            free(latency);
            return status_nomem(st);
        }
        for (size_t i = 0; i < n; i++) {
            speed[i] = slice->link_Bps;
            latency[i] = slice->hop_latency_s;
        }
        slice->link_Bps_of = speed;
        slice->link_latency_s = latency;
    }
    slice->link_Bps_of[link] = link_Bps;
    slice->link_latency_s[link] = latency_s;
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

int slice_count_links(const struct slice *slice)
{
    int links = 0;
    for (int a = 0; a < slice->axes; a++) {
        int span = slice->span[a], cables = slice_is_ring(slice, a) ? span : span - 1;
        links += slice->chips / slice->len[a] * cables * 2;
    }
    return links;
}

double slice_bisection_Bps(const struct slice *slice)
{
    double least = 0;
    for (int a = 0; a < slice->axes; a++) {
        if (slice->len[a] < 2)
            continue;
        double cut = slice->chips / slice->len[a] * (slice_is_ring(slice, a) ? 2 : 1) * slice->link_Bps;
        if (least <= 0 || cut < least)
            least = cut;
    }
    return least;
}

int slice_check(const struct slice *slice, struct status *st)
{
    int links = 0, ports = 0;
    for (int link = 0; link < slice_link_ids(slice); link++) {
        if (!slice_is_link(slice, link))
            continue;
        links++;
        int axis = slice_link_axis(slice, link);
        int back = slice_link(slice, slice_link_end(slice, link), axis, -slice_link_sign(link));
        if (back < 0 || slice_link_end(slice, back) != slice_link_start(slice, link))
            return status_fail(st, STATUS_CHECK, "link %d has no link back", link);
    }
    for (int chip = 0; chip < slice->chips; chip++)
        ports += slice_count_ports(slice, chip);
    bool folded = memcmp(slice->len, slice->span, sizeof slice->len) != 0;
    if (links != ports || (!folded && links != slice_count_links(slice)))
        return status_fail(st, STATUS_CHECK, "%d links by id, %d by chip, %d by shape", links, ports,
                           slice_count_links(slice));
    return 0;
}
