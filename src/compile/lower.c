/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/lower_own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/timing.h"

int lower_init(struct lower *lower, const struct module *module, const struct placement *placement,
               const struct lower_options *options, struct status *st)
{
    size_t slots = ((size_t)module->groupings + 1) * LOWER_ID_MODES;
    *lower = (struct lower){.module = module, .placement = placement, .options = options, .layouts = slots};
    program_init(&lower->program, placement->slice);
    lower->written = malloc(((size_t)module->instructions + 1) * sizeof *lower->written);
    lower->layout = calloc(slots, sizeof *lower->layout);
    if (!lower->written || !lower->layout)
        return status_nomem(st);
    for (int32_t i = 0; i < module->instructions; i++)
        lower->written[i] = LOWER_TRIPS;
    return 0;
}

static void forget_loops(struct lower *lower)
{
    for (int32_t l = 0; l < lower->loops; l++)
        free(lower->loop[l].trip_op);
    lower->loops = 0;
}

void lower_free(struct lower *lower)
{
    forget_loops(lower);
    for (size_t s = 0; s < lower->layouts && lower->layout; s++)
        layout_free(&lower->layout[s]);
    program_free(&lower->program);
    free(lower->item);
    free(lower->loop);
    free(lower->choice);
    free(lower->queue);
    free(lower->written);
    free(lower->layout);
    free(lower->share);
    free(lower->known);
    free(lower->turn);
    *lower = (struct lower){0};
}

int lower_append(struct lower *lower, struct program *program, int32_t before, int32_t *after,
                 struct status *st)
{
    struct program own = lower->program;
    lower->program = *program;
    forget_loops(lower);
    lower->off_frac = -1;
    lower->items = lower->choices = lower->knowns = lower->turns = lower->queued = 0;
    int code = lower_walk(lower, before, after, st);
    *program = lower->program;
    if (program != &lower->program)
        lower->program = own;
    return code;
}

int lower_build(struct lower *lower, struct status *st)
{
    int32_t end;
    program_free(&lower->program);
    program_init(&lower->program, lower->placement->slice);
    int code = lower_append(lower, &lower->program, -1, &end, st);
    return code < 0 ? code : program_close(&lower->program, st);
}

/* The time when all ops of a trip have ended; for a trip without ops, of the trip before. */
static double trip_end_s(const struct trace *trace, const int32_t trip[], int64_t t)
{
    double end = -INFINITY;
    for (int32_t op = trip[t]; op < trip[t + 1]; op++)
        if (trace->op_end_s[op] > end)
            end = trace->op_end_s[op];
    return isinf(end) && t > 0 ? trip_end_s(trace, trip, t - 1) : end;
}

/* The time of a trip, including the time added by inner loops. Inner loops come after their outer loop. */
static double trip_s(const struct lower *lower, const struct trace *trace, int32_t l, int64_t t,
                     const double added_s[])
{
    const struct lowered_loop *loop = &lower->loop[l];
    const int32_t *trip = loop->trip_op;
    double start = trip_end_s(trace, trip, t - 1),
           took = isinf(start) ? 0 : trip_end_s(trace, trip, t) - start;
    for (int32_t in = l + 1; in < lower->loops; in++)
        if (lower->loop[in].parent == l && lower->loop[in].parent_trip == t)
            took += added_s[in];
    return took;
}

int lower_settle(struct lower *lower, const struct trace *trace, bool *again, double *more_s,
                 struct status *st)
{
    double *added_s = calloc((size_t)lower->loops + 1, sizeof *added_s);
    if (!added_s)
        return status_nomem(st);
    *again = false;
    *more_s = 0;
    for (int32_t l = lower->loops - 1; l >= 0; l--) {
        const struct lowered_loop *loop = &lower->loop[l];
        if (loop->written == loop->trips)
            continue;
        int64_t stands = lower_standing_trip(loop->written);
        double before = trip_s(lower, trace, l, stands - 1, added_s);
        double each = trip_s(lower, trace, l, stands, added_s);
        if (fabs(each - before) > 1e-11 * each + 1e-14 * trace->total_s) {
            int64_t more = 2 * loop->written; /* few trips remain after that, or none */
            lower->written[loop->instruction] = (int32_t)(2 * more < loop->trips ? more : loop->trips);
            *again = true;
        }
        added_s[l] = (double)(loop->trips - loop->written) * each;
        /* It stands for so many runs as the outermost loop does, which adds the time of its own unwritten trips itself. */
        const struct lowered_loop *outermost = loop;
        while (outermost->parent >= 0)
            outermost = &lower->loop[outermost->parent];
        *more_s += outermost->times * added_s[l];
    }
    free(added_s);
    double off_s = 0;
    bool stand = lower_layers_settle(lower, trace, more_s, &off_s);
    double total_s = trace->total_s + *more_s;
    lower->unsteady = !stand || !(off_s <= LOWER_OFF_FRAC * total_s);
    if (lower->off_frac < 0)
        lower->off_frac = off_s > 0 ? off_s / total_s : 0;
    return 0;
}

int lower_time(struct lower *lower, double *time_s, struct status *st)
{
    bool again = true;
    int code = 0;
    while (code == 0 && again) {
        struct timing timing = {0};
        double more_s = 0;
        code = lower_build(lower, st);
        if (code == 0)
            code = timing_init(&timing, &lower->program, engine_fastest(), true, st);
        if (code == 0)
            code = timing_run(&timing, RECORD_NONE, st);
        if (code == 0)
            code = lower_settle(lower, &timing.trace, &again, &more_s, st);
        if (code == 0)
            *time_s = timing.trace.total_s + more_s;
        timing_free(&timing);
    }
    return code;
}

char *lower_name(const struct module *module, int32_t instruction, char text[static STAGE_NAME])
{
    char phase[8] = "", layer[8] = "", labels[24] = "";
    bool of_layer = module_label(module, instruction, "layer", layer, sizeof layer) &&
                    module_label(module, instruction, "phase", phase, sizeof phase);
    if (of_layer)
        snprintf(labels, sizeof labels, " %s %s", phase, layer);
    const char *name = module_name_at(module, instruction);
    snprintf(text, STAGE_NAME, "%.*s%s", (int)(STAGE_NAME - 1 - strlen(labels)), name, labels);
    return text;
}

struct cost lower_cost(const struct lower *lower, int32_t instruction, double *seconds)
{
    const struct lower_options *options = lower->options;
    struct cost cost = module_cost(lower->module, instruction);
    *seconds = NAN;
    if (options->op_costs == 0)
        return cost;
    const char *name = module_name_at(lower->module, instruction);
    const char *target = module_value(lower->module, instruction, ATTR_CUSTOM_CALL_TARGET);
    /* stored with its quotes */
    size_t n = strlen(target) > 1 && *target == '"' ? strlen(target) - 2 : strlen(target);
    for (int i = 0; i < options->op_costs; i++) {
        const struct op_cost *given = &options->op_cost[i];
        bool of_target =
            n > 0 && strlen(given->name) == n && strncmp(target + (*target == '"'), given->name, n) == 0;
        if (!of_target && strcmp(given->name, name) != 0)
            continue;
        *seconds = given->seconds;
        cost = (struct cost){.flops = given->flops,
                             .hbm_bytes = given->hbm_bytes,
                             .product = given->flops > 0,
                             .dtype = cost.dtype};
    }
    return cost;
}
