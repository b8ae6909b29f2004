/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random_program.h"

#include <stdlib.h>
#include <string.h>

enum { CHIPS_MAX = 512, HOPS_MAX = 4, ROUTES_MAX = 4 };

/* Short lists, so that transfers tie: 4096 bytes at 1 GB/s end with 8192 bytes at 2 GB/s, and 4.096 us of
 * latency too. Multiples of 2^-10 bytes, which an engine that counts in integers can scale up exactly. */
static const double speeds_Bps[] = {1e9, 1e9, 2e9, 3e9, 0.5e9};
static const double latencies_s[] = {0, 0, 1e-6, 1e-6, 4.096e-6, 2.385e-6};
static const double sizes_bytes[] = {0, 0x1p-10, 1, 4096, 4096, 8192, 12288, 2048, 45678.5};
static const double memory_Bps[] = {2e9, 3e9, 6e9, 12e9, 1e9};
/* To links of 1 and 3 GB/s as the HBM of a v5e and of a v5p is to theirs: 810 / 45 and 2800 / 90. */
static const double wide_Bps[] = {18e9, 31e9, 54e9, 93e9};
static const double seconds_s[] = {0, 1e-6, 4.096e-6, 8.192e-6, 3.3e-5};

#define ONE_OF(r, list) ((list)[suite_random((r), sizeof(list) / sizeof *(list))])

static int divisor_of(struct suite_random *r, int n)
{
    int d;
    do
        d = 1 + (int)suite_random(r, (unsigned)n);
    while (n % d != 0);
    return d;
}

/* The chip of the first period that a chip repeats. */
static int original(const struct random_program *random, int chip)
{
    int coord[SLICE_AXES];
    for (int a = 0; a < SLICE_AXES; a++)
        coord[a] = slice_coord(&random->slice, chip, a) % random->period[a];
    return slice_chip(&random->slice, coord);
}

static int random_slice(struct random_program *random, struct random_limits limits, struct suite_random *r,
                        struct status *st)
{
    int len[SLICE_AXES] = {1, 1, 1}, axes = 1 + (int)suite_random(r, SLICE_AXES), chips = 1;
    bool wrap[SLICE_AXES] = {false};
    do {
        chips = 1;
        for (int a = 0; a < axes; a++)
            chips *= len[a] = 1 + (int)suite_random(r, axes == 1 ? 12 : 6);
    } while (chips < 2 || chips > limits.chips);
    for (int a = 0; a < axes; a++)
        wrap[a] = suite_random(r, 3) > 0;
    int code = slice_init(&random->slice, axes, len, wrap, ONE_OF(r, speeds_Bps), ONE_OF(r, latencies_s), st);
    for (int a = 0; a < SLICE_AXES; a++) {
        bool may_fold = limits.folds && (slice_ring(&random->slice, a) > 0 || random->slice.len[a] == 2);
        random->period[a] = may_fold ? divisor_of(r, random->slice.len[a]) : random->slice.len[a];
    }
    return code;
}

/* Some links get a speed and a latency of their own, some are dead, and all that repeat them. */
static int random_links(struct random_program *random, struct suite_random *r, struct status *st)
{
    struct slice *slice = &random->slice;
    int ids = slice_link_ids(slice), ports = 2 * slice->axes, code = 0;
    for (int link = 0; link < ids && code == 0; link++) {
        int first = original(random, slice_link_start(slice, link)) * ports + link % ports;
        struct slice_link row = slice_link_row(slice, first);
        if (row.kind == LINK_NONE)
            continue;
        if (link != first)
            code = row.kind == LINK_DEAD ? slice_kill_link(slice, link, st)
                                         : slice_set_link(slice, link, row.bandwidth_Bps, row.latency_s, st);
        else if (suite_random(r, 4) == 0)
            code = slice_set_link(slice, link, ONE_OF(r, speeds_Bps), ONE_OF(r, latencies_s), st);
        else if (suite_random(r, 16) == 0)
            code = slice_kill_link(slice, link, st);
    }
    return code;
}

static int32_t random_route(struct random_program *random, struct suite_random *r)
{
    struct hop hop[HOPS_MAX];
    int hops = suite_random(r, 3) ? 1 : (int)suite_random(r, HOPS_MAX + 1);
    for (int h = 0; h < hops; h++) {
        hop[h].axis = (int)suite_random(r, (unsigned)random->slice.axes);
        int most = suite_random(r, 2) ? 1 : 2 + random->slice.len[hop[h].axis];
        hop[h].delta = 1 + (int)suite_random(r, (unsigned)most);
        if (suite_random(r, 2))
            hop[h].delta = -hop[h].delta;
    }
    return program_route(&random->program, hop, hops);
}

/* The route of a chip to any other, round what is dead; to itself if nothing leads there. */
static int32_t random_target(struct random_program *random, int chip, struct suite_random *r)
{
    struct hop hop[ROUTE_HOPS];
    int to = (int)suite_random(r, (unsigned)random->slice.chips);
    int hops = route_between(&random->slice, chip, to, hop, NULL);
    return program_route(&random->program, hop, hops < 0 ? 0 : hops);
}

static bool route_exists(const struct random_program *random, int chip, int32_t index)
{
    struct route route = random->program.route[index];
    return route_walk(&random->slice, chip, random->program.hop + route.first, route.hops, NULL) >= 0;
}

/* A mask of who may, thinned by chance. */
static int32_t random_mask(struct random_program *random, uint8_t may[], struct suite_random *r)
{
    unsigned keep = suite_random(r, 3); /* all of them, three in four, or one in four */
    for (int chip = 0; chip < random->slice.chips; chip++) {
        int first = original(random, chip);
        if (chip != first)
            may[chip] = may[first];
        else if (keep > 0)
            may[chip] = may[chip] && (suite_random(r, 4) > 0) == (keep == 1);
    }
    return program_mask(&random->program, may);
}

static struct amount random_amount(struct random_program *random, const double list[], unsigned n,
                                   int32_t where, struct suite_random *r)
{
    double amount[CHIPS_MAX];
    if (suite_random(r, 3))
        return amount_of(list[suite_random(r, n)]);
    for (int chip = 0; chip < random->slice.chips; chip++) {
        int first = original(random, chip);
        amount[chip] = chip == first ? list[suite_random(r, n)] : amount[first];
    }
    return program_amount_table(&random->program, amount, where);
}

static struct op random_send(struct random_program *random, struct suite_random *r)
{
    uint8_t may[CHIPS_MAX];
    int32_t route[ROUTES_MAX], table[CHIPS_MAX];
    unsigned routes = suite_random(r, 3) ? 1 : ROUTES_MAX;
    bool between = suite_random(r, 4) == 0;
    for (unsigned i = 0; i < routes; i++)
        route[i] = random_route(random, r);
    for (int chip = 0; chip < random->slice.chips; chip++) {
        int first = original(random, chip);
        table[chip] = chip != first ? table[first]
                      : between     ? random_target(random, chip, r)
                                    : route[suite_random(r, routes)];
        may[chip] = route_exists(random, chip, table[chip]);
    }
    int32_t where = random_mask(random, may, r);
    struct towards towards = routes == 1 && !between ? (struct towards){route[0], NO_TABLE}
                                                     : program_towards_table(&random->program, table, where);
    return (struct op){
        .kind = OP_SEND,
        .where = where,
        .towards = towards,
        .amount = random_amount(random, sizes_bytes, sizeof sizes_bytes / sizeof *sizes_bytes, where, r),
        .setup_s = suite_random(r, 4) ? 0 : ONE_OF(r, latencies_s),
        .memory = suite_random(r, 3)       ? MEMORY_ENDS
                  : random->without_copies ? (suite_random(r, 2) ? MEMORY_REDUCES : MEMORY_NONE)
                                           : (enum memory_use)suite_random(r, MEMORY_NONE + 1),
        .payload = NO_PAYLOAD};
}

static struct op random_compute(struct random_program *random, struct suite_random *r)
{
    uint8_t may[CHIPS_MAX];
    memset(may, 1, sizeof may);
    int32_t where = random_mask(random, may, r);
    return (struct op){.kind = OP_COMPUTE,
                       .where = where,
                       .towards = {0, NO_TABLE},
                       .amount =
                           random_amount(random, seconds_s, sizeof seconds_s / sizeof *seconds_s, where, r),
                       .hbm_Bps = suite_random(r, 2)       ? 0
                                  : random->without_copies ? random->slice.hbm_Bps
                                                           : ONE_OF(r, memory_Bps),
                       .payload = NO_PAYLOAD};
}

int random_program_init(struct random_program *random, struct random_limits limits, struct suite_random *r,
                        struct status *st)
{
    int code = random_slice(random, limits, r, st);
    program_init(&random->program, &random->slice);
    if (code == 0 && suite_random(r, 2))
        code = random_links(random, r, st);
    if (code < 0 || limits.chips > CHIPS_MAX)
        return code < 0 ? code : status_fail(st, STATUS_LIMIT, "at most %d chips", CHIPS_MAX);
    random->without_copies = suite_random(r, 2);
    if (suite_random(r, 2))
        random->slice.hbm_Bps = random->without_copies ? ONE_OF(r, wide_Bps) : ONE_OF(r, memory_Bps);
    if (suite_random(r, 2))
        random->slice.pcie_Bps = ONE_OF(r, memory_Bps);
    program_stage(&random->program, "random");
    int ops = 1 + (int)suite_random(r, (unsigned)limits.ops);
    unsigned computes = suite_random(r, 3); /* none, a few, half of the ops */
    for (int o = 0; o < ops; o++) {
        bool compute = suite_random(r, 4) < computes;
        program_add(&random->program, compute ? random_compute(random, r) : random_send(random, r));
        for (unsigned afters = o ? suite_random(r, 4) : 0; afters > 0; afters--) {
            unsigned back = suite_random(r, 2) ? 1 : 1 + suite_random(r, (unsigned)o);
            program_after(&random->program, o - (int)back, suite_random(r, 2) ? AFTER_DONE : AFTER_ARRIVED);
        }
    }
    return program_close(&random->program, st);
}

void random_program_free(struct random_program *random)
{
    program_free(&random->program);
    slice_free(&random->slice);
}
