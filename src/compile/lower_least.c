/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/lower_least.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "collective/collective.h"
#include "compile/lower_own.h"
#include "hlo/communication.h"
#include "hlo/tally.h"
#include "program/resource.h"

static bool is_permute(const struct module *module, int32_t instruction)
{
    return communication_kind(module, instruction) == HLO_COLLECTIVE_PERMUTE;
}

/* The time of a collective alone, and of that how long it uses the links. */
struct least_time {
    double seconds, links_s;
};

/* May one ring through all chips of a box be faster than `than_s`, were all its steps of one link? */
static bool may_join(const struct lower *lower, const struct layout *layout,
                     const struct collective *collective, const struct collective_spec *spec, double than_s)
{
    struct ring ideal = ring_ideal(layout->chips);
    struct collective_spec one = *spec;
    double links_s;
    one.rings = 1;
    one.ring[0] = &ideal;
    return layout->rings > 1 && !lower->options->all_axes &&
           collective_least_s(collective, lower->placement->slice, &one, &links_s) < than_s;
}

/* Without a program. */
static int find_least(struct lower *lower, int32_t instruction, const struct collective *collective,
                      struct least_time *least, struct status *st)
{
    const struct layout *layout;
    double exchanged_bytes = 0;
    int kind = lower_kind_of(lower, instruction, st), code = kind < 0 ? st->code : 0;
    struct collective_spec spec = {
        .kind = (enum ring_kind)kind, .elem_bytes = 1, .setup_s = lower->options->setup_s};
    *least = (struct least_time){.seconds = INFINITY};
    if (code == 0)
        code = lower_layout(lower, instruction, &layout, st);
    if (code == 0)
        code = lower_exchange_bytes(lower, instruction, layout, &exchanged_bytes, st);
    for (int one_ring = 0; one_ring < 2 && code == 0; one_ring++) {
        struct least_time way;
        lower_set_rings(lower, instruction, layout, &spec);
        if (one_ring && !may_join(lower, layout, collective, &spec, least->seconds))
            break;
        code = one_ring ? lower_join(lower, instruction, st) : 0;
        if (code < 0 || !lower_takes_way(lower, layout, one_ring, &spec))
            continue;
        way.seconds = collective_least_s(collective, lower->placement->slice, &spec, &way.links_s);
        *least = way.seconds < least->seconds ? way : *least;
    }
    least->seconds += lower_joint_s(lower, exchanged_bytes);
    return code;
}

/* Everything an estimate depends on but its bytes, without padding: the links, and the lines that the groups' mesh axes have on
 * the slice, which say where every group is: on which of their axes a line lies, its length and stride, and whether its ends are
 * joined. Nothing is sent beyond a line, so it does not matter how long an axis goes on. Of permutes, the slice and who sends
 * to whom. */
enum { KEY_LINES = 6 };
struct least_key {
    double setup_s, link_Bps, hop_latency_s;
    uint64_t pairs; /* a hash */
    int32_t whole, kind, dtype, simulated, algorithm, pattern, all_to_all, ways, cores, all_cores;
    int32_t line[KEY_LINES][4];
};
struct least_entry {
    struct least_key key;
    double in_bytes;
    struct least_time time;
};

void least_table_free(struct least_table *table)
{
    lookup_free(&table->lookup);
    free(table->entry);
    *table = (struct least_table){0};
}

/* The lines of a collective's groups. False if the mesh does not say where they are. */
static bool find_lines(const struct lower *lower, int32_t instruction, struct least_key *key)
{
    const struct mesh *mesh = lower->placement->mesh;
    const struct slice *slice = lower->placement->slice;
    struct side line[MESH_LAYOUT_LINES];
    struct axis_list list;
    struct status none = {0};
    char axes[TALLY_AXES];
    if (!mesh || mesh_parse_axes(mesh, tally_axes(lower->module, instruction, axes), &list, &none) < 0)
        return false;
    int lines = mesh_layout_lines(&mesh->layout, &list, line), places = 1, axis = 0;
    for (int i = 0; i < list.count; i++)
        key->all_cores |= mesh->cores > 1 && list.axis[i] == mesh->core_axis;
    for (int i = 0; i < lines && lines <= KEY_LINES; i++) {
        places *= line[i].n;
        axis += i > 0 && line[i].axis != line[i - 1].axis;
        bool whole = line[i].n * line[i].stride == slice->len[line[i].axis];
        int closed = whole && slice_ring(slice, line[i].axis) > 0;
        memcpy(key->line[i], (int32_t[]){axis, line[i].n, line[i].stride, closed}, sizeof key->line[i]);
    }
    return lines <= KEY_LINES &&
           places * (key->all_cores ? mesh->cores : 1) == axis_list_size(&list, &mesh->axes);
}

/* The chips between which a permute sends, in any order. */
static bool find_pairs(const struct lower *lower, int32_t instruction, struct least_key *key)
{
    const struct slice *slice = lower->placement->slice;
    const int32_t *chip_of = lower->placement->chip_of;
    int numbers;
    const int64_t *device = module_numbers(lower->module, instruction, ATTR_SOURCE_TARGET_PAIRS, &numbers);
    for (int i = 0; i + 1 < numbers; i += 2) {
        const int32_t pair[] = {chip_of[device[i]], chip_of[device[i + 1]]};
        key->pairs += (uint64_t)lookup_hash(1, pair, sizeof pair) << 32 | lookup_hash(2, pair, sizeof pair);
    }
    for (int a = 0; a < slice->axes; a++)
        memcpy(key->line[a], (int32_t[]){a, slice->len[a], 0, slice_ring(slice, a) > 0}, sizeof key->line[a]);
    return numbers > 0 && lower->placement->cores == 1;
}

/* Returns 0 if no other layout surely takes as long: for rows that differ, and on slow or twisted slices. */
static int find_key(struct lower *lower, int32_t instruction, struct least_key *key, struct status *st)
{
    const struct module *module = lower->module;
    const struct slice *slice = lower->placement->slice;
    const struct lower_options *options = lower->options;
    enum opcode whole = communication_kind(module, instruction);
    if (whole == HLO_RAGGED_ALL_TO_ALL || slice->link || slice->chip_frac || slice_is_twisted(slice))
        return 0;
    int kind = lower_kind_of(lower, instruction, st);
    if (kind < 0)
        return st->code;
    memset(key, 0, sizeof *key);
    key->setup_s = options->setup_s;
    key->link_Bps = slice->link_Bps;
    key->hop_latency_s = slice->hop_latency_s;
    key->whole = (int32_t)whole;
    key->kind = kind;
    key->dtype = module_shape_of(module, instruction)->dtype;
    key->algorithm = (int32_t)options->algorithm;
    key->pattern = (int32_t)options->pattern;
    key->all_to_all = (int32_t)options->all_to_all;
    key->ways = options->one_ring + 2 * options->all_axes + 4 * lower_by_schedule(lower, instruction);
    key->cores = lower->placement->cores;
    return is_permute(module, instruction) ? find_pairs(lower, instruction, key)
                                           : find_lines(lower, instruction, key);
}

/* Finds an entry of the table; -1 if it has none yet, or must not have one. `entry` gets the key, `hash` its
 * hash. A simulated time is kept for the most bytes. */
static int32_t find_kept(struct lower *lower, int32_t instruction, bool simulated, struct least_entry *entry,
                         uint32_t *hash, struct status *st)
{
    const struct least_table *table = lower->options->least_table;
    const struct lookup_entry *at = NULL;
    *hash = 0;
    *entry = (struct least_entry){.in_bytes = communication_in_bytes(lower->module, instruction)};
    if (!table || find_key(lower, instruction, &entry->key, st) <= 0)
        return -1;
    entry->key.simulated = simulated;
    *hash = lookup_hash(0, &entry->key, sizeof entry->key) | 1;
    int32_t i = lookup_next(&table->lookup, *hash, &at);
    while (i >= 0 && (memcmp(&table->entry[i].key, &entry->key, sizeof entry->key) != 0 ||
                      (!simulated && table->entry[i].in_bytes != entry->in_bytes)))
        i = lookup_next(&table->lookup, *hash, &at);
    return i;
}

static int keep(struct least_table *table, const struct least_entry *entry, uint32_t hash, struct status *st)
{
    if (hash == 0)
        return 0;
    if (!GROW(table->entry, table->entries, table->room) ||
        lookup_add(&table->lookup, hash, table->entries) < 0)
        return status_nomem(st);
    table->entry[table->entries++] = *entry;
    return 0;
}

/* Simulates a collective, unless that was done with as many bytes or more: of fewer it takes a little more than in
 * proportion. */
static int simulate(struct lower *lower, int32_t instruction, struct least_time *time, struct status *st)
{
    struct least_table *table = lower->options->least_table;
    struct least_entry made;
    uint32_t hash;
    int32_t known = find_kept(lower, instruction, true, &made, &hash, st);
    const struct least_entry *entry = known < 0 ? NULL : &table->entry[known];
    if (entry && entry->in_bytes >= made.in_bytes) {
        double by = entry->in_bytes > 0 ? made.in_bytes / entry->in_bytes : 1;
        *time = (struct least_time){by * entry->time.seconds, by * entry->time.links_s};
        return 0;
    }
    if (st->code < 0 ||
        lower_collective_time(lower, instruction, &made.time.seconds, &made.time.links_s, st) < 0)
        return st->code;
    *time = made.time;
    if (known < 0)
        return keep(table, &made, hash, st);
    table->entry[known] = made;
    return 0;
}

/* Not simulated is what would begin with a search for the shares of its rings, which takes long. */
static int estimate(struct lower *lower, const struct least_class *class, struct least_time *time,
                    struct status *st)
{
    enum opcode whole = communication_kind(lower->module, class->instruction);
    const struct collective *collective = collective_by_name(opcode_info(whole)->name, st);
    struct least_entry made;
    uint32_t hash;
    *time = (struct least_time){class->bound_s, class->bound_s};
    if (!collective)
        return st->code;
    if (!collective->uses_ring || !lower_by_schedule(lower, class->instruction) ||
        lower->options->pattern != PATTERN_RINGS)
        return class->small ? 0 : simulate(lower, class->instruction, time, st);
    int32_t known = find_kept(lower, class->instruction, false, &made, &hash, st);
    if (known >= 0)
        *time = lower->options->least_table->entry[known].time;
    if (known >= 0 || st->code < 0 || find_least(lower, class->instruction, collective, &made.time, st) < 0)
        return st->code;
    *time = made.time;
    return keep(lower->options->least_table, &made, hash, st);
}

/* Bytes that leave a device, on average, under any schedule: all other devices of its group must receive
 * their parts. */
static double bytes_out(const struct lower *lower, int32_t instruction, int n)
{
    const struct module *module = lower->module;
    double bytes = lower_collective_bytes(module, instruction, n), share = 1 - 1. / n;
    int count;
    switch (communication_kind(module, instruction)) {
    case HLO_ALL_GATHER:
    case HLO_REDUCE_SCATTER:
        return bytes * share;
    case HLO_ALL_REDUCE:
        return 2 * bytes * share;
    case HLO_ALL_TO_ALL: /* bytes of all devices together */
        return bytes / n * share;
    case HLO_COLLECTIVE_PERMUTE:
        module_numbers(module, instruction, ATTR_SOURCE_TARGET_PAIRS, &count);
        return count / 2 < lower->placement->devices ? 0 : bytes;
    default:
        return 0;
    }
}

static int both_passes(enum memory_use memory)
{
    return memory_passes(memory, false) + memory_passes(memory, true);
}

/* Bytes that pass a chip's HBM, on average; half of an all-reduce adds up, and half does not. */
static int find_hbm_bytes(struct lower *lower, int32_t instruction, double *bytes, struct status *st)
{
    const struct module *module = lower->module;
    enum opcode kind = communication_kind(module, instruction);
    double reduces = kind == HLO_REDUCE_SCATTER ? 1 : kind == HLO_ALL_REDUCE ? 0.5 : 0;
    double passes = reduces * both_passes(MEMORY_REDUCES) + (1 - reduces) * both_passes(MEMORY_ENDS);
    const struct layout *layout = NULL;
    int count, code = 0;
    if (is_permute(module, instruction)) {
        module_numbers(module, instruction, ATTR_SOURCE_TARGET_PAIRS, &count);
        *bytes =
            passes * lower_collective_bytes(module, instruction, 1) * (count / 2) / lower->placement->devices;
        return 0;
    }
    code = lower_layout(lower, instruction, &layout, st);
    *bytes = code == 0 ? passes * bytes_out(lower, instruction, layout->devices) : 0;
    return code;
}

int lower_least_links(struct lower *lower, int32_t instruction, double *bound_s, struct status *st)
{
    const struct slice *slice = lower->placement->slice;
    const struct layout *layout = NULL;
    bool permutes = is_permute(lower->module, instruction);
    int code = permutes ? 0 : lower_layout(lower, instruction, &layout, st);
    *bound_s = 0;
    if (code == 0 && lower->placement->cores == 1 && lower->placement->devices == slice->chips)
        *bound_s = bytes_out(lower, instruction, permutes ? 1 : layout->devices) /
                   (2 * slice->axes * slice->link_Bps);
    return code;
}

/* Do two collectives take equally long on every layout? */
static bool is_alike(const struct module *module, int32_t a, int32_t b)
{
    static const enum attribute_key lists[] = {ATTR_SOURCE_TARGET_PAIRS, ATTR_DIMENSIONS};
    const struct instruction *left = module_at(module, a), *right = module_at(module, b);
    if (left->opcode != right->opcode || left->shape != right->shape ||
        module_number(module, a, ATTR_REPLICA_GROUPS, -1) !=
            module_number(module, b, ATTR_REPLICA_GROUPS, -1))
        return false;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        int n[2];
        const int64_t *of[2] = {module_numbers(module, a, lists[l], &n[0]),
                                module_numbers(module, b, lists[l], &n[1])};
        if (n[0] != n[1] || (n[0] > 0 && memcmp(of[0], of[1], (size_t)n[0] * sizeof *of[0]) != 0))
            return false;
    }
    return communication_in_bytes(module, a) == communication_in_bytes(module, b);
}

static int add(struct lower_least *least, const struct lowered *item, int32_t collective, struct status *st)
{
    struct lower *lower = least->lower;
    int32_t c = 0;
    while (c < least->classes && !is_alike(lower->module, least->class[c].instruction, collective))
        c++;
    if (c == least->classes) {
        if (!GROW(least->class, least->classes, least->room))
            return status_nomem(st);
        least->class[least->classes++] = (struct least_class){.instruction = collective};
        if (lower_least_links(lower, collective, &least->class[c].bound_s, st) < 0 ||
            find_hbm_bytes(lower, collective, &least->class[c].hbm_bytes, st) < 0)
            return st->code;
    }
    if (least->program->op[item->end_op].kind == OP_SEND)
        least->class[c].times += item->times;
    else
        least->class[c].delays += item->times;
    least->class_of[item->end_op] = c;
    return 0;
}

static double weight(const struct least_class *class)
{
    return class->times * class->hbm_bytes;
}

/* Not simulated are collectives of a thousandth of all bytes, such as scales of norms, and permutes that take latency most of
 * all: only chips at the ends of lines wait for the longest. */
static void find_small(struct lower_least *least)
{
    const double small_frac = 1e-3, small_bytes = 1 << 20;
    const struct module *module = least->lower->module;
    double sum = 0;
    for (int32_t c = 0; c < least->classes; c++)
        sum += weight(&least->class[c]);
    for (struct least_class *class = least->class; class < least->class + least->classes; class ++)
        class->small = (class->hbm_bytes > 0 && weight(class) < small_frac * sum) ||
                       (is_permute(module, class->instruction) &&
                        communication_in_bytes(module, class->instruction) < small_bytes);
}

static int heaviest_first(const void *a, const void *b)
{
    const struct least_class *left = *(struct least_class *const *)a,
                             *right = *(struct least_class *const *)b;
    double more_s = right->times * right->bound_s - left->times * left->bound_s;
    return more_s > 0 ? 1 : more_s < 0 ? -1 : left->instruction - right->instruction;
}

int lower_least_init(struct lower_least *least, struct lower *lower, struct program *program,
                     struct status *st)
{
    *least = (struct lower_least){.lower = lower, .program = program};
    least->class_of = malloc(((size_t)program->ops + 1) * sizeof *least->class_of);
    least->heaviest = malloc(((size_t)program->ops + 1) * sizeof *least->heaviest);
    if (!least->class_of || !least->heaviest)
        return status_nomem(st);
    memset(least->class_of, -1, (size_t)program->ops * sizeof *least->class_of);
    int code = 0;
    for (int32_t i = 0; i < lower->items && code == 0; i++) {
        const struct lowered *item = &lower->item[i];
        int32_t at = item->instruction;
        if (opcode_info(module_at(lower->module, at)->opcode)->class == CLASS_DONE)
            at = module_operand(lower->module, at, 0); /* what delays the queue stands at the end */
        int32_t collective = lower_collective_in(lower->module, at);
        if (collective >= 0 && item->end_op >= 0)
            code = add(least, item, collective, st);
    }
    if (code < 0)
        return code;
    find_small(least);
    for (int32_t c = 0; c < least->classes; c++)
        least->heaviest[c] = &least->class[c];
    qsort(least->heaviest, (size_t)least->classes, sizeof *least->heaviest, heaviest_first);
    return 0;
}

void lower_least_free(struct lower_least *least)
{
    free(least->class_of);
    free(least->class);
    free(least->heaviest);
    *least = (struct lower_least){0};
}

/* Of the HBM that a collective takes, so much slows the computes beside it: chips at the ends of lines send less, and others
 * wait for them. In one of 18 steps of Llama 70B on 512 chips it was 0.8, in the others more than 1. */
#define HBM_SHARE 0.75

void lower_least_set(const struct lower_least *least)
{
    for (int32_t o = 0; o < least->program->ops; o++) {
        struct op *op = &least->program->op[o];
        if (least->class_of[o] < 0)
            continue;
        const struct least_class *class = &least->class[least->class_of[o]];
        if (op->kind == OP_COMPUTE)
            op->amount.each = class->wait.delay_s;
        else
            op->setup_s = class->wait.seconds;
        if (op->kind == OP_SEND)
            op->hbm_Bps = class->wait.seconds > 0 ? HBM_SHARE * class->hbm_bytes / class->wait.seconds : 0;
    }
}

void lower_least_bounds(struct lower_least *least)
{
    double frac = least->lower->options->contention_frac;
    for (struct least_class *class = least->class; class < least->class + least->classes; class ++)
        class->wait = (struct least_wait){class->bound_s, frac * class->bound_s};
}

double lower_least_sum_s(const struct lower_least *least)
{
    double sum_s = 0;
    for (int32_t c = 0; c < least->classes; c++)
        sum_s += least->class[c].times * least->class[c].bound_s;
    return sum_s;
}

int lower_least_estimate(const struct lower_least *least, struct least_class *class, struct lower *there,
                         bool other_loops, double *delay_s, struct status *st)
{
    struct least_time time = {.seconds = class->bound_s};
    double frac = there->options->contention_frac;
    bool here = !other_loops || !is_permute(least->lower->module, class->instruction);
    int code = here ? estimate(there, class, &time, st) : 0;
    double links_s = fmax(time.links_s, class->bound_s);
    *delay_s = class->delays * frac * (links_s - class->bound_s);
    class->wait = (struct least_wait){time.seconds, frac * links_s};
    return code;
}
