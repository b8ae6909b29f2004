/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/async.h"

#include <stdio.h>
#include <stdlib.h>

#include "compile/pass.h"

/* The start of a whole collective, all-gather-start of all-gather, or its done. */
static enum opcode part_of(enum opcode whole, enum opcode_class class)
{
    int part = 0;
    while (opcode_info((enum opcode)part)->whole != whole || opcode_info((enum opcode)part)->class != class)
        part++;
    return (enum opcode)part;
}

/* The shape of a start: (operands, result) for one operand; with several, a tuple of each; for an all-reduce
 * only the result. */
static int32_t start_shape(struct edit *edit, int32_t collective)
{
    const struct instruction *i = module_at(edit->from, collective);
    if (i->opcode == HLO_ALL_REDUCE)
        return edit_shape(edit, i->shape);
    int32_t part[2], *operand = malloc((size_t)i->operands * sizeof *operand);
    if (!operand) {
        edit->to->error = STATUS_NOMEM;
        return 0;
    }
    for (int o = 0; o < i->operands; o++)
        operand[o] =
            edit_shape(edit, module_at(edit->from, module_operand(edit->from, collective, o))->shape);
    part[0] = i->operands == 1 ? operand[0] : module_tuple(edit->to, operand, i->operands);
    part[1] = edit_shape(edit, i->shape);
    free(operand);
    return module_tuple(edit->to, part, 2);
}

int async_open(struct async *async, const struct module *from, struct module *to, struct status *st)
{
    int code = edit_open_entry(&async->edit, from, to, st);
    async->start = malloc(((size_t)from->instructions + 1) * sizeof *async->start);
    if (!async->start)
        return status_nomem(st);
    for (int32_t i = 0; i < from->instructions; i++)
        async->start[i] = ASYNC_WHOLE;
    return code;
}

int async_close(struct async *async, int code, struct status *st)
{
    free(async->start);
    return edit_close(&async->edit, code, st);
}

void async_start(struct async *async, int32_t at)
{
    struct edit *edit = &async->edit;
    const struct instruction *i = module_at(edit->from, at);
    char name[160];
    if (async->start[at] >= 0)
        return;
    async_write_operands(async, at);
    snprintf(name, sizeof name, "%.140s.start", module_word(edit->from, i->name));
    for (int o = 0; o < i->operands; o++)
        edit_push(edit, edit->now[module_operand(edit->from, at, o)]);
    async->start[at] =
        edit_add(edit, part_of(i->opcode, CLASS_START), name, start_shape(edit, at), i->operands);
    edit_attributes(edit, at, false);
    edit_attribute(edit, at, ATTR_FRONTEND_ATTRIBUTES);
}

static void write_done(struct async *async, int32_t at)
{
    struct edit *edit = &async->edit;
    const struct instruction *i = module_at(edit->from, at);
    edit_push(edit, async->start[at]);
    edit_replace(edit, at,
                 edit_add(edit, part_of(i->opcode, CLASS_DONE), module_word(edit->from, i->name),
                          edit_shape(edit, i->shape), 1));
    edit_attribute(edit, at, ATTR_FRONTEND_ATTRIBUTES);
}

void async_write(struct async *async, int32_t at)
{
    if (async->edit.now[at] != EDIT_GONE || async->edit.to->error < 0)
        return;
    if (async_is_split(async, at)) {
        async_start(async, at);
        write_done(async, at);
        return;
    }
    async_write_operands(async, at);
    edit_copy(&async->edit, at);
}

void async_write_operands(struct async *async, int32_t at)
{
    for (int o = 0; o < module_at(async->edit.from, at)->operands; o++)
        async_write(async, module_operand(async->edit.from, at, o));
}

static bool goes(const struct module *in, int32_t at)
{
    enum opcode opcode = module_at(in, at)->opcode;
    return opcode == HLO_ALL_GATHER || opcode == HLO_REDUCE_SCATTER || opcode == HLO_ALL_REDUCE;
}

int pass_by_data(const struct module *in, struct module *out, struct status *st)
{
    struct async async;
    const struct computation *entry = &in->computation[in->entry];
    bool any = false;
    *out = (struct module){0};
    for (int32_t at = entry->first; at < entry->first + entry->count; at++)
        any = any || goes(in, at);
    if (!any)
        return 0;
    int code = async_open(&async, in, out, st);
    for (int32_t at = entry->first; at < entry->first + entry->count && code == 0; at++) {
        if (goes(in, at)) {
            async_split(&async, at);
            async_start(&async, at);
            module_add_label(out, "issue", "data");
        }
        async_write(&async, at);
    }
    return async_close(&async, code, st);
}

int pass_on_sparse_core(const struct module *in, struct module *out, struct status *st)
{
    struct edit edit;
    const struct computation *entry = &in->computation[in->entry];
    int code = edit_open_entry(&edit, in, out, st);
    for (int32_t at = entry->first; at < entry->first + entry->count && code == 0; at++) {
        const struct opcode_info *info = opcode_info(module_at(in, at)->opcode);
        edit_copy(&edit, at);
        if (info->class == CLASS_START && info->whole != HLO_COLLECTIVE_PERMUTE)
            module_add_label(out, "queue", "sparsecore");
    }
    return edit_close(&edit, code, st);
}
