/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The computations that loops call: the products of a step, and their conditions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "compile/loop.h"
#include "hlo/cost.h"

static bool same_numbers(const struct overlap *o, int32_t a, int32_t b, enum attribute_key key)
{
    int counts[2];
    const int64_t *first = module_numbers(o->from, a, key, &counts[0]),
                  *second = module_numbers(o->from, b, key, &counts[1]);
    return counts[0] == counts[1] &&
           (counts[0] == 0 || memcmp(first, second, (size_t)counts[0] * sizeof *first) == 0);
}

static int32_t shape_of(const struct overlap *o, int32_t dot, int side)
{
    return module_at(o->from, module_operand(o->from, dot, side))->shape;
}

/* Do two products have the same dims and shapes? */
static bool same_product(const struct overlap *o, int32_t a, int32_t b)
{
    static const enum attribute_key dims[] = {ATTR_LHS_BATCH, ATTR_RHS_BATCH, ATTR_LHS_CONTRACTING,
                                              ATTR_RHS_CONTRACTING};
    bool same = a == b || (module_at(o->from, a)->shape == module_at(o->from, b)->shape &&
                           shape_of(o, a, 0) == shape_of(o, b, 0) && shape_of(o, a, 1) == shape_of(o, b, 1));
    for (size_t i = 0; i < sizeof dims / sizeof *dims && same && a != b; i++)
        same = same_numbers(o, a, b, dims[i]);
    return same;
}

/* Do two products multiply the same pieces? */
static bool same_dot(const struct overlap *o, const struct loop_dot *a, const struct loop_dot *b)
{
    return a->side == b->side && a->role == b->role && a->dim == b->dim && same_product(o, a->dot, b->dot);
}

bool loop_repeats(const struct overlap *o, const struct loop *loop)
{
    bool repeats = false;
    for (const struct loop *of = o->loop; of < o->loop + o->loops && !repeats; of++) {
        repeats = of->dot[0].dot < loop->dot[0].dot && of->kind == loop->kind && of->way == loop->way &&
                  of->piece == loop->piece && of->ring.member == loop->ring.member && of->dots == loop->dots;
        for (int d = 0; d < loop->dots && repeats; d++)
            repeats = same_dot(o, &of->dot[d], &loop->dot[d]);
    }
    return repeats;
}

/* Do two bodies agree in everything they depend on? */
static bool same_body(const struct overlap *o, const struct body *a, const struct body *b)
{
    return a->kind == b->kind && a->inner == b->inner && a->chunks == b->chunks && a->half[0] == b->half[0] &&
           a->half[1] == b->half[1] && a->accumulates == b->accumulates && a->loop->kind == b->loop->kind &&
           a->loop->piece == b->loop->piece && loop_groups(o, a->loop) == loop_groups(o, b->loop) &&
           same_dot(o, a->dot, b->dot);
}

int32_t loop_body(struct overlap *o, const struct body *wanted)
{
    for (int32_t at = 0; at < o->bodies; at++)
        if (same_body(o, &o->body[at], wanted))
            return at;
    if (!GROW(o->body, o->bodies, o->room)) {
        builder_fail(&o->b, STATUS_NOMEM);
        return 0;
    }
    o->body[o->bodies] = *wanted;
    return o->bodies++;
}

int32_t loop_scalar_shape(struct overlap *o, enum dtype_id dtype)
{
    struct module *module = o->b.module;
    if (o->scalar[dtype] < 0) {
        int32_t layout = module_text(module, "{:S(6)}", -1);
        struct shape shape = {.dtype = (int32_t)dtype, .layout = layout, .on_chip = true};
        o->scalar[dtype] = module_shape(module, shape, NULL);
    }
    return o->scalar[dtype];
}

int32_t loop_offset(struct overlap *o, int64_t offset)
{
    int32_t made = module_add(o->b.module, HLO_CONSTANT, NULL, loop_scalar_shape(o, DTYPE_S32), NULL, 0);
    module_attribute(o->b.module, ATTR_LITERAL, &offset, 1);
    return made;
}

int32_t loop_shape(struct overlap *o, int32_t old, int dim, int64_t size)
{
    const struct shape *shape = module_shape_of(o->from, old);
    int64_t sizes[BUILDER_DIMS];
    for (int32_t d = 0; d < shape->count; d++)
        sizes[d] = d == dim ? size : o->from->number[shape->first + d];
    return module_array(o->b.module, (enum dtype_id)shape->dtype, sizes, shape->count);
}

int32_t loop_zeros(struct overlap *o, int32_t old, int dim, int64_t size)
{
    int32_t zero = build_scalar(&o->b, (enum dtype_id)module_shape_of(o->from, old)->dtype, 0);
    int32_t made = module_add(o->b.module, HLO_BROADCAST, NULL, loop_shape(o, old, dim, size), &zero, 1);
    module_attribute(o->b.module, ATTR_DIMENSIONS, NULL, 0);
    return made;
}

/* The body being built, and its parameters. */
struct under {
    struct overlap *o;
    const struct body *body;
    struct builder *b;
    int parameters;
    int32_t operand[2];         /* of the product; in a gather only the one that is not gathered */
    int32_t chunk[LOOP_CHUNKS]; /* of a gather */
    int32_t accumulator;        /* -1: none */
    int32_t self, offset[LOOP_CHUNKS];
};

static int32_t parameter(struct under *u, int32_t shape)
{
    int32_t made = module_add(u->b->module, HLO_PARAMETER, NULL, shape, NULL, 0);
    module_attribute(u->b->module, ATTR_PARAMETER_NUMBER, &(int64_t){u->parameters++}, 1);
    return made;
}

static int64_t chunk_size(const struct body *body, int c)
{
    return body->half[c] < 0 ? body->loop->piece : body->loop->half[body->half[c]];
}

/* Takes the parameters in the order in which loop_step.c passes them. */
static void take_parameters(struct under *u)
{
    const struct body *body = u->body;
    const struct loop_dot *d = body->dot;
    int32_t dot = d->dot, moved = module_operand(u->o->from, dot, d->side);
    bool gathers = body->loop->kind == LOOP_GATHER;
    u->accumulator = -1;
    for (int c = 0; c < body->chunks && gathers; c++)
        u->chunk[c] = parameter(u, loop_shape(u->o, moved, d->dim, chunk_size(body, c)));
    for (int side = 0; side < 2; side++)
        if (!gathers || side != d->side)
            u->operand[side] = parameter(u, edit_shape(&u->o->edit, shape_of(u->o, dot, side)));
    if (body->accumulates && gathers)
        u->accumulator = parameter(u, edit_shape(&u->o->edit, module_at(u->o->from, dot)->shape));
    u->self = parameter(u, loop_scalar_shape(u->o, DTYPE_U32));
    for (int c = 0; c < body->chunks; c++)
        u->offset[c] = parameter(u, loop_scalar_shape(u->o, DTYPE_S32));
}

static int32_t whole(struct under *u, int64_t value)
{
    return build_scalar(u->b, DTYPE_S32, (double)value);
}

static int32_t whole_of(struct under *u, enum opcode opcode, int32_t a, int32_t c)
{
    struct module *module = u->b->module;
    return module_add(module, opcode, NULL, module_array(module, DTYPE_S32, NULL, 0), (int32_t[]){a, c}, 2);
}

/* The first element of a chunk: slot[group of self][(place of self + offset) mod n] * piece, plus half a
 * piece for the second half. */
static int32_t chunk_start(struct under *u, int c)
{
    const struct loop *loop = u->body->loop;
    int n = loop->ring.size, devices = n * loop->ring.count;
    int64_t *place = malloc(3 * (size_t)devices * sizeof *place), *group = place + devices,
            *slot = group + devices;
    if (!place) {
        builder_fail(u->b, STATUS_NOMEM);
        return 0;
    }
    for (int i = 0; i < devices; i++) {
        place[loop->ring.member[i]] = i % n;
        group[loop->ring.member[i]] = i - i % n;
        slot[i] = loop->slot[i];
    }
    int32_t at = build_look_up(u->b, place, devices, u->self);
    at = whole_of(u, HLO_ADD, at, u->offset[c]);
    at = whole_of(u, HLO_REMAINDER, at, whole(u, n));
    if (!loop->alike)
        at = whole_of(u, HLO_ADD, at, build_look_up(u->b, group, devices, u->self));
    if (!loop->straight)
        at = build_look_up(u->b, slot, loop->alike ? n : devices, at);
    at = whole_of(u, HLO_MULTIPLY, at, whole(u, loop->piece));
    free(place);
    return u->body->half[c] == 1 ? whole_of(u, HLO_ADD, at, whole(u, loop->half[0])) : at;
}

/* The blocks of an operand that belong to the chunks, joined along `dim`. */
static int32_t take_blocks(struct under *u, int32_t operand, int dim, const int32_t start[])
{
    int32_t part[LOOP_CHUNKS];
    for (int c = 0; c < u->body->chunks; c++)
        part[c] = build_block(u->b, operand, dim, chunk_size(u->body, c), start[c]);
    return build_concatenate(u->b, part, u->body->chunks, dim);
}

/* The old product with new operands. */
static int32_t multiply(struct under *u, const int32_t operand[2])
{
    const struct loop_dot *d = u->body->dot;
    int64_t size = 0;
    for (int c = 0; c < u->body->chunks; c++)
        size += chunk_size(u->body, c);
    int32_t made =
        module_add(u->b->module, HLO_DOT, NULL, loop_shape(u->o, d->dot, d->out_dim, size), operand, 2);
    edit_attributes(&u->o->edit, d->dot, false);
    return made;
}

/* The part of a product that belongs to chunk c. */
static int32_t part_of(struct under *u, int32_t product, int c)
{
    int64_t low = c == 0 ? 0 : chunk_size(u->body, 0);
    return build_slice(u->b, product, u->body->dot->out_dim, low, low + chunk_size(u->body, c));
}

/* Puts the parts of a product into the whole result, which is updated in place. */
static void put_blocks(struct under *u, int32_t product, const int32_t start[])
{
    struct module *module = u->b->module;
    int32_t shape = edit_shape(&u->o->edit, module_at(u->o->from, u->body->dot->dot)->shape),
            into = u->accumulator;
    if (into < 0)
        into = loop_zeros(u->o, u->body->dot->dot, -1, 0);
    for (int c = 0; c < u->body->chunks; c++) {
        int32_t of[2 + BUILDER_DIMS] = {into, part_of(u, product, c)};
        int dims = module_shape_of(module, into)->count;
        for (int d = 0; d < dims; d++)
            of[2 + d] = d == u->body->dot->out_dim ? start[c] : whole(u, 0);
        into = module_add(module, HLO_DYNAMIC_UPDATE_SLICE, NULL, shape, of, 2 + dims);
    }
}

static void build_gather_step(struct under *u)
{
    const struct loop_dot *d = u->body->dot;
    int32_t start[LOOP_CHUNKS], operand[2];
    for (int c = 0; c < u->body->chunks; c++)
        start[c] = chunk_start(u, c);
    operand[d->side] = build_concatenate(u->b, u->chunk, u->body->chunks, d->dim);
    operand[1 - d->side] = d->role == ROLE_FREE
                               ? u->operand[1 - d->side]
                               : take_blocks(u, u->operand[1 - d->side], d->other_dim, start);
    int32_t product = multiply(u, operand);
    if (d->role != ROLE_CONTRACTED)
        put_blocks(u, product, start);
    else if (u->accumulator >= 0)
        build_binary(u->b, HLO_ADD, product, u->accumulator);
}

static void build_scatter_step(struct under *u)
{
    const struct loop_dot *d = u->body->dot;
    int32_t start[LOOP_CHUNKS], operand[2] = {u->operand[0], u->operand[1]}, part[LOOP_CHUNKS];
    for (int c = 0; c < u->body->chunks; c++)
        start[c] = chunk_start(u, c);
    operand[d->side] = take_blocks(u, operand[d->side], d->dim, start);
    if (d->role == ROLE_BATCH)
        operand[1 - d->side] = take_blocks(u, operand[1 - d->side], d->other_dim, start);
    int32_t product = multiply(u, operand);
    if (u->body->chunks == 1)
        return;
    for (int c = 0; c < u->body->chunks; c++)
        part[c] = part_of(u, product, c);
    build_tuple(u->b, part, u->body->chunks);
}

/* %calls (t: (...)) = fusion(t.0, t.1, ...) */
static void build_calls(struct under *u)
{
    struct module *module = u->b->module;
    int32_t inner = u->o->body[u->body->inner].computation, operand[16];
    const struct computation *c = &module->computation[inner];
    int32_t shape[16] = {0}, result = module_at(module, c->root)->shape;
    int parameters = 0;
    for (int32_t at = c->first; at < c->first + c->count && parameters < 16; at++)
        if (module_at(module, at)->opcode == HLO_PARAMETER)
            shape[parameters++] = module_at(module, at)->shape;
    int32_t all = parameter(u, module_tuple(module, shape, parameters));
    for (int p = 0; p < parameters; p++)
        operand[p] = build_element(u->b, all, p);
    int32_t made = module_add(module, HLO_FUSION, NULL, result, operand, parameters);
    module_attribute_text(module, ATTR_KIND, NULL, "kOutput");
    module_attribute(module, ATTR_CALLS, &(int64_t){inner}, 1);
    if (u->body->accumulates && u->body->loop->kind != LOOP_GATHER) /* what came is read */
        module_label_number(module, "hbm_bytes",
                            module_cost(module, made).hbm_bytes + shape_hbm_bytes(module, result));
}

/* Builds the body of the other devices: returns their current value, or zeros in the shape of a piece of the
 * result. */
static void build_other(struct under *u)
{
    const struct loop_dot *d = u->body->dot;
    if (u->body->kind == BODY_KEEPS) {
        parameter(u, edit_shape(&u->o->edit, module_at(u->o->from, d->dot)->shape));
        return;
    }
    parameter(u, loop_scalar_shape(u->o, DTYPE_U32));
    loop_zeros(u->o, d->dot, d->out_dim, u->body->loop->piece);
    module_label_number(u->b->module, "hbm_bytes", 0); /* they are never read */
}

void loop_build_bodies(struct overlap *o)
{
    static const char *const names[] = {"step", "takes_part", "keeps", "zeros"};
    for (int32_t i = 0; i < o->bodies && o->b.module->error == 0; i++) {
        struct body *body = &o->body[i];
        struct under under = {.o = o, .body = body, .b = &o->b};
        char name[32];
        snprintf(name, sizeof name, "%s.%d", names[body->kind], (int)i);
        body->computation = module_begin(o->b.module, name);
        if (body->kind == BODY_STEP) {
            take_parameters(&under);
            (body->loop->kind == LOOP_GATHER ? build_gather_step : build_scatter_step)(&under);
        } else {
            (body->kind == BODY_CALLS ? build_calls : build_other)(&under);
        }
    }
}
