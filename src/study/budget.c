/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/budget.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory_limit.h"
#include "base/units.h"
#include "hlo/cost.h"

/* Measured on all-to-alls of 64x64x64 (262,143 sends, folded: 130 MB to build, 401 MB to run, 6.4 s) and 8x8x16 (1.2
 * million transfers, not folded: 329 MB, 4.6 s). Times are a quarter of that: other machines are faster. */
static const double op_bytes = 500, op_run_bytes = 1000, transfer_bytes = 250;
static const double op_s = 6e-6, transfer_s = 1e-6;
/* Numbers are doubles; multiplications take a third of a nanosecond (products of 1,000 x 1,000). */
static const double number_bytes = 8, multiplication_s = 8e-11;
/* Every machine has that much free: to ask it takes longer than to simulate a small point. */
static const double little_bytes = 16e6;

/* A bound is kept for this time before the system is asked again. */
static const double hold_s = 0.1;

/* A point that needs more than this has to set --memory-limit. */
static const uint64_t default_bytes = (uint64_t)4 << 30;

/* The memory that one of several workers may use for a point. */
static uint64_t most_for(const struct point *point, int workers)
{
    uint64_t share = memory_free_bytes() / (uint64_t)workers;
    return point->run.memory_limit_bytes ? point->run.memory_limit_bytes
           : share < default_bytes       ? share
                                         : default_bytes;
}

void budget_hold(struct budget_hold *held, const struct point *point, int workers)
{
    if (held->holds && held->limit_bytes == point->run.memory_limit_bytes &&
        stopwatch_wall_s(&held->since) < hold_s)
        return;
    *held = (struct budget_hold){
        .holds = true, .limit_bytes = point->run.memory_limit_bytes, .since = stopwatch_start_wall()};
    memory_hold(most_for(point, workers));
}

void budget_hold_command(const char *memory_limit)
{
    struct status own = {0};
    struct point point = {.run.memory_limit_bytes = 0};
    if (memory_limit)
        units_parse_bytes("--memory-limit", memory_limit, &point.run.memory_limit_bytes, &own);
    memory_hold(most_for(&point, 1));
}

static const char smaller_program[] =
    "take a smaller slice, fewer axes at once, --all-to-all ring or --fold on",
                  smaller_model[] = "write a smaller model, which runs by the same schedule";

static int check(const struct point *point, double bytes, double seconds, const char *cure, struct status *st)
{
    char need[UNITS_TEXT], have[UNITS_TEXT];
    bool limited = point->run.memory_limit_bytes > 0;
    double most_bytes = limited || bytes >= little_bytes ? (double)most_for(point, 1) : INFINITY;
    if (bytes > most_bytes)
        return status_fail(st, STATUS_LIMIT, "this takes about %s of memory, and may take %s%s; %s",
                           units_print_about_bytes(bytes, need), units_print_about_bytes(most_bytes, have),
                           limited                              ? " (--memory-limit)"
                           : most_bytes < (double)default_bytes ? ", which is free"
                                                                : " without --memory-limit",
                           cure);
    /* Estimates below a second are not checked: the engine soon notices if the time runs out. */
    if (point->run.time_limit_s > 0 && seconds >= 1 && seconds > point->run.time_limit_s &&
        !(point->run.tolerance_frac > 0))
        return status_fail(
            st, STATUS_LIMIT,
            "this takes more than %.0f s, and may take %s; allow more time (--time-limit), or %s", seconds,
            units_print_time(point->run.time_limit_s, have), cure);
    return 0;
}

int budget_build(const struct point *point, double sends, struct status *st)
{
    return check(point, sends * (op_bytes + op_run_bytes), sends * op_s, smaller_program, st);
}

/* Does an op start with the program, or after computes or set-ups only? */
static bool starts_at_once(const struct program *program, const struct op *op)
{
    for (int32_t a = op->first_after; a < op->first_after + op->afters; a++)
        if (op_crosses_links(program, &program->op[program->after[a].op]))
            return false;
    return op_crosses_links(program, op);
}

int budget_run(const struct point *point, const struct program *program, struct status *st)
{
    double transfers = 0, most = (double)program->ops * program->slice->chips;
    if (!point->run.memory_limit_bytes && most * transfer_bytes < little_bytes && most * transfer_s < 1)
        return 0; /* even if all were under way at once */
    for (int32_t o = 0; o < program->ops; o++)
        if (starts_at_once(program, &program->op[o]))
            transfers += (double)op_takers(program, &program->op[o]);
    return check(point, transfers * transfer_bytes, transfers * transfer_s, smaller_program, st);
}

int budget_numbers(const struct point *point, const struct module *module, struct status *st)
{
    double elements = 0, multiplications = 0, devices = (double)module->partitions * module->replicas;
    double *runs = calloc((size_t)module->computations + 1, sizeof *runs);
    if (!runs)
        return status_nomem(st);
    int code = module_executions(module, runs, st);
    for (int32_t i = 0; code == 0 && i < module->instructions; i++) {
        const struct instruction *instruction = module_at(module, i);
        multiplications += runs[instruction->computation] * module_cost(module, i).flops / 2;
        bool passes_on = instruction->opcode == HLO_TUPLE || instruction->opcode == HLO_GET_TUPLE_ELEMENT ||
                         opcode_info(instruction->opcode)->class == CLASS_DONE; /* numbers of its operands */
        if (instruction->computation == module->entry && !passes_on)
            elements += shape_elements(module, instruction->shape);
    }
    free(runs);
    return code < 0 ? code
                    : check(point, devices * elements * number_bytes,
                            devices * multiplications * multiplication_s, smaller_model, st);
}
