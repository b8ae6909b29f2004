/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/async.h"
#include "compile/pass.h"

/* Of an instruction of the entry. */
struct step {
    int32_t ready;       /* of an exchange: the instruction after which it can start */
    int32_t first, next; /* exchanges that start after this one, as a list; -1 */
    int32_t start; /* of an exchange: its start in the new module; -1: not yet, or it has been waited for */
};

struct exchange {
    struct edit edit;
    const struct module *from;
    const struct computation *entry;
    struct step *step; /* [instructions of the entry] */
};

static struct step *step_of(const struct exchange *e, int32_t at)
{
    return &e->step[at - e->entry->first];
}

static bool exchanges(const struct module *module, int32_t at)
{
    enum opcode opcode = module_at(module, at)->opcode;
    return opcode == HLO_ALL_TO_ALL || opcode == HLO_RAGGED_ALL_TO_ALL;
}

/* May it stand earlier than it does? What rows are written into, which is made of nothing but constants; and what is found
 * again, but for products. */
static bool may_move(const struct module *module, int32_t at)
{
    enum opcode opcode = module_at(module, at)->opcode;
    enum opcode_class class = opcode_info(opcode)->class;
    char again[8];
    if (opcode == HLO_CONSTANT)
        return true;
    if (opcode == HLO_BROADCAST && may_move(module, module_operand(module, at, 0)))
        return true;
    return (class == CLASS_FREE || class == CLASS_ELEMENTWISE || class == CLASS_MEMORY) &&
           opcode != HLO_PARAMETER && module_label(module, at, "again", again, sizeof again);
}

/* Has an instruction another layer or phase than `part` says? Then that becomes its. Those without labels have none. */
static bool begins_part(const struct module *module, int32_t at, char part[static 48])
{
    char phase[16] = "", layer[24] = "", now[48];
    if (!module_label(module, at, "phase", phase, sizeof phase))
        return false;
    module_label(module, at, "layer", layer, sizeof layer);
    snprintf(now, sizeof now, "%s %s", phase, layer);
    if (strcmp(now, part) == 0)
        return false;
    memcpy(part, now, sizeof now);
    return true;
}

/* After which instruction it can stand. What comes by an exchange is there when that has started, as far as this is about the
 * order of starts. */
static int32_t ready_after(const struct exchange *e, int32_t at, int32_t begin)
{
    int32_t ready = begin;
    for (int o = 0; o < module_at(e->from, at)->operands; o++) {
        int32_t there = step_of(e, module_operand(e->from, at, o))->ready;
        ready = there > ready ? there : ready;
    }
    return ready;
}

/* Lists are in the order of the text. */
static void find_starts(struct exchange *e)
{
    int32_t first = e->entry->first, end = first + e->entry->count, begin = first;
    char part[48] = "";
    for (int32_t at = first; at < end; at++) {
        *step_of(e, at) = (struct step){.ready = -1, .first = -1, .next = -1, .start = -1};
        if (begins_part(e->from, at, part))
            begin = at > first ? at - 1 : first;
        step_of(e, at)->ready = exchanges(e->from, at)  ? ready_after(e, at, begin)
                                : may_move(e->from, at) ? ready_after(e, at, first)
                                                        : at;
    }
    for (int32_t at = end - 1; at >= first; at--)
        if (exchanges(e->from, at)) {
            struct step *after = step_of(e, step_of(e, at)->ready);
            step_of(e, at)->next = after->first;
            after->first = at;
        }
}

static void wait_for(struct exchange *e, int32_t at)
{
    if (e->edit.now[at] == EDIT_GONE)
        async_done(&e->edit, at, step_of(e, at)->start);
}

static void write_operands(struct exchange *e, int32_t at);

/* Writes an instruction unless it stands there, after what it needs. */
static void write_one(struct exchange *e, int32_t at)
{
    if (e->edit.now[at] != EDIT_GONE)
        return;
    write_operands(e, at);
    edit_copy(&e->edit, at);
}

/* What it needs: exchanges are waited for. */
static void write_operands(struct exchange *e, int32_t at)
{
    for (int o = 0; o < module_at(e->from, at)->operands; o++) {
        int32_t operand = module_operand(e->from, at, o);
        (exchanges(e->from, operand) ? wait_for : write_one)(e, operand);
    }
}

static void start(struct exchange *e, int32_t at)
{
    write_operands(e, at);
    step_of(e, at)->start = async_start(&e->edit, at, "");
}

static void write_entry(struct exchange *e)
{
    int32_t first = e->entry->first, end = first + e->entry->count;
    edit_begin(&e->edit, e->from->entry);
    for (int32_t at = first; at < end; at++) {
        if (at == e->entry->root) /* nothing is left on its way */
            for (int32_t other = first; other < at; other++)
                if (exchanges(e->from, other))
                    wait_for(e, other);
        if (!exchanges(e->from, at))
            write_one(e, at);
        for (int32_t next = step_of(e, at)->first; next >= 0; next = step_of(e, next)->next)
            start(e, next);
    }
}

int pass_exchange(const struct module *in, struct module *out, struct status *st)
{
    struct exchange e = {.from = in, .entry = &in->computation[in->entry]};
    int opened = edit_open(&e.edit, in, out, st);
    e.step = malloc(((size_t)e.entry->count + 1) * sizeof *e.step);
    if (opened == 0 && e.step) {
        edit_copy_called(&e.edit);
        find_starts(&e);
        write_entry(&e);
    }
    bool room = e.step != NULL;
    free(e.step);
    int closed = edit_close(&e.edit, st);
    return opened < 0 ? opened : !room ? status_nomem(st) : closed;
}
