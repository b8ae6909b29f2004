/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "compile/pass.h"
#include "hlo/communication.h"
#include "hlo/edit.h"
#include "hlo/scalar.h"

/* What is known of an instruction. */
struct disguise {
    int32_t users; /* operands of other instructions that it is, plus one if it is a root */
    int32_t slice; /* for an all-reduce: the slice that makes it a reduce-scatter; -1: none */
    int dim;       /* the dim that is scattered */
    bool gone;     /* it is left out */
    bool released; /* it has lost a user */
};

struct disguises {
    const struct module *module;
    struct disguise *of; /* [instructions] */
    int64_t *offset;     /* [devices] the value of instruction `known` on each; many slices share an offset */
    int32_t known;
};

static int count_users(struct disguises *d, struct status *st)
{
    const struct module *module = d->module;
    size_t n = (size_t)module->instructions + 1,
           devices = (size_t)module->replicas * (size_t)module->partitions;
    d->of = calloc(n, sizeof *d->of);
    d->offset = malloc(devices * sizeof *d->offset);
    d->known = -1;
    if (!d->of || !d->offset)
        return status_nomem(st);
    for (int32_t i = 0; i < module->instructions; i++) {
        d->of[i].slice = -1;
        for (int o = 0; o < module_at(module, i)->operands; o++)
            d->of[module_operand(module, i, o)].users++;
    }
    for (int32_t c = 0; c < module->computations; c++)
        d->of[module->computation[c].root].users++;
    return 0;
}

/* Finds the whole number that an instruction gives on each device, in d->offset; false if it is not known on all. */
static bool find_offsets(struct disguises *d, int32_t instruction)
{
    const struct module *module = d->module;
    if (d->known == instruction)
        return true;
    d->known = -1;
    for (int device = 0; device < module->replicas * module->partitions; device++) {
        struct scalar_place place = {module, SCALAR_UNKNOWN, device / module->partitions,
                                     device % module->partitions, SCALAR_STEPS};
        struct scalar found;
        if (!scalar_find(&place, instruction, SCALAR_UNKNOWN, &found) || found.carried >= 0)
            return false;
        d->offset[device] = found.value;
    }
    d->known = instruction;
    return true;
}

/* Does each device take the part that corresponds to its place in its group? Offsets in dims that are taken whole need
 * no check: they are 0, or clamped to it. */
static bool takes_own_part(struct disguises *d, int32_t slice, int dim, const struct groups *groups,
                           int64_t part)
{
    if (!find_offsets(d, module_operand(d->module, slice, 1 + dim)))
        return false;
    for (int i = 0; i < groups->count * groups->size; i++)
        if (d->offset[groups->member[i]] != i % groups->size * part)
            return false;
    return true;
}

/* The only dim in which a slice is smaller than its operand, by this factor; -1: there is none, or several. */
static int find_cut(const struct module *module, int32_t slice, int64_t factor)
{
    const struct shape *whole = module_shape_of(module, module_operand(module, slice, 0));
    const struct shape *part = module_shape_of(module, slice);
    int cut = -1;
    if (factor < 2 || module_at(module, slice)->operands != 1 + whole->count)
        return -1;
    for (int d = 0; d < whole->count; d++) {
        int64_t n = module->number[whole->first + d], m = module->number[part->first + d];
        if (n == m)
            continue;
        if (cut >= 0 || m * factor != n)
            return -1;
        cut = d;
    }
    return cut;
}

static int examine(struct disguises *d, int32_t slice, int *found, struct status *st)
{
    const struct module *module = d->module;
    int32_t reduce = module_at(module, slice)->operands > 0 ? module_operand(module, slice, 0) : slice;
    struct groups groups;
    if (module_at(module, slice)->opcode != HLO_DYNAMIC_SLICE ||
        module_at(module, reduce)->opcode != HLO_ALL_REDUCE || d->of[reduce].users != 1 ||
        communication_scatters(module, reduce) || communication_is_chosen(module, reduce) ||
        module_has_label(module, reduce, "whole=\"true\""))
        return 0;
    int code = module_groups_of(module, reduce, &groups, st);
    if (code < 0)
        return code;
    int dim = find_cut(module, slice, groups.size);
    if (dim >= 0 &&
        takes_own_part(d, slice, dim, &groups, module->number[module_shape_of(module, slice)->first + dim])) {
        d->of[reduce].slice = slice;
        d->of[reduce].dim = dim;
        d->of[slice].gone = true;
        ++*found;
    }
    groups_free(&groups);
    return 0;
}

/* Takes a user from each operand from `first` on. */
static void release(struct disguises *d, int32_t instruction, int first)
{
    for (int o = first; o < module_at(d->module, instruction)->operands; o++) {
        int32_t operand = module_operand(d->module, instruction, o);
        d->of[operand].users--;
        d->of[operand].released = true;
    }
}

/* Drops the offsets that nothing reads any more, and what only they read. */
static void drop_offsets(struct disguises *d)
{
    for (int32_t i = d->module->instructions - 1; i >= 0; i--) {
        enum opcode opcode = module_at(d->module, i)->opcode;
        bool idle = d->of[i].released && d->of[i].users == 0 && opcode_is_cheap(opcode);
        if (d->of[i].gone)
            release(d, i, 1);
        else if (idle)
            release(d, i, 0);
        d->of[i].gone |= idle;
    }
}

/* Writes a reduce-scatter with the name and the shape of the slice and everything else of the all-reduce. */
static void write_scatter(struct edit *edit, const struct disguises *d, int32_t reduce)
{
    const struct module *from = edit->from;
    const struct instruction *slice = module_at(from, d->of[reduce].slice);
    int64_t dim = d->of[reduce].dim;
    int32_t operand = edit->now[module_operand(from, reduce, 0)];
    int32_t made = module_add(edit->to, HLO_REDUCE_SCATTER, module_word(from, slice->name),
                              edit_shape(edit, slice->shape), &operand, 1);
    module_attribute(edit->to, ATTR_DIMENSIONS, &dim, 1);
    edit_attributes(edit, reduce, true);
    edit_replace(edit, reduce, made);
    edit_replace(edit, d->of[reduce].slice, made);
}

static int write(const struct disguises *d, struct module *to, struct status *st)
{
    const struct module *from = d->module;
    struct edit edit;
    int code = edit_open(&edit, from, to, st);
    for (int32_t c = 0; c < from->computations && code == 0; c++) {
        const struct computation *computation = &from->computation[c];
        edit_begin(&edit, c);
        for (int32_t i = computation->first; i < computation->first + computation->count; i++)
            if (d->of[i].slice >= 0)
                write_scatter(&edit, d, i);
            else if (!d->of[i].gone)
                edit_copy(&edit, i);
    }
    return edit_close(&edit, code, st);
}

int pass_reduce_scatters(const struct module *in, struct module *out, int *found, struct status *st)
{
    struct disguises d = {.module = in};
    int code = count_users(&d, st);
    *found = 0;
    *out = (struct module){0};
    for (int32_t i = 0; i < in->instructions && code == 0; i++)
        code = examine(&d, i, found, st);
    if (code == 0 && *found > 0) {
        drop_offsets(&d);
        code = write(&d, out, st);
    }
    free(d.of);
    free(d.offset);
    return code;
}
