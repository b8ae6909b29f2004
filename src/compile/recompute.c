/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/edit.h"
#include "hlo/ragged_rows.h"

static const char *const remats[] = {"none", "products", "full", "auto"};

const char *pass_remat_name(enum remat remat)
{
    return remats[remat];
}

/* What the pass knows of each instruction of the entry. */
struct fact {
    bool backward;
    /* The result of an all-gather, or made of such results by renaming, slicing, concatenating. */
    bool gathered;
    bool keep, apart;   /* it has these labels; apart also if its operand has */
    int32_t layer;      /* 0: none */
    int32_t recomputed; /* its copy in the new module; -1: none yet */
    int32_t used;       /* the same, of a gather labelled apart, for users in the backward pass itself */
};

struct recompute {
    struct edit edit;
    const struct computation *entry; /* of the old module */
    enum remat remat;
    struct fact *fact; /* [instructions of the entry] */
    bool recomputes;   /* the present user is recomputed itself, and not of the backward pass */
};

static struct fact *fact_of(struct recompute *c, int32_t at)
{
    return &c->fact[at - c->entry->first];
}

/* Is it an all-gather, or a renaming, slice or concatenation of gathered values only? */
static bool is_gathered(struct recompute *c, int32_t at)
{
    const struct module *from = c->edit.from;
    const struct instruction *i = module_at(from, at);
    bool gathered = opcode_is_renaming(i->opcode) || i->opcode == HLO_SLICE || i->opcode == HLO_CONCATENATE;
    for (int o = 0; o < i->operands && gathered; o++)
        gathered = fact_of(c, module_operand(from, at, o))->gathered;
    fact_of(c, at)->apart = gathered && i->operands > 0 && fact_of(c, module_operand(from, at, 0))->apart;
    return gathered || i->opcode == HLO_ALL_GATHER;
}

static void find_facts(struct recompute *c)
{
    const struct module *from = c->edit.from;
    const struct computation *entry = c->entry;
    for (int32_t at = entry->first; at < entry->first + entry->count; at++) {
        struct fact *fact = fact_of(c, at);
        *fact = (struct fact){.recomputed = -1, .used = -1};
        fact->backward = module_is_backward(from, at);
        fact->layer = module_layer(from, at);
        fact->keep = module_has_label(from, at, "keep=");
        fact->gathered = is_gathered(c, at);
        fact->apart = fact->apart || module_has_label(from, at, "apart=");
    }
}

/* Is it a matmul with batch dims, such as the scores of attention? */
static bool has_batch(const struct module *module, int32_t at)
{
    int batches = 0;
    module_numbers(module, at, ATTR_LHS_BATCH, &batches);
    return batches > 0;
}

/* Is a value kept for a user in this layer of the backward pass? */
static bool is_kept(struct recompute *c, int32_t at, int32_t layer)
{
    const struct fact *fact = fact_of(c, at);
    enum opcode opcode = module_at(c->edit.from, at)->opcode;
    enum opcode_class class = opcode_info(opcode)->class;
    if (fact->backward || opcode == HLO_PARAMETER || opcode == HLO_CONSTANT)
        return true;
    if (fact->gathered)
        return fact->keep;
    if (c->remat == REMAT_NONE || (c->remat == REMAT_FULL && fact->keep) || fact->layer == 0 ||
        fact->layer != layer)
        return true;
    return c->remat == REMAT_PRODUCTS &&
           ((class == CLASS_MATMUL && !has_batch(c->edit.from, at)) || class == CLASS_COLLECTIVE);
}

/* {layer="3",phase="fwd",what="w"} becomes {layer="3",phase="bwd",what="w",again="true"}; a label of ragged rows
 * stays. */
static void label_recomputed(struct recompute *c, int32_t at)
{
    static const char *const keys[] = {"layer", "phase", "what", RAGGED_ROWS_LABEL, "again", "algorithm"};
    const struct module *from = c->edit.from;
    size_t room = strlen(module_value(from, at, ATTR_FRONTEND_ATTRIBUTES)) + 1;
    char *value = malloc(room);
    if (!value) {
        c->edit.to->error = STATUS_NOMEM;
        return;
    }
    for (int i = 0; i < 6; i++)
        if (i == 1 || i == 4)
            module_add_label(c->edit.to, keys[i], i == 1 ? "bwd" : "true");
        else if (module_label(from, at, keys[i], value, (int)room))
            module_add_label(c->edit.to, keys[i], value);
    free(value);
}

static int32_t recompute(struct recompute *c, int32_t at, int32_t layer);

/* Writes an instruction again, with the operands that a user in this layer gets. */
static int32_t write_again(struct recompute *c, int32_t at, int32_t layer, const char *name)
{
    const struct module *from = c->edit.from;
    const struct instruction *i = module_at(from, at);
    for (int o = 0; o < i->operands; o++)
        edit_push(&c->edit, recompute(c, module_operand(from, at, o), layer));
    return edit_add(&c->edit, i->opcode, name, edit_shape(&c->edit, i->shape), i->operands);
}

/* The value that a user in this layer of the backward pass gets: kept, or recomputed from kept values. */
static int32_t recompute(struct recompute *c, int32_t at, int32_t layer)
{
    struct fact *fact = fact_of(c, at);
    bool before = c->recomputes;
    int32_t *made = fact->apart && !before ? &fact->used : &fact->recomputed;
    if (is_kept(c, at, layer))
        return c->edit.now[at];
    if (*made >= 0)
        return *made;
    char name[160];
    snprintf(name, sizeof name, made == &fact->used ? "%.140s.again" : "%.140s.remat",
             module_name_at(c->edit.from, at));
    c->recomputes = before || !fact->gathered;
    *made = write_again(c, at, layer, name);
    c->recomputes = before;
    edit_attributes(&c->edit, at, false);
    label_recomputed(c, at);
    if (before && module_at(c->edit.from, at)->opcode == HLO_ALL_GATHER)
        module_add_label(c->edit.to, "beside", "true");
    return *made;
}

int pass_recompute(const struct module *in, enum remat remat, struct module *out, struct status *st)
{
    struct recompute c = {.remat = remat, .entry = &in->computation[in->entry]};
    int code = edit_open_entry(&c.edit, in, out, st);
    c.fact = malloc((size_t)c.entry->count * sizeof *c.fact);
    if (!c.fact && code == 0)
        code = status_nomem(st);
    if (code == 0)
        find_facts(&c);
    for (int32_t at = c.entry->first; at < c.entry->first + c.entry->count && code == 0; at++)
        if (fact_of(&c, at)->backward) {
            c.edit.now[at] = write_again(&c, at, fact_of(&c, at)->layer, module_name_at(in, at));
            edit_attributes(&c.edit, at, true);
        } else {
            edit_copy(&c.edit, at);
        }
    free(c.fact);
    return edit_close(&c.edit, code, st);
}
