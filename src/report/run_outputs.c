/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Further outputs of one run: all links as a CSV; and, if single times were recorded, its trace as a file and
 * its critical path as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/charts.h"
#include "report/critical_print.h"
#include "report/module_print.h"
#include "report/perfetto.h"
#include "study/module_job.h"

/* [ops] the instruction of each op of a module's program, -1 if none; NULL if memory is out. */
static int32_t *instructions_of(const struct module_job *module, const struct program *program)
{
    int32_t *of = malloc(((size_t)program->ops + 1) * sizeof *of);
    for (int32_t op = 0; of && op < program->ops; op++)
        of[op] = -1;
    for (int32_t i = 0; of && i < module->lower.items; i++) {
        const struct lowered *item = &module->lower.item[i];
        for (int32_t op = item->first_op; op >= 0 && op <= item->end_op; op++)
            of[op] = item->instruction;
        if (item->wait_op >= 0 && of[item->wait_op] < 0)
            of[item->wait_op] = item->instruction;
    }
    return of;
}

int report_window(const char *window, struct trace_window *read, struct status *st)
{
    enum { LAYERS_MAX = 10000 };
    char from[UNITS_TEXT], *end;
    const char *colon = window ? strchr(window, ':') : NULL;
    *read = (struct trace_window){.whole = window && strcmp(window, "all") == 0};
    if (!window || strcmp(window, "layers") == 0 || read->whole)
        return 0;
    long layers = strtol(window, &end, 10);
    if ((strcmp(end, "layers") == 0 || strcmp(end, "layer") == 0) && layers > 0 && layers <= LAYERS_MAX) {
        read->layers = (int)layers;
        return 0;
    }
    if (!colon || colon - window >= (ptrdiff_t)sizeof from)
        return status_fail(st, STATUS_INPUT, "--trace-window '%s': write 2layers, 10ms:20ms, layers or all",
                           window);
    snprintf(from, sizeof from, "%.*s", (int)(colon - window), window);
    if (units_parse_time("--trace-window", from, &read->from_s, st) < 0 ||
        units_parse_time("--trace-window", colon + 1, &read->to_s, st) < 0)
        return st->code;
    return read->from_s < read->to_s
               ? 0
               : status_fail(st, STATUS_INPUT, "--trace-window '%s': it ends before it starts", window);
}

/* Finds the time spans of the first layers, forward and backward, including their waits and prefetches. */
static int find_layers(const struct module_job *module, const struct trace *trace, int layers,
                       struct perfetto_span span[static 2], struct status *st)
{
    bool labelled = false;
    for (int i = 0; module && i < module->lower.items; i++) {
        const struct lowered *item = &module->lower.item[i];
        char layer[8] = "", phase[8] = "";
        module_label(&module->module, item->instruction, "layer", layer, sizeof layer);
        module_label(&module->module, item->instruction, "phase", phase, sizeof phase);
        int number = item->layer > 0
                         ? item->layer
                         : atoi(layer); /* if all layers are simulated, the label has the number */
        struct perfetto_span *of = &span[strcmp(phase, "bwd") == 0];
        if (number < 1 || number > layers || item->first_op < 0)
            continue;
        double start_s = trace->op_start_s[item->first_op], end_s = trace->op_end_s[item->end_op];
        of->from_s = of->to_s > 0 ? fmin(of->from_s, start_s) : start_s;
        of->to_s = fmax(of->to_s, end_s);
        labelled = true;
    }
    return labelled ? 0
                    : status_fail(st, STATUS_INPUT,
                                  "'%dlayers': nothing here is a layer of a model; write 10ms:20ms or all",
                                  layers);
}

static int write_trace(const struct job *job, const struct run *run, struct trace_part part, FILE *out,
                       struct status *st)
{
    struct trace_window window;
    const struct module_job *module = module_job_of(job);
    if (report_window(part.window, &window, st) < 0)
        return st->code;
    struct perfetto_span span[2] = {{window.from_s, window.to_s}};
    if (window.layers > 0 && find_layers(module, &run->timing.trace, window.layers, span, st) < 0)
        return st->code;
    int32_t *instruction = module ? instructions_of(module, run->timing.whole) : NULL;
    const struct perfetto_options options = {.chips = part.chips,
                                             .span = {span[0], span[1]},
                                             .layers = window.layers,
                                             .most = part.most,
                                             .whole = window.whole,
                                             .result = &run->result,
                                             .module = module ? &module->module : NULL,
                                             .instruction = instruction};
    int code = module && !instruction ? status_nomem(st)
                                      : perfetto_write(run->timing.whole, &run->timing.fold,
                                                       &run->timing.trace, &options, out, st);
    free(instruction);
    return code;
}

int report_critical(const struct run *run, FILE *out, struct status *st)
{
    struct waits waits = {0};
    struct critical critical = {0};
    if (waits_init(&waits, run->timing.whole, &run->timing.fold, &run->timing.trace, st) == 0 &&
        critical_init(&critical, &waits, st) == 0)
        critical_print(&critical, out, st);
    critical_free(&critical);
    waits_free(&waits);
    return st->code;
}

static void write_link(struct csv_writer *csv, const struct slice *slice, int link, double bytes,
                       double time_s)
{
    int chip = slice_link_start(slice, link);
    csv_count(csv, chip);
    for (int a = 0; a < slice->axes; a++)
        csv_count(csv, slice_coord(slice, chip, a));
    csv_row(csv, "ttnrr", (char[]){slice_axis_name(slice_link_axis(slice, link)), '\0'},
            slice_link_sign(link) > 0 ? "+" : "-", (int64_t)slice_link_end(slice, link), bytes,
            time_s > 0 ? bytes / (slice_link_Bps(slice, link) * time_s) : 0.0);
}

static int write_links(const struct job *job, const struct run *run, struct trace_part part, FILE *out,
                       struct status *st)
{
    (void)part;
    struct csv_writer csv = {.output.file = out};
    const struct slice *slice = job->program.slice;
    int links = slice_link_ids(slice);
    double *bytes = metrics_link_bytes(&job->program, st);
    if (bytes) {
        csv_text(&csv, "chip");
        for (int axis = 0; axis < slice->axes; axis++)
            csv_text(&csv, (char[]){slice_axis_name(axis), '\0'});
        csv_names(&csv, "axis,direction,to_chip,link_bytes,link_frac");
        for (int link = 0; link < links; link++)
            if (slice_is_link(slice, link))
                write_link(&csv, slice, link, bytes[link], run->result.time_s);
    }
    free(bytes);
    return st->code;
}

static int write_instructions(const struct job *job, const struct run *run, struct trace_part part, FILE *out,
                              struct status *st)
{
    (void)part;
    struct module_rows rows = {0};
    const struct module_job *module = module_job_of(job);
    if (!module)
        return status_fail(st, STATUS_INPUT, "only a module or a model has instructions");
    if (module_rows_init(&rows, module, run, st) == 0)
        module_write(&rows, &(struct csv_writer){.output.file = out});
    module_rows_free(&rows);
    return st->code;
}

const struct run_writer run_writers[] = {{"trace", RECORD_ALL, false, write_trace},
                                         {"links", RECORD_NONE, false, write_links},
                                         {"instructions", RECORD_NONE, true, write_instructions},
                                         {"torus", RECORD_NONE, false, chart_torus},
                                         {NULL, RECORD_NONE, false, NULL}};
