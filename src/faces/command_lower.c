/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim lower: prints the module of a workload as HLO text. */

#include "base/document.h"
#include "compile/pass.h"
#include "faces/command.h"
#include "hlo/hlo_print.h"
#include "notation/expr.h"
#include "study/module_job.h"
#include "study/module_options.h"

/* The only point of the settings. */
static int find_point(const struct settings *settings, struct grid *grid, struct point *point,
                      struct status *st)
{
    if (settings_check(settings, st) < 0 || grid_init(grid, settings, st) < 0)
        return st->code;
    if (grid->points > 1)
        return status_fail(st, STATUS_INPUT,
                           "lower prints one module; these are %lld: give one value of each option",
                           (long long)grid->points);
    grid_point(grid, 0, point);
    return 0;
}

static int read_module(const struct point *point, struct module *module, struct status *st)
{
    struct catalog catalog = {0};
    char path[HLO_PATH];
    int disguised;
    if (!point->work.op)
        return status_fail(
            st, STATUS_INPUT,
            "what is to lower? name a module of HLO text, the workload file of a model, or a matmul");
    if (!module_job_matches(point) && !expr_is(point->work.op))
        return status_fail(st, STATUS_INPUT,
                           "'%s' is no module; give HLO text (a file that ends in .hlo or .txt, a dump "
                           "directory, - for stdin), the workload file of a model, or a matmul",
                           point->work.op);
    int code = module_job_read(point, &catalog, module, path, &disguised, st);
    const struct chip *chip = NULL;
    if (code == 0 && (document_is_path(point->work.op) || expr_is(point->work.op)) &&
        !(chip = catalog_chip_of(&catalog, point, st)))
        code = st->code;
    if (chip && module_options_queue(point, chip) == QUEUE_SPARSECORE) {
        struct module said = {0};
        code = pass_on_sparse_core(module, &said, st);
        module_free(module);
        *module = said;
    }
    catalog_free(&catalog);
    return code;
}

static int lower(struct settings *settings, struct status *st)
{
    struct grid grid;
    struct point point;
    struct module module = {0};
    if (find_point(settings, &grid, &point, st) == 0 && read_module(&point, &module, st) == 0 &&
        listing_write_mesh(&module, &point, st) == 0)
        hlo_print(&module, stdout, st);
    module_free(&module);
    return st->code;
}

const struct command command_lower = {
    .name = "lower",
    .arguments = "FILE.hlo|DIR|WORKLOAD.yaml|MATMUL",
    .what = "prints what one device of a workload runs, as HLO text",
    .more = "The text says its mesh, can be run in its turn on the same slice, and takes the same time to "
            "the bit. Reduce-scatters in "
            "disguise are printed as what they are, unless --as-written is given.",
    .bit = FOR_LOWER,
    .run = lower,
};
