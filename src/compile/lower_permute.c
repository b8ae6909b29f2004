/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "compile/lower_own.h"

/* Where chips send by pairs of devices. Where all devices of a chip that send do so to one chip, and as many do on each chip,
 * that is one part, for so many together; else as many parts as devices of a chip send, the first ones, the second ones, ... */
struct cores_pairs {
    int parts, together;
    int32_t *target; /* [parts][chips]: -1, nowhere */
    uint8_t *inside; /* [chips] 1: a device sends to another one of the chip; NULL: nowhere */
};

/* Fills in one part for each sending device of a chip: [chips] number of senders. */
static void list_targets(struct cores_pairs *between, const struct placement *placement,
                         const struct groups *pairs, int32_t senders[])
{
    const int32_t *chip_of = placement->chip_of;
    int chips = placement->slice->chips, parts = 0;
    bool any = false, alone = placement->cores == 1;
    for (int p = 0; p < pairs->count; p++) {
        int from = chip_of[pairs->member[2 * p]], to = chip_of[pairs->member[2 * p + 1]];
        if (!alone && from == to) {
            between->inside[from] = 1;
            any = true;
            continue;
        }
        between->target[senders[from]++ * chips + from] = to;
        parts = senders[from] > parts ? senders[from] : parts;
    }
    between->parts = parts;
    if (!any) {
        free(between->inside);
        between->inside = NULL;
    }
}

/* Does each chip send to one chip, with the same number of devices? */
static bool sends_alike(const struct cores_pairs *between, int chips, const int32_t senders[])
{
    for (int c = 0; c < chips; c++)
        for (int p = 0; p < between->parts && senders[c] > 0; p++)
            if (senders[c] != between->parts || between->target[p * chips + c] != between->target[c])
                return false;
    return true;
}

static int cores_pairs_init(struct cores_pairs *between, const struct placement *placement,
                            const struct groups *pairs, struct status *st)
{
    size_t chips = (size_t)placement->slice->chips, room = chips * (size_t)placement->cores;
    int32_t *senders = calloc(chips, sizeof *senders);
    *between = (struct cores_pairs){.together = 1,
                                    .target = malloc(room * sizeof *between->target),
                                    .inside = calloc(chips, sizeof *between->inside)};
    int code = senders && between->target && between->inside ? 0 : status_nomem(st);
    if (code == 0) {
        memset(between->target, -1, room * sizeof *between->target);
        list_targets(between, placement, pairs, senders);
        if (between->parts > 1 && sends_alike(between, placement->slice->chips, senders)) {
            between->together = between->parts;
            between->parts = 1;
        }
    }
    free(senders);
    return code;
}

/* Senders and receivers. A kernel names its targets, else each device sends to the next one. */
static int find_pairs(const struct lower *lower, int32_t instruction, struct groups *pairs, struct status *st)
{
    const struct module *module = lower->module;
    int devices = lower->placement->devices, numbers;
    const int64_t *number = module_numbers(module, instruction, ATTR_SOURCE_TARGET_PAIRS, &numbers);
    if (module_at(module, instruction)->opcode != HLO_CUSTOM_CALL)
        return module_groups_of(module, instruction, pairs, st);
    int code = groups_init(pairs, number ? numbers / 2 : devices, 2, st);
    for (int p = 0; p < pairs->count && code == 0; p++)
        for (int end = 0; end < 2; end++) {
            pairs->member[2 * p + end] = number ? (int)number[2 * p + end] : (p + end) % devices;
            if (pairs->member[2 * p + end] >= devices)
                code = status_fail(st, STATUS_INPUT, "source_target_pairs: there is no device %d",
                                   pairs->member[2 * p + end]);
        }
    return code;
}

int lower_permute(const struct permute *p, int32_t *after, struct status *st)
{
    struct lower *lower = p->lower;
    struct groups pairs = {0};
    struct cores_pairs between = {0};
    struct program *program = &lower->program;
    char name[STAGE_NAME];
    int32_t first = program->ops, last;
    p->spec->name = lower_name(lower->module, p->instruction, name);
    int code = find_pairs(lower, p->instruction, &pairs, st);
    if (code == 0)
        code = cores_pairs_init(&between, lower->placement, &pairs, st);
    for (int part = 0; part < between.parts && code == 0; part++) {
        p->spec->target = between.target + (size_t)part * (size_t)lower->placement->slice->chips;
        p->spec->elements = (int64_t)(p->bytes * between.together);
        code = collective_of(COLLECTIVE_PERMUTE)->build(p->spec, program, p->before, &last, st);
    }
    if (code == 0 && between.inside)
        lower_exchange(lower, p->instruction, program_mask(program, between.inside),
                       (struct exchange){p->spec->setup_s, 2 * p->bytes}, p->before);
    free(between.target);
    free(between.inside);
    groups_free(&pairs);
    if (code == 0 && program->ops > first)
        *after = program_join_since(program, first, WHERE_ALL, program->op[first].stage);
    return code < 0 ? code : program_close(program, st);
}

double lower_remote_bytes(const struct module *module, int32_t instruction)
{
    bool kernel = module_at(module, instruction)->opcode == HLO_CUSTOM_CALL;
    double bytes = kernel ? module_config_number(module, instruction, "remote_bytes_transferred") : 0;
    return bytes > 0 ? bytes : 0;
}

int lower_remote(struct lower *lower, int32_t instruction, int32_t before, int32_t *after, struct status *st)
{
    struct collective_spec spec = {
        .elem_bytes = 1, .routes = 1, .setup_s = lower->options->setup_s, .timing_only = true};
    double bytes = lower_remote_bytes(lower->module, instruction);
    *after = before;
    return lower_permute(&(struct permute){lower, instruction, before, &spec, bytes}, after, st);
}
