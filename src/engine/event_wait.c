/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ops still wait for: a counter for each chip, and whoever gets to zero starts. */
#include <stdlib.h>
#include <string.h>

#include "engine/event_run.h"

static int row_class(int32_t members)
{
    int k = 3; /* a pointer at least */
    while (members > 1 << k)
        k++;
    return k;
}

/* The counters of an op, at the first thing that one of its chips waited for. */
static bool open_row(struct run *run, int32_t op)
{
    struct task *task = &run->plan.task[op];
    int32_t members = plan_set(&run->plan, task->set)->members;
    int k = row_class(members);
    if (run->rows[k]) {
        task->row = run->rows[k];
        memcpy(&run->rows[k], task->row, sizeof run->rows[k]);
    } else {
        task->row = malloc(sizeof *task->row << k);
    }
    if (!task->row) {
        run->code = STATUS_NOMEM;
        return false;
    }
    if (task->deps == DEPS_DIFFER) {
        plan_count(&run->plan, op, run->count);
        for (int32_t i = 0; i < members; i++)
            task->row[i] = (uint16_t)run->count[i];
    } else {
        for (int32_t i = 0; i < members; i++)
            task->row[i] = (uint16_t)task->deps;
    }
    return true;
}

void run_close_row(struct run *run, struct task *task)
{
    int k = row_class(plan_set(&run->plan, task->set)->members);
    memcpy(task->row, &run->rows[k], sizeof run->rows[k]);
    run->rows[k] = task->row;
    task->row = NULL;
}

void run_free_rows(struct run *run)
{
    for (int32_t o = 0; run->plan.task && o < run->program->ops; o++)
        free(run->plan.task[o].row);
    for (int k = 0; k < ROW_CLASSES; k++)
        while (run->rows[k]) {
            void *row = run->rows[k];
            memcpy(&run->rows[k], row, sizeof run->rows[k]);
            free(row);
        }
}

void run_release_some(struct run *run, int32_t op, const int32_t chip[], int chips)
{
    struct task *task = &run->plan.task[op];
    const struct chip_set *set = plan_set(&run->plan, task->set);
    int32_t ready[CHIP_BATCH];
    int readies = 0;
    for (int i = 0; i < chips; i++) {
        if (!set_has(set, chip[i]))
            continue;
        if (task->deps != 1 && !task->row && !open_row(run, op))
            return;
        ready[readies] = chip[i];
        readies += !task->row || --task->row[set_rank(set, chip[i])] == 0;
    }
    if (readies)
        run_start(run, op, ready, readies);
}

int run_start_first(struct run *run, struct status *st)
{
    int32_t chips = run->program->slice->chips;
    for (int32_t o = 0; o < run->program->ops; o++) {
        struct task *task = &run->plan.task[o];
        if (task->deps > 0 || plan_waits(&run->plan, o))
            continue;
        const struct chip_set *set = plan_set(&run->plan, task->set);
        if (task->deps == DEPS_DIFFER)
            plan_count(&run->plan, o, run->count);
        int32_t at = 0;
        for (int32_t c = set_next(set, chips, 0); c < chips; c = set_next(set, chips, c + 1), at++) {
            if (task->deps == DEPS_DIFFER && run->count[at] > DEPS_MAX)
                return status_fail(st, STATUS_LIMIT,
                                   "op %d waits for %d things on chip %d; the event engine counts to %d", o,
                                   run->count[at], c, DEPS_MAX);
            if (task->deps == 0 || run->count[at] == 0)
                run_start(run, o, &c, 1);
        }
    }
    return 0;
}
