/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks into a run whose single times were kept: its trace as a file, its critical path as text. */
#include <inttypes.h>

#include "report/critical_print.h"
#include "report/perfetto.h"
#include "report/report.h"

enum { PAIRS = 12, NUMBER = 32 };

struct manifest {
    int pairs;
    struct perfetto_pair pair[PAIRS];
};

/* What does not apply is left out. */
static void add(struct manifest *manifest, const char *key, const char *value)
{
    if (*value)
        manifest->pair[manifest->pairs++] = (struct perfetto_pair){key, value};
}

int report_trace(const struct run *run, int chips, FILE *out, struct status *st)
{
    const struct result *result = &run->result;
    char size[NUMBER] = "", time[NUMBER];
    struct manifest manifest = {0};
    if (result->size_bytes > 0)
        snprintf(size, sizeof size, "%" PRIu64, result->size_bytes);
    snprintf(time, sizeof time, "%.9g", result->time_s);
    add(&manifest, "op", result->op);
    add(&manifest, "chip", result->chip);
    add(&manifest, "profile", result->profile);
    add(&manifest, "slice", result->slice);
    add(&manifest, "wrap", result->wrap);
    add(&manifest, "mesh", result->mesh);
    add(&manifest, "ring", result->ring);
    add(&manifest, "strategy", result->strategy);
    add(&manifest, "engine", result->engine);
    add(&manifest, "dtype", result->dtype);
    add(&manifest, "size_bytes", size);
    add(&manifest, "time_s", time);
    struct perfetto_options options = {.chips = chips, .pairs = manifest.pairs, .manifest = manifest.pair};
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
