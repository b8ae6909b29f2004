/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * List scheduling, as compilers that hide latency do it: the queue always takes, of the instructions whose operands are
 * there, the one with the longest way to the end (Graham 1969; the rank of HEFT, Topcuoglu 2002), and collectives are issued
 * as soon as they can be. Times are estimated here, from costs and bytes, for the order's sake only; what it takes is
 * simulated.
 */
#include "compile/lower_own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A heap of instructions with the smallest key on top; equal keys in text order. */
struct heap {
    int32_t count;
    struct {
        double key;
        int32_t at;
    } * top;
};

static bool before(const struct heap *heap, int32_t a, int32_t b)
{
    return heap->top[a].key < heap->top[b].key ||
           (heap->top[a].key <= heap->top[b].key && heap->top[a].at < heap->top[b].at);
}

static void swap(struct heap *heap, int32_t a, int32_t b)
{
    double key = heap->top[a].key;
    int32_t at = heap->top[a].at;
    heap->top[a] = heap->top[b];
    heap->top[b].key = key;
    heap->top[b].at = at;
}

static void push(struct heap *heap, double key, int32_t at)
{
    int32_t i = heap->count++;
    heap->top[i].key = key;
    heap->top[i].at = at;
    for (; i > 0 && before(heap, i, (i - 1) / 2); i = (i - 1) / 2)
        swap(heap, i, (i - 1) / 2);
}

static int32_t pop(struct heap *heap)
{
    int32_t at = heap->top[0].at, i = 0;
    heap->top[0] = heap->top[--heap->count];
    for (;;) {
        int32_t least = i;
        for (int32_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap->count; child++)
            least = before(heap, child, least) ? child : least;
        if (least == i)
            return at;
        swap(heap, i, least);
        i = least;
    }
}

/* By instruction of the computation, counted from its first. */
struct scheduler {
    const struct lower *lower;
    const struct module *module;
    const struct computation *computation;
    double *took_s, *rank_s,
        *ready_s;     /* estimates: what it takes, and from there to the end; when its operands are there */
    int32_t *missing; /* operands that are not scheduled yet */
    int32_t *first_user, *user; /* user[first_user[i] ..) */
    struct heap now, later;     /* computes that could start, by rank; by when they can */
    double core_s;
    int32_t *order, ordered;
};

static bool takes_queue(const struct scheduler *s, int32_t i)
{
    int32_t at = s->computation->first + i;
    return lower_collective_in(s->module, at) < 0 && s->took_s[i] > 0;
}

static double estimate_s(const struct scheduler *s, int32_t i)
{
    int32_t at = s->computation->first + i, collective = lower_collective_in(s->module, at);
    const struct roofline *roofline = &s->lower->options->roofline;
    struct status unused = {0};
    double seconds;
    if (collective >= 0)
        return lower_collective_bytes(s->module, collective, 1) / s->lower->placement->slice->link_Bps;
    struct cost cost = lower_cost(s->lower, at, &seconds);
    if (!isnan(seconds))
        return seconds;
    seconds = 0;
    if (cost.product)
        roofline_product_s(roofline, (struct product){cost.dtype, cost.flops, cost.hbm_bytes}, &seconds, NULL,
                           &unused);
    else if (cost.hbm_bytes > 0)
        seconds = roofline_memory_s(roofline, cost.hbm_bytes);
    return seconds;
}

/* What must come before instruction i: operands and control predecessors, as instructions of the module. */
static int32_t input(const struct scheduler *s, int32_t i, int k)
{
    int32_t at = s->computation->first + i;
    int operands = module_at(s->module, at)->operands, count;
    if (k < operands)
        return module_operand(s->module, at, k) - s->computation->first;
    const int64_t *control = module_numbers(s->module, at, ATTR_CONTROL_PREDECESSORS, &count);
    return k - operands < count ? (int32_t)control[k - operands] - s->computation->first : -1;
}

static int scheduler_init(struct scheduler *s, const struct lower *lower, int32_t computation,
                          int32_t order[], struct status *st)
{
    const struct computation *c = &lower->module->computation[computation];
    size_t n = (size_t)c->count + 1;
    *s = (struct scheduler){.lower = lower, .module = lower->module, .computation = c, .order = order};
    s->took_s = calloc(n, sizeof *s->took_s);
    s->rank_s = calloc(n, sizeof *s->rank_s);
    s->ready_s = calloc(n, sizeof *s->ready_s);
    s->missing = calloc(n, sizeof *s->missing);
    s->first_user = calloc(n + 1, sizeof *s->first_user);
    s->now.top = malloc(n * sizeof *s->now.top);
    s->later.top = malloc(n * sizeof *s->later.top);
    if (!s->took_s || !s->rank_s || !s->ready_s || !s->missing || !s->first_user || !s->now.top ||
        !s->later.top)
        return status_nomem(st);
    for (int32_t i = 0; i < c->count; i++)
        for (int32_t k = 0, in; (in = input(s, i, k)) >= 0; k++) {
            s->missing[i]++;
            s->first_user[in + 1]++;
        }
    for (int32_t i = 0; i < c->count; i++)
        s->first_user[i + 1] += s->first_user[i];
    s->user = malloc(((size_t)s->first_user[c->count] + 1) * sizeof *s->user);
    int32_t *filled = calloc(n, sizeof *filled);
    for (int32_t i = 0; i < c->count && s->user && filled; i++)
        for (int32_t k = 0, in; (in = input(s, i, k)) >= 0; k++)
            s->user[s->first_user[in] + filled[in]++] = i;
    free(filled);
    return s->user && filled ? 0 : status_nomem(st);
}

static void scheduler_free(struct scheduler *s)
{
    free(s->took_s);
    free(s->rank_s);
    free(s->ready_s);
    free(s->missing);
    free(s->first_user);
    free(s->user);
    free(s->now.top);
    free(s->later.top);
}

/* Rank: its own time and the longest way from its end to the end of all. Users come later in the text. */
static void rank_all(struct scheduler *s)
{
    for (int32_t i = s->computation->count - 1; i >= 0; i--) {
        s->took_s[i] = estimate_s(s, i);
        for (int32_t u = s->first_user[i]; u < s->first_user[i + 1]; u++)
            s->rank_s[i] = fmax(s->rank_s[i], s->rank_s[s->user[u]]);
        s->rank_s[i] += s->took_s[i];
    }
}

/* It ends at a time: whoever waited for it alone can start. */
static void place(struct scheduler *s, int32_t i, double end_s)
{
    s->order[s->ordered++] = s->computation->first + i;
    for (int32_t u = s->first_user[i]; u < s->first_user[i + 1]; u++) {
        int32_t user = s->user[u];
        s->ready_s[user] = fmax(s->ready_s[user], end_s);
        if (--s->missing[user] == 0)
            push(&s->later, s->ready_s[user], user);
    }
}

int lower_order(const struct lower *lower, int32_t computation, int32_t order[], struct status *st)
{
    struct scheduler s;
    int code = scheduler_init(&s, lower, computation, order, st);
    if (code == 0) {
        rank_all(&s);
        for (int32_t i = 0; i < s.computation->count; i++)
            if (s.missing[i] == 0)
                push(&s.later, 0, i);
    }
    while (code == 0 && (s.now.count > 0 || s.later.count > 0)) {
        if (s.later.count > 0 && (s.now.count == 0 || s.later.top[0].key <= s.core_s)) {
            int32_t i = pop(&s.later);
            if (takes_queue(&s, i))
                push(&s.now, -s.rank_s[i], i);
            else
                place(&s, i, s.ready_s[i] + s.took_s[i]);
            continue;
        }
        int32_t i = pop(&s.now);
        s.core_s = fmax(s.core_s, s.ready_s[i]) + s.took_s[i];
        place(&s, i, s.core_s);
    }
    scheduler_free(&s);
    return code;
}
