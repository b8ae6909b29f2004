/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/lanes.h"

#include <math.h>
#include <stdlib.h>

#include "engine/platform.h"

/* What took about two minutes or 2 GB where it was measured. */
enum { CELLS_MAX = 1 << 23, LANE_LINKS_MAX = 1 << 22 };

/* Walks a lane; returns its number of links, or a negative value where it leaves the slice. */
static int walk(const struct lanes *lanes, const struct lane *lane, int link[], int *destination)
{
    const struct program *program = lanes->program;
    struct route route = program->route[lane->route];
    *destination = route_walk(program->slice, lane->chip, program->hop + route.first, route.hops, link);
    return *destination < 0 ? -1 : route_length(program->hop + route.first, route.hops);
}

static int longest_route(const struct program *program)
{
    int longest = 0;
    for (int32_t r = 0; r < program->routes; r++) {
        int n = route_length(program->hop + program->route[r].first, program->route[r].hops);
        longest = n > longest ? n : longest;
    }
    return longest;
}

/* Marks the (route, chip) that a send takes by 0, and counts them. */
static int32_t mark_lanes(struct lanes *lanes)
{
    const struct program *program = lanes->program;
    int chips = program->slice->chips;
    int32_t marked = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        for (int chip = 0; op->kind == OP_SEND && chip < chips; chip++) {
            if (!op_takes_part(program, op, chip))
                continue;
            int32_t route = op->towards.table == NO_TABLE ? op->towards.route
                                                          : program->index_table[op->towards.table][chip];
            int32_t *of = &lanes->of[(int64_t)route * chips + chip];
            marked += *of < 0;
            *of = 0;
        }
    }
    return marked;
}

/* Gives every marked (route, chip) a lane. */
static int fill_lanes(struct lanes *lanes, int link[], struct status *st)
{
    const struct slice *slice = lanes->program->slice;
    int64_t links = 0;
    for (int64_t i = 0; i < (int64_t)lanes->program->routes * slice->chips; i++) {
        if (lanes->of[i] < 0)
            continue;
        struct lane lane = {.route = (int32_t)(i / slice->chips), .chip = (int32_t)(i % slice->chips)};
        int destination;
        lane.links = walk(lanes, &lane, link, &destination);
        if (lane.links < 0)
            return status_fail(st, STATUS_INPUT, "route %d leaves the slice from chip %d", lane.route,
                               lane.chip);
        lane.destination = destination;
        for (int l = 0; l < lane.links; l++)
            lane.latency_s += slice_link_latency_s(slice, link[l]);
        links += lane.links;
        lanes->of[i] = lanes->lanes;
        lanes->lane[lanes->lanes++] = lane;
    }
    if (links <= LANE_LINKS_MAX)
        return 0;
    return status_fail(st, STATUS_LIMIT,
                       "the program's routes have %lld links in all, too many for a SimGrid platform (%d); "
                       "use the event engine",
                       (long long)links, LANE_LINKS_MAX);
}

static void set_bytes_scale(struct lanes *lanes)
{
    const struct program *program = lanes->program;
    double most_bytes = 0;
    for (int32_t o = 0; o < program->ops; o++)
        for (int chip = 0; program->op[o].kind == OP_SEND && chip < program->slice->chips; chip++)
            if (op_takes_part(program, &program->op[o], chip))
                most_bytes = fmax(most_bytes, op_amount(program, &program->op[o], chip));
    int exponent = 0;
    frexp(most_bytes, &exponent); /* most_bytes < 2^exponent */
    exponent = most_bytes > 0 ? 62 - exponent : 0;
    lanes->bytes_scale = ldexp(1, exponent < 200 ? exponent : 200);
}

/* When the program would end if no two sends shared a link, and what the fullest link carries: their sum is
 * the right order of magnitude for the end of the program. */
struct horizon {
    const struct lanes *lanes;
    double *end_s, *arrived_s; /* [ops * chips] */
    double *queue_s;           /* [chips] end of the last compute */
    double *load_s;            /* [links] */
    double last_s;
};

static double ready_s(const struct horizon *horizon, const struct op *op, int chip)
{
    const struct program *program = horizon->lanes->program;
    double ready_s = op->kind == OP_COMPUTE ? horizon->queue_s[chip] : 0;
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++) {
        const struct after *after = &program->after[a];
        int64_t at = (int64_t)after->op * program->slice->chips + chip;
        ready_s = fmax(ready_s, after->kind == AFTER_DONE ? horizon->end_s[at] : horizon->arrived_s[at]);
    }
    return ready_s;
}

static void pass_op(struct horizon *horizon, int32_t o, int chip, int link[])
{
    const struct program *program = horizon->lanes->program;
    const struct op *op = &program->op[o];
    int64_t first = (int64_t)o * program->slice->chips;
    double end_s = ready_s(horizon, op, chip), amount = op_amount(program, op, chip);
    if (op->kind == OP_COMPUTE) {
        end_s += amount;
        horizon->queue_s[chip] = end_s;
    } else {
        const struct lane *lane = lanes_of(horizon->lanes, op, chip);
        double flow_s = 0;
        int destination, links = walk(horizon->lanes, lane, link, &destination);
        for (int l = 0; l < links; l++) {
            double link_s = amount / slice_link_Bps(program->slice, link[l]);
            horizon->load_s[link[l]] += link_s;
            flow_s = fmax(flow_s, link_s);
        }
        end_s += op->setup_s + lane->latency_s + flow_s;
        double *arrived_s = &horizon->arrived_s[first + destination];
        *arrived_s = fmax(*arrived_s, end_s);
    }
    horizon->end_s[first + chip] = end_s;
    horizon->last_s = fmax(horizon->last_s, end_s);
}

static int set_precision(struct lanes *lanes, int link[], struct status *st)
{
    const struct program *program = lanes->program;
    size_t chips = (size_t)program->slice->chips, links = (size_t)slice_link_ids(program->slice);
    size_t cells = (size_t)program->ops * chips;
    double *room = calloc(2 * cells + chips + links + 1, sizeof *room);
    if (!room)
        return status_nomem(st);
    struct horizon horizon = {.lanes = lanes,
                              .end_s = room,
                              .arrived_s = room + cells,
                              .queue_s = room + 2 * cells,
                              .load_s = room + 2 * cells + chips};
    for (int32_t o = 0; o < program->ops; o++)
        for (int chip = 0; chip < program->slice->chips; chip++)
            if (op_takes_part(program, &program->op[o], chip))
                pass_op(&horizon, o, chip, link);
    double fullest_s = 0;
    for (size_t l = 0; l < links; l++)
        fullest_s = fmax(fullest_s, horizon.load_s[l]);
    /* 2^10 roundings of an instant (2^-52 of it) at the horizon: an end 2^10 times as late is safe. */
    double horizon_s = horizon.last_s + fullest_s;
    lanes->precision_s = ldexp(horizon_s > 0 ? horizon_s : 1, -42);
    free(room);
    return 0;
}

int lanes_init(struct lanes *lanes, const struct program *program, struct status *st)
{
    *lanes = (struct lanes){.program = program};
    int64_t chips = program->slice->chips;
    if (chips * program->ops > CELLS_MAX || chips * program->routes > 4 * (int64_t)CELLS_MAX)
        return status_fail(st, STATUS_LIMIT,
                           "%d ops on %d chips take SimGrid minutes; use the event engine above %d in all",
                           program->ops, program->slice->chips, CELLS_MAX);
    size_t ways = (size_t)(chips * program->routes);
    int code = 0;
    int *link = malloc(((size_t)longest_route(program) + 1) * sizeof *link);
    lanes->of = malloc((ways + 1) * sizeof *lanes->of);
    if (!link || !lanes->of) {
        code = status_nomem(st);
        goto out;
    }
    for (size_t i = 0; i < ways; i++)
        lanes->of[i] = -1;
    int32_t marked = mark_lanes(lanes);
    lanes->lane = malloc(((size_t)marked + 1) * sizeof *lanes->lane);
    code = lanes->lane ? fill_lanes(lanes, link, st) : status_nomem(st);
    if (code)
        goto out;
    lanes->hosts = 2;
    while ((int64_t)lanes->hosts * (lanes->hosts - 1) < lanes->lanes)
        lanes->hosts++;
    set_bytes_scale(lanes);
    code = set_precision(lanes, link, st);
out:
    free(link);
    if (code)
        lanes_free(lanes);
    return code;
}

void lanes_free(struct lanes *lanes)
{
    free(lanes->lane);
    free(lanes->of);
    *lanes = (struct lanes){0};
}

void lanes_hosts(const struct lanes *lanes, const struct lane *lane, int32_t *from, int32_t *to)
{
    int32_t pair = (int32_t)(lane - lanes->lane);
    *from = pair / (lanes->hosts - 1);
    *to = pair % (lanes->hosts - 1);
    *to += *to >= *from; /* no host sends to itself */
}

static void write_links(const struct lanes *lanes, FILE *out, int link[], uint8_t used[])
{
    const struct slice *slice = lanes->program->slice;
    for (int32_t i = 0; i < lanes->lanes; i++) {
        int destination, links = walk(lanes, &lanes->lane[i], link, &destination);
        for (int l = 0; l < links; l++)
            used[link[l]] = 1;
    }
    for (int id = 0; id < slice_link_ids(slice); id++)
        if (used[id])
            platform_link(out, slice, id, slice_link_Bps(slice, id) * lanes->bytes_scale, 0);
}

int lanes_write_platform(const struct lanes *lanes, FILE *out, struct status *st)
{
    const struct slice *slice = lanes->program->slice;
    int *link = malloc(((size_t)longest_route(lanes->program) + 1) * sizeof *link);
    uint8_t *used = calloc((size_t)slice_link_ids(slice) + 1, sizeof *used);
    if (!link || !used) {
        free(link);
        free(used);
        return status_nomem(st);
    }
    char from[PLATFORM_NAME], to[PLATFORM_NAME];
    platform_begin(out, "What one program needs of a slice; hosts are keys, bytes are scaled");
    for (int32_t host = 0; host < lanes->hosts; host++) {
        snprintf(from, sizeof from, "%d", host);
        platform_host(out, from, 1);
    }
    write_links(lanes, out, link, used);
    for (int32_t i = 0; i < lanes->lanes; i++) {
        int32_t a, b;
        int destination, links = walk(lanes, &lanes->lane[i], link, &destination);
        lanes_hosts(lanes, &lanes->lane[i], &a, &b);
        snprintf(from, sizeof from, "%d", a);
        snprintf(to, sizeof to, "%d", b);
        if (links > 0)
            platform_route(out, slice, from, to, link, links);
    }
    free(link);
    free(used);
    return platform_end(out, st);
}
