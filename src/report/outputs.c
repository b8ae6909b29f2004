/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run whose single times were kept can tell: its trace as a file, its critical path as text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/critical_print.h"
#include "report/perfetto.h"
#include "report/report.h"

/* What was run, by columns of its result; what does not apply is left out. */
static const char *const told[] = {"op",   "chip",     "profile", "slice", "wrap",       "mesh",
                                   "ring", "strategy", "engine",  "dtype", "size_bytes", "time_s"};
enum { TOLD = sizeof told / sizeof *told, NUMBER = 32 };

int report_trace(const struct run *run, int chips, FILE *out, struct status *st)
{
    char number[TOLD][NUMBER];
    struct perfetto_pair pair[TOLD];
    struct perfetto_options options = {.chips = chips, .manifest = pair};
    for (int t = 0; t < TOLD; t++) {
        const struct column *column = columns;
        while (!column->name || strcmp(column->name, told[t]) != 0)
            column++;
        double value = column_value(column, &run->result);
        const char *text = isnan(value) ? "" : number[t];
        snprintf(number[t], NUMBER, column->kind == COLUMN_BYTES ? "%.0f" : "%.9g", value);
        text = column->kind == COLUMN_TEXT ? column_text(column, &run->result) : text;
        if (*text)
            pair[options.pairs++] = (struct perfetto_pair){told[t], text};
    }
    return perfetto_write(run->timing.whole, &run->timing.fold, &run->timing.trace, &options, out, st);
}

int report_critical(const struct run *run, FILE *out, struct status *st)
{
    struct waits waits = {0};
    struct critical critical = {0};
    int code = waits_init(&waits, run->timing.whole, &run->timing.fold, &run->timing.trace, st);
    if (code == 0)
        code = critical_init(&critical, &waits, st);
    if (code == 0)
        code = critical_print(&critical, out, st);
    critical_free(&critical);
    waits_free(&waits);
    return code;
}
