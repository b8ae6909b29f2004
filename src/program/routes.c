/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes by where they lead. */
#include <stdlib.h>
#include <string.h>

#include "machine/route.h"
#include "program/building.h"

int32_t program_route_between(struct program *program, int from, int to)
{
    struct hop hop[ROUTE_HOPS];
    int hops = route_between(program->slice, from, to, hop, NULL);
    if (hops >= 0)
        return program_route(program, hop, hops);
    if (!program->error) {
        program->lost[0] = from;
        program->lost[1] = to;
    }
    return program_fault(program, hops);
}

/* Does moving all chips along any axis by one place take every link to a link? Then routes are alike that go as far, round the
 * ends of the axes. */
static bool moves_onto_itself(const struct slice *slice)
{
    bool moves = !slice->link;
    for (int a = 0; a < slice->axes; a++)
        moves = moves && slice_period(slice, a) == 1;
    return moves;
}

/* How far it is from a chip at `at` to another one, as the chip that is as far from chip 0. */
static int way_to(const struct slice *slice, const int at[], int to)
{
    int way = 0, step = 1;
    for (int a = slice->axes - 1; a >= 0; a--) {
        int len = slice->len[a], rest = a > 0 ? to / len : 0, along = to - rest * len - at[a];
        way += (along < 0 ? along + len : along) * step;
        step *= len;
        to = rest;
    }
    return way;
}

static void next_place(const struct slice *slice, int at[])
{
    int a = slice->axes - 1;
    while (a > 0 && at[a] == slice->len[a] - 1)
        at[a--] = 0;
    at[a]++;
}

void program_routes_to(struct program *program, const int32_t target[], int32_t route[])
{
    const struct slice *slice = program->slice;
    size_t bytes = (size_t)slice->chips * sizeof *route;
    int32_t *by_way = moves_onto_itself(slice) ? malloc(bytes) : NULL;
    int at[SLICE_AXES] = {0};
    if (by_way)
        memset(by_way, -1, bytes);
    for (int chip = 0; chip < slice->chips; chip++, next_place(slice, at)) {
        if (target[chip] < 0)
            continue;
        int32_t *known = by_way ? &by_way[way_to(slice, at, target[chip])] : &route[chip];
        if (!by_way || *known < 0)
            *known = program_route_between(program, chip, target[chip]);
        route[chip] = *known;
    }
    free(by_way);
}
