/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions about a program that need no engine: destinations of sends, totals, chains, cuts of buffers. */
#include "program/program.h"

#include <stdlib.h>

int op_destination(const struct program *program, const struct op *op, int chip)
{
    struct route route = op_route(program, op, chip);
    return route_walk(program->slice, chip, program->hop + route.first, route.hops, NULL);
}

static int links_of(const struct program *program, struct route route)
{
    return route_length(program->hop + route.first, route.hops);
}

int program_longest_route(const struct program *program)
{
    int longest = 0;
    for (int32_t r = 0; r < program->routes; r++) {
        int links = links_of(program, program->route[r]);
        longest = links > longest ? links : longest;
    }
    return longest;
}

void program_axes(const struct program *program, bool used[SLICE_AXES])
{
    for (int a = 0; a < SLICE_AXES; a++)
        used[a] = false;
    for (int32_t h = 0; h < program->hops; h++)
        if (program->hop[h].delta != 0)
            used[program->hop[h].axis] = true;
}

/* Used instead of a loop over all chips where they share route and amount: for a pod that would be 10^7
 * routes. */
int64_t op_takers(const struct program *program, const struct op *op)
{
    if (op->where == WHERE_ALL)
        return program->slice->chips;
    int64_t takers = 0;
    for (int chip = 0; chip < program->slice->chips; chip++)
        takers += program->mask[op->where][chip] != 0;
    return takers;
}

bool program_has_computes(const struct program *program)
{
    for (int32_t o = 0; o < program->ops; o++)
        if (program->op[o].kind == OP_COMPUTE)
            return true;
    return false;
}

/* A send of no links is a join or a copy: it is no transfer and no step. */
bool op_crosses_links(const struct program *program, const struct op *op)
{
    return op->kind == OP_SEND &&
           (op->towards.table != NO_TABLE || program->route[op->towards.route].hops > 0);
}

int64_t program_transfers(const struct program *program)
{
    double transfers = 0;
    for (int32_t o = 0; o < program->ops; o++)
        if (op_crosses_links(program, &program->op[o]))
            transfers += (double)op_takers(program, &program->op[o]) * op_times(&program->op[o]) *
                         op_real_frac(&program->op[o]);
    return (int64_t)transfers;
}

bool program_is_endless(const struct program *program)
{
    int32_t o = 0;
    while (o < program->ops && !(program->op[o].real_frac > 0))
        o++;
    return o < program->ops;
}

double op_link_bytes(const struct program *program, const struct op *op)
{
    double sum = 0;
    if (op->kind != OP_SEND)
        return 0;
    if (op->towards.table == NO_TABLE && op->amount.table == NO_TABLE)
        return (double)op_takers(program, op) * links_of(program, program->route[op->towards.route]) *
               op->amount.each * op_real_frac(op);
    for (int chip = 0; chip < program->slice->chips; chip++)
        if (op_takes_part(program, op, chip))
            sum += links_of(program, op_route(program, op, chip)) * op_amount(program, op, chip);
    return sum;
}

double program_link_bytes(const struct program *program)
{
    double sum = 0;
    for (int32_t o = 0; o < program->ops; o++)
        sum += op_link_bytes(program, &program->op[o]) * op_times(&program->op[o]);
    return sum;
}

int32_t program_depths(const struct program *program, int32_t depth[])
{
    int32_t most = 0, queue = 0; /* depth of the last compute: each compute waits for the one before it */
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        depth[o] = op->kind == OP_COMPUTE ? queue : 0;
        for (int32_t a = 0; a < op->afters; a++) {
            int32_t before = program->after[op->first_after + a].op;
            if (depth[before] > depth[o])
                depth[o] = depth[before];
        }
        depth[o] += op_crosses_links(program, op);
        if (op->kind == OP_COMPUTE)
            queue = depth[o];
        if (depth[o] > most)
            most = depth[o];
    }
    return most;
}

int program_steps(const struct program *program, struct status *st)
{
    int32_t *depth = malloc(((size_t)program->ops + 1) * sizeof *depth);
    if (!depth)
        return status_nomem(st);
    int32_t most = program_depths(program, depth);
    free(depth);
    return most;
}

int64_t buffer_shares(const struct buffer *buffer, int d)
{
    int64_t all = 0;
    for (int k = 0; k < GRID_SHARES && d == buffer->dims - 1; k++)
        all += buffer->share[k];
    return all;
}

int64_t buffer_cut(const struct buffer *buffer, int d, int64_t total, int32_t i)
{
    int64_t n = buffer->dim[d], before = 0, larger = total % n, all = buffer_shares(buffer, d);
    if (all == 0)
        return i * (total / n) + (i < larger ? i : larger);
    for (int32_t k = 0; k < i; k++)
        before += buffer->share[k];
    return total / all * before + total % all * before / all;
}
