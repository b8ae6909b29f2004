/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the start of an op on its chips to its end: as waves, or as flows of their own. */
#include "engine/event_run.h"

#include <string.h>

/* Where most links of a wave are in use, so will be those of its like: after that, so many of these start
 * apart, one chip after the other. What a chip sends then lies together in memory, and so do its links. */
enum { APART_WAVES = 64 };

static uint32_t wave_open(struct run *run, int32_t op, double start_s, double due_s)
{
    uint32_t wave = pool_take(&run->network.waves);
    if (!wave) {
        run->code = STATUS_NOMEM;
        return 0;
    }
    *network_wave(&run->network, wave) = (struct wave){.start_s = start_s, .due_s = due_s, .op = op};
    queue_push(&run->queue, due_s, event_of(EVENT_WAVE, wave));
    return wave;
}

/* The batch that takes more chips of a wave; 0 when memory is used up. */
static uint32_t wave_room(struct run *run, struct wave *wave)
{
    struct network *network = &run->network;
    if (wave->last && network_chip_batch(network, wave->last)->chips < CHIP_BATCH)
        return wave->last;
    uint32_t fresh = pool_take(&network->chip_batches);
    if (!fresh) {
        run->code = STATUS_NOMEM;
        return 0;
    }
    network_chip_batch(network, fresh)->next = 0;
    network_chip_batch(network, fresh)->chips = 0;
    if (wave->last)
        network_chip_batch(network, wave->last)->next = fresh;
    else
        wave->first = fresh;
    return wave->last = fresh;
}

static void wave_add(struct run *run, uint32_t wave, const int32_t chip[], int chips)
{
    struct wave *w = network_wave(&run->network, wave);
    for (int i = 0; i < chips;) {
        uint32_t batch = wave_room(run, w);
        if (!batch)
            return;
        struct chip_batch *to = network_chip_batch(&run->network, batch);
        while (i < chips && to->chips < CHIP_BATCH)
            to->chip[to->chips++] = chip[i++];
    }
}

static void wave_close(struct run *run, uint32_t wave)
{
    struct network *network = &run->network;
    uint32_t batch = network_wave(network, wave)->first;
    while (batch) {
        uint32_t next = network_chip_batch(network, batch)->next;
        pool_give_back(&network->chip_batches, batch);
        batch = next;
    }
    pool_give_back(&network->waves, wave);
}

/* Chips that start each on its own. */
static inline void start_flows(struct run *run, int32_t op, const int32_t chip[], int chips)
{
    const struct task *task = &run->plan.task[op];
    for (int i = 0; i < chips; i++) {
        double delay_s = isnan(task->delay_s) ? plan_delay_s(&run->plan, op, chip[i]) : task->delay_s;
        uint32_t flow = network_flow_of(&run->network, op, chip[i], run->now_s);
        if (flow)
            queue_push(&run->queue, run->now_s + delay_s, event_of(EVENT_FLOW, flow));
    }
}

static __attribute__((noinline)) void start_wave(struct run *run, int32_t op, const int32_t chip[], int chips)
{
    struct task *task = &run->plan.task[op];
    if (!task->wave || network_wave(&run->network, task->wave)->start_s != run->now_s)
        task->wave = wave_open(run, op, run->now_s, run->now_s + task->delay_s);
    if (task->wave)
        wave_add(run, task->wave, chip, chips);
}

void run_start(struct run *run, int32_t op, const int32_t chip[], int chips)
{
    struct task *task = &run->plan.task[op];
    int64_t *apart = task->compute ? NULL : &run->plan.pattern[run->plan.pattern_of[op]].apart;
    run->started += chips;
    if (!task->alike) {
        start_flows(run, op, chip, chips);
    } else if (apart && *apart > 0) {
        *apart -= chips;
        start_flows(run, op, chip, chips);
    } else {
        start_wave(run, op, chip, chips);
    }
    task->waiting -= chips;
    if (task->waiting == 0 && task->row)
        run_close_row(run, task);
}

/* Some chips have ended op in this instant; what a chip sent has arrived `there`. */
static void ended(struct run *run, int32_t op, double start_s, const int32_t here[], const int32_t there[],
                  int chips)
{
    const struct task *task = &run->plan.task[op];
    const int32_t *fan = run->plan.fan + task->first_fan;
    trace_note_chips(run->trace, op, here, chips, task->compute, start_s, run->now_s);
    run->ended += chips;
    for (int32_t i = 0; i < task->done_fans; i++)
        run_release(run, fan[i], here, chips);
    if (task->compute) {
        for (int i = 0; i < chips; i++) {
            int32_t next = plan_next_compute(&run->plan, here[i]);
            if (next >= 0)
                run_release(run, next, &here[i], 1);
        }
        return;
    }
    fan += task->done_fans;
    for (int32_t i = 0; i < task->arrived_fans; i++)
        run_release(run, fan[i], there, chips);
}

void run_flow_ends(struct run *run, uint32_t flow, int32_t to)
{
    struct flow f = *network_flow(&run->network, flow);
    pool_give_back(&run->network.flows, flow);
    ended(run, f.op, f.start_s, &f.chip, &to, 1);
}

void run_flow_due(struct run *run, uint32_t flow)
{
    const struct program *program = run->program;
    const struct map *map = &run->plan.map;
    const struct flow *f = network_flow(&run->network, flow);
    int32_t op = f->op, chip = f->chip;
    const struct task *task = &run->plan.task[op];
    if (task->compute) {
        run_flow_ends(run, flow, -1);
        return;
    }
    double bytes = plan_amount(&run->plan, op, chip);
    if (task->port >= 0 && bytes > 0) { /* the most frequent by far */
        network_join(&run->network, flow, map->out[map_out(map, chip, task->port)], bytes, run->now_s);
        return;
    }
    int32_t r = plan_route(&run->plan, op, chip);
    const struct route_info *info = &run->plan.route_info[r];
    if (info->links == 0)
        run_flow_ends(run, flow, chip);
    else if (bytes <= 0)
        run_flow_ends(run, flow, op_destination(program, &program->op[op], chip));
    else if (info->links == 1)
        network_join(&run->network, flow, map->out[map_out(map, chip, info->port)], bytes, run->now_s);
    else
        network_join_path(&run->network, flow, chip, program->hop + program->route[r].first,
                          program->route[r].hops, info->links, bytes, run->now_s);
}

/* Each chip of a wave that finds its link idle rides on it; the others become flows. Links of another speed
 * than the first one's would end at another time: their chips become flows too. */
static void begin_to_ride(struct run *run, uint32_t wave)
{
    struct network *network = &run->network;
    const struct map *map = &run->plan.map;
    struct wave w = *network_wave(network, wave);
    const struct task *task = &run->plan.task[w.op];
    const int32_t *out = map->out + map_out(map, 0, task->port);
    uint32_t *rider = network->rider;
    int64_t riding = 0, others = 0;
    double Bps = 0;
    for (uint32_t at = w.first; at; at = network_chip_batch(network, at)->next) {
        const struct chip_batch *batch = network_chip_batch(network, at);
        for (int32_t i = 0; i < batch->chips; i++) {
            int32_t chip = batch->chip[i], link = out[chip];
            if (rider[link] == RIDER_NONE && (riding == 0 || map->alike || map->Bps[link] == Bps)) {
                rider[link] = wave;
                Bps = map->Bps[link];
                riding++;
                continue;
            }
            uint32_t flow = network_flow_of(network, w.op, chip, w.start_s);
            if (flow)
                network_join(network, flow, link, task->amount, run->now_s);
            others++;
        }
    }
    if (others > riding)
        run->plan.pattern[run->plan.pattern_of[w.op]].apart = APART_WAVES * (riding + others);
    if (riding == 0) {
        wave_close(run, wave);
        return;
    }
    struct wave *rides = network_wave(network, wave);
    rides->rides = true;
    rides->since_s = run->now_s;
    rides->bytes = task->amount;
    rides->due_s = run->now_s + task->amount / Bps;
    queue_push(&run->queue, rides->due_s, event_of(EVENT_WAVE, wave));
}

/* Takes those of a batch that still ride off their links; returns how many, and where they end. */
static int alight(struct run *run, uint32_t wave, int32_t port, const int32_t chip[], int chips,
                  int32_t here[static CHIP_BATCH], int32_t there[static CHIP_BATCH])
{
    uint32_t *rider = run->network.rider;
    const int32_t *out = run->plan.map.out + map_out(&run->plan.map, 0, port), *end = run->plan.map.end;
    int ends = 0;
    for (int i = 0; i < chips; i++) {
        int32_t link = out[chip[i]];
        here[ends] = chip[i];
        there[ends] = end[link];
        if (rider[link] == wave) {
            rider[link] = RIDER_NONE;
            ends++;
        }
    }
    return ends;
}

void run_wave_due(struct run *run, uint32_t wave)
{
    struct wave w = *network_wave(&run->network, wave);
    struct task *task = &run->plan.task[w.op];
    if (task->wave == wave)
        task->wave = 0; /* it is not for others to join any more */
    if (!task->compute && !w.rides) {
        begin_to_ride(run, wave);
        return;
    }
    for (uint32_t at = w.first; at;) {
        const struct chip_batch *batch = network_chip_batch(&run->network, at);
        int32_t chip[CHIP_BATCH], here[CHIP_BATCH], there[CHIP_BATCH];
        int chips = batch->chips;
        memcpy(chip, batch->chip, (size_t)chips * sizeof *chip); /* the batch may move meanwhile */
        at = batch->next;
        int ends = task->compute ? chips : alight(run, wave, task->port, chip, chips, here, there);
        ended(run, w.op, w.start_s, task->compute ? chip : here, there, ends);
    }
    wave_close(run, wave);
}
