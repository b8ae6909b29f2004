/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/collective_job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compile/lower_devices.h"
#include "numbers/call.h"
#include "study/module_options.h"

/* A collective's name is one word; a matmul is more. Unknown words are looked up here too, as this names the
 * nearest ones. */
static bool collective_matches(const struct point *point)
{
    return strcspn(point->work.op, " .[/") == strlen(point->work.op);
}

/* Elements of the whole array. */
static int read_size(struct collective_job *c, const struct point *point, struct status *st)
{
    char text[UNITS_TEXT], least[UNITS_TEXT];
    if (point->work.size_bytes == 0)
        return status_fail(st, STATUS_INPUT, "--size is missing; give %s of %s, such as --size 64MiB",
                           c->collective->size, c->collective->name);
    double elements = (double)point->work.size_bytes / c->dtype->bytes;
    if (elements > 0x1p60)
        return status_fail(st, STATUS_LIMIT, "--size %s is beyond any slice; give 2^60 elements or fewer, %s",
                           units_print_bytes(point->work.size_bytes, text),
                           units_print_bytes((uint64_t)(0x1p60 * c->dtype->bytes), least));
    c->elements = (int64_t)elements;
    if ((double)c->elements * c->dtype->bytes < (double)point->work.size_bytes)
        return status_fail(st, STATUS_INPUT,
                           "--size %s is not a whole number of %s elements; write a multiple of %s",
                           units_print_bytes(point->work.size_bytes, text), c->dtype->name,
                           units_print_bytes((uint64_t)c->dtype->bytes, least));
    return 0;
}

int algorithm_refuse_compiled(struct status *st)
{
    return status_fail(st, STATUS_INPUT,
                       "--algorithm as-compiled: only compiled text says how; write schedule, xla or best");
}

/* The schedule: as requested, or the profile's. */
static int read_schedule(struct collective_job *c, const struct job *job, struct status *st)
{
    const struct point *point = job->point;
    const struct collective *collective = c->collective;
    struct point named = *point;
    named.schedule.algorithm = CHOICE_OPEN;
    c->all_to_all = (enum all_to_all)point->schedule.all_to_all;
    c->uses_ring =
        collective->has_algorithms ? collective_algorithms[c->all_to_all].uses_ring : collective->uses_ring;
    c->algorithm = algorithm_of(point, strcmp(job->machine.chip->algorithm, "xla") == 0 ? ALGORITHM_XLA
                                                                                        : ALGORITHM_SCHEDULE);
    if (c->algorithm == ALGORITHM_AS_COMPILED)
        return algorithm_refuse_compiled(st);
    if (c->algorithm != ALGORITHM_SCHEDULE && algorithm_of(&named, ALGORITHM_XLA) == ALGORITHM_SCHEDULE)
        return status_fail(st, STATUS_INPUT,
                           "--algorithm %s chooses rings itself; leave out --ring, "
                           "--one-ring, --all-axes, --all-to-all and --keep-ties",
                           algorithm_name(c->algorithm));
    if (collective->has_targets && point->schedule.routes < 1)
        return status_fail(st, STATUS_INPUT, "--routes 0: write 1 or more");
    c->pattern = pattern_of_choice(point->schedule.algorithm);
    if (!collective_has_pattern(collective, c->pattern))
        return status_fail(st, STATUS_INPUT, "--algorithm %s does not apply to %s; write schedule or best",
                           pattern_name(c->pattern), collective->name);
    if (!c->uses_ring)
        return 0;
    int kind = ring_kind_or(point->schedule.ring, collective->has_algorithms, job->machine.chip->ring, st);
    if (st->code < 0)
        return status_prefix(st, "chip %s: ", job->machine.chip->name);
    c->kind = (enum ring_kind)kind;
    return 0;
}

/* Finds the chips that run a collective together: their rings, the targets of each, the bytes of each pair.
 * */
static int open_axes(struct collective_job *c, const struct job *job, struct status *st)
{
    const struct mesh *mesh = &job->machine.mesh;
    int code = mesh_parse_axes(mesh, job->point->work.axis, &c->axes, st);
    if (code < 0 && !job->point->machine.mesh)
        status_suffix(st, "; others are named by a mesh: --mesh dp=4,tp=4");
    if (code < 0)
        return status_prefix(st, "--axis: ");
    c->group_chips = axis_list_size(&c->axes, &mesh->axes);
    if (mesh->cores > 1)
        return groups_over_axes(&mesh->axes, &c->axes, &c->devices, st);
    return ring_choice_open(c, mesh, job->point, st);
}

/* One ring through the chips of each replica group, in the order listed. */
static int open_groups(struct collective_job *c, const struct job *job, struct status *st)
{
    if (job->point->work.axis)
        return status_fail(st, STATUS_INPUT,
                           "--groups and --axis both say who takes part; leave one of them out");
    struct groups groups = {0};
    int code = groups_parse(job->point->work.groups, job->machine.mesh.devices, &groups, st);
    if (job->machine.mesh.cores > 1) {
        c->devices = groups;
        c->group_chips = groups.size;
        return code;
    }
    if (code == 0)
        code = ring_set_of_groups(&c->choice.set, &job->machine.mesh, &groups, st);
    c->group_chips = groups.size;
    groups_free(&groups);
    return code;
}

static int read_pairs(const char *text, struct call *call, struct status *st)
{
    struct status why = {0};
    int code = call_parse_pairs(text, call, &why);
    return code == 0 ? 0
           : code == STATUS_NOMEM
               ? status_nomem(st)
               : status_fail(st, STATUS_INPUT, "--pairs '%s': write source-target pairs, such as 0-1,1-0",
                             text);
}

static int open_pairs(struct collective_job *c, const struct job *job, int32_t chip[], struct status *st)
{
    struct call call = {0};
    int code = read_pairs(job->point->work.pairs, &call, st);
    if (code == 0)
        code = permute_pairs(&job->machine.mesh, &c->axes, (const int32_t(*)[2])call.pair, call.pairs, chip,
                             c->target, st);
    call_free(&call);
    return code;
}

/* Converts pairs of positions to pairs of devices, in every group; for a shift, each device sends to the one
 * `offset` further on. */
static int pair_devices(struct collective_job *c, const struct job *job, const struct call *call,
                        struct status *st)
{
    struct groups group = c->devices, pairs = {0};
    int n = group.size, each = call ? call->pairs : n;
    int code = groups_init(&pairs, group.count * each, 2, st);
    for (int p = 0; p < group.count * each && code == 0; p++) {
        const int *member = group.member + (size_t)(p / each) * (size_t)n;
        int from = call ? (int)call->pair[p % each][0] : p % n;
        int to = call ? (int)call->pair[p % each][1] : ((from + job->point->work.offset) % n + n) % n;
        if (from >= n || to >= n || from < 0 || to < 0)
            code = status_fail(st, STATUS_INPUT, "pair %d-%d: the positions are 0 to %d", from, to, n - 1);
        else
            memcpy(pairs.member + 2 * p, (int[]){member[from], member[to]}, 2 * sizeof(int));
    }
    groups_free(&group);
    c->devices = pairs;
    return code;
}

static int open_device_pairs(struct collective_job *c, const struct job *job, struct status *st)
{
    struct call call = {0};
    const char *text = job->point->work.pairs;
    int code = text ? read_pairs(text, &call, st) : 0;
    if (code == 0)
        code = pair_devices(c, job, text ? &call : NULL, st);
    call_free(&call);
    return code;
}

/* A permute without pairs is a shift along the axes. */
static int open_targets(struct collective_job *c, const struct job *job, struct status *st)
{
    if (job->point->work.groups)
        return status_fail(st, STATUS_INPUT,
                           "--groups: a collective-permute has pairs; give --pairs or --offset");
    if (job->machine.mesh.cores > 1)
        return open_device_pairs(c, job, st);
    size_t chips = (size_t)job->machine.slice.chips;
    int32_t *chip = malloc(chips * sizeof *chip);
    c->target = malloc(chips * sizeof *c->target);
    int code = chip && c->target ? 0 : status_nomem(st);
    if (code == 0 && job->point->work.pairs)
        code = open_pairs(c, job, chip, st);
    else if (code == 0)
        permute_shift(&job->machine.mesh, &c->axes, job->point->work.offset, chip, c->target);
    free(chip);
    return code;
}

static int open_participants(struct collective_job *c, const struct job *job, struct status *st)
{
    bool permutes = c->collective->has_targets;
    int code = job->point->work.groups && !permutes ? open_groups(c, job, st) : open_axes(c, job, st);
    if (code < 0)
        return code;
    if (permutes)
        return open_targets(c, job, st);
    if (job->point->work.root >= c->group_chips)
        return status_fail(st, STATUS_INPUT, "--root %d: a group has %d chips; their positions are 0 to %d",
                           job->point->work.root, c->group_chips, c->group_chips - 1);
    if (c->collective->has_pair_sizes)
        return ragged_read(job->point->work.pair_sizes, c->group_chips, c->elements, c->dtype,
                           &c->pair_elements, st);
    return 0;
}

static void print_axes(struct collective_job *c, const struct job *job)
{
    char *text = c->axes_text;
    axis_list_print(&c->axes, &job->machine.mesh.axes, text);
    size_t n = strlen(text);
    if (*text == '(') {
        memmove(text, text + 1, n - 2);
        text[n - 2] = '\0';
    }
}

static int open_as_is(struct job *job, struct status *st)
{
    const struct point *point = job->point;
    struct collective_job *c = job->state;
    if (!(c->collective = collective_by_name(point->work.op, st)))
        return st->code;
    if (option_check(point, (enum op_set)(1 << c->collective->id), c->collective->name, st) < 0)
        return st->code;
    int dtype = dtype_by_name(point->work.dtype, st);
    if (dtype < 0)
        return dtype;
    c->dtype = dtype_info((enum dtype_id)dtype);
    int code = read_size(c, point, st);
    if (code == 0)
        code = read_schedule(c, job, st);
    if (code == 0)
        code = open_participants(c, job, st);
    print_axes(c, job);
    return code;
}

static void collective_close(void *state)
{
    struct collective_job *c = state;
    ring_choice_close(&c->choice);
    free(c->target);
    free(c->pair_elements);
    groups_free(&c->devices);
}

struct collective_spec collective_job_spec(const struct job *job)
{
    const struct collective_job *c = job->state;
    const char *op = job->point->work.op;
    struct collective_spec spec = {.kind = c->kind,
                                   .all_to_all = c->all_to_all,
                                   .pattern = c->pattern,
                                   .elements = c->elements,
                                   .elem_bytes = c->dtype->bytes,
                                   .combine = strcmp(op, "pmax") == 0   ? COMBINE_MAX
                                              : strcmp(op, "pmin") == 0 ? COMBINE_MIN
                                                                        : COMBINE_SUM,
                                   .setup_s = job->machine.chip->setup_s,
                                   .keep_ties = job->point->schedule.keep_ties,
                                   .root = job->point->work.root,
                                   .target = c->target,
                                   .routes = job->point->schedule.routes,
                                   .pair_elements = c->pair_elements,
                                   .timing_only = !job->has_data};
    return spec;
}

/* Without rings, all sends of a chip are under way at once: one to every other chip. */
static double collective_sends(const struct job *job)
{
    const struct collective_job *c = job->state;
    return c->collective->has_algorithms && !c->uses_ring ? c->group_chips - 1 : 0;
}

static int append_devices(struct job *job, struct program *program, int32_t before, int32_t *after,
                          struct status *st)
{
    struct collective_job *c = job->state;
    const struct machine *machine = &job->machine;
    struct placement placement = {0};
    struct lower_options options;
    struct device_schedule schedule = {0};
    int32_t end = before;
    int code = module_options(job->point, machine->chip, &options, st);
    options.kind = options.exchange_kind = c->kind;
    options.algorithm = c->algorithm;
    if (code == 0)
        code =
            placement_init(&placement, &machine->slice, machine->mesh.devices, 1, &machine->mesh, NULL, st);
    if (code == 0)
        code = lower_devices(&(struct device_collective){&placement, &options, c->collective, c->dtype,
                                                         c->elements, &c->devices, job->point->work.root,
                                                         c->pair_elements},
                             program, &end, &schedule, st);
    placement_free(&placement);
    memcpy(c->lie, schedule.text, sizeof c->lie);
    c->config = schedule.config;
    c->follows = schedule.follows;
    c->kind = schedule.found ? schedule.kind : c->kind;
    c->pattern = schedule.found ? schedule.pattern : c->pattern;
    if (after)
        *after = end;
    return code;
}

int collective_job_append(struct job *job, bool timing_only, struct program *program, int32_t before,
                          int32_t *after, struct status *st)
{
    struct collective_job *c = job->state;
    const struct mesh *mesh = &job->machine.mesh;
    if (mesh->cores > 1)
        return append_devices(job, program, before, after, st);
    int code = ring_choice_settle(c, job, mesh, st);
    struct collective_spec spec = collective_job_spec(job);
    spec.timing_only = timing_only;
    if (code == 0)
        code = ring_choice_spec(c, mesh, &spec, st);
    return code < 0 ? code : c->collective->build(&spec, program, before, after, st);
}

static int collective_build(struct job *job, struct status *st)
{
    return collective_job_append(job, !job->has_data, &job->program, -1, NULL, st);
}

/* Describes the rings, and their formulas. */
static int describe_rings(struct collective_job *c, const struct job *job, struct result *result,
                          struct status *st)
{
    const struct point *point = job->point;
    struct formula_case formula;
    int code = collective_case(c, job, &formula, st);
    if (code == 0)
        code = long_hops_print(c, job, result->edges, st);
    if (code < 0)
        return code;
    if (point->machine.mesh && !point->work.groups && !c->target)
        ring_choice_print(c, &job->machine.mesh, result->rings);
    else if (c->choice.form == RING_FORM_RING)
        snprintf(result->rings, sizeof result->rings, "one ring over %s", c->axes_text);
    if (c->pattern != PATTERN_RINGS)
        return 0;
    if (!c->follows)
        RESULT_PUT(result->exact_id, formula_find(formula_exact, &formula, &result->formula_exact_s));
    RESULT_PUT(result->rule_id, formula_find(formula_rules, &formula, &result->formula_rule_s));
    return 0;
}

/* Describes the layout of the devices: "a on x*y*cores: box of 2x2 (x line, y line)". There are no formulas
 * for devices. */
static void describe_devices(const struct collective_job *c, const struct job *job, struct result *result)
{
    const struct mesh *mesh = &job->machine.mesh;
    *result->rings = '\0';
    for (int a = 0; a < mesh->axes.count; a++)
        text_add(result->rings, sizeof result->rings, "%s%s on %s", a ? ", " : "", mesh->axes.axis[a].name,
                 mesh->lay[a].how);
    if (*c->lie)
        text_add(result->rings, sizeof result->rings, ": %s", c->lie);
}

static int collective_describe(const struct job *job, const struct trace *trace, struct result *result,
                               struct status *st)
{
    struct collective_job *c = job->state;
    const struct point *point = job->point;
    (void)trace;
    int code = collective_bound(c, job, &result->bound_s, st);
    if (code == 0 && job->machine.mesh.cores > 1)
        describe_devices(c, job, result);
    else if (code == 0)
        code = describe_rings(c, job, result, st);
    if (code < 0)
        return code;
    RESULT_PUT(result->op, c->collective->name);
    RESULT_PUT(result->dtype, c->dtype->name);
    RESULT_PUT(result->axes, point->work.groups ? point->work.groups : c->axes_text);
    if (c->collective->has_algorithms)
        RESULT_PUT(result->strategy, all_to_all_name(c->all_to_all));
    if ((c->algorithm == ALGORITHM_BEST || c->pattern != PATTERN_RINGS) && c->uses_ring && !c->follows)
        RESULT_PUT(result->strategy, pattern_name(c->pattern));
    ring_choice_name(c, result->algorithm);
    if (c->uses_ring && !c->follows && c->pattern == PATTERN_RINGS)
        RESULT_PUT(result->ring, ring_kind_name(c->kind));
    if (c->uses_ring) {
        RESULT_PUT(result->reference_option, "ring");
        RESULT_PUT(result->reference, ring_kind_name(RING_UNI));
    }
    result->size_bytes = point->work.size_bytes;
    if (result->time_s > 0) {
        double bytes = (double)result->size_bytes / (c->collective->counts_one_chip ? c->group_chips : 1);
        result->algbw_Bps = bytes / result->time_s;
        int rounds = c->collective->busbw_rounds, n = c->group_chips;
        result->busbw_Bps = result->algbw_Bps * (rounds ? rounds * (n - 1.0) / n : 1);
    }
    return 0;
}

/* The time of the collective alone, on rings of its own choice. */
static int time_alone(struct job *job, double *time_s, struct status *st)
{
    struct program program;
    program_init(&program, &job->machine.slice);
    int code = collective_job_append(job, true, &program, -1, NULL, st);
    if (code == 0)
        code = program_time(&program, time_s, st);
    program_free(&program);
    return code;
}

/* Opens the job again, on a machine that treats slow links in the given way, where hops take hop_s, unless it is 0. */
static int reopen(struct job *job, enum slow_links way, double hop_s, struct status *st)
{
    struct point held = *job->point;
    collective_close(job->state);
    memset(job->state, 0, sizeof(struct collective_job));
    machine_close(&job->machine);
    held.machine.hop_latency_s = hop_s > 0 ? hop_s : held.machine.hop_latency_s;
    int code = machine_open(&job->machine, &held, job->catalog, st);
    if (code == 0)
        code = machine_set_slow_links(&job->machine, way, &held, job->catalog, st);
    job->machine.held_back = hop_s > 0;
    return code < 0 ? code : open_as_is(job, st);
}

/* Slow links are used, avoided like dead links, or set the pace of all, whichever is fastest. Sends that share a link meet there or
 * not, as latencies have it, so that longer hops may take less time; a schedule can do so, too: it holds its sends back as if hops
 * took longer. Each of these is a search of its own, which large slices have no time for. */
static int collective_open(struct job *job, struct status *st)
{
    enum { HOLDS = 5, HOLDS_CHIPS = 256 };
    static const double hop_s[HOLDS] = {0, 1e-6, 2e-6, 4e-6, 8e-6};
    const struct slice *slice = &job->machine.slice;
    struct collective_job *c = job->state;
    int best = 0, code = open_as_is(job, st);
    double best_s = INFINITY, asked_s = slice->hop_latency_s, time_s;
    if (code < 0 || slice_slowest_Bps(slice, -1) >= slice->link_Bps * (1 - 1e-9))
        return code;
    for (int i = 0; i < SLOW_LINKS_WAYS * HOLDS; i++) {
        struct status why = {0};
        enum slow_links way = (enum slow_links)(i / HOLDS);
        double held_s = hop_s[i % HOLDS];
        bool skip =
            held_s > 0 && (held_s <= asked_s || way == SLOW_LINKS_PACED || slice->chips > HOLDS_CHIPS);
        if (skip || (i > 0 && reopen(job, way, held_s, &why) < 0) || time_alone(job, &time_s, &why) < 0 ||
            time_s >= best_s * (1 - 1e-9))
            continue;
        best = i;
        best_s = time_s;
    }
    code = reopen(job, (enum slow_links)(best / HOLDS), hop_s[best % HOLDS], st);
    c->choice.weighed = true;
    return code;
}

static const char *collective_variants(const struct point *point, const char **values)
{
    struct status unknown = {0};
    const struct collective *c = collective_by_name(point->work.op, &unknown);
    if (!c)
        c = &collectives[0]; /* job_open() reports the unknown op */
    *values = c->variant_values;
    return c->variants;
}

const struct workload workload_collective = {WORKLOAD(collective),      .matches = collective_matches,
                                             .open = collective_open,   .sends = collective_sends,
                                             .build = collective_build, .describe = collective_describe,
                                             .close = collective_close, .variants = collective_variants};
