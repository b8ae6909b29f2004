/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/lanes.h"

#include <stdlib.h>

#include "base/grow.h"
#include "engine/platform.h"

/* These sizes took about two minutes or 2 GB in measurements. */
enum { CELLS_MAX = 1 << 23, LANE_LINKS_MAX = 1 << 22 };

static int64_t place_of(const struct lanes *lanes, const struct op *op, int chip)
{
    const struct program *program = lanes->program;
    int64_t route = op->kind == OP_COMPUTE          ? program->routes
                    : op->towards.table == NO_TABLE ? op->towards.route
                                                    : program->index_table[op->towards.table][chip];
    int64_t memory = lanes->sharing ? op->memory : 0;
    return (memory * (program->routes + 1) + route) * program->slice->chips + chip;
}

bool passes_lane(const struct lanes *lanes, const struct op *op)
{
    return op->kind == OP_SEND || passes_memory(lanes->program, op, lanes->sharing);
}

const struct lane *lanes_of(const struct lanes *lanes, const struct op *op, int chip)
{
    return &lanes->lane[lanes->of[place_of(lanes, op, chip)]];
}

/* Writes the links of a send's route, and its destination, into a lane. */
static int walk_route(struct lanes *lanes, const struct op *op, int chip, struct lane *lane,
                      struct status *st)
{
    const struct slice *slice = lanes->program->slice;
    struct route route = op_route(lanes->program, op, chip);
    const struct hop *hop = lanes->program->hop + route.first;
    int links = route_length(hop, route.hops);
    if (links > LANE_LINKS_MAX - lanes->links)
        return status_fail(st, STATUS_LIMIT,
                           "the program's routes have more than %d links in all, too many for a SimGrid "
                           "platform; use the event engine",
                           LANE_LINKS_MAX);
    if (!GROW_BY(lanes->link, lanes->links, lanes->link_room, links))
        return status_nomem(st);
    lane->destination = route_walk(slice, chip, hop, route.hops, lanes->link + lanes->links);
    if (lane->destination < 0)
        return status_fail(st, STATUS_INPUT, "op %d leaves the slice from chip %d",
                           (int)(op - lanes->program->op), chip);
    for (int l = 0; l < links; l++)
        lane->latency_s += slice_link_latency_s(slice, lanes->link[lanes->links++]);
    return 0;
}

static int add_lane(struct lanes *lanes, const struct op *op, int chip, struct status *st)
{
    struct lane lane = {.first = lanes->links, .destination = chip};
    int code = op->kind == OP_SEND ? walk_route(lanes, op, chip, &lane, st) : 0;
    if (code < 0)
        return code;
    if (!GROW(lanes->lane, lanes->lanes, lanes->lane_room) ||
        !GROW_BY(lanes->link, lanes->links, lanes->link_room, RESOURCES_MOST))
        return status_nomem(st);
    if (lanes->sharing)
        lanes->links += op_resources(lanes->program, op, lanes->sharing, chip, lane.destination,
                                     lanes->link + lanes->links);
    lane.links = lanes->links - lane.first;
    lanes->of[place_of(lanes, op, chip)] = lanes->lanes;
    lanes->lane[lanes->lanes++] = lane;
    return 0;
}

static int add_lanes(struct lanes *lanes, struct status *st)
{
    const struct program *program = lanes->program;
    double most_bytes = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        for (int chip = 0; passes_lane(lanes, op) && chip < program->slice->chips; chip++) {
            if (!op_takes_part(program, op, chip))
                continue;
            most_bytes = fmax(most_bytes, op_bytes(program, op, chip));
            if (lanes->of[place_of(lanes, op, chip)] < 0 && add_lane(lanes, op, chip, st) < 0)
                return st->code;
        }
    }
    int exponent = 0;
    frexp(most_bytes, &exponent); /* most_bytes < 2^exponent */
    exponent = most_bytes > 0 ? 62 - exponent : 0;
    lanes->bytes_scale = ldexp(1, exponent < 200 ? exponent : 200);
    return 0;
}

int lanes_init(struct lanes *lanes, const struct program *program, struct status *st)
{
    *lanes = (struct lanes){.program = program, .hosts = 2, .sharing = program_sharing(program)};
    int64_t chips = program->slice->chips;
    if (chips * program->ops > CELLS_MAX || chips * program->routes > 4 * (int64_t)CELLS_MAX)
        return status_fail(st, STATUS_LIMIT,
                           "%d ops on %d chips take SimGrid minutes; use the event engine above %d in all",
                           program->ops, program->slice->chips, CELLS_MAX);
    size_t places = (size_t)(chips * (program->routes + 1)) * (lanes->sharing ? MEMORY_NONE + 1 : 1);
    lanes->of = malloc((places + 1) * sizeof *lanes->of);
    for (size_t i = 0; lanes->of && i < places; i++)
        lanes->of[i] = -1;
    int code = lanes->of ? add_lanes(lanes, st) : status_nomem(st);
    while ((int64_t)lanes->hosts * (lanes->hosts - 1) < lanes->lanes)
        lanes->hosts++;
    if (code)
        lanes_free(lanes);
    return code;
}

void lanes_free(struct lanes *lanes)
{
    free(lanes->lane);
    free(lanes->link);
    free(lanes->of);
    *lanes = (struct lanes){0};
}

void lanes_hosts(const struct lanes *lanes, const struct lane *lane, int32_t *from, int32_t *to)
{
    int32_t pair = (int32_t)(lane - lanes->lane);
    *from = pair / (lanes->hosts - 1);
    *to = pair % (lanes->hosts - 1);
    *to += *to >= *from; /* the two hosts of a lane must differ */
}

int lanes_write_platform(const struct lanes *lanes, FILE *out, struct status *st)
{
    const struct slice *slice = lanes->program->slice;
    bool *used = calloc((size_t)resource_ids(slice) + 1, sizeof *used);
    if (!used)
        return status_nomem(st);
    char from[PLATFORM_NAME], to[PLATFORM_NAME];
    platform_begin(out, "What one program needs of a slice; hosts are keys, bytes are scaled");
    for (int32_t host = 0; host < lanes->hosts; host++) {
        snprintf(from, sizeof from, "%d", host);
        platform_host(out, from, 1);
    }
    for (int32_t l = 0; l < lanes->links; l++)
        used[lanes->link[l]] = true;
    for (int id = 0; id < resource_ids(slice); id++)
        if (used[id])
            platform_link(out, slice, id, fmax(id_Bps(slice, id), 1) * lanes->bytes_scale,
                          0); /* computes set theirs when they start */
    for (const struct lane *lane = lanes->lane; lane < lanes->lane + lanes->lanes; lane++) {
        int32_t a, b;
        lanes_hosts(lanes, lane, &a, &b);
        snprintf(from, sizeof from, "%d", a);
        snprintf(to, sizeof to, "%d", b);
        if (lane->links > 0)
            platform_route(out, slice, from, to, lanes->link + lane->first, lane->links);
    }
    free(used);
    return platform_end(out, st);
}
