/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model of many equal layers has a few of them in its module. In each pass the last one from which nothing reaches the end
 * of the pass stands for those that are missing: with `layer_reach` 0 the last but one that comes. Where layers turn out to
 * differ, more are built, and of ten or more two in five stand for those that are missing, in equal parts.
 *
 * The program is cut into turns, from the first product of a layer to that of the next: with gathers ahead and sums later in
 * between, they repeat themselves all the same. What comes in a turn follows from how far each op is that is under way when
 * it begins. Ops reach `layer_reach` turns ahead at most, so that if as many turns and one more are each the one before,
 * moved by the same time, to the last op, then all that follow are, too: the missing layers take that time each. Equal
 * durations alone would prove nothing: slack that shrinks from layer to layer shows in single ops first. Nor may anything that
 * was issued before be under way still.
 *
 * Where chips share links unevenly, layers repeat themselves in twos or in sevens, or not at all, about a mean that stays. An
 * op that drifts uses up slack, and once there is none every layer takes as much longer as it drifted in each. So what drifts
 * farthest, over the turns that stand, says by how much the missing layers may be off.
 */
#include "compile/lower_own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Is it a matmul, or a fusion with one? */
static bool is_product(const struct module *module, int32_t at)
{
    enum opcode opcode = module_at(module, at)->opcode;
    bool product = opcode_info(opcode)->class == CLASS_MATMUL;
    int32_t body = opcode == HLO_FUSION ? module_called(module, at, 0) : -1;
    const struct computation *c = body < 0 ? NULL : &module->computation[body];
    for (int32_t inner = c ? c->first : 0; c && inner < c->first + c->count && !product; inner++)
        product = is_product(module, inner);
    return product;
}

int32_t lower_layers_last_dot(const struct lower *lower)
{
    const struct module *module = lower->module;
    const struct computation *entry = &module->computation[module->entry];
    int32_t at = lower->options->more_layers > 0 ? entry->first + entry->count - 1 : -1;
    while (at >= entry->first && !is_product(module, at))
        at--;
    return at;
}

/* May a turn begin with this instruction? Turns begin with products; after the last product, with updates of
 * weights. */
static bool may_open(const struct walker *w, int32_t instruction)
{
    if (is_product(w->module, instruction))
        return true;
    return instruction > w->last_dot &&
           opcode_info(module_at(w->module, instruction)->opcode)->class == CLASS_OPAQUE &&
           module_has_label(w->module, instruction, "what=\"optimizer\"");
}

/* The number of turns of a pass that stand for the missing ones: two in five, or one. */
static int standing(const struct lower_options *options)
{
    enum { STAND_LEAST = 4 };
    int stand = (options->layers - options->layers_apart) / 5 * 2, most = options->more_layers;
    return stand >= STAND_LEAST && stand <= most ? stand : 1;
}

/* The missing layers below a layer, between the first of those that stand for them and the last. */
static int missing_below(const struct walker *w, int layer)
{
    const struct lower_options *options = w->lower->options;
    int stand = standing(options), below = layer - w->standing;
    below = below < 0 ? 0 : below < stand ? below : stand;
    return options->more_layers * below / stand;
}

int walker_turn(struct walker *w, int32_t instruction)
{
    struct lower *lower = w->lower;
    int layers = lower->options->layers, more = lower->options->more_layers;
    char phase[8] = "";
    if (more == 0 || !may_open(w, instruction))
        return 0;
    int layer = walker_label(w, instruction, "layer"),
        before = lower->turns ? lower->turn[lower->turns - 1].layer : 1;
    if (instruction > w->last_dot)
        strcpy(phase, "update");
    else
        module_label(w->module, instruction, "phase", phase, sizeof phase);
    if (layer < 1 || (layer == before && lower->turns && strcmp(phase, w->phase) == 0))
        return 0;
    if (!GROW(lower->turn, lower->turns, lower->room[3]))
        return status_nomem(w->st);
    bool backward = layer < before || (layer == before && layer == layers);
    int stand = standing(lower->options), reach = lower->options->layer_reach;
    w->standing = backward ? lower->options->layers_apart + 2 + reach : layers - reach - stand;
    w->layers_before = missing_below(w, layer);
    w->layers = 1 + missing_below(w, layer + 1) - w->layers_before;
    lower->turn[lower->turns++] =
        (struct lowered_turn){.first_op = w->program->ops,
                              .layer = layer,
                              .backward = backward,
                              .more = w->layers - 1,
                              .last = layer == w->standing + (backward ? 0 : stand - 1)};
    strcpy(w->phase, phase);
    w->backward = backward;
    w->times = w->layers;
    return 0;
}

static int32_t end_of(const struct lower *lower, int32_t turn)
{
    return lower->turn[turn + 1].first_op;
}

static double end_s(const struct lower *lower, const struct trace *trace, int32_t turn)
{
    double end = -INFINITY;
    for (int32_t op = lower->turn[turn].first_op; op < end_of(lower, turn); op++)
        end = fmax(end, trace->op_end_s[op]);
    return end;
}

/* How far ops of a turn are from those `back` turns before, moved by `moved_s`, at most; infinite if they are others. */
static double apart_s(const struct lower *lower, const struct trace *trace, int32_t turn, int32_t back,
                      double moved_s)
{
    double most_s = 0;
    if (turn - back < 0)
        return INFINITY;
    int32_t first = lower->turn[turn].first_op, before = lower->turn[turn - back].first_op;
    if (end_of(lower, turn) - first != end_of(lower, turn - back) - before)
        return INFINITY;
    for (int32_t i = 0; first + i < end_of(lower, turn); i++) {
        most_s = fmax(most_s, fabs(trace->op_end_s[first + i] - trace->op_end_s[before + i] - moved_s));
        most_s = fmax(most_s, fabs(trace->op_start_s[first + i] - trace->op_start_s[before + i] - moved_s));
    }
    return most_s;
}

/* The same of several turns up to this one. */
static double most_apart_s(const struct lower *lower, const struct trace *trace, int32_t turn, int32_t back,
                           double moved_s)
{
    double most_s = 0;
    for (int32_t t = turn; t > turn - lower->options->layer_reach - 2; t--)
        most_s = fmax(most_s, apart_s(lower, trace, t, back, moved_s));
    return most_s;
}

/* Has every op issued before the compared turns ended by the end of the turn? A longer one would not move with the turns, nor
 * would ops that wait for it. Where computes take no time, updates of weights end at once, and so do the missing ones. */
static bool nothing_outlasts(const struct lower *lower, const struct trace *trace, int32_t turn)
{
    double until_s = end_s(lower, trace, turn) + 1e-14 * trace->total_s;
    int32_t first = turn - lower->options->layer_reach - 2;
    for (int32_t op = 0; first >= 0 && op < lower->turn[first].first_op; op++)
        if (trace->op_end_s[op] > until_s)
            return false;
    return true;
}

/* Do as many items stand for the missing layers as a middle layer has in all its turns together? */
static bool stand_for_all(const struct lower *lower)
{
    int middle = (lower->options->layers_apart + lower->options->layers + 1) / 2;
    int32_t own = 0, stand = 0;
    for (int32_t i = 0; i < lower->items; i++) {
        stand += lower->item[i].layers > 1 && lower->item[i].layer > 0;
        own += lower->item[i].built_layer == middle;
    }
    return standing(lower->options) * own == stand;
}

/* Two turns that are less alike, of layers that go on to differ by more, were alike by chance. */
#define ALIKE_FRAC 2e-5

bool lower_layers_settle(const struct lower *lower, const struct trace *trace, double *more_s, double *off_s)
{
    int more = lower->options->more_layers, stand = standing(lower->options);
    bool steady = more == 0 || stand_for_all(lower);
    for (int32_t t = 1; t + 1 < lower->turns; t++) {
        int mean_of = stand == 1 ? lower->options->layer_reach + 2 : 1;
        mean_of = t > mean_of ? mean_of : 1;
        double moved_s = (end_s(lower, trace, t) - end_s(lower, trace, t - mean_of)) / mean_of;
        if (isfinite(moved_s))
            *more_s += lower->turn[t].more * moved_s;
        if (!lower->turn[t].last || lower->turn[t].first_op == end_of(lower, t))
            continue;
        steady = steady && (moved_s <= 0 || nothing_outlasts(lower, trace, t));
        double most_s = most_apart_s(lower, trace, t, 1, moved_s), drift_s = most_s;
        double all_s = end_s(lower, trace, t) - end_s(lower, trace, t - stand);
        double last_off_s = stand > 1 ? fabs(all_s / stand - moved_s) : 0; /* from the mean */
        if (fmax(most_s, last_off_s) <= 1e-11 * fabs(moved_s) + 1e-14 * trace->total_s)
            continue;
        if (stand > 1)
            drift_s = most_apart_s(lower, trace, t, stand, all_s) / stand;
        steady = steady && (stand > 1 || drift_s <= ALIKE_FRAC * moved_s);
        *off_s += most_s + more * drift_s;
    }
    return steady;
}

/* The longest chain that ends in a turn. */
static int32_t deepest(const struct lower *lower, const int32_t depth[], int32_t turn)
{
    int32_t most = 0;
    for (int32_t op = lower->turn[turn].first_op; op < end_of(lower, turn); op++)
        most = depth[op] > most ? depth[op] : most;
    return most;
}

int lower_more_steps(const struct lower *lower, const struct program *program, int64_t *steps,
                     struct status *st)
{
    *steps = 0;
    if (lower->turns == 0)
        return 0;
    int32_t *depth = malloc(((size_t)program->ops + 1) * sizeof *depth);
    if (!depth)
        return status_nomem(st);
    program_depths(program, depth);
    for (int32_t t = 1; t + 1 < lower->turns; t++)
        if (lower->turn[t].more > 0 && lower->turn[t].first_op < end_of(lower, t))
            *steps +=
                (int64_t)lower->turn[t].more * (deepest(lower, depth, t) - deepest(lower, depth, t - 1));
    free(depth);
    return 0;
}
