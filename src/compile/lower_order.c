/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * List scheduling, as compilers that hide latency do it: of the instructions whose operands are ready, the
 * queue always takes the one with the longest path to the end (Graham 1969; the rank of HEFT, Topcuoglu
 * 2002), and collectives are issued as soon as they can be. The times here are estimates from costs and
 * bytes, for the order only; the time of the result is simulated.
 */
#include "compile/lower_own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

/* The state of an instruction; times are estimates. */
struct scheduled {
    double took_s, rank_s; /* its time, and the time from its start to the end of all */
    double ready_s;        /* when its operands are ready */
    int32_t missing;       /* operands that are not scheduled yet */
    int32_t first_user;    /* user[first_user ..), up to that of the next */
};

struct scheduler {
    const struct lower *lower;
    const struct module *module;
    const struct computation *computation;
    struct scheduled *of; /* [count + 2] by instruction of the computation, counted from its first */
    int32_t *user;
    /* Computes that could start, by rank; later ones, by ready time; equal ones in text order. They have room for all. */
    struct heap now, later;
    double core_s;
    int32_t *order, ordered;
};

double lower_estimate_s(const struct lower *lower, int32_t at)
{
    int32_t collective = lower_collective_in(lower->module, at);
    struct compute_time time = {0};
    struct status unused = {0};
    struct cost cost;
    if (collective >= 0)
        return lower_collective_bytes(lower->module, collective, 1) / lower->placement->slice->link_Bps;
    return lower_time_of(lower, at, &cost, &time, &unused) < 0 ? 0 : time.seconds;
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
    s->of = calloc(n + 1, sizeof *s->of);
    s->now.entry = malloc(n * sizeof *s->now.entry);
    s->later.entry = malloc(n * sizeof *s->later.entry);
    s->now.room = s->later.room = (int32_t)n;
    if (!s->of || !s->now.entry || !s->later.entry)
        return status_nomem(st);
    for (int32_t i = 0; i < c->count; i++)
        for (int32_t k = 0, in; (in = input(s, i, k)) >= 0; k++) {
            s->of[i].missing++;
            s->of[in + 2].first_user++;
        }
    for (int32_t i = 0; i < c->count; i++)
        s->of[i + 2].first_user += s->of[i + 1].first_user;
    s->user = malloc(((size_t)s->of[c->count + 1].first_user + 1) * sizeof *s->user);
    /* filling them in moves each first_user on to that of the next */
    for (int32_t i = 0; i < c->count && s->user; i++)
        for (int32_t k = 0, in; (in = input(s, i, k)) >= 0; k++)
            s->user[s->of[in + 1].first_user++] = i;
    return s->user ? 0 : status_nomem(st);
}

static void scheduler_free(struct scheduler *s)
{
    free(s->of);
    free(s->user);
    free(s->now.entry);
    free(s->later.entry);
}

/* Rank: its own time plus the longest path from its end to the end of all. Users come later in the text. */
static void rank_all(struct scheduler *s)
{
    for (int32_t i = s->computation->count - 1; i >= 0; i--) {
        s->of[i].took_s = lower_estimate_s(s->lower, s->computation->first + i);
        for (int32_t u = s->of[i].first_user; u < s->of[i + 1].first_user; u++)
            s->of[i].rank_s = fmax(s->of[i].rank_s, s->of[s->user[u]].rank_s);
        s->of[i].rank_s += s->of[i].took_s;
    }
}

/* Sets the end of an instruction: users whose last missing operand it is become ready. */
static void place(struct scheduler *s, int32_t i, double end_s)
{
    s->order[s->ordered++] = s->computation->first + i;
    for (int32_t u = s->of[i].first_user; u < s->of[i + 1].first_user; u++) {
        int32_t user = s->user[u];
        s->of[user].ready_s = fmax(s->of[user].ready_s, end_s);
        if (--s->of[user].missing == 0)
            heap_push(&s->later, s->of[user].ready_s, user, user);
    }
}

int lower_order(const struct lower *lower, int32_t computation, int32_t order[], struct status *st)
{
    struct scheduler s;
    int code = scheduler_init(&s, lower, computation, order, st);
    if (code == 0) {
        rank_all(&s);
        for (int32_t i = 0; i < s.computation->count; i++)
            if (s.of[i].missing == 0)
                heap_push(&s.later, 0, i, i);
    }
    while (code == 0 && (s.now.count > 0 || s.later.count > 0)) {
        if (s.later.count > 0 && (s.now.count == 0 || s.later.entry[0].key <= s.core_s)) {
            int32_t i = heap_pop(&s.later);
            if (s.of[i].took_s > 0 && lower_collective_in(s.module, s.computation->first + i) < 0)
                heap_push(&s.now, -s.of[i].rank_s, i, i);
            else
                place(&s, i, s.of[i].ready_s + s.of[i].took_s);
            continue;
        }
        int32_t i = heap_pop(&s.now);
        s.core_s = fmax(s.core_s, s.of[i].ready_s) + s.of[i].took_s;
        place(&s, i, s.core_s);
    }
    scheduler_free(&s);
    return code;
}
