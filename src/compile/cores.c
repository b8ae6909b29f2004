/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compile/lower_ragged.h"

/* How often a group has the chip of one of its members; -1 where that differs from member to member. `times` is scratch,
 * [chips], zeroed again. */
static int devices_a_chip(const struct placement *placement, const int member[], int size, int32_t times[])
{
    for (int i = 0; i < size; i++)
        times[placement->chip_of[member[i]]]++;
    int each = times[placement->chip_of[member[0]]];
    for (int i = 0; i < size; i++)
        each = times[placement->chip_of[member[i]]] == each ? each : -1;
    for (int i = 0; i < size; i++)
        times[placement->chip_of[member[i]]] = 0;
    return each;
}

/* Appends the chips of a group, each by the first of its devices there. */
static void append_chips(const struct placement *placement, const int member[], int size, int32_t seen[],
                         struct groups *chips)
{
    int *to = chips->member + (size_t)chips->count * (size_t)chips->size, n = 0;
    for (int i = 0; i < size; i++) {
        int32_t *of = &seen[placement->chip_of[member[i]]];
        if (*of == 0)
            to[n++] = member[i];
        *of = chips->count + 1;
    }
    chips->count++;
}

/* Is it the group of the other devices of chips that a group has been kept for, in the same order? */
static bool is_beside(const struct placement *placement, const int member[], const int32_t seen[],
                      const struct groups *chips)
{
    const int *kept = chips->member + (size_t)(seen[placement->chip_of[member[0]]] - 1) * (size_t)chips->size;
    for (int i = 0; i < chips->size; i++)
        if (placement->chip_of[member[i]] != placement->chip_of[kept[i]])
            return false;
    return true;
}

static int neither(struct status *st)
{
    return status_fail(
        st, STATUS_INPUT,
        "a group of devices has some devices of a chip and not the others; groups must have all "
        "devices of each of their chips, or one of each with the others in groups alike: take a "
        "--slice of as many chips as there are devices");
}

static int keep_groups(const struct placement *placement, const struct groups *groups, int each,
                       int32_t seen[], struct groups *chips, struct status *st)
{
    for (int g = 0; g < groups->count; g++) {
        const int *member = groups->member + (size_t)g * (size_t)groups->size;
        bool known = seen[placement->chip_of[member[0]]] > 0;
        if (known && !is_beside(placement, member, seen, chips))
            return neither(st);
        if (!known)
            append_chips(placement, member, groups->size, seen, chips);
    }
    return chips->count * (each == 1 ? placement->cores : 1) == groups->count ? 0 : neither(st);
}

int cores_fold(struct layout *layout, const struct placement *placement, const struct groups *groups,
               struct groups *chips, struct status *st)
{
    int32_t *seen = calloc((size_t)placement->slice->chips, sizeof *seen);
    int each = 0, code = seen ? 0 : status_nomem(st);
    for (int g = 0; g < groups->count && code == 0; g++) {
        int now =
            devices_a_chip(placement, groups->member + (size_t)g * (size_t)groups->size, groups->size, seen);
        if ((now != 1 && now != placement->cores) || (g > 0 && now != each))
            code = neither(st);
        each = now;
    }
    if (code == 0) {
        layout->chips = groups->size / each;
        layout->together = each == 1 ? placement->cores : 1;
        code = groups_init(chips, groups->count, layout->chips, st);
    }
    if (code == 0) {
        chips->count = 0;
        code = keep_groups(placement, groups, each, seen, chips, st);
    }
    free(seen);
    return code;
}

int cores_exchange_s(const struct lower *lower, int32_t instruction, const struct layout *layout,
                     double *seconds, struct status *st)
{
    const struct module *module = lower->module;
    enum opcode whole = opcode_info(module_at(module, instruction)->opcode)->whole;
    int code = 0;
    *seconds = 0;
    if (lower->placement->cores == 1 || layout->together > 1)
        return 0;
    double bytes = lower_collective_bytes(module, instruction, layout->devices);
    if (lower_has_rows(module, instruction))
        code = lower_ragged_most(lower, instruction, &bytes, st);
    else if (whole == HLO_ALL_TO_ALL || whole == HLO_RAGGED_ALL_TO_ALL) /* of all devices together */
        bytes /= layout->devices;
    *seconds = (whole == HLO_ALL_REDUCE ? 2 : 1) * roofline_hbm_s(&lower->options->roofline, bytes);
    return code;
}

int32_t cores_exchange(struct lower *lower, int32_t instruction, int32_t where, double seconds,
                       int32_t before)
{
    char name[STAGE_NAME];
    struct program *program = &lower->program;
    int32_t op = program_add(
        program, (struct op){.kind = OP_SEND,
                             .where = where,
                             .towards = program_towards(program, NULL, 0),
                             .amount = amount_of(0),
                             .setup_s = seconds,
                             .payload = NO_PAYLOAD,
                             .stage = program_stage(program, lower_name(lower->module, instruction, name))});
    program_wait(program, before);
    return op;
}

/* Fills in a part for each device of a chip that sends: [chips] how many do. */
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

/* Does each chip send to one chip, and by as many devices? */
static bool sends_alike(const struct cores_pairs *between, int chips, const int32_t senders[])
{
    for (int c = 0; c < chips; c++)
        for (int p = 0; p < between->parts && senders[c] > 0; p++)
            if (senders[c] != between->parts || between->target[p * chips + c] != between->target[c])
                return false;
    return true;
}

int cores_pairs_init(struct cores_pairs *between, const struct placement *placement,
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

void cores_pairs_free(struct cores_pairs *between)
{
    free(between->target);
    free(between->inside);
    between->target = NULL;
    between->inside = NULL;
}
