/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of the whole module: number of devices, consistency, trip counts. */

#include "hlo/hlo_reader.h"
#include "hlo/module_check.h"

static int fail_at(struct hlo_reader *r, int32_t instruction)
{
    return instruction < 0 ? status_prefix(r->lexer.st, "%s: ", r->lexer.file)
                           : hlo_fail_at(&r->lexer, r->lexer.text + r->place[instruction]);
}

/* The largest id in an instruction's groups or pairs, plus one; 0 if there are none. */
static int64_t count_ids(const struct module *module, int32_t instruction)
{
    int numbers;
    const int64_t *number = module_numbers(module, instruction, ATTR_SOURCE_TARGET_PAIRS, &numbers);
    int64_t entry = module_number(module, instruction, ATTR_REPLICA_GROUPS, -1), most = 0;
    for (int i = 0; i < numbers; i++)
        most = number[i] + 1 > most ? number[i] + 1 : most;
    const struct groups *groups = entry < 0 ? NULL : &module->groups[entry].groups;
    for (int i = 0; groups && i < groups->count * groups->size; i++)
        most = groups->member[i] + 1 > most ? groups->member[i] + 1 : most;
    return most;
}

/* XLA omits counts of one, and tools that extract modules omit more: then the groups tell the number of
 * devices. */
static int count_devices(struct hlo_reader *r)
{
    struct module *module = r->module;
    bool said = module->partitions > 1 || module->replicas > 1;
    int64_t replicas = 1, partitions = 1;
    for (int32_t i = 0; i < module->instructions && !said; i++) {
        enum opcode whole = module_whole_at(module, i);
        if (opcode_info(whole)->class != CLASS_COLLECTIVE)
            continue;
        enum module_ids ids = module_ids_of(module, i);
        int64_t n = count_ids(module, i);
        int64_t *most = ids == IDS_PARTITIONS || ids == IDS_FLATTENED ? &partitions : &replicas;
        *most = n > *most ? n : *most;
        if (replicas * partitions > GROUPS_DEVICES_MAX) {
            status_fail(r->lexer.st, STATUS_INPUT,
                        "the groups name %lld partitions of %lld replicas; a module has %d devices at most",
                        (long long)partitions, (long long)replicas, GROUPS_DEVICES_MAX);
            return fail_at(r, i);
        }
    }
    module->replicas = said && module->replicas ? module->replicas : (int)replicas;
    module->partitions = said && module->partitions ? module->partitions : (int)partitions;
    return 0;
}

/* The next entry of the list; false at its end, or if it is invalid: then its status has a fault. */
static bool next_entry(struct hlo_lexer *list, struct span *name, int64_t *trips)
{
    if (!hlo_peek(list))
        return false;
    return hlo_name(list, "a while", name) == 0 && hlo_expect(list, '=', "after it") == 0 &&
           hlo_integer(list, "a trip count", 0, INT64_C(1) << 40, trips) == 0 &&
           (!hlo_peek(list) || hlo_expect(list, ',', "after it") == 0);
}

static struct hlo_lexer list_of(const char *trips, struct status *st)
{
    trips = trips ? trips : "";
    return (struct hlo_lexer){"--trip-count", trips, trips, trips + strlen(trips), "", st};
}

int64_t hlo_given_trips(const struct hlo_reader *r, struct span name)
{
    struct status st = {0};
    struct hlo_lexer list = list_of(r->trips, &st);
    struct span given;
    for (int64_t trips; next_entry(&list, &given, &trips);)
        if (given.length == name.length && memcmp(given.at, name.at, (size_t)name.length) == 0)
            return trips;
    return -1;
}

static int check_given(const struct hlo_reader *r)
{
    const struct module *module = r->module;
    struct status st = {0};
    struct hlo_lexer list = list_of(r->trips, &st);
    struct span name;
    for (int64_t trips; next_entry(&list, &name, &trips);) {
        int32_t i = 0;
        while (i < module->instructions &&
               (module_at(module, i)->opcode != HLO_WHILE || !span_is(name, module_name_at(module, i))))
            i++;
        if (i == module->instructions)
            return status_fail(r->lexer.st, STATUS_INPUT, "%s: --trip-count: there is no while '%.*s'",
                               r->lexer.file, name.length, name.at);
    }
    if (st.code == STATUS_OK)
        return 0;
    return status_fail(r->lexer.st, STATUS_INPUT,
                       "--trip-count '%s': expected NAME=N,NAME=N, as in while.1=80", r->trips);
}

static int check_trips(struct hlo_reader *r)
{
    int64_t trips;
    for (int32_t i = 0; i < r->module->instructions; i++)
        if (module_at(r->module, i)->opcode == HLO_WHILE &&
            module_need_trips(r->module, i, &trips, r->lexer.st) < 0)
            return fail_at(r, i);
    return 0;
}

/* Does it split the array: {devices=[2,4]<=[8]} or {mesh['x'=2,'y'=4], [{'x'}, {}]}, rather than {replicated}
 * or {mesh['x'=2,'y'=4], replicated}? */
static bool is_cut(const char *sharding)
{
    return strstr(sharding, "devices=[") || (strstr(sharding, "mesh[") && strstr(sharding, "{'"));
}

/* Does such an instruction only exist before partitioning: at the border of a shard_map, or as a sharding of
 * Shardy's? */
static bool is_unpartitioned(const struct module *module, int32_t instruction)
{
    static const char *const targets[] = {"\"SPMDFullToShardShape\"", "\"SPMDShardToFullShape\"",
                                          "\"Sharding\""};
    const char *target = module_value(module, instruction, ATTR_CUSTOM_CALL_TARGET);
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        if (strcmp(target, targets[t]) == 0)
            return true;
    return strstr(target, "sdy.") ||
           strstr(module_value(module, instruction, ATTR_FRONTEND_ATTRIBUTES), "sdy.sharding");
}

/* Scheduled text is what runs. Otherwise, a program for many devices that shards arrays but never
 * communicates, or that has markers of shard_map or Shardy, has not been through the partitioner: its shapes
 * are those of whole arrays. */
static int check_partitioned(struct hlo_reader *r)
{
    const struct module *module = r->module;
    int32_t cut = -1;
    bool communicates = false, before = false;
    if (module->scheduled)
        return 0;
    for (int32_t i = 0; i < module->instructions && !before; i++) {
        enum opcode whole = module_whole_at(module, i);
        communicates = communicates || opcode_info(whole)->class == CLASS_COLLECTIVE;
        before = is_unpartitioned(module, i);
        if (before || (cut < 0 && is_cut(module_value(module, i, ATTR_SHARDING))))
            cut = i;
    }
    if (cut < 0 || (communicates && !before))
        return 0;
    status_fail(r->lexer.st, STATUS_INPUT,
                "shardings of whole arrays: this is HLO before SPMD partitioning, where every device would "
                "do all the work; compile it, and take what comes after, as compiled.as_text() is");
    return fail_at(r, cut);
}

int hlo_read_end(struct hlo_reader *r)
{
    int32_t where;
    r->lexer.at = r->lexer.text; /* reset: the text is complete here */
    int code = count_devices(r);
    if (code < 0)
        return code;
    if (module_check(r->module, &where, r->lexer.st) < 0)
        return fail_at(r, where);
    if ((code = check_given(r)) == 0 && (code = check_partitioned(r)) == 0)
        code = check_trips(r);
    return code;
}
