/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers of one layer as one.
 *
 * Of what the step was given (given.h), gathers of one block over the same groups along the same dim become one gather of
 * several operands, whose result is a tuple, as XLA's combiner makes them. Where a weight takes several gathers one after the
 * other, its first ones are combined with first ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module/edit.h"
#include "pass/given.h"
#include "pass/pass.h"

struct combine {
    struct edit edit;
    struct gathers gathers;
    int32_t *
        next; /* [instructions of the entry] the next gather of the same bundle, itself if there is no other */
};

static int32_t *next_of(const struct combine *c, int32_t at)
{
    return &c->next[at - c->gathers.entry->first];
}

static bool alike(const struct gathers *g, int32_t a, int32_t b)
{
    static const enum attribute_key same[] = {ATTR_REPLICA_GROUPS, ATTR_DIMENSIONS,
                                              ATTR_USE_GLOBAL_DEVICE_IDS};
    const struct origin *left = origin_of(g, a), *right = origin_of(g, b);
    if (left->block != right->block || left->later != right->later)
        return false;
    for (size_t k = 0; k < sizeof same / sizeof *same; k++)
        if (module_number(g->from, a, same[k], -1) != module_number(g->from, b, same[k], -1))
            return false;
    return module_shape_of(g->from, module_operand(g->from, a, 0))->dtype ==
           module_shape_of(g->from, module_operand(g->from, b, 0))->dtype;
}

static bool is_alone(const struct gathers *g, int32_t at)
{
    return is_given_gather(g, at) && module_at(g->from, at)->operands == 1 && origin_of(g, at)->block >= 0;
}

/* Bundles as rings of gathers: each is put after the last one that is like it, which is near. */
static void find_bundles(struct combine *c)
{
    const struct gathers *g = &c->gathers;
    int32_t first = g->entry->first, end = first + g->entry->count;
    for (int32_t at = first; at < end; at++) {
        *next_of(c, at) = at;
        if (!is_alone(g, at))
            continue;
        for (int32_t before = at - 1; before >= first; before--) {
            if (!is_alone(g, before) || !alike(g, before, at))
                continue;
            *next_of(c, at) = *next_of(c, before);
            *next_of(c, before) = at;
            break;
        }
    }
}

static void write_value(struct combine *c, int32_t at);

static void write_operands(struct combine *c, int32_t at)
{
    for (int o = 0; o < module_at(c->gathers.from, at)->operands; o++)
        write_value(c, module_operand(c->gathers.from, at, o));
}

/* The labels of one of them, but for what it is that they gather, if these are several. */
static void label_bundle(struct combine *c, const int32_t gather[], int gathers)
{
    static const char *const keys[] = {"layer", "phase", "again", "what"};
    const struct module *from = c->gathers.from;
    char text[200], value[48], other[48];
    size_t used = (size_t)snprintf(text, sizeof text, "{");
    for (int k = 0; k < 4; k++) {
        bool same = module_label(from, gather[0], keys[k], value, sizeof value), labelled = same;
        for (int i = 1; i < gathers; i++)
            same = same && module_label(from, gather[i], keys[k], other, sizeof other) &&
                   strcmp(value, other) == 0;
        if (labelled)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=\"%s\"", used > 1 ? "," : "",
                                     keys[k], same ? value : "several");
    }
    snprintf(text + used, sizeof text - used, "}");
    if (used > 1)
        module_attribute_text(c->edit.to, ATTR_FRONTEND_ATTRIBUTES, NULL, text);
}

/* One gather of what all of a bundle gather; an element of its result stands for each, under its name. */
static void write_bundle(struct combine *c, const int32_t gather[], int gathers)
{
    const struct module *from = c->gathers.from;
    struct module *to = c->edit.to;
    char name[160];
    int32_t *shape = malloc((size_t)gathers * sizeof *shape);
    if (!shape) {
        to->error = STATUS_NOMEM;
        return;
    }
    for (int i = 0; i < gathers; i++)
        write_operands(c, gather[i]);
    for (int i = 0; i < gathers; i++) {
        edit_push(&c->edit, c->edit.now[module_operand(from, gather[i], 0)]);
        shape[i] = edit_shape(&c->edit, module_at(from, gather[i])->shape);
    }
    snprintf(name, sizeof name, "%.140s.combined", module_word(from, module_at(from, gather[0])->name));
    int32_t all = edit_add(&c->edit, HLO_ALL_GATHER, name, module_tuple(to, shape, gathers), gathers);
    edit_attributes(&c->edit, gather[0], false);
    label_bundle(c, gather, gathers);
    for (int i = 0; i < gathers; i++) {
        edit_push(&c->edit, all);
        int32_t one = edit_add(&c->edit, HLO_GET_TUPLE_ELEMENT,
                               module_word(from, module_at(from, gather[i])->name), shape[i], 1);
        module_attribute(to, ATTR_INDEX, &(int64_t){i}, 1);
        edit_replace(&c->edit, gather[i], one);
    }
    free(shape);
}

static int by_text(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return left < right ? -1 : left > right;
}

/* What was not written yet; of a gather all of its bundle, in text order. */
static void write_value(struct combine *c, int32_t at)
{
    int gathers = 0;
    if (c->edit.now[at] != EDIT_GONE || c->edit.to->error < 0)
        return;
    if (*next_of(c, at) == at) {
        write_operands(c, at);
        edit_copy(&c->edit, at);
        return;
    }
    for (int32_t next = *next_of(c, at); next != at; next = *next_of(c, next))
        gathers++;
    int32_t *gather = malloc(((size_t)gathers + 1) * sizeof *gather), other = at;
    if (!gather) {
        c->edit.to->error = STATUS_NOMEM;
        return;
    }
    for (int i = 0; i <= gathers; i++, other = *next_of(c, other))
        gather[i] = other;
    qsort(gather, (size_t)gathers + 1, sizeof *gather, by_text);
    write_bundle(c, gather, gathers + 1);
    free(gather);
}

int pass_combine(const struct module *in, struct module *out, struct status *st)
{
    struct combine c = {.next = NULL};
    int code = edit_open(&c.edit, in, out, st);
    if (code == 0)
        code = gathers_init(&c.gathers, in, st);
    if (code == 0 && !(c.next = malloc(((size_t)c.gathers.entry->count + 1) * sizeof *c.next)))
        code = status_nomem(st);
    if (code == 0) {
        find_bundles(&c);
        edit_copy_called(&c.edit);
        edit_begin(&c.edit, in->entry);
    }
    for (int32_t i = 0; code == 0 && i < c.gathers.entry->count; i++) {
        int32_t at = c.gathers.entry->first + i;
        bool moves = origin_of(&c.gathers, at)->moves; /* then it is written where it is needed */
        if (!moves || module_at(in, at)->opcode == HLO_PARAMETER)
            write_value(&c, at);
    }
    gathers_free(&c.gathers);
    free(c.next);
    int closed = edit_close(&c.edit, st);
    return code < 0 ? code : closed;
}
