/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the loops, and rewrites the entry with them. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "compile/loop.h"
#include "hlo/cost.h"

static const char *const ways[] = {"naive", "uni", "bidi", "bidi-half", "auto", NULL};

const char *pass_way_name(enum overlap_way way)
{
    return ways[way];
}

int pass_way_by_name(const char *name, struct status *st)
{
    return text_choice("strategy", name, ways, st);
}

bool overlap_pays(const struct module *module, int32_t dot, double elements, int n, double columns)
{
    return columns == 0 || (n > 2 && module_cost(module, dot).flops / (2 * elements) * n > columns);
}

/* The users of an instruction of the entry: their number, and the first few. */
struct uses {
    int count;
    int32_t user[LOOP_DOTS];
};

struct plan {
    struct overlap *o;
    const struct computation *entry;
    struct uses *uses; /* [instructions of the entry] */
};

static struct uses *uses_of(const struct plan *p, int32_t at)
{
    return &p->uses[at - p->entry->first];
}

static enum opcode opcode_of(const struct plan *p, int32_t at)
{
    return module_at(p->o->from, at)->opcode;
}

static int find_uses(struct plan *p, struct status *st)
{
    const struct module *from = p->o->from;
    p->uses = calloc((size_t)p->entry->count, sizeof *p->uses);
    if (!p->uses)
        return status_nomem(st);
    for (int32_t at = p->entry->first; at < p->entry->first + p->entry->count; at++)
        for (int o = 0; o < module_at(from, at)->operands; o++) {
            struct uses *uses = uses_of(p, module_operand(from, at, o));
            if (uses->count < LOOP_DOTS)
                uses->user[uses->count] = at;
            uses->count++;
        }
    uses_of(p, p->entry->root)->count++;
    return 0;
}

static const enum attribute_key batch_key[] = {ATTR_LHS_BATCH, ATTR_RHS_BATCH},
                                contract_key[] = {ATTR_LHS_CONTRACTING, ATTR_RHS_CONTRACTING};

/* The number of an operand's dims before `dim` (-1: all) that are neither batch nor contracted. */
static int own_dims(const struct module *module, int32_t dot, int side, int dim)
{
    int batches, contracted, own = 0,
                             dims = module_shape_of(module, module_operand(module, dot, side))->count;
    const int64_t *batch = module_numbers(module, dot, batch_key[side], &batches);
    const int64_t *contract = module_numbers(module, dot, contract_key[side], &contracted);
    for (int d = 0; d < (dim < 0 ? dims : dim); d++)
        own += module_dim_in(batch, batches, d) < 0 && module_dim_in(contract, contracted, d) < 0;
    return own;
}

/* The role of dim `dim` of an operand. */
static struct loop_dot dot_by_operand(const struct module *module, int32_t dot, int side, int dim)
{
    struct loop_dot d = {
        .dot = dot, .side = side, .dim = dim, .role = ROLE_FREE, .other_dim = -1, .out_dim = -1};
    int n;
    const int64_t *list = module_numbers(module, dot, batch_key[side], &n);
    int at = module_dim_in(list, n, dim), batches = n;
    if (at >= 0) {
        d.role = ROLE_BATCH;
        d.other_dim = (int)module_numbers(module, dot, batch_key[1 - side], &n)[at];
        d.out_dim = at;
        return d;
    }
    list = module_numbers(module, dot, contract_key[side], &n);
    if ((at = module_dim_in(list, n, dim)) >= 0) {
        d.role = ROLE_CONTRACTED;
        d.other_dim = (int)module_numbers(module, dot, contract_key[1 - side], &n)[at];
        return d;
    }
    d.out_dim = batches + (side ? own_dims(module, dot, 0, -1) : 0) + own_dims(module, dot, side, dim);
    return d;
}

/* Finds the operand and its dim that a dim of the result comes from. */
static struct loop_dot dot_by_result(const struct module *module, int32_t dot, int out)
{
    for (int side = 0; side < 2; side++) {
        int dims = module_shape_of(module, module_operand(module, dot, side))->count;
        for (int d = 0; d < dims; d++) {
            struct loop_dot found = dot_by_operand(module, dot, side, d);
            if (found.out_dim == out)
                return found;
        }
    }
    return (struct loop_dot){.dot = -1};
}

/* Finds the piece at each place of each group's ring, from the ring place of each device in the groups as
 * listed, place[devices]. */
static void find_slots(struct loop *loop, const int place[])
{
    int n = loop->ring.size;
    loop->straight = loop->alike = true;
    for (int i = 0; i < loop->ring.count * n; i++) {
        loop->slot[i] = place[loop->ring.member[i]] - i / n * n;
        loop->straight = loop->straight && loop->slot[i] == i % n;
        loop->alike = loop->alike && loop->slot[i] == loop->slot[i % n];
    }
}

/* Takes the ring of an earlier loop over the same groups; false: there is none. */
static bool share_ring(const struct overlap *o, struct loop *loop)
{
    for (const struct loop *of = o->loop; of < o->loop + o->loops && !loop->shares; of++)
        if ((loop->shares = loop_groups(o, of) == loop_groups(o, loop))) {
            loop->ring = of->ring;
            loop->closed = of->closed;
            loop->straight = of->straight;
            loop->alike = of->alike;
            loop->slot = of->slot;
        }
    return loop->shares;
}

/* Finds the places of the devices on the ring, and the piece at each place. */
static int lay_ring(struct overlap *o, struct loop *loop, struct status *st)
{
    if (share_ring(o, loop))
        return 0;
    int code = module_groups_of(o->from, loop->collective, &loop->ring, st), n = loop->ring.size;
    int *place = malloc(((size_t)o->from->partitions * (size_t)o->from->replicas + 1) * sizeof *place);
    loop->slot = malloc(((size_t)loop->ring.count * (size_t)n + 1) * sizeof *loop->slot);
    loop->closed = n > 2;
    if (code == 0 && (!place || !loop->slot))
        code = status_nomem(st);
    for (int i = 0; i < loop->ring.count * n && code == 0; i++)
        place[loop->ring.member[i]] = i;
    if (code == 0 && o->options->ring)
        code =
            o->options->ring(o->options->context, o->from, loop->collective, &loop->ring, &loop->closed, st);
    if (code == 0)
        find_slots(loop, place);
    free(place);
    return code;
}

static void free_loop(struct loop *loop)
{
    if (loop->shares)
        return;
    groups_free(&loop->ring);
    free(loop->slot);
}

/* Adds a loop if possible; `dim` is the dim that is cut into pieces, `length` its full length. */
static int add_loop(struct plan *p, struct loop *loop, int64_t length, struct status *st)
{
    struct overlap *o = p->o;
    bool contracts = true;
    for (int d = 0; d < loop->dots; d++)
        contracts = contracts && loop->dot[d].role == ROLE_CONTRACTED;
    loop->way = o->options->way(o->options->context, o->from, loop->collective, contracts);
    if (loop->way == OVERLAP_NAIVE)
        return 0;
    int32_t dot = loop->dot[0].dot, whole = loop->kind == LOOP_GATHER ? loop->collective : dot;
    double elements = shape_elements(o->from, module_at(o->from, whole)->shape);
    int code = lay_ring(o, loop, st);
    if (code < 0 || loop->ring.size < 2 || length % loop->ring.size ||
        !overlap_pays(o->from, dot, elements, loop->ring.size, o->options->columns)) {
        free_loop(loop);
        return code;
    }
    loop->piece = length / loop->ring.size;
    loop_legs(loop);
    struct loop *grown = realloc(o->loop, (size_t)(o->loops + 1) * sizeof *grown);
    if (!grown) {
        free_loop(loop);
        return status_nomem(st);
    }
    o->loop = grown;
    o->loop[o->loops] = *loop;
    o->loop_of[loop->collective] = o->loops;
    for (int d = 0; d < loop->dots; d++)
        o->loop_of[loop->dot[d].dot] = o->loops;
    o->loops++;
    return 0;
}

static int64_t dim_of(const struct plan *p, int32_t at, int dim)
{
    return p->o->from->number[module_shape_of(p->o->from, at)->first + dim];
}

/* Makes a gather a loop with all products that use it, which must be able to start together. */
static int plan_gather(struct plan *p, int32_t at, struct status *st)
{
    const struct module *from = p->o->from;
    const struct uses *uses = uses_of(p, at);
    struct loop loop = {.kind = LOOP_GATHER, .collective = at};
    int dim = (int)module_number(from, at, ATTR_DIMENSIONS, 0);
    if (uses->count < 1 || uses->count > LOOP_DOTS || module_at(from, at)->operands != 1)
        return 0;
    for (int u = 0; u < uses->count; u++) {
        int32_t dot = uses->user[u], left = module_operand(from, dot, 0),
                right = module_operand(from, dot, 1);
        if (opcode_of(p, dot) != HLO_DOT || p->o->loop_of[dot] >= 0 || left == right ||
            (left == at ? right : left) >= uses->user[0])
            return 0;
        loop.dot[loop.dots++] = dot_by_operand(from, dot, left == at ? 0 : 1, dim);
    }
    return add_loop(p, &loop, dim_of(p, at, dim), st);
}

/* The longest divisible dim of a product that all devices reduce. */
static int longest_dim(const struct plan *p, int32_t dot, int parts)
{
    int best = -1;
    for (int d = 0; d < module_shape_of(p->o->from, dot)->count; d++)
        if (dim_of(p, dot, d) % parts == 0 && (best < 0 || dim_of(p, dot, d) > dim_of(p, dot, best)))
            best = d;
    return best;
}

static int plan_sum(struct plan *p, int32_t at, struct status *st)
{
    const struct module *from = p->o->from;
    int32_t dot = module_operand(from, at, 0);
    struct loop loop = {.kind = LOOP_SCATTER, .collective = at, .dots = 1};
    int dim = (int)module_number(from, at, ATTR_DIMENSIONS, 0);
    if (module_at(from, at)->operands != 1 || opcode_of(p, dot) != HLO_DOT || uses_of(p, dot)->count != 1 ||
        p->o->loop_of[dot] >= 0)
        return 0;
    if (opcode_of(p, at) == HLO_ALL_REDUCE) {
        struct groups groups;
        if (module_groups_of(from, at, &groups, st) < 0)
            return st->code;
        loop.kind = LOOP_REDUCE;
        dim = longest_dim(p, dot, groups.size);
        groups_free(&groups);
        if (dim < 0)
            return 0;
    }
    loop.dot[0] = dot_by_result(from, dot, dim);
    return loop.dot[0].dot < 0 ? 0 : add_loop(p, &loop, dim_of(p, dot, dim), st);
}

/* Plans gathers from the last to the first, so that of two gathers at one product the last one counts; then
 * scatters. */
static int plan_loops(struct plan *p, struct status *st)
{
    int32_t first = p->entry->first, end = first + p->entry->count;
    int code = 0;
    for (int32_t at = end - 1; at >= first && code == 0; at--)
        if (opcode_of(p, at) == HLO_ALL_GATHER)
            code = plan_gather(p, at, st);
    for (int32_t at = first; at < end && code == 0; at++)
        if (opcode_of(p, at) == HLO_DOT && uses_of(p, at)->count == 0)
            p->o->loop_of[at] = LOOP_GONE;
        else if (opcode_of(p, at) == HLO_REDUCE_SCATTER || opcode_of(p, at) == HLO_ALL_REDUCE)
            code = plan_sum(p, at, st);
    return code;
}

/* A loop replaces its first product. In a draft only loops with bodies of their own are written, and all else is
 * a value of its shape. */
static void write_entry(struct overlap *o, bool draft)
{
    const struct computation *entry = &o->from->computation[o->from->entry];
    o->self = -1;
    edit_begin(&o->edit, o->from->entry);
    for (int32_t at = entry->first; at < entry->first + entry->count && o->b.module->error == 0; at++) {
        const struct loop *loop = o->loop_of[at] < 0 ? NULL : &o->loop[o->loop_of[at]];
        if (o->loop_of[at] == LOOP_GONE)
            continue;
        if (draft && (!loop || loop->repeats))
            edit_replace(&o->edit, at,
                         module_add_named(o->b.module, HLO_PARAMETER, 0,
                                          edit_shape(&o->edit, module_at(o->from, at)->shape), NULL, 0));
        else if (!loop)
            edit_copy(&o->edit, at);
        else if (at == loop->dot[0].dot)
            loop_write(o, loop);
    }
}

static int last_channel(const struct module *module)
{
    int64_t last = 0;
    for (int32_t i = 0; i < module->instructions; i++) {
        int64_t channel = module_number(module, i, ATTR_CHANNEL_ID, 0);
        last = channel > last ? channel : last;
    }
    return (int)last;
}

/* Callees precede their callers: the bodies that the entry needs are known once its loops have been written, so
 * there is a draft first. */
static int write(struct overlap *o, struct module *out, struct status *st)
{
    int channels = last_channel(o->from), code = 0;
    for (int l = 0; l < o->loops; l++)
        o->loop[l].repeats = loop_repeats(o, &o->loop[l]);
    for (int draft = o->loops > 0; draft >= 0 && code == 0; draft--) {
        module_free(out);
        memset(o->scalar, -1, sizeof o->scalar);
        o->sends = 0;
        code = edit_open(&o->edit, o->from, out, st);
        o->b = (struct builder){.module = out, .channels = channels};
        if (code == 0 && !draft) {
            edit_copy_called(&o->edit);
            loop_build_bodies(o);
        }
        if (code == 0)
            write_entry(o, draft);
        builder_free(&o->b);
        code = edit_close(&o->edit, code, st);
    }
    return code;
}

int pass_overlap(const struct module *in, const struct overlap_options *options, struct module *out,
                 struct status *st)
{
    struct overlap o = {.options = options, .from = in, .st = st};
    struct plan plan = {.o = &o, .entry = &in->computation[in->entry]};
    *out = (struct module){0};
    o.loop_of = malloc(((size_t)in->instructions + 1) * sizeof *o.loop_of);
    int code = o.loop_of ? find_uses(&plan, st) : status_nomem(st);
    for (int32_t i = 0; i < in->instructions && code == 0; i++)
        o.loop_of[i] = -1;
    if (code == 0)
        code = plan_loops(&plan, st);
    if (code == 0)
        code = write(&o, out, st);
    for (int i = 0; i < o.loops; i++)
        free_loop(&o.loop[i]);
    free(o.body);
    free(o.sent);
    free(o.loop);
    free(o.loop_of);
    free(plan.uses);
    return code;
}
