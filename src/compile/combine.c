/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Combines gathers of one layer into one, and sums of gradients.
 *
 * Gathers of the step's inputs (given.h) in one block over the same groups become one gather of several
 * operands, whose result is a tuple, as XLA's combiner makes them. An all-gather has one dim: the dim that
 * most of them have. Operands gathered along another dim are transposed before and after, which only changes
 * their layout and takes no time (XLA writes bitcasts). If weights take several gathers in a row, gathers
 * over the same groups are combined if all weights of the block go through groups in the same order; else
 * only last gathers are combined, so that none waits for itself.
 *
 * A sum of gradients joins the first sum of its layer that has room for it. Sums that have passed equally many sums
 * do not wait for each other. The combined one stands in the place of the last.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/given.h"
#include "compile/pass.h"
#include "hlo/builder.h"
#include "hlo/cost.h"
#include "hlo/edit.h"

/* The state of an instruction of the entry. */
struct place {
    int32_t depth;  /* gathers, or sums, that its value has gone through */
    int32_t bundle; /* the first collective combined with this one; -1: there are no others */
    double bytes;   /* of the first: of all of them so far; else 0 */
    int32_t until;  /* it depends on a combined sum whose last one is this */
};

struct combine {
    struct edit edit;
    struct gathers gathers;
    struct place *place; /* [instructions of the entry] */
    int *level;    /* [blocks * groupings] the highest level of the gathers before one over these groups */
    bool *ordered; /* [blocks] do the levels of consecutive gathers rise? */
};

static struct place *place_of(const struct combine *c, int32_t at)
{
    return &c->place[at - c->gathers.entry->first];
}

static int *level_of(const struct combine *c, int32_t gather)
{
    const struct gathers *g = &c->gathers;
    int64_t groups = module_number(g->from, gather, ATTR_REPLICA_GROUPS, g->from->groupings);
    return &c->level[(int64_t)origin_of(g, gather)->block * (g->from->groupings + 1) + groups];
}

static bool is_alone(const struct gathers *g, int32_t at)
{
    return is_given_gather(g, at) && module_at(g->from, at)->operands == 1 && origin_of(g, at)->block >= 0 &&
           module_shape_of(g->from, at)->count <= BUILDER_DIMS;
}

/* The gather that a value comes from, -1 if there is none. */
static int32_t gather_before(const struct gathers *g, int32_t value)
{
    while (module_at(g->from, value)->operands > 0 && !is_given_gather(g, value))
        value = module_operand(g->from, value, 0);
    return is_given_gather(g, value) ? value : -1;
}

/* Finds the blocks in which all gathers over the same groups can be combined. That is so if consecutive
 * gathers are over groups of rising levels: then a combined gather only waits for lower levels. */
static int find_order(struct combine *c, struct status *st)
{
    const struct gathers *g = &c->gathers;
    int32_t first = g->entry->first, end = first + g->entry->count;
    c->place = malloc(((size_t)g->entry->count + 1) * sizeof *c->place);
    c->level = calloc(((size_t)g->blocks + 1) * ((size_t)g->from->groupings + 1), sizeof *c->level);
    c->ordered = malloc((size_t)g->blocks + 1);
    if (!c->place || !c->level || !c->ordered)
        return status_nomem(st);
    memset(c->ordered, true, (size_t)g->blocks + 1);
    for (int32_t at = first; at < end; at++) {
        *place_of(c, at) = (struct place){.bundle = -1};
        if (!is_alone(g, at))
            continue;
        int32_t before = gather_before(g, module_operand(g->from, at, 0));
        place_of(c, at)->depth = before < 0 ? 0 : place_of(c, before)->depth + 1;
        if (*level_of(c, at) < place_of(c, at)->depth)
            *level_of(c, at) = place_of(c, at)->depth;
    }
    for (int32_t at = first; at < end; at++) {
        int32_t before = is_alone(g, at) ? gather_before(g, module_operand(g->from, at, 0)) : -1;
        if (before < 0)
            continue;
        bool climbs = is_alone(g, before) && origin_of(g, before)->block == origin_of(g, at)->block &&
                      *level_of(c, before) < *level_of(c, at);
        c->ordered[origin_of(g, at)->block] = c->ordered[origin_of(g, at)->block] && climbs;
    }
    return 0;
}

/* May two be one? Sums must be of one type, and have passed equally many, so that none waits for the other. */
static bool are_alike(const struct combine *c, int32_t a, int32_t b)
{
    static const enum attribute_key same[] = {ATTR_REPLICA_GROUPS, ATTR_USE_GLOBAL_DEVICE_IDS};
    const struct module *from = c->edit.from;
    bool alike = true;
    for (size_t k = 0; k < sizeof same / sizeof *same; k++)
        alike = alike && module_number(from, a, same[k], -1) == module_number(from, b, same[k], -1);
    if (module_at(from, a)->opcode != HLO_ALL_GATHER)
        return alike && place_of(c, a)->depth == place_of(c, b)->depth &&
               module_shape_of(from, a)->dtype == module_shape_of(from, b)->dtype;
    const struct origin *left = origin_of(&c->gathers, a), *right = origin_of(&c->gathers, b);
    return alike && left->block == right->block && (left->later == right->later || c->ordered[left->block]);
}

/* Puts one into the first bundle, of those from `first` on, that is like it and has room for it. Without a limit there is only
 * one, which is near. */
static void join(struct combine *c, int32_t first, int32_t one, double most_bytes)
{
    struct place *own = place_of(c, one);
    own->bytes = shape_bytes(c->edit.from, module_at(c->edit.from, one)->shape);
    int32_t into = one;
    for (int32_t at = one - 1; at >= first && (into == one || most_bytes < INFINITY); at--) {
        double bytes = place_of(c, at)->bytes;
        if (bytes > 0 && bytes + own->bytes <= most_bytes && are_alike(c, at, one))
            into = at;
    }
    if (into == one)
        return;
    struct place *place = place_of(c, into);
    place->bytes += own->bytes;
    place->bundle = own->bundle = into;
    place->until = one;
    own->bytes = 0;
}

static int find_sums(struct combine *c, struct status *st)
{
    const struct module *from = c->edit.from;
    const struct computation *entry = c->gathers.entry;
    const double most_bytes = 120 << 20; /* the largest that XLA:TPU combined in 36 programs */
    int32_t layer = -1, first = 0;
    bool *later = calloc((size_t)from->instructions, sizeof *later);
    c->place = calloc((size_t)entry->count, sizeof *c->place);
    int code = later && c->place ? pass_find_postponed(from, later, st) : status_nomem(st);
    for (int32_t at = entry->first; at < entry->first + entry->count && code == 0; at++) {
        const struct instruction *i = module_at(from, at);
        struct place *place = place_of(c, at);
        place->bundle = -1;
        for (int o = 0; o < i->operands; o++) {
            int32_t operand = module_operand(from, at, o);
            int32_t depth = place_of(c, operand)->depth + later[operand];
            place->depth = depth > place->depth ? depth : place->depth;
        }
        if (!later[at] || i->opcode != HLO_ALL_REDUCE || i->operands != 1 ||
            module_has_label(from, at, "what=\"activations\""))
            continue;
        if (module_layer(from, at) != layer)
            first = at;
        layer = module_layer(from, at);
        join(c, first, at, most_bytes);
    }
    free(later);
    return code;
}

static void write_value(struct combine *c, int32_t at);

static void write_operands(struct combine *c, int32_t at)
{
    for (int o = 0; o < module_at(c->gathers.from, at)->operands; o++)
        write_value(c, module_operand(c->gathers.from, at, o));
}

/* Copies the labels of one of them, without the name of the gathered value if there are several. */
static void label_bundle(struct combine *c, const int32_t gather[], int gathers)
{
    static const char *const keys[] = {"layer", "phase", "again", "what", "algorithm"};
    const struct module *from = c->gathers.from;
    char value[48], other[48];
    for (int k = 0; k < 5; k++) {
        bool same = module_label(from, gather[0], keys[k], value, sizeof value), labelled = same;
        for (int i = 1; i < gathers; i++)
            same = same && module_label(from, gather[i], keys[k], other, sizeof other) &&
                   strcmp(value, other) == 0;
        if (labelled)
            module_add_label(c->edit.to, keys[k], same ? value : "several");
    }
}

static int dim_of(const struct module *module, int32_t gather)
{
    return (int)module_number(module, gather, ATTR_DIMENSIONS, 0);
}

/* Of the dims that all of a bundle have, finds the one that most are gathered along, and returns the first
 * gather along it; the first of all, if there is none. */
static int32_t like_most(const struct module *module, const int32_t gather[], int gathers)
{
    int rank = module_shape_of(module, gather[0])->count, most = 0;
    int32_t like = gather[0];
    for (int i = 1; i < gathers; i++)
        if (module_shape_of(module, gather[i])->count < rank)
            rank = module_shape_of(module, gather[i])->count;
    for (int i = 0; i < gathers; i++) {
        int count = 0, dim = dim_of(module, gather[i]);
        for (int j = 0; j < gathers && dim < rank; j++)
            count += dim_of(module, gather[j]) == dim;
        like = count > most ? gather[i] : like;
        most = count > most ? count : most;
    }
    return like;
}

/* The shape of a value of the new module with two dims swapped. */
static int32_t turned_shape(struct module *to, int32_t shape, int a, int b)
{
    const struct shape *old = &to->shape[shape];
    int64_t dim[BUILDER_DIMS];
    for (int d = 0; d < old->count; d++)
        dim[d] = to->number[old->first + (d == a ? b : d == b ? a : d)];
    return module_array(to, (enum dtype_id)old->dtype, dim, old->count);
}

/* The value with two dims swapped, with or without a name: only its layout changes. */
static int32_t turn(struct combine *c, int32_t value, int a, int b, const char *name)
{
    struct module *to = c->edit.to;
    if (a == b || to->error < 0)
        return value;
    int64_t order[BUILDER_DIMS];
    int32_t shape = module_at(to, value)->shape;
    int dims = to->shape[shape].count;
    for (int d = 0; d < dims; d++)
        order[d] = d == a ? b : d == b ? a : d;
    int32_t turned = module_add(to, HLO_TRANSPOSE, name, turned_shape(to, shape, a, b), &value, 1);
    module_attribute(to, ATTR_DIMENSIONS, order, dims);
    module_label_number(to, "hbm_bytes", 0);
    return turned;
}

/* Replaces a gather, under its name, by an element of the combined result, transposed back. */
static void write_element(struct combine *c, int32_t all, int i, int32_t shape, int32_t gather, int dim)
{
    const struct module *from = c->gathers.from;
    const char *name = module_name_at(from, gather);
    bool turned = dim_of(from, gather) != dim;
    edit_push(&c->edit, all);
    int32_t one = edit_add(&c->edit, HLO_GET_TUPLE_ELEMENT, turned ? NULL : name, shape, 1);
    module_attribute(c->edit.to, ATTR_INDEX, &(int64_t){i}, 1);
    label_bundle(c, &gather, 1);
    edit_replace(&c->edit, gather, turn(c, one, dim, dim_of(from, gather), name));
}

/* Writes the combined gather of a bundle. */
static void write_bundle(struct combine *c, const int32_t gather[], int gathers)
{
    const struct module *from = c->gathers.from;
    struct module *to = c->edit.to;
    char name[160];
    int32_t like = like_most(from, gather, gathers);
    int dim = dim_of(from, like);
    int32_t *shape = malloc((size_t)gathers * sizeof *shape);
    if (!shape) {
        to->error = STATUS_NOMEM;
        return;
    }
    for (int i = 0; i < gathers; i++)
        write_operands(c, gather[i]);
    for (int i = 0; i < gathers && to->error == 0; i++) {
        int own = dim_of(from, gather[i]);
        edit_push(&c->edit, turn(c, c->edit.now[module_operand(from, gather[i], 0)], own, dim, NULL));
        shape[i] = edit_shape(&c->edit, module_at(from, gather[i])->shape);
        shape[i] = own == dim ? shape[i] : turned_shape(to, shape[i], own, dim);
    }
    if (to->error == 0) {
        snprintf(name, sizeof name, "%.140s.combined", module_name_at(from, gather[0]));
        int32_t all = edit_add(&c->edit, module_at(from, like)->opcode, name,
                               module_tuple(to, shape, gathers), gathers);
        edit_attributes(&c->edit, like, false); /* of a gather along this dim */
        label_bundle(c, gather, gathers);
        for (int i = 0; i < gathers; i++)
            write_element(c, all, i, shape[i], gather[i], dim);
    }
    free(shape);
}

/* Writes a value that is not written yet; a gather with all of its bundle, in text order. */
static void write_value(struct combine *c, int32_t at)
{
    const struct computation *entry = c->gathers.entry;
    int32_t bundle = place_of(c, at)->bundle;
    int gathers = 0;
    if (c->edit.now[at] != EDIT_GONE || c->edit.to->error < 0)
        return;
    if (bundle < 0) {
        write_operands(c, at);
        edit_copy(&c->edit, at);
        return;
    }
    int32_t *gather = malloc((size_t)entry->count * sizeof *gather);
    if (!gather) {
        c->edit.to->error = STATUS_NOMEM;
        return;
    }
    for (int32_t other = bundle; other < entry->first + entry->count; other++)
        if (place_of(c, other)->bundle == bundle)
            gather[gathers++] = other;
    write_bundle(c, gather, gathers);
    free(gather);
}

int pass_combine(const struct module *in, struct module *out, struct status *st)
{
    struct combine c = {.place = NULL};
    int code = edit_open_entry(&c.edit, in, out, st);
    if (code == 0)
        code = gathers_init(&c.gathers, in, st);
    if (code == 0)
        code = find_order(&c, st);
    const int32_t first = in->computation[in->entry].first, end = first + in->computation[in->entry].count;
    for (int32_t at = first; at < end && code == 0; at++)
        if (is_alone(&c.gathers, at))
            join(&c, first, at, INFINITY);
    for (int32_t at = first; at < end && code == 0; at++) {
        bool moves = origin_of(&c.gathers, at)->moves; /* then it is written when needed */
        if (!moves || module_at(in, at)->opcode == HLO_PARAMETER)
            write_value(&c, at);
    }
    gathers_free(&c.gathers);
    free(c.place);
    free(c.level);
    free(c.ordered);
    return edit_close(&c.edit, code, st);
}

int pass_combine_sums(const struct module *in, struct module *out, struct status *st)
{
    struct combine c = {.gathers = {.from = in, .entry = &in->computation[in->entry]}};
    int code = edit_open_entry(&c.edit, in, out, st);
    if (code == 0)
        code = find_sums(&c, st);
    const int32_t first = c.gathers.entry->first;
    for (int32_t at = first; code == 0 && at < first + c.gathers.entry->count; at++) {
        struct place *place = place_of(&c, at);
        if (place->bundle >= 0)
            place->until = place_of(&c, place->bundle)->until;
        for (int o = 0; o < module_at(in, at)->operands; o++) {
            int32_t until = place_of(&c, module_operand(in, at, o))->until;
            place->until = until > place->until ? until : place->until;
        }
        if (place->until <= at) /* others are written when needed */
            write_value(&c, at);
    }
    free(c.place);
    return edit_close(&c.edit, code, st);
}
