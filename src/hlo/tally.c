/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/tally.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "hlo/communication.h"

char *tally_axes(const struct module *module, int32_t instruction, char text[static TALLY_AXES])
{
    int64_t entry = module_number(module, instruction, ATTR_REPLICA_GROUPS, -1);
    const char *groups = entry < 0 ? "" : module_word(module, module->groups[entry].text);
    const char *list = strncmp(groups, "mesh[", 5) == 0 ? strchr(groups, '{') : NULL;
    size_t used = 0;
    if (!list) {
        snprintf(text, TALLY_AXES, "%s", groups);
        return text;
    }
    for (const char *c = list; *c && used + 1 < TALLY_AXES; c++)
        if (isalnum((unsigned char)*c) || strchr("_,:()", *c))
            text[used++] = *c;
    text[used] = '\0';
    return text;
}

static int describe(const struct module *module, int32_t at, struct tally_row *row, struct status *st)
{
    struct groups groups;
    *row = (struct tally_row){.opcode = communication_kind(module, at)};
    module_label(module, at, "phase", row->phase, sizeof row->phase);
    module_label(module, at, "what", row->what, sizeof row->what);
    row->recomputed = module_has_label(module, at, "again=");
    tally_axes(module, at, row->axes);
    if (row->opcode != HLO_COLLECTIVE_PERMUTE) {
        if (module_groups_of(module, at, &groups, st) < 0)
            return st->code;
        row->groups = groups.count;
        row->group = groups.size;
        groups_free(&groups);
    }
    row->count = 1;
    row->in_bytes = communication_in_bytes(module, at);
    row->out_bytes = communication_out_bytes(module, at);
    return 0;
}

/* A send to another slice: all devices of a slice do the same, as groups are within one slice. */
static struct tally_row describe_send(const struct module *module, int32_t send)
{
    struct tally_row row = {.opcode = HLO_SEND, .count = 1, .in_bytes = communication_in_bytes(module, send)};
    module_label(module, send, "_xla_megascale_target", row.axes, sizeof row.axes);
    module_label(module, send, "_xla_megascale_transfer_type", row.what, sizeof row.what);
    return row;
}

static bool alike(const struct tally_row *a, const struct tally_row *b)
{
    return a->opcode == b->opcode && a->recomputed == b->recomputed && a->group == b->group &&
           a->groups == b->groups && strcmp(a->phase, b->phase) == 0 && strcmp(a->what, b->what) == 0 &&
           strcmp(a->axes, b->axes) == 0;
}

static int add(struct tally *tally, const struct tally_row *one, double times, struct status *st)
{
    int r = 0;
    while (r < tally->rows && !alike(&tally->row[r], one))
        r++;
    if (r == tally->rows) {
        if (!GROW(tally->row, tally->rows, tally->room))
            return status_nomem(st);
        tally->row[tally->rows++] = *one;
        tally->row[r].count = tally->row[r].in_bytes = tally->row[r].out_bytes = 0;
    }
    tally->row[r].count += times;
    tally->row[r].in_bytes += times * one->in_bytes;
    tally->row[r].out_bytes += times * one->out_bytes;
    return 0;
}

/* The number of times that an instruction runs its computations; 1 for loops of unknown trip count. */
static double trips_of(const struct module *module, int32_t instruction)
{
    int64_t known =
        module_at(module, instruction)->opcode == HLO_WHILE ? module_trip_count(module, instruction) : 1;
    return known < 0 ? 1 : (double)known;
}

static bool runs_others(const struct module *module, int32_t instruction)
{
    enum opcode opcode = module_at(module, instruction)->opcode;
    return opcode_info(opcode)->class == CLASS_CALL && opcode != HLO_FUSION;
}

/* The number of runs of each computation. Called computations precede their callers. */
static void count_runs(const struct module *module, double runs[])
{
    for (int32_t c = 0; c < module->computations; c++)
        runs[c] = c == module->entry;
    for (int32_t at = module->instructions - 1, called; at >= 0; at--)
        for (int i = 0; runs_others(module, at) && (called = module_called(module, at, i)) >= 0; i++)
            runs[called] += runs[module_at(module, at)->computation] * trips_of(module, at);
}

/* A computation that is called again has been counted with all its runs: `runs` is NaN from then on. */
static int walk(const struct module *module, int32_t computation, double runs[], struct tally *tally,
                struct status *st)
{
    double times = runs[computation];
    runs[computation] = NAN;
    if (isnan(times))
        return 0;
    const struct computation *c = &module->computation[computation];
    int code = 0;
    for (int32_t at = c->first; at < c->first + c->count && code == 0; at++) {
        struct tally_row one;
        enum communication does;
        int32_t collective = communication_of(module, at, &does), called;
        enum opcode opcode = module_at(module, at)->opcode;
        if ((does == COMMUNICATION_WHOLE || does == COMMUNICATION_START) &&
            (code = describe(module, collective, &one, st)) == 0)
            code = add(tally, &one, times, st);
        if (opcode == HLO_SEND) {
            one = describe_send(module, at);
            code = add(tally, &one, times, st);
        }
        for (int i = 0; code == 0 && runs_others(module, at) && (called = module_called(module, at, i)) >= 0;
             i++)
            code = walk(module, called, runs, tally, st);
    }
    return code;
}

int tally_collectives(const struct module *module, struct tally *tally, struct status *st)
{
    *tally = (struct tally){.rows = 0};
    double *runs = malloc(((size_t)module->computations + 1) * sizeof *runs);
    int code = runs ? 0 : status_nomem(st);
    if (code == 0) {
        count_runs(module, runs);
        code = walk(module, module->entry, runs, tally, st);
    }
    free(runs);
    if (code < 0)
        tally_free(tally);
    return code;
}

void tally_free(struct tally *tally)
{
    free(tally->row);
    *tally = (struct tally){0};
}
