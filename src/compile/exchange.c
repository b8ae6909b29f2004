/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "compile/async.h"
#include "compile/pass.h"

/* The state of an instruction of the entry. */
struct step {
    int32_t ready;       /* of an exchange: the instruction after which it can start */
    int32_t first, next; /* exchanges that start after this one, as a list; -1 */
};

struct exchange {
    struct async async;
    const struct module *from;
    const struct computation *entry;
    struct step *step; /* [instructions of the entry] */
    int gathers;       /* all-gathers, and not all-to-alls; 2: of the forward pass */
};

static struct step *step_of(const struct exchange *e, int32_t at)
{
    return &e->step[at - e->entry->first];
}

static bool exchanges(const struct exchange *e, int32_t at)
{
    enum opcode opcode = module_at(e->from, at)->opcode;
    return e->gathers ? opcode == HLO_ALL_GATHER && !(e->gathers > 1 && module_is_backward(e->from, at))
                      : opcode == HLO_ALL_TO_ALL || opcode == HLO_RAGGED_ALL_TO_ALL;
}

/* May it be placed earlier? The target of rows may, which is made only of constants, and recomputed values,
 * except products; of what is gathered all that is cheap. */
static bool may_move(const struct exchange *e, int32_t at)
{
    enum opcode opcode = module_at(e->from, at)->opcode;
    if (opcode == HLO_CONSTANT)
        return true;
    if (opcode == HLO_BROADCAST && may_move(e, module_operand(e->from, at, 0)))
        return true;
    return opcode_is_cheap(opcode) && (e->gathers || module_has_label(e->from, at, "again="));
}

/* Does an instruction have another layer or phase than `part`? Then `part` becomes that one. Unlabelled
 * instructions have none. */
static bool begins_part(const struct module *module, int32_t at, int32_t *part)
{
    int32_t before = *part;
    if (module_has_label(module, at, "phase="))
        *part = module_region(module, at);
    return *part != before;
}

/* The instruction after which it can be placed. For the order of starts, the result of an exchange counts as
 * available once it has started. */
static int32_t ready_after(const struct exchange *e, int32_t at, int32_t begin)
{
    int32_t ready = begin;
    for (int o = 0; o < module_at(e->from, at)->operands; o++) {
        int32_t there = step_of(e, module_operand(e->from, at, o))->ready;
        ready = there > ready ? there : ready;
    }
    return ready;
}

/* Lists are in the order of the text. Of gathers `begin` is the one before in the layer and phase; -1: none, so that this one starts at
 * its place. */
static void find_starts(struct exchange *e)
{
    int32_t first = e->entry->first, end = first + e->entry->count, begin = first, part = -1;
    for (int32_t at = first; at < end; at++) {
        *step_of(e, at) = (struct step){.ready = -1, .first = -1, .next = -1};
        if (begins_part(e->from, at, &part))
            begin = e->gathers ? -1 : at > first ? at - 1 : first;
        step_of(e, at)->ready = exchanges(e, at)  ? ready_after(e, at, begin < 0 ? at - 1 : begin)
                                : may_move(e, at) ? ready_after(e, at, first)
                                                  : at;
        if (e->gathers && exchanges(e, at))
            begin = at;
    }
    for (int32_t at = end - 1; at >= first; at--)
        if (exchanges(e, at)) {
            struct step *after = step_of(e, step_of(e, at)->ready);
            step_of(e, at)->next = after->first;
            after->first = at;
        }
}

static void write_entry(struct exchange *e)
{
    int32_t first = e->entry->first, end = first + e->entry->count;
    for (int32_t at = first; at < end; at++)
        if (exchanges(e, at))
            async_split(&e->async, at);
    for (int32_t at = first; at < end; at++) {
        if (at == e->entry->root) /* everything is complete at the end */
            for (int32_t other = first; other < at; other++)
                if (exchanges(e, other))
                    async_write(&e->async, other);
        if (!exchanges(e, at))
            async_write(&e->async, at);
        for (int32_t next = step_of(e, at)->first; next >= 0; next = step_of(e, next)->next)
            async_start(&e->async, next);
    }
}

int pass_exchange(const struct module *in, int gathers, struct module *out, struct status *st)
{
    struct exchange e = {.from = in, .entry = &in->computation[in->entry], .gathers = gathers};
    int code = async_open(&e.async, in, out, st);
    e.step = malloc(((size_t)e.entry->count + 1) * sizeof *e.step);
    if (!e.step && code == 0)
        code = status_nomem(st);
    if (code == 0) {
        find_starts(&e);
        write_entry(&e);
    }
    free(e.step);
    return async_close(&e.async, code, st);
}
