/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which engine runs what leaves it open: the reference, as long as nobody has to wait for it.
 *
 * Event and SimGrid agree to 1e-9, so only time counts. SimGrid takes about 50 ms to load, 4 ms to start in a process of
 * its own and 12 us for each link that a send crosses; its fair shares take longer the more sends are under way, and
 * longest where each is of another size. So it runs where a command stays within a tenth of a second.
 */
#include <math.h>

#include "engine/engine.h"
#include "settings/option.h"
#include "study/job.h"

/* In links that sends cross: what a tenth of a second is good for, and what it takes to start a process. */
enum { CROSSINGS_MOST = 4000, CROSSINGS_TO_START = 300 };

static bool is_irregular(const struct program *program)
{
    for (int32_t o = 0; o < program->ops; o++)
        if (program->op[o].kind == OP_SEND && program->op[o].amount.table != NO_TABLE)
            return true;
    return false;
}

/* What a job takes of all the crossings that a command may have. With computes a program runs twice, once without them. */
static double share_of(const struct job *job)
{
    const struct program *program = &job->program;
    double runs = program_has_computes(program) ? 2 : 1, transfers = (double)program_transfers(program);
    bool large = transfers > CROSSINGS_MOST; /* then routes need not be walked */
    double crossings = large ? transfers : program_crossings(program);
    return is_irregular(program) ? INFINITY : runs * (CROSSINGS_TO_START + crossings) / CROSSINGS_MOST;
}

/* Does it do what the point asks for? */
static bool serves(const struct engine *engine, const struct point *point)
{
    bool folds = point->given[option_index(option_by_name("fold"))] && point->run.fold;
    return (engine->folds || !folds) && (engine->tolerates || !(point->run.tolerance_frac > 0)) &&
           engine_is_here(engine);
}

const struct engine *job_engine(const struct job *job)
{
    const struct point *point = job->point;
    if (point->run.engine != CHOICE_OPEN)
        return engine_list()[point->run.engine];
    bool can = serves(engine_reference(), point);
    return can && share_of(job) <= 1 ? engine_reference() : engine_fastest();
}

/* What a point takes; infinite if the reference does not run it. */
static double share_of_point(const struct point *point, struct catalog *catalog)
{
    struct status own = {0};
    struct job job = {0};
    double share = INFINITY;
    if (point->run.engine != CHOICE_OPEN)
        return 0;
    if (serves(engine_reference(), point) && job_open(&job, point, catalog, &own) == 0 &&
        job_build(&job, &own) == 0)
        share = share_of(&job);
    job_close(&job);
    return share;
}

int engine_choose(struct settings *settings, struct catalog *catalog, struct status *st)
{
    const struct option_row *option = option_by_name("engine");
    double share = 0;
    struct grid grid;
    int code = grid_init(&grid, settings, st);
    if (code < 0 || grid.points == 1)
        return code;
    if (grid.points > CROSSINGS_MOST / CROSSINGS_TO_START)
        share = INFINITY;
    for (int64_t i = 0; i < grid.points && share <= 1; i++) {
        struct point point;
        grid_point(&grid, i, &point);
        share += share_of_point(&point, catalog);
    }
    const struct engine *engine = share <= 1 ? engine_reference() : engine_fastest();
    return settings_close(settings, option, engine->name, st);
}
