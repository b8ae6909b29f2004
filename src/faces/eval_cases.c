/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim eval --cases: runs a file of examples, each with every schedule. */
#include <string.h>

#include "faces/eval.h"

#include "study/collective_job.h"

/* Options that the file contains, or that are chosen for each case, must not be given. */
static int check_options(const struct settings *settings, struct status *st)
{
    static const char in_file[] = "op mesh axis groups input in out local tiled dim scatter-dimension "
                                  "split-axis concat-axis perm offset root rows";
    for (int i = 0; i < option_count; i++)
        if (text_has_word(in_file, option_table[i].name) &&
            settings_count(settings, option_table[i].name) > 0)
            return status_fail(st, STATUS_INPUT, "--cases: each case has its own %s; leave it out",
                               option_table[i].name);
    return 0;
}

static const char *const pace_names[EXECUTE_PACES] = {
    [EXECUTE_LATE] = "late", [EXECUTE_EARLY] = "early", [EXECUTE_MIXED] = "mixed"};

/* Runs one schedule, at every pace of the executor. */
static int run_plan(const struct example *example, const struct machine *machine,
                    const struct collective_spec *plan, const struct evaluate_choice *choice,
                    struct status *st)
{
    struct evaluation evaluation;
    int code = evaluation_open(&evaluation, example, &machine->mesh, plan, choice, st);
    for (int pace = 0; pace < EXECUTE_PACES && code == 0; pace++) {
        struct execute_options options = {.pace = (enum execute_pace)pace, .seed = (uint64_t)pace};
        code = evaluation_run(&evaluation, &options, st);
        if (code == 0)
            code = evaluation_check_output(&evaluation, st);
        if (code < 0)
            status_prefix(st, "%s pace: ", pace_names[pace]);
    }
    evaluation_close(&evaluation);
    return code;
}

/* Runs every kind of ring and of all-to-all unless an option fixes it; an algorithm only if the call has it.
 * */
static int run_plans(const struct example *example, const struct machine *machine, const struct point *point,
                     bool any_all_to_all, struct status *st)
{
    int code = 0;
    for (int kind = 0; kind < RING_KINDS && code == 0; kind++)
        for (int algorithm = 0; algorithm < ALL_TO_ALLS && code == 0; algorithm++) {
            if ((point->schedule.ring != CHOICE_OPEN && kind != point->schedule.ring) ||
                (kind > 0 && point->schedule.algorithm > ALGORITHM_SCHEDULE) ||
                (!any_all_to_all && algorithm != point->schedule.all_to_all))
                continue;
            struct collective_spec plan = {.kind = (enum ring_kind)kind,
                                           .all_to_all = (enum all_to_all)algorithm,
                                           .keep_ties = point->schedule.keep_ties,
                                           .routes = point->schedule.routes};
            struct evaluate_choice choice;
            struct status other = {0};
            if (eval_choose(point, example->call.op, &plan, &choice, &other) < 0)
                plan.pattern = PATTERN_RINGS;
            code = run_plan(example, machine, &plan, &choice, st);
            if (code < 0 && point->schedule.algorithm == CHOICE_OPEN)
                status_prefix(st, "ring %s, ", ring_kind_name(plan.kind));
        }
    return code;
}

static int run_case(const struct example *example, const struct point *asked, const struct settings *settings,
                    struct catalog *catalog, struct status *st)
{
    char mesh[AXES_TEXT];
    struct point point = *asked;
    struct machine machine = {0};
    struct eval_slice of;
    point.machine.mesh = axes_print(&example->axes, mesh);
    bool any_all_to_all = settings_count(settings, "all-to-all") == 0 && example->call.op == CALL_ALL_TO_ALL;
    if (eval_slice(&point, settings_count(settings, "chip") == 0, &of, catalog, st) == 0 &&
        machine_open(&machine, &point, catalog, st) == 0)
        run_plans(example, &machine, &point, any_all_to_all, st);
    machine_close(&machine);
    return st->code;
}

int eval_cases(const struct settings *settings, const struct point *point, FILE *out, struct status *st)
{
    const char *path = settings_text(settings, "cases");
    struct cases cases = {0};
    struct catalog catalog = {0};
    int failed = 0, count = 0, last = 0, code = 0; /* cases; the last one that failed */
    if (point->schedule.algorithm == ALGORITHM_AS_COMPILED)
        return algorithm_refuse_compiled(st);
    if (check_options(settings, st) < 0 || cases_load(&cases, path, st) < 0)
        return st->code;
    for (int i = 0; i < cases.count && code != STATUS_NOMEM; i++) {
        struct status wrong = {0};
        const struct example *example = &cases.item[i];
        count += example->part == 0;
        code = example->fault.code < 0 ? 0 : run_case(example, point, settings, &catalog, &wrong);
        if (example->fault.code < 0)
            fprintf(out, "%s: %s\n", example->id, example->fault.text);
        else if (code < 0 && code != STATUS_NOMEM)
            fprintf(out, "%s: %s:%d: %s\n", example->id, path, example->line, wrong.text);
        else
            continue;
        failed += last < count;
        last = count;
    }
    if (code == STATUS_NOMEM) /* not the fault of the case */
        code = status_nomem(st);
    else
        fprintf(out, "%d passed, %d failed\n", count - failed, failed);
    if (failed > 0 && code != STATUS_NOMEM)
        code = status_fail(st, STATUS_CHECK, "%s: %d of %d cases failed", path, failed, count);
    cases_free(&cases);
    catalog_free(&catalog);
    return code;
}
