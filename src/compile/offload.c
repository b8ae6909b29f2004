/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Offloads values that the forward pass keeps for the backward pass to the host: a copy to it starts when the
 * value is made; a copy back starts when the backward pass begins the layer above the one that needs it, and
 * is waited for at its first use. Both use PCIe and the chip's HBM in parallel with computes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/edit.h"
#include "hlo/layout.h"

/* Where a value is. */
enum place { PLACE_HBM, PLACE_LEAVES, PLACE_RETURNS };

/* The state of an instruction of the entry. */
struct kept {
    bool given;    /* depends on weights only */
    int32_t layer; /* that needs it back, 0: it is not copied */
    enum place place;
    int32_t copy; /* the start of the copy in flight */
};

struct offload {
    struct edit edit;
    const struct computation *entry;
    struct kept *kept; /* [instructions of the entry] */
};

static struct kept *kept_of(struct offload *o, int32_t at)
{
    return &o->kept[at - o->entry->first];
}

static bool is_given(struct offload *o, int32_t at)
{
    const struct module *from = o->edit.from;
    const struct instruction *i = module_at(from, at);
    bool given = i->opcode != HLO_PARAMETER || module_layer(from, at) > 0;
    for (int operand = 0; operand < i->operands; operand++)
        given = given && kept_of(o, module_operand(from, at, operand))->given;
    return given;
}

/* Is it an array of a layer of the forward pass? */
static bool is_kept(struct offload *o, int32_t at)
{
    const struct module *from = o->edit.from;
    const struct shape *shape = module_shape_of(from, at);
    return !module_is_backward(from, at) && module_layer(from, at) > 0 && !kept_of(o, at)->given &&
           module_at(from, at)->opcode != HLO_PARAMETER && shape->dtype >= 0 && shape->count > 1;
}

/* Finds the layer whose backward pass reads each value first; returns the topmost of these. */
static int32_t find_kept(struct offload *o)
{
    const struct module *from = o->edit.from;
    int32_t first = o->entry->first, most = 0;
    for (int32_t at = first; at < first + o->entry->count; at++) {
        kept_of(o, at)->given = is_given(o, at);
        int32_t layer = module_is_backward(from, at) ? module_layer(from, at) : 0;
        for (int i = 0; layer > 0 && i < module_at(from, at)->operands; i++) {
            int32_t value = module_operand(from, at, i);
            if (kept_of(o, value)->layer == 0 && is_kept(o, value))
                kept_of(o, value)->layer = layer;
        }
        most = layer > most ? layer : most;
    }
    return most;
}

/* The shape of a value in a memory space: "{1,0:S(5)}". */
static int32_t shape_in(struct offload *o, int32_t value, int space)
{
    const struct module *from = o->edit.from;
    int32_t shape = edit_shape(&o->edit, module_at(from, value)->shape);
    struct module *to = o->edit.to;
    struct shape made = to->shape[shape];
    char text[96] = "{";
    for (int d = made.count - 1; d >= 0; d--)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d%s", d, d > 0 ? "," : "");
    snprintf(text + strlen(text), sizeof text - strlen(text), ":S(%d)}", space);
    made.layout = space ? module_text(to, text, -1) : made.layout;
    int64_t dim[8] = {0};
    for (int d = 0; d < made.count && d < 8; d++)
        dim[d] = to->number[made.first + d];
    return module_shape(to, made, dim);
}

static int32_t label(struct offload *o, int32_t made, int32_t layer, const char *phase)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)layer);
    module_add_label(o->edit.to, "layer", number);
    module_add_label(o->edit.to, "phase", phase);
    module_add_label(o->edit.to, "what", "host");
    return made;
}

/* Copies a value, which replaces `value` of the old module, to a memory space. */
static int32_t start(struct offload *o, int32_t value, int32_t from, int space, int32_t layer,
                     const char *phase)
{
    struct module *to = o->edit.to;
    int32_t there = shape_in(o, value, space), here = to->error ? 0 : module_at(to, from)->shape;
    int32_t shape = module_tuple(to, (int32_t[]){there, here, module_array(to, DTYPE_U32, NULL, 0)}, 3);
    edit_push(&o->edit, from);
    return label(o, edit_add(&o->edit, HLO_COPY_START, NULL, shape, 1), layer, phase);
}

static int32_t wait(struct offload *o, int32_t value, int space)
{
    const struct kept *kept = kept_of(o, value);
    edit_push(&o->edit, kept->copy);
    return label(o, edit_add(&o->edit, HLO_COPY_DONE, NULL, shape_in(o, value, space), 1), kept->layer,
                 "bwd");
}

static void fetch(struct offload *o, int32_t value)
{
    struct kept *kept = kept_of(o, value);
    if (kept->place != PLACE_LEAVES)
        return;
    kept->copy = start(o, value, wait(o, value, SPACE_HOST), SPACE_HBM, kept->layer, "bwd");
    kept->place = PLACE_RETURNS;
}

/* Starts copying back the values that a layer needs. */
static void fetch_layer(struct offload *o, int32_t layer)
{
    for (int32_t i = 0; i < o->entry->count; i++)
        if (o->kept[i].layer == layer)
            fetch(o, o->entry->first + i);
}

/* Waits for the copies that an instruction reads. */
static void write_operands(struct offload *o, int32_t at)
{
    for (int i = 0; i < module_at(o->edit.from, at)->operands; i++) {
        int32_t value = module_operand(o->edit.from, at, i);
        struct kept *kept = kept_of(o, value);
        fetch(o, value);
        if (kept->place != PLACE_RETURNS)
            continue;
        edit_replace(&o->edit, value, wait(o, value, SPACE_HBM));
        kept->place = PLACE_HBM;
    }
}

/* `below`: the lowest layer that is on its way back. */
static void write_entry(struct offload *o, int32_t topmost)
{
    const struct module *from = o->edit.from;
    int32_t first = o->entry->first, below = topmost + 1;
    for (int32_t at = first; at < first + o->entry->count && o->edit.to->error == 0; at++) {
        struct kept *kept = kept_of(o, at);
        int32_t layer = module_layer(from, at);
        if (module_is_backward(from, at)) {
            while (below > 1 && below > (layer > 1 ? layer - 1 : topmost))
                fetch_layer(o, --below);
            write_operands(o, at);
        } else if (layer > 0) {
            below = topmost + 1;
        }
        edit_copy(&o->edit, at);
        if (kept->layer == 0)
            continue;
        kept->copy = start(o, at, o->edit.now[at], SPACE_HOST, layer, "fwd");
        kept->place = PLACE_LEAVES;
    }
}

int pass_offload(const struct module *in, struct module *out, struct status *st)
{
    struct offload o = {.entry = &in->computation[in->entry]};
    int code = edit_open_entry(&o.edit, in, out, st);
    o.kept = calloc((size_t)o.entry->count + 1, sizeof *o.kept);
    if (code == 0 && !o.kept)
        code = status_nomem(st);
    if (code == 0)
        write_entry(&o, find_kept(&o));
    free(o.kept);
    return edit_close(&o.edit, code, st);
}
