/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/gradient.h"

#include <stdlib.h>

#include "model/due.h"

/* What depends on one of the values, and can pass something on to it. */
static void mark_wanted(struct due *due, const int32_t value[], int values)
{
    const struct module *module = due->b->module;
    for (int i = 0; i < values; i++)
        due->wanted[value[i] - due->first] = true;
    for (int32_t at = due->first; at < due->first + due->count; at++) {
        if (module_at(module, at)->opcode == HLO_COMPARE)
            continue;
        for (int o = 0; o < module_at(module, at)->operands; o++)
            if (due_wanted(due, module_operand(module, at, o)))
                due->wanted[at - due->first] = true;
    }
}

/* These only repeat or rename elements: sums over devices wait until they have been passed. */
static bool passes(enum opcode opcode)
{
    return opcode == HLO_BROADCAST || opcode == HLO_RESHAPE || opcode == HLO_TRANSPOSE;
}

/* Labels of the layer that the value belongs to, and of what it is. */
static void label_as(struct builder *b, int32_t value, char what[static 24])
{
    char layer[24];
    b->layer = module_label(b->module, value, "layer", layer, sizeof layer) ? atoi(layer) : 0;
    b->what = module_label(b->module, value, "what", what, 24) ? what : NULL;
}

static int walk_back(struct due *due, int32_t from, struct status *st)
{
    struct builder *b = due->b;
    char what[24];
    for (int32_t at = from; at >= due->first && b->module->error == 0; at--) {
        unsigned axes;
        enum opcode opcode = module_at(b->module, at)->opcode;
        if (!due->wanted[at - due->first] || due->head[at - due->first] < 0)
            continue;
        label_as(b, at, what);
        unsigned keep = passes(opcode) ? ~0u : builder_note(b, at).varies;
        int32_t sum = due_sum(due, at, keep, &axes);
        if (sum < 0)
            return 0; /* out of memory, which module_close() reports */
        due->head[at - due->first] = -1;
        due_add(due, at, sum, axes); /* for whoever asks for it */
        if (opcode != HLO_PARAMETER && due_pass_on(due, at, sum, axes, st) < 0)
            return st->code;
    }
    return 0;
}

int gradient_append(struct builder *b, int32_t of, int32_t seed, const int32_t value[], int values,
                    int32_t gradient[], struct status *st)
{
    return gradient_append_to(b, of, seed, &(struct gradient_before){.values = 0}, value, values, gradient,
                              st);
}

int gradient_append_to(struct builder *b, int32_t of, int32_t seed, const struct gradient_before *given,
                       const int32_t value[], int values, int32_t gradient[], struct status *st)
{
    struct due due;
    int32_t first = b->module->computation[b->module->computations - 1].first;
    struct builder before = *b;
    if (b->module->error < 0)
        return 0;
    int code = due_init(&due, b, first, b->module->instructions - first, st);
    if (code == 0) {
        mark_wanted(&due, value, values);
        b->phase = "bwd";
        b->layer = 0;
        b->what = NULL;
        for (int i = 0; i < given->values; i++)
            if (given->due[i] >= 0)
                due_add(&due, given->value[i], given->due[i], builder_note(b, given->value[i]).varies);
        due_add(&due, of, seed >= 0 ? seed : build_fill(b, 1, of), builder_note(b, of).differs);
        code = walk_back(&due, of, st);
    }
    for (int i = 0; i < values && code == 0; i++) {
        int32_t part = due.head[value[i] - first];
        gradient[i] = part >= 0 ? due.part[part].value : -1;
    }
    due_free(&due);
    b->phase = before.phase;
    b->layer = before.layer;
    b->what = before.what;
    return code;
}
