/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The devices in a collective's groups. What the ids in replica_groups stand for in XLA ("collective op group modes"):
 *
 *                           no channel_id   channel_id                     and use_global_device_ids=true
 *   all-gather, all-reduce, replicas of     replicas, with all partitions  flattened: replica * partitions
 *   reduce-scatter          a partition     of each                        + partition
 *   all-to-all, permute,    replicas of     partitions of
 *   broadcast               a partition     a replica
 */
#include <stdlib.h>
#include <string.h>

#include "hlo/module.h"

enum module_ids module_ids_of(const struct module *module, int32_t instruction)
{
    enum opcode whole = module_whole_at(module, instruction);
    bool channel = module_number(module, instruction, ATTR_CHANNEL_ID, 0) > 0;
    bool global = module_number(module, instruction, ATTR_USE_GLOBAL_DEVICE_IDS, 0) != 0;
    if (!channel)
        return IDS_REPLICAS;
    if (whole != HLO_ALL_GATHER && whole != HLO_ALL_REDUCE && whole != HLO_REDUCE_SCATTER)
        return IDS_PARTITIONS;
    return global ? IDS_FLATTENED : IDS_REPLICAS_ALL_PARTITIONS;
}

int module_ids(const struct module *module, enum module_ids ids)
{
    return ids == IDS_FLATTENED    ? module->replicas * module->partitions
           : ids == IDS_PARTITIONS ? module->partitions
                                   : module->replicas;
}

/* The groups of ids as written; {} and a missing attribute are one group of all ids. For a permute: its pairs. */
static int read_ids(const struct module *module, int32_t instruction, int ids, struct groups *made,
                    struct status *st)
{
    int pairs;
    const int64_t *pair = module_numbers(module, instruction, ATTR_SOURCE_TARGET_PAIRS, &pairs);
    int64_t entry = module_number(module, instruction, ATTR_REPLICA_GROUPS, -1);
    const struct groups *written = entry < 0 ? NULL : &module->groups[entry].groups;
    int code;
    *made = (struct groups){0};
    if (module_whole_at(module, instruction) == HLO_COLLECTIVE_PERMUTE) {
        if ((code = groups_init(made, pairs / 2, 2, st)) == 0)
            for (int i = 0; i < pairs; i++)
                made->member[i] = (int)pair[i];
        return code;
    }
    bool all = !written || written->count == 0;
    if ((code = groups_init(made, all ? 1 : written->count, all ? ids : written->size, st)) < 0)
        return code;
    for (int i = 0; all && i < ids; i++)
        made->member[i] = i;
    if (!all)
        memcpy(made->member, written->member,
               (size_t)written->count * (size_t)written->size * sizeof *made->member);
    return 0;
}

/* Every id is in range, and at most once a source and once a target. */
static int check_pairs(const struct groups *pairs, int ids, struct status *st)
{
    unsigned char *seen = calloc(2 * (size_t)ids + 1, 1);
    const int *member = pairs->member;
    int at = 0, members = 2 * pairs->count;
    if (!seen)
        return status_nomem(st);
    for (; at < members; at++) {
        unsigned char *role = seen + (at % 2 ? ids : 0);
        if (member[at] < 0 || member[at] >= ids || role[member[at]])
            break;
        role[member[at]] = 1;
    }
    free(seen);
    if (at == members)
        return 0;
    if (member[at] < 0 || member[at] >= ids)
        return status_fail(st, STATUS_INPUT, "source_target_pairs: there is no device %d; they are 0 to %d",
                           member[at], ids - 1);
    return status_fail(st, STATUS_INPUT, "source_target_pairs: device %d is twice a %s", member[at],
                       at % 2 ? "target" : "source");
}

int module_groups_of(const struct module *module, int32_t instruction, struct groups *groups,
                     struct status *st)
{
    enum module_ids ids = module_ids_of(module, instruction);
    int n = module_ids(module, ids), code;
    int spread = ids == IDS_FLATTENED ? 1 : ids == IDS_PARTITIONS ? module->replicas : module->partitions;
    bool pairs = module_whole_at(module, instruction) == HLO_COLLECTIVE_PERMUTE;
    bool joined = ids == IDS_REPLICAS_ALL_PARTITIONS;
    struct groups written;
    *groups = (struct groups){0};
    code = read_ids(module, instruction, n, &written, st);
    if (code == 0)
        code = pairs ? check_pairs(&written, n, st) : groups_check(&written, n, st);
    if (code == 0 && spread == 1) { /* ids are devices */
        *groups = written;
        return 0;
    }
    if (code == 0)
        code = groups_init(groups, written.count * (joined ? 1 : spread),
                           written.size * (joined ? spread : 1), st);
    /* a group for each partition (or replica) that the ids leave open, or all of these as members of one group */
    for (int g = 0; code == 0 && g < written.count; g++)
        for (int other = 0; other < spread; other++)
            for (int m = 0; m < written.size; m++) {
                int id = written.member[g * written.size + m];
                int at = joined ? (g * written.size + m) * spread + other
                                : (g * spread + other) * written.size + m;
                groups->member[at] =
                    ids == IDS_PARTITIONS ? other * module->partitions + id : id * module->partitions + other;
            }
    groups_free(&written);
    return code;
}
