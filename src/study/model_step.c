/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/model_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/tally.h"
#include "settings/option.h"

static int refuse_loops(const char *option, struct status *st)
{
    return status_fail(st, STATUS_INPUT,
                       "--%s does not apply to a model without loops; add --strategy uni, bidi, bidi-half or "
                       "auto",
                       option);
}

/* Without --strategy a model has no loops: collectives are issued as they are. */
static int read_strategy(struct model_step *step, struct status *st)
{
    static const char *const loops[] = {"all-reduce", "loop"};
    int way = option_is_given(step->point, "strategy") ? pass_way_by_name(step->point->schedule.strategy, st)
                                                       : OVERLAP_NAIVE;
    if (way < 0)
        return way;
    step->asked = (enum overlap_way)way;
    for (size_t i = 0; i < sizeof loops / sizeof *loops && way == OVERLAP_NAIVE; i++)
        if (option_is_given(step->point, loops[i]))
            return refuse_loops(loops[i], st);
    return 0;
}

/* --chunks applies to all-reduces in loops, or to the exchange of experts. */
static int check_chunks_used(const struct model_step *step, struct status *st)
{
    if (!option_is_given(step->point, "chunks") || step->model.experts)
        return 0;
    if (step->asked == OVERLAP_NAIVE)
        return refuse_loops("chunks", st);
    return step->point->schedule.all_reduce == REDUCE_CHUNKS
               ? 0
               : status_fail(st, STATUS_INPUT, "--chunks does not apply without --all-reduce chunks");
}

bool model_step_ends_in(const struct module *base, int32_t at, enum opcode opcode)
{
    int32_t dot = module_at(base, at)->opcode == opcode ? module_operand(base, at, 0) : at;
    return dot != at && module_at(base, dot)->opcode == HLO_DOT &&
           module_at(base, module_operand(base, dot, 0))->opcode != HLO_ALL_GATHER &&
           module_at(base, module_operand(base, dot, 1))->opcode != HLO_ALL_GATHER;
}

/* --all-reduce applies to loops that end a product. */
static int check_all_reduces(const struct model_step *step, struct status *st)
{
    bool reduces = false;
    for (int32_t at = 0; at < step->base.instructions; at++)
        reduces = reduces || model_step_ends_in(&step->base, at, HLO_ALL_REDUCE);
    return reduces || !option_is_given(step->point, "all-reduce")
               ? 0
               : status_fail(st, STATUS_INPUT,
                             "--all-reduce does not apply: no product ends in an all-reduce");
}

/* A pass, and whether it runs; or one with a number, such as the layers that it looks ahead. */
struct pass_row {
    bool runs;
    int (*pass)(const struct module *, struct module *, struct status *);
    int (*with)(const struct module *, int number, struct module *, struct status *);
    int number;
};

/* Applies passes to a module one after the other; a pass that finds nothing leaves it unchanged. */
static int go_on(struct module *module, const struct pass_row rows[], int count, struct status *st)
{
    int code = 0;
    for (int i = 0; i < count && code == 0; i++) {
        struct module next = {0};
        if (!rows[i].runs)
            continue;
        code =
            rows[i].pass ? rows[i].pass(module, &next, st) : rows[i].with(module, rows[i].number, &next, st);
        if (code == 0 && next.computations == 0)
            continue;
        module_free(module);
        *module = next;
    }
    return code;
}

int model_step_base(const struct point *point, const struct model *model, struct module *base,
                    struct status *st)
{
    struct module fused;
    int code = pass_recompute(&model->module, model->remat, base, st);
    if (code < 0 || !point->schedule.fuse || !point->machine.elementwise) /* it takes no time either way */
        return code;
    code = pass_fuse(base, model->options.vmem_bytes, model->options.softmax_row, &fused, st);
    module_free(base);
    *base = fused;
    return code;
}

static int reserve(struct model_step *step, struct status *st)
{
    step->way = calloc((size_t)step->base.instructions + 1, sizeof *step->way);
    step->ahead = calloc((size_t)step->base.instructions + 1, sizeof *step->ahead);
    return step->way && step->ahead ? 0 : status_nomem(st);
}

/* May there be loops as XLA writes them by default? A named strategy, or gathers that start ahead, replace them. */
static bool as_xla(const struct model_step *step)
{
    return step->asked == OVERLAP_NAIVE && !option_is_given(step->point, "strategy") &&
           step->point->schedule.prefetch == 0;
}

bool model_step_sums_whole(const struct slice *slice)
{
    int len[SLICE_AXES], axes = 0;
    for (int a = 0; a < slice->axes; a++)
        if (slice->len[a] > 1)
            len[axes++] = slice->len[a];
    return slice->chips > 4 && (axes != 2 || len[0] == len[1]);
}

int model_step_open(struct model_step *step, const struct point *point, const struct model_options *options,
                    const struct mesh *mesh, struct status *st)
{
    *step = (struct model_step){.point = point, .mesh = mesh};
    struct model_options own = options ? *options : (struct model_options){0};
    int code = read_strategy(step, st);
    own.sums_whole = mesh->slice && model_step_sums_whole(mesh->slice);
    own.whole_by_xla = point->schedule.prefetch == 0;
    own.loop_columns = as_xla(step) ? own.loop_columns : 0;
    for (int a = 0; a < mesh->axes.count && a < AXES_MAX; a++)
        own.squares |= (unsigned)mesh_layout_is_square(&mesh->layout, a) << a;
    if (code == 0)
        code = model_read(point, &own, &mesh->axes, &step->model, st);
    if (code == 0)
        code = check_chunks_used(step, st);
    if (code == 0)
        code = model_step_base(point, &step->model, &step->base, st);
    module_free(&step->model.module);
    if (code == 0)
        code = check_all_reduces(step, st);
    if (code == 0)
        code = reserve(step, st);
    if (code < 0 || point->schedule.prefetch == 0)
        return code;
    code = pass_find_prefetched(&step->base, step->ahead, st);
    return code < 0 ? code : pass_find_postponed(&step->base, step->ahead, st);
}

int model_step_open_chain(struct model_step *step, const struct point *point, const struct mesh *mesh,
                          struct module *module, struct status *st)
{
    *step = (struct model_step){.point = point, .mesh = mesh, .base = *module, .of_chain = true};
    *module = (struct module){0};
    int way = pass_way_by_name(point->schedule.strategy, st);
    if (way < 0)
        return st->code;
    step->asked = (enum overlap_way)way;
    return reserve(step, st);
}

void model_step_free(struct model_step *step)
{
    model_free(&step->model);
    module_free(&step->base);
    free(step->way);
    free(step->ahead);
    *step = (struct model_step){0};
}

static void note_ring(struct model_step *step, const char *axes)
{
    int r = 0;
    while (r < step->rings && strcmp(step->ring[r], axes) != 0)
        r++;
    if (r == step->rings && r < MODEL_RINGS)
        snprintf(step->ring[step->rings++], sizeof *step->ring, "%s", axes);
}

/* The devices of each group in the order of the ring through its chips, those of one chip one after the other. */
static int lay_ring(void *context, const struct module *module, int32_t collective, struct groups *groups,
                    bool *closed, struct status *st)
{
    struct model_step *step = context;
    const struct mesh *mesh = step->mesh;
    struct axis_list over;
    struct ring ring;
    char axes[TALLY_AXES];
    if (mesh_parse_axes(mesh, tally_axes(module, collective, axes), &over, st) < 0)
        return st->code;
    note_ring(step, axes);
    if (ring_of_loop(&ring, mesh, &over, st) < 0)
        return st->code;
    int *listed = malloc((size_t)groups->size * sizeof *listed), each = groups->size / ring.n;
    for (int g = 0; g < groups->count && listed; g++) {
        int *member = groups->member + (size_t)g * (size_t)groups->size;
        for (int i = 0; i < groups->size; i++) {
            int core = each > 1 ? axes_coord(&mesh->axes, member[i], mesh->core_axis) % each : 0;
            listed[ring_position(&ring, mesh->slice, mesh_chip(mesh, member[i])) * each + core] = member[i];
        }
        memcpy(member, listed, (size_t)groups->size * sizeof *member);
    }
    *closed = ring.closed;
    ring_free(&ring);
    int code = listed ? 0 : status_nomem(st);
    free(listed);
    return code;
}

/* Does the model have loops as XLA writes them by default? */
static bool has_windowed(const struct model_step *step)
{
    return as_xla(step) && (step->model.windowed[0][0] || step->model.windowed[1][0]);
}

/* Does XLA's scheduler have the backward pass, where most memory is taken, wait for its collectives, so that less is taken? */
static bool is_crowded(const struct model_step *step)
{
    return as_xla(step) && step->model.options.full_bytes > 0 &&
           model_memory_bytes(&step->model.size, step->model.remat) > step->model.options.full_bytes;
}

static enum overlap_way way_of(void *context, const struct module *module, int32_t collective, bool contracts)
{
    const struct model_step *step = context;
    char axes[TALLY_AXES];
    bool first = strcmp(tally_axes(module, collective, axes), step->model.windowed[0]) == 0,
         gathers = has_windowed(step) && module_at(module, collective)->opcode == HLO_ALL_GATHER,
         once = first
                    ? step->model.contracted && (!contracts || module_has_label(module, collective, "again="))
                    : step->model.sums_only;
    return gathers && once ? OVERLAP_NAIVE : step->way[collective];
}

/* Only loops have permutes. */
static bool has_loops(const struct module *module)
{
    for (int32_t at = 0; at < module->instructions; at++)
        if (module_whole_at(module, at) == HLO_COLLECTIVE_PERMUTE)
            return true;
    return false;
}

static int write_step(struct model_step *step, struct module *module, struct status *st)
{
    const struct point *point = step->point;
    struct overlap_options options = {
        .context = step,
        .way = way_of,
        .ring = lay_ring,
        .chunks = point->schedule.all_reduce == REDUCE_CHUNKS ? point->schedule.chunks : 0,
        .xla_loops = point->schedule.loop == LOOP_XLA || has_windowed(step),
        .columns = has_windowed(step) ? step->model.options.loop_columns : 0,
        .vmem_bytes = step->model.options.vmem_bytes,
        .waits = step->model.options.permutes_wait && has_windowed(step),
        .crowded = is_crowded(step)};
    const struct model_experts *experts = step->model.experts;
    bool all = point->schedule.async == ASYNC_ALL;
    bool early = step->model.combines_sums && step->model.options.gathers_early && as_xla(step);
    int ahead = point->schedule.prefetch;
    int code = pass_overlap(&step->base, &options, module, st);
    const struct pass_row rows[] = {
        {step->model.kept_on_host, .pass = pass_offload},
        {point->schedule.combine, .pass = pass_combine},
        {step->model.combines_sums, .pass = pass_combine_sums},
        {ahead > 0, .with = pass_prefetch, ahead},
        {ahead > 0, .with = pass_postpone, ahead},
        {code == 0 && all && step->of_chain && has_loops(module), .pass = pass_by_data},
        {all && experts && experts->chunks > 1, .with = pass_exchange, false},
        {all && early, .with = pass_exchange, 1 + options.crowded},
    };
    return code < 0 ? code : go_on(module, rows, sizeof rows / sizeof *rows, st);
}

static bool is_collective(const struct model_step *step, int32_t at)
{
    return opcode_info(module_at(&step->base, at)->opcode)->class == CLASS_COLLECTIVE && !step->ahead[at];
}

/* Are two collectives of one class? The best way for one is the best for all. */
static bool alike(const struct model_step *step, int32_t a, int32_t b)
{
    const struct module *base = &step->base;
    if (module_at(base, a)->opcode != module_at(base, b)->opcode ||
        module_at(base, a)->shape != module_at(base, b)->shape ||
        module_number(base, a, ATTR_REPLICA_GROUPS, -1) != module_number(base, b, ATTR_REPLICA_GROUPS, -1) ||
        module_number(base, a, ATTR_DIMENSIONS, -1) != module_number(base, b, ATTR_DIMENSIONS, -1))
        return false;
    return step->of_chain ? module_layer(base, a) == module_layer(base, b) /* it has few products */
                          : module_is_backward(base, a) == module_is_backward(base, b);
}

/* Sets the way of all collectives of the class of `like`; of all collectives if that is negative. */
static void set_way(struct model_step *step, int32_t like, enum overlap_way way)
{
    for (int32_t at = 0; at < step->base.instructions; at++)
        if (is_collective(step, at) && (like < 0 || alike(step, like, at)))
            step->way[at] = way;
}

/* Is it the first of its class? */
static bool leads_class(const struct model_step *step, int32_t at)
{
    for (int32_t before = 0; before < at; before++)
        if (is_collective(step, before) && alike(step, before, at))
            return false;
    return is_collective(step, at);
}

/* The best so far; another way must be better by more than rounding. */
struct trial {
    const struct model_step_timer *timer;
    struct module best;
    double least_s;
};

static int try_way(struct model_step *step, struct trial *trial, bool *better, struct status *st)
{
    struct module module = {0};
    double time_s = INFINITY;
    int code = write_step(step, &module, st);
    if (code == 0)
        code = trial->timer->time(trial->timer->context, &module, &time_s, st);
    *better = code == 0 && time_s < trial->least_s * (1 - 1e-9);
    if (*better) {
        struct module slower = trial->best;
        trial->best = module;
        module = slower;
        trial->least_s = time_s;
    }
    module_free(&module);
    return code;
}

/* Finds the best way for all collectives of the class of `like`, or for the whole step if that is negative,
 * with the others unchanged. Ways are tried in turn, except `tried` (OVERLAP_WAYS: none), and on a tie the
 * simpler one wins. */
static int choose_way(struct model_step *step, struct trial *trial, int32_t like, enum overlap_way tried,
                      enum overlap_way *best, struct status *st)
{
    int code = 0;
    *best = tried == OVERLAP_WAYS ? OVERLAP_NAIVE : tried;
    for (enum overlap_way way = OVERLAP_NAIVE; way < OVERLAP_WAYS && code == 0; way++) {
        bool better = false;
        if (way == tried)
            continue;
        set_way(step, like, way);
        code = try_way(step, trial, &better, st);
        *best = better ? way : *best;
    }
    set_way(step, like, *best);
    return code;
}

/* Chooses one way for the whole step, then one for each class. */
static int choose_ways(struct model_step *step, struct trial *trial, enum overlap_way *whole, bool *mixed,
                       struct status *st)
{
    int code = choose_way(step, trial, -1, OVERLAP_WAYS, whole, st), classes = 0;
    for (int32_t at = 0; at < step->base.instructions; at++)
        classes += leads_class(step, at);
    for (int32_t at = 0; at < step->base.instructions && code == 0 && classes > 1; at++) {
        enum overlap_way best;
        if (!leads_class(step, at))
            continue;
        code = choose_way(step, trial, at, *whole, &best, st);
        *mixed = *mixed || best != *whole;
    }
    return code;
}

/* Writes the best module; `way` is left set to its ways. */
static int choose(struct model_step *step, const struct model_step_timer *timer, struct module *module,
                  struct status *st)
{
    struct trial trial = {.timer = timer, .least_s = INFINITY};
    enum overlap_way whole;
    bool mixed = false;
    int code = choose_ways(step, &trial, &whole, &mixed, st);
    snprintf(step->strategy, sizeof step->strategy, "auto:%s", mixed ? "mixed" : pass_way_name(whole));
    step->least_s = trial.least_s;
    *module = trial.best;
    return code;
}

static void set_windowed(struct model_step *step)
{
    char axes[TALLY_AXES];
    for (int32_t at = 0; at < step->base.instructions; at++)
        for (int i = 0; i < 2 && is_collective(step, at); i++)
            if (strcmp(tally_axes(&step->base, at, axes), step->model.windowed[i]) == 0)
                step->way[at] = OVERLAP_BIDI;
    snprintf(step->strategy, sizeof step->strategy, "xla");
}

int model_step_write(struct model_step *step, const struct model_step_timer *timer, struct module *module,
                     struct status *st)
{
    step->loops = step->asked == OVERLAP_WAYS && timer;
    if (step->loops)
        return choose(step, timer, module, st);
    if (step->asked < OVERLAP_WAYS) {
        set_way(step, -1, step->asked);
        snprintf(step->strategy, sizeof step->strategy, "%s", pass_way_name(step->asked));
    }
    if (has_windowed(step))
        set_windowed(step);
    int code = write_step(step, module, st);
    step->loops = code == 0 && has_loops(module);
    return code;
}

int model_step_write_as(struct model_step *step, const struct model_step *like, struct module *module,
                        struct status *st)
{
    for (int32_t at = 0; at < step->base.instructions && at < like->base.instructions; at++)
        step->way[at] = like->way[at];
    return write_step(step, module, st);
}
