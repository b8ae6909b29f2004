/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of an op on its chips: counting what it waits for, starting, flowing, and ending. */
#include "engine/event_run.h"

/* The wave of chips that start an op now with the same delay: the open one, or a new one; 0 when memory runs
 * out. */
static uint32_t open_wave(struct run *run, int32_t op, double due_s)
{
    struct task *task = &run->plan.task[op];
    const struct wave *open = task->wave ? network_wave(&run->network, task->wave) : NULL;
    if (open && open->start_s == run->now_s && open->due_s == due_s)
        return task->wave;
    uint32_t used = run->network.waves.used, wave = pool_take(&run->network.waves);
    if (!wave)
        return 0;
    struct wave *fresh = network_wave(&run->network, wave);
    if (wave == used)
        *fresh = (struct wave){0}; /* a reused wave keeps its list */
    *fresh = (struct wave){
        .start_s = run->now_s, .due_s = due_s, .op = op, .chip = fresh->chip, .room = fresh->room};
    queue_push(&run->queue, due_s, EVENT_WAVE, wave);
    return task->wave = wave;
}

/* Makes room in a wave's list. Most lists have one chip, or all chips, so the first allocation is exact. */
static bool make_room(struct wave *w, int32_t chips)
{
    if (w->room - w->chips >= chips)
        return true;
    int32_t room = w->chips + (w->chips > chips ? w->chips : chips);
    int32_t *list = realloc(w->chip, (size_t)room * sizeof *list);
    if (!list)
        return false;
    w->chip = list;
    w->room = room;
    return true;
}

static void join_wave(struct run *run, int32_t op, double delay_s, const int32_t chip[], int32_t chips)
{
    uint32_t wave = open_wave(run, op, run->now_s + delay_s);
    struct wave *w = network_wave(&run->network, wave);
    if (!wave || !make_room(w, chips)) {
        run->code = STATUS_NOMEM;
        return;
    }
    memcpy(w->chip + w->chips, chip, (size_t)chips * sizeof *chip);
    w->chips += chips;
}

/* What a wait takes of HBM. */
static void note_wait(struct run *run, int32_t o, const int32_t chip[], int32_t chips, bool starts)
{
    const struct op *op = &run->program->op[o];
    bool takes = run->network.used && op->kind == OP_SEND && op->hbm_Bps > 0;
    for (int32_t i = 0; i < chips && takes; i++)
        memory_wait(&run->network, o, chip[i], starts);
}

/* Starts an op on some chips, all of which take part. */
static void start(struct run *run, int32_t op, const int32_t chip[], int32_t chips)
{
    struct task *task = &run->plan.task[op];
    run->started += chips;
    note_wait(run, op, chip, chips, true);
    if (!isnan(task->delay_s))
        join_wave(run, op, task->delay_s, chip, chips);
    for (int32_t i = 0; i < chips && isnan(task->delay_s); i++)
        join_wave(run, op, plan_delay_s(&run->plan, op, chip[i]), &chip[i], 1);
    task->waiting -= chips;
    if (task->waiting == 0 && task->row) {
        pool_give_back(&run->rows, task->row);
        task->row = 0;
    }
}

/* Makes the counters of an op, when the first thing that one of its chips waits for is fulfilled. */
static bool open_row(struct run *run, int32_t op)
{
    struct task *task = &run->plan.task[op];
    task->row = pool_take(&run->rows);
    if (!task->row)
        run->code = STATUS_NOMEM;
    else if (task->deps == DEPS_DIFFER)
        plan_count(&run->plan, op, run_row(run, task));
    else
        for (int32_t c = 0; c < run->program->slice->chips; c++)
            run_row(run, task)[c] = task->deps;
    return task->row;
}

/* One of the things that an op waits for is fulfilled on some chips, which need not take part in it. */
static void release(struct run *run, int32_t op, const int32_t chip[], int32_t chips)
{
    struct task *task = &run->plan.task[op];
    int32_t where = run->program->op[op].where, readies = 0;
    const uint8_t *mask = where == WHERE_ALL ? NULL : run->program->mask[where];
    if (task->deps == 1 && !mask) {
        start(run, op, chip, chips);
        return;
    }
    if (task->deps != 1 && !task->row && (task->waiting == 0 || !open_row(run, op)))
        return;
    int32_t *row = task->row ? run_row(run, task) : NULL;
    for (int32_t i = 0; i < chips; i++) {
        run->ready[readies] = chip[i];
        readies += (!mask || mask[chip[i]]) && (!row || --row[chip[i]] == 0);
    }
    if (readies > 0)
        start(run, op, run->ready, readies);
}

void run_start_first(struct run *run)
{
    int32_t chips = run->program->slice->chips;
    for (int32_t o = 0; o < run->program->ops; o++) {
        const struct task *task = &run->plan.task[o];
        if (task->deps > 0)
            continue;
        if (task->deps == DEPS_DIFFER)
            plan_count(&run->plan, o, run->here);
        for (int32_t c = 0; c < chips; c++)
            if (op_takes_part(run->program, &run->program->op[o], c) &&
                (task->deps == 0 || run->here[c] == 0))
                start(run, o, &c, 1);
    }
    for (int32_t c = 0, op; c < chips; c++)
        if ((op = plan_turn(&run->plan, c, false)) >= 0)
            release(run, op, &c, 1);
}

void run_end(struct run *run, int32_t op, double start_s, const int32_t here[], const int32_t there[],
             int32_t chips)
{
    const struct task *task = &run->plan.task[op];
    const int32_t *fan = run->plan.fan + task->first_fan;
    if (chips == 0)
        return;
    trace_note_chips(run->trace, op, here, chips, task->compute, start_s, run->now_s);
    run->ended += chips;
    note_wait(run, op, here, chips, false);
    for (int32_t i = 0; i < task->done_fans; i++)
        release(run, fan[i], here, chips);
    fan += task->done_fans;
    for (int32_t i = 0; i < task->arrived_fans && !task->compute; i++)
        release(run, fan[i], there, chips);
    for (int32_t i = 0, from = 0, last = -1; i <= chips && task->compute; i++) {
        int32_t next = i < chips ? plan_turn(&run->plan, here[i], true) : -1;
        if (next == last && i < chips)
            continue;
        if (last >= 0)
            release(run, last, here + from, i - from);
        from = i;
        last = next;
    }
}

/* A rider becomes a flow that also passes HBM. One that ends in this instant may still ride. */
static void seize_rider(struct run *run, int32_t link)
{
    struct network *network = &run->network;
    uint32_t rider = link < 0 ? RIDER_NONE : network->rider[link];
    if (rider == RIDER_NONE || rider == RIDER_FLOWS)
        return;
    struct wave w = *network_wave(network, rider);
    if (!run->plan.task[w.op].memory || w.due_s <= run->now_s)
        return;
    int32_t from = run->plan.map.start[link], to, passed[1 + RESOURCES_MOST];
    int32_t links = plan_walk(&run->plan, w.op, from, passed, &to);
    double left_bytes = w.bytes - run->plan.map.Bps[link] * (run->now_s - w.since_s);
    network->rider[link] = RIDER_NONE;
    uint32_t flow = network_flow_of(network, w.op, from, to, w.start_s, left_bytes);
    if (flow)
        network_join_path(network, flow, passed, links, run->now_s);
}

/* An op that may fill the HBM of a chip begins there: what rides to and from the chip does so no longer. */
static void fill_memory(struct run *run, int32_t chip)
{
    const struct map *map = &run->plan.map;
    if (run->filling[chip]++ > 0)
        return;
    seize_rider(run, resource_of(run->program->slice, RESOURCE_COMPUTE, chip));
    for (int32_t port = 0; port < 2 * run->program->slice->axes; port++) {
        seize_rider(run, map_out(map, chip, port));
        seize_rider(run, map->in[port * map->chips + chip]);
    }
}

/* Starts the flow of one chip's bytes; false if there are no bytes or no links: then the op has ended, at
 * chip *to. */
static bool begin_to_flow(struct run *run, int32_t op, int32_t chip, double start_s, int32_t *to)
{
    int32_t *link = run->plan.walked, links = plan_walk(&run->plan, op, chip, link, to);
    double bytes = op_bytes(run->program, &run->program->op[op], chip);
    if (links == 0 || !(bytes > 0))
        return false;
    if (run->plan.task[op].fills)
        fill_memory(run, chip);
    for (int32_t l = 0; l < links; l++)
        seize_rider(run, link[l]);
    uint32_t flow = network_flow_of(&run->network, op, chip, *to, start_s, bytes);
    if (flow && links == 1)
        network_join(&run->network, flow, *link, run->now_s);
    else if (flow)
        network_join_path(&run->network, flow, link, links, run->now_s);
    return true;
}

/* The chips of a wave begin to flow; with only_paths not those of which plan_link() knows the one link. */
static void begin_each(struct run *run, const struct wave *w, bool only_paths)
{
    int32_t ends = 0;
    for (int32_t i = 0; i < w->chips; i++) {
        if (only_paths && plan_link(&run->plan, w->op, w->chip[i]) >= 0)
            continue;
        run->here[ends] = w->chip[i];
        ends += !begin_to_flow(run, w->op, w->chip[i], w->start_s, &run->there[ends]);
    }
    run_end(run, w->op, w->start_s, run->here, run->there, ends);
}

/* Each chip of a wave whose one link is idle rides on it, unless HBM may be full at its ends; all other chips become
 * flows. Chips on links of another speed than the first one would end at another time, so they also become flows. */
static int32_t begin_to_ride(struct run *run, const struct wave *w, uint32_t wave, double *Bps)
{
    struct network *network = &run->network;
    const struct task *task = &run->plan.task[w->op];
    double *link_Bps = run->plan.map.Bps;
    int32_t riding = 0;
    if (isnan(task->delay_s))
        begin_each(run, w, true); /* first, as they may cross the links of others */
    for (int32_t i = 0; i < w->chips; i++) {
        int32_t link = plan_link(&run->plan, w->op, w->chip[i]), to;
        if (link < 0)
            continue;
        to = run->plan.map.end[link];
        if (task->compute)
            link_Bps[link] = compute_Bps(run->program, &run->program->op[w->op], to);
        bool free = !task->memory || run->filling[w->chip[i]] + run->filling[to] == 0;
        if (free && network->rider[link] == RIDER_NONE && (riding == 0 || link_Bps[link] == *Bps)) {
            network->rider[link] = wave;
            *Bps = link_Bps[link];
            memory_note(network, w->op, w->chip[i], to, 0, *Bps);
            riding++;
        } else {
            begin_to_flow(run, w->op, w->chip[i], w->start_s, &to);
        }
    }
    return riding;
}

/* Ends the chips of a wave that still ride. */
static void alight(struct run *run, const struct wave *w, uint32_t wave)
{
    int32_t ends = 0;
    for (int32_t i = 0; i < w->chips; i++) {
        int32_t link = plan_link(&run->plan, w->op, w->chip[i]);
        if (link < 0 || run->network.rider[link] != wave)
            continue;
        int32_t to = run->plan.map.end[link];
        run->network.rider[link] = RIDER_NONE;
        memory_note(&run->network, w->op, w->chip[i], to, run->plan.map.Bps[link], 0);
        run->here[ends] = w->chip[i];
        run->there[ends++] = to;
    }
    run_end(run, w->op, w->start_s, run->here, run->there, ends);
}

void run_wave_due(struct run *run, uint32_t wave)
{
    struct wave w = *network_wave(&run->network, wave); /* waves may move meanwhile, their lists do not */
    struct task *task = &run->plan.task[w.op];
    if (task->wave == wave)
        task->wave = 0; /* no more chips may join it */
    if (task->compute && !task->memory) {
        run_end(run, w.op, w.start_s, w.chip, w.chip, w.chips);
    } else if (w.rides) {
        alight(run, &w, wave);
    } else if (!task->rides) {
        begin_each(run, &w, false);
    } else {
        double Bps = 0;
        if (begin_to_ride(run, &w, wave, &Bps) > 0) {
            struct wave *rides = network_wave(&run->network, wave);
            rides->rides = true;
            rides->since_s = run->now_s;
            rides->bytes = op_bytes(run->program, &run->program->op[w.op], *w.chip);
            rides->due_s = run->now_s + rides->bytes / Bps;
            queue_push(&run->queue, rides->due_s, EVENT_WAVE, wave);
            return;
        }
    }
    pool_give_back(&run->network.waves, wave);
}
