/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sums of gradients overlap the rest of the backward pass.
 *
 * Instructions whose results are used by the step's outputs only, without a matmul in between, are its tail:
 * reduce-scatters and all-reduces of gradients, and what is computed from them. A collective of the tail starts at its
 * place in the module. Its users come p layers later, p more for each further collective in the chain before them, and
 * at the latest at the end of the step. Layers are counted by the matmuls of the backward pass.
 */
#include <stdlib.h>

#include "compile/async.h"
#include "compile/pass.h"
#include "hlo/cost.h"

struct follow {
    bool tail;
    int16_t depth; /* the longest chain of collectives of the tail that it depends on */
};

/* An instruction of the tail that is not written yet, and the block before which it is written. */
struct pending {
    int32_t at, due;
};

struct postpone {
    struct async async;
    const struct module *from;
    const struct computation *entry;
    struct follow *follow; /* [instructions of the entry] */
    struct pending *pending;
    int32_t pendings;
    int32_t block; /* layers of the backward pass that have begun */
    int32_t layer;
    int layers;
};

static struct follow *follow_of(const struct postpone *p, int32_t at)
{
    return &p->follow[at - p->entry->first];
}

static bool sums(const struct module *module, int32_t at)
{
    enum opcode opcode = module_at(module, at)->opcode;
    return opcode == HLO_REDUCE_SCATTER || opcode == HLO_ALL_REDUCE;
}

/* May it be part of the tail? Sums and cheap instructions may, and kernels without a matmul, which update weights. */
static bool may_follow(const struct module *module, int32_t at)
{
    enum opcode opcode = module_at(module, at)->opcode;
    enum opcode_class class = opcode_info(opcode)->class;
    return opcode == HLO_TUPLE || (sums(module, at) && module_is_backward(module, at)) ||
           (module_is_backward(module, at) &&
            (opcode_is_cheap(opcode) || (class == CLASS_OPAQUE && !module_cost(module, at).product)));
}

/* Backwards: an instruction is in the tail only if all its users are. Then forwards: its depth; at depth 0, before all
 * sums, nothing is postponed. */
static void find_tail(struct postpone *p)
{
    int32_t first = p->entry->first, end = first + p->entry->count;
    for (int32_t at = first; at < end; at++)
        *follow_of(p, at) = (struct follow){.tail = may_follow(p->from, at)};
    for (int32_t at = end - 1; at >= first; at--)
        for (int o = 0; o < module_at(p->from, at)->operands; o++)
            if (!follow_of(p, at)->tail)
                follow_of(p, module_operand(p->from, at, o))->tail = false;
    for (int32_t at = first; at < end; at++) {
        struct follow *follow = follow_of(p, at);
        for (int o = 0; o < module_at(p->from, at)->operands; o++) {
            int32_t operand = module_operand(p->from, at, o);
            int deep = follow_of(p, operand)->depth + (follow_of(p, operand)->tail && sums(p->from, operand));
            if (follow->tail && deep > follow->depth)
                follow->depth = (int16_t)deep;
        }
    }
}

static void write_one(struct postpone *p, int32_t at)
{
    if (async_is_split(&p->async, at))
        async_start(&p->async, at);
    else
        async_write(&p->async, at);
}

static void write_due(struct postpone *p, int32_t block)
{
    int32_t left = 0;
    for (int32_t i = 0; i < p->pendings; i++)
        if (p->pending[i].due <= block)
            write_one(p, p->pending[i].at);
        else
            p->pending[left++] = p->pending[i];
    p->pendings = left;
}

/* A matmul of the backward pass in another layer than the last one begins a block. */
static void count_block(struct postpone *p, int32_t at)
{
    int32_t layer = module_layer(p->from, at);
    if (layer == p->layer || opcode_info(module_at(p->from, at)->opcode)->class != CLASS_MATMUL ||
        !module_is_backward(p->from, at))
        return;
    p->layer = layer;
    write_due(p, ++p->block);
}

static void write_entry(struct postpone *p)
{
    int32_t root = p->entry->root;
    for (int32_t at = p->entry->first; at < p->entry->first + p->entry->count; at++)
        if (follow_of(p, at)->tail && sums(p->from, at))
            async_split(&p->async, at);
    for (int32_t at = p->entry->first; at < p->entry->first + p->entry->count; at++) {
        const struct follow *follow = follow_of(p, at);
        if (at == root) {
            write_due(p, INT32_MAX);
        } else if (follow->tail && module_at(p->from, at)->opcode == HLO_GET_TUPLE_ELEMENT) {
            continue; /* it is written when needed */
        } else if (follow->tail && follow->depth > 0) {
            p->pending[p->pendings++] = (struct pending){at, p->block + p->layers * follow->depth};
            continue;
        }
        count_block(p, at);
        write_one(p, at);
    }
}

static int open_postpone(struct postpone *p, const struct module *in, int layers, struct status *st)
{
    const struct computation *entry = &in->computation[in->entry];
    *p = (struct postpone){.from = in, .entry = entry, .layers = layers};
    p->follow = malloc(((size_t)entry->count + 1) * sizeof *p->follow);
    p->pending = malloc(((size_t)entry->count + 1) * sizeof *p->pending);
    if (!p->follow || !p->pending)
        return status_nomem(st);
    find_tail(p);
    return 0;
}

static void close_postpone(struct postpone *p)
{
    free(p->follow);
    free(p->pending);
}

int pass_postpone(const struct module *in, int layers, struct module *out, struct status *st)
{
    struct postpone p;
    int code = open_postpone(&p, in, layers, st), opened = async_open(&p.async, in, out, st);
    if (code == 0 && opened == 0)
        write_entry(&p);
    close_postpone(&p);
    return async_close(&p.async, code < 0 ? code : opened, st);
}

int pass_find_postponed(const struct module *in, bool later[], struct status *st)
{
    struct postpone p;
    int code = open_postpone(&p, in, 1, st);
    for (int32_t at = in->computation[in->entry].first; code == 0 && at < p.entry->first + p.entry->count;
         at++)
        later[at] = later[at] || (follow_of(&p, at)->tail && sums(in, at));
    close_postpone(&p);
    return code;
}
