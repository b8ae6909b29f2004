/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describes a collective instruction for the builders: its bytes, chips and rings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "compile/lower_own.h"
#include "engine/timing.h"
#include "hlo/communication.h"
#include "hlo/ragged_rows.h"
#include "program/resource.h"

int32_t lower_collective_in(const struct module *module, int32_t instruction)
{
    enum communication does;
    int32_t collective = communication_of(module, instruction, &does);
    return does == COMMUNICATION_WHOLE || does == COMMUNICATION_START ? collective : -1;
}

double lower_collective_bytes(const struct module *module, int32_t instruction, int chips)
{
    double bytes = communication_in_bytes(module, instruction);
    if (module_whole_at(module, instruction) == HLO_ALL_REDUCE)
        return communication_out_bytes(module,
                                       instruction); /* the result of a sum may have a narrower type */
    switch (communication_kind(module, instruction)) {
    case HLO_ALL_GATHER: /* operands are shards */
        return bytes * chips;
    case HLO_ALL_TO_ALL: /* of all chips together */
        return bytes * chips;
    case HLO_RAGGED_ALL_TO_ALL: /* over all pairs; else only the first operand is data */
        if (ragged_rows_known(module, instruction))
            return lower_ragged_bytes(module, instruction);
        return bytes * chips;
    default:
        return bytes;
    }
}

/* The slot of a layout: the same text means other devices if ids have another meaning. */
static int32_t slot_of(const struct module *module, int32_t instruction)
{
    return (int32_t)module_number(module, instruction, ATTR_REPLICA_GROUPS, module->groupings) *
               LOWER_ID_MODES +
           (int32_t)module_ids_of(module, instruction);
}

const struct layout *lower_laid(const struct lower *lower, int32_t instruction)
{
    int32_t slot = slot_of(lower->module, instruction);
    return lower->layout[slot].devices ? &lower->layout[slot] : NULL;
}

int lower_layout(struct lower *lower, int32_t instruction, const struct layout **layout, struct status *st)
{
    const struct module *module = lower->module;
    int32_t slot = slot_of(module, instruction);
    if (!lower->layout[slot].devices) {
        struct groups groups = {0};
        int code = module_groups_of(module, instruction, &groups, st);
        if (code == 0)
            code = layout_init(&lower->layout[slot], lower->placement, &groups, st);
        groups_free(&groups);
        if (code < 0) {
            layout_free(&lower->layout[slot]);
            return code;
        }
    }
    *layout = &lower->layout[slot];
    return 0;
}

double lower_joint_s(const struct lower *lower, double bytes)
{
    double joint_Bps = resource_Bps(lower->placement->slice, RESOURCE_JOINT, 0);
    return joint_Bps > 0 ? bytes / joint_Bps : 0;
}

int lower_join(struct lower *lower, int32_t instruction, struct status *st)
{
    struct layout *layout = &lower->layout[slot_of(lower->module, instruction)];
    struct groups groups = {0};
    if (layout->through.n > 0 || layout->rings < 2)
        return 0;
    int code = module_groups_of(lower->module, instruction, &groups, st);
    if (code == 0)
        code = layout_join(layout, lower->placement, &groups, st);
    groups_free(&groups);
    return code;
}

/* Bytes that the devices of a chip exchange for a collective over all of them: half of the longer of its
 * operand and its result crosses the joint each way; for an all-reduce there and back; for rows that differ,
 * the bytes of the device with most of them. 0 if chips are one device, or groups have one of each chip. */
int lower_exchange_bytes(const struct lower *lower, int32_t instruction, const struct layout *layout,
                         double *bytes, struct status *st)
{
    const struct module *module = lower->module;
    enum opcode whole = communication_kind(module, instruction);
    int code = 0;
    *bytes = 0;
    if (lower->placement->cores == 1 || layout->together > 1)
        return 0;
    *bytes = lower_collective_bytes(lower->module, instruction, layout->devices);
    if (ragged_rows_known(module, instruction))
        code = lower_ragged_most(lower, instruction, bytes, st);
    else if (whole == HLO_ALL_TO_ALL || whole == HLO_RAGGED_ALL_TO_ALL) /* of all devices together */
        *bytes /= layout->devices;
    *bytes *= whole == HLO_ALL_REDUCE ? 2 : 1;
    return code;
}

int32_t lower_exchange(struct lower *lower, int32_t instruction, int32_t where, struct exchange exchange,
                       int32_t before)
{
    char name[STAGE_NAME];
    struct program *program = &lower->program;
    int32_t stage = program_stage(program, lower_name(lower->module, instruction, name));
    struct op local = program_local(program, where, exchange.bytes, stage);
    local.memory = exchange.bytes > 0 ? MEMORY_JOINT : MEMORY_ENDS;
    local.setup_s = exchange.setup_s;
    int32_t op = program_add(program, local);
    program_wait(program, before);
    return op;
}

/* Checks that the pair sizes of a ragged all-to-all are known. */
static int check_ragged(const struct lower *lower, struct status *st)
{
    if (lower->options->ragged_uniform)
        return 0;
    return status_fail(
        st, STATUS_INPUT,
        "how much a ragged-all-to-all sends to whom is known only when it runs; --ragged uniform has "
        "every device send alike to all");
}

/* The kind of rings: from the instruction's label `ring`, or from the options. */
int lower_kind_of(const struct lower *lower, int32_t instruction, struct status *st)
{
    char ring[24];
    if (module_label(lower->module, instruction, "ring", ring, sizeof ring))
        return ring_kind_by_name(ring, st);
    bool exchanges = communication_kind(lower->module, instruction) == HLO_ALL_TO_ALL;
    return (int)(exchanges ? lower->options->exchange_kind : lower->options->kind);
}

/* Sets the rings of a spec from a layout, and the bytes on them. */
void lower_set_rings(const struct lower *lower, int32_t instruction, const struct layout *layout,
                     struct collective_spec *spec)
{
    spec->rings = layout->rings;
    for (int r = 0; r < layout->rings; r++)
        spec->ring[r] = &layout->ring[r];
    spec->elements =
        (int64_t)lower_collective_bytes(lower->module, instruction, layout->devices) * layout->together;
}

int lower_root(const struct lower *lower, const struct layout *layout, const struct collective_spec *spec)
{
    return rings_piece(spec->ring, spec->rings, lower->placement->slice, layout->root_chip);
}

/* Are the lines of a collective of which all chips do the same so long, together, that it is worth it, and fit to be walked as if
 * they had no ends? Not those with steps of several links: what is in excess there shares links with collectives between. */
static bool is_endless(const struct lower *lower, const struct layout *layout, enum opcode whole)
{
    enum { LINES_MOST = 8 };
    bool endless = lower->options->endless && lower->placement->cores == 1 &&
                   whole != HLO_RAGGED_ALL_TO_ALL && whole != HLO_COLLECTIVE_BROADCAST;
    int chips = 1;
    for (int r = 0; r < layout->rings && endless; r++) {
        const struct ring *ring = &layout->ring[r];
        bool line = ring->n > 2 && !ring->closed;
        chips *= line ? ring->n : 1;
        endless = line ? ring->step_delta == 1 && lower->placement->slice->wrap[ring->step_axis]
                       : ring->step_delta != 0;
    }
    return endless && chips > LINES_MOST;
}

/* Builds all collectives but permutes: on the rings of its groups, after the exchange within chips. */
static int build_on_rings(struct lower *lower, int32_t instruction, struct collective_spec *spec,
                          int32_t before, int32_t *after, struct status *st)
{
    const struct layout *layout;
    enum opcode whole = communication_kind(lower->module, instruction);
    bool rows = ragged_rows_known(lower->module, instruction), ragged = whole == HLO_RAGGED_ALL_TO_ALL;
    double exchanged_bytes = 0;
    int64_t *pair = NULL;
    int code = lower_layout(lower, instruction, &layout, st);
    if (code == 0 && ragged && !rows)
        code = check_ragged(lower, st);
    if (code == 0)
        code = lower_exchange_bytes(lower, instruction, layout, &exchanged_bytes, st);
    if (code < 0)
        return code;
    if (exchanged_bytes > 0) {
        before = *after = lower_exchange(lower, instruction, WHERE_ALL,
                                         (struct exchange){spec->setup_s, exchanged_bytes}, before);
        spec->setup_s = 0;
    }
    if (layout->chips < 2)
        return 0;
    lower_set_rings(lower, instruction, layout, spec);
    spec->endless = is_endless(lower, layout, whole);
    if (rows)
        code = lower_ragged_pairs(lower, instruction, spec, &pair, st);
    if (code == 0)
        code = lower_schedule(
            lower, instruction,
            (struct lowered_share){.slot = slot_of(lower->module, instruction), .whole = whole}, spec, st);
    const char *name = opcode_info(ragged && !rows ? HLO_ALL_TO_ALL : whole)->name;
    spec->root = lower_root(lower, layout, spec);
    if (code == 0)
        code = collective_by_name(name, st)->build(spec, &lower->program, before, after, st);
    if (code == 0 && rows && exchanged_bytes > 0) /* also for chips that send nothing */
        *after = program_join_of(&lower->program, (int32_t[]){before, *after}, 2, WHERE_ALL,
                                 lower->program.op[before].stage);
    free(pair);
    return code;
}

static int build(struct lower *lower, int32_t instruction, int32_t before, int32_t *after, struct status *st)
{
    char name[STAGE_NAME];
    struct collective_spec spec = {.all_to_all = lower->options->all_to_all,
                                   .elem_bytes = 1,
                                   .routes = 1,
                                   .setup_s = lower->options->setup_s,
                                   .timing_only = true};
    *after = before;
    if (communication_kind(lower->module, instruction) == HLO_COLLECTIVE_PERMUTE)
        return lower_permute(&(struct permute){lower, instruction, before, &spec,
                                               lower_collective_bytes(lower->module, instruction, 1)},
                             after, st);
    int kind = lower_kind_of(lower, instruction, st);
    if (kind < 0)
        return kind;
    spec.kind = (enum ring_kind)kind;
    spec.name = lower_name(lower->module, instruction, name);
    return build_on_rings(lower, instruction, &spec, before, after, st);
}

/* In a program of its own, while the state of the lowering is set aside. */
int lower_collective_time(struct lower *lower, int32_t collective, double *time_s, double *links_s,
                          struct status *st)
{
    struct program own = lower->program;
    int32_t after;
    program_init(&lower->program, lower->placement->slice);
    int code = build(lower, collective, -1, &after, st);
    if (code == 0)
        code = program_close(&lower->program, st);
    if (code == 0)
        code = program_time(&lower->program, time_s, st);
    if (code == 0 && links_s)
        *links_s = lower_links_s(&lower->program, 0);
    program_free(&lower->program);
    lower->program = own;
    return code;
}

/* What a collective has in common with those that have the same ops. False if others may have others: rows that differ, and
 * schedules chosen for one collective. */
static bool classify(const struct lower *lower, int32_t instruction, int64_t like[LOWERED_CLASS],
                     struct status *st)
{
    const struct module *module = lower->module;
    enum opcode whole = communication_kind(module, instruction);
    const struct attribute *pairs = module_find(module, instruction, ATTR_SOURCE_TARGET_PAIRS);
    bool permute = whole == HLO_COLLECTIVE_PERMUTE;
    like[0] = whole;
    like[1] = pairs ? pairs->first : slot_of(module, instruction);
    like[2] = pairs ? pairs->count : 0;
    like[3] = permute ? (int)module_ids_of(module, instruction) : lower_kind_of(lower, instruction, st);
    like[4] = (int64_t)lower_collective_bytes(module, instruction, 1);
    like[5] = (int64_t)communication_in_bytes(module, instruction);
    return permute || (lower_by_schedule(lower, instruction) && !ragged_rows_known(module, instruction));
}

/* Copies the ops of a collective like this one, or writes them. Ops that waited for none before cannot wait for one. */
static int write_ops(struct lower *lower, int32_t instruction, int32_t stage, int32_t before, int32_t *after,
                     struct status *st)
{
    struct program *program = &lower->program;
    struct lowered_ops own = {.first = program->ops, .links_s = NAN};
    char name[STAGE_NAME];
    int32_t k = 0;
    if (!classify(lower, instruction, own.like, st))
        return build(lower, instruction, before, after, st);
    while (k < lower->knowns && (memcmp(lower->known[k].like, own.like, sizeof own.like) != 0 ||
                                 (before >= 0 && program->op[lower->known[k].first].afters == 0)))
        k++;
    if (k < lower->knowns) {
        const struct lowered_ops *known = &lower->known[k];
        own.first = program_repeat(program, known->first, known->end, before, stage,
                                   lower_name(lower->module, instruction, name));
        *after = known->after + own.first - known->first;
    } else {
        int code = build(lower, instruction, before, after, st);
        if (code < 0 || program->ops == own.first)
            return code;
        if (!GROW(lower->known, lower->knowns, lower->knowns_room))
            return status_nomem(st);
        own.end = program->ops;
        own.after = *after;
        lower->known[lower->knowns++] = own;
    }
    lower->latest = k;
    return program_close(program, st);
}

int lower_collective(struct lower *lower, int32_t instruction, int32_t stage, int32_t before, int32_t *after,
                     struct status *st)
{
    const struct module *module = lower->module;
    *after = before;
    if (lower->options->free > 0 && instruction == lower->options->free)
        return 0;
    int code = 0;
    if (lower->options->least) /* lower_least_estimate() says how long it waits */
        *after = lower_exchange(lower, instruction, WHERE_ALL, (struct exchange){0}, before);
    else
        code = write_ops(lower, instruction, stage, before, after, st);
    return code < 0 ? status_prefix(st, "%s: ", module_name_at(module, instruction)) : 0;
}
