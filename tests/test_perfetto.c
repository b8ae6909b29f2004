/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Chrome trace: loaded again with a JSON parser, and held to what viewers and readers rely on. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "engine/engine.h"
#include "random_program.h"
#include "report/perfetto.h"
#include "traced.h"

/* A trace as text and as JSON. */
struct loaded {
    char *text;
    size_t bytes;
    struct document document;
    const struct node *events;
    struct status st;
};

static void load(struct loaded *l, const struct program *program, const struct trace *trace,
                 struct perfetto_options options)
{
    memset(l, 0, sizeof *l);
    FILE *out = open_memstream(&l->text, &l->bytes);
    OKAY(perfetto_write(program, NULL, trace, &options, out, &l->st), l->st);
    fclose(out);
    CU_ASSERT_FATAL(document_parse(&l->document, "trace.json", l->text, l->bytes, &l->st) == 0);
    l->events = node_get(l->document.root, "traceEvents");
    CU_ASSERT_FATAL(l->events != NULL && node_kind(l->events) == NODE_SEQUENCE);
}

static void unload(struct loaded *l)
{
    document_free(&l->document);
    free(l->text);
}

static const char *text_of(const struct node *event, const char *key)
{
    struct status st = {0};
    const char *text = "";
    const struct node *node = node_get(event, key);
    if (node)
        OKAY(node_text(node, key, &text, &st), st);
    return text;
}

static const char *arg_of(const struct node *event, const char *key)
{
    const struct node *args = node_get(event, "args");
    return args ? text_of(args, key) : "";
}

static bool is(const struct node *event, const char *ph)
{
    return strcmp(text_of(event, "ph"), ph) == 0;
}

/* Microseconds with six decimals, as picoseconds; -1 for anything else. */
static long long ps_of(const struct node *event, const char *key)
{
    const char *text = text_of(event, key), *dot = strchr(text, '.');
    char *end;
    if (!dot || strlen(dot) != 7 || strspn(text, "0123456789.") != strlen(text))
        return -1;
    long long whole = strtoll(text, &end, 10);
    return end == dot ? whole * 1000000 + strtoll(dot + 1, NULL, 10) : -1;
}

static long number_of(const struct node *event, const char *key)
{
    const char *text = text_of(event, key);
    return *text ? strtol(text, NULL, 10) : -1;
}

static int count_events(const struct loaded *l)
{
    return node_count(l->events);
}

/* Rows that events lie on have been named, before any event that is not metadata, and only once. */
static void check_metadata(const struct loaded *l)
{
    bool named[64][512] = {{false}}, begun = false;
    for (int e = 0; e < count_events(l); e++) {
        const struct node *event = node_child(l->events, e);
        long pid = number_of(event, "pid"), tid = number_of(event, "tid");
        CU_ASSERT_FATAL(pid >= 0 && pid < 64 && tid < 512);
        if (is(event, "M")) {
            CU_ASSERT_FALSE(begun);
            if (strcmp(text_of(event, "name"), "thread_name") == 0) {
                CU_ASSERT_FALSE(named[pid][tid]);
                named[pid][tid] = true;
            }
            continue;
        }
        begun = true;
        CU_ASSERT_FATAL(tid > 0);
        CU_ASSERT(named[pid][tid]);
    }
}

/* By (ts, pid, tid); times are microseconds with six decimals; every event has a name and one of three
 * categories. */
static void check_order(const struct loaded *l)
{
    long long last[3] = {-1, -1, -1};
    for (int e = 0; e < count_events(l); e++) {
        const struct node *event = node_child(l->events, e);
        if (is(event, "M"))
            continue;
        long long now[3] = {ps_of(event, "ts"), number_of(event, "pid"), number_of(event, "tid")};
        CU_ASSERT(now[0] >= 0);
        int k = 0;
        while (k < 2 && now[k] == last[k])
            k++;
        CU_ASSERT(now[k] >= last[k]);
        memcpy(last, now, sizeof now);
        CU_ASSERT(*text_of(event, "name") != '\0');
        const char *cat = text_of(event, "cat");
        CU_ASSERT(strcmp(cat, "compute") == 0 || strcmp(cat, "comm") == 0 || strcmp(cat, "wait") == 0);
        CU_ASSERT(!is(event, "X") || ps_of(event, "dur") > 0);
    }
}

/* On each row, what begins within an event ends within it: a stack of ends per row. */
static void check_nesting(const struct loaded *l)
{
    enum { DEEP = 64 }; /* events of no length at one instant lie within each other */
    static long long end[64][512][DEEP];
    int depth[64][512] = {{0}};
    for (int e = 0; e < count_events(l); e++) {
        const struct node *event = node_child(l->events, e);
        if (!is(event, "X"))
            continue;
        long pid = number_of(event, "pid"), tid = number_of(event, "tid");
        int *d = &depth[pid][tid];
        long long from = ps_of(event, "ts"), to = from + ps_of(event, "dur");
        while (*d > 0 && end[pid][tid][*d - 1] <= from)
            --*d;
        CU_ASSERT(*d == 0 || to <= end[pid][tid][*d - 1]);
        CU_ASSERT_FATAL(*d < DEEP);
        end[pid][tid][(*d)++] = to;
    }
}

/* Is there an event on that row at that instant; with `begins`, one that begins then? */
static bool lies_on(const struct loaded *l, const struct node *arrow, bool begins)
{
    for (int e = 0; e < count_events(l); e++) {
        const struct node *event = node_child(l->events, e);
        if (!is(event, "X") || number_of(event, "pid") != number_of(arrow, "pid") ||
            number_of(event, "tid") != number_of(arrow, "tid"))
            continue;
        long long from = ps_of(event, "ts"), at = ps_of(arrow, "ts");
        if (begins ? from == at : from <= at && at < from + ps_of(event, "dur"))
            return true;
    }
    return false;
}

/* Every arrow has an id of its own, one start and then one end, each on an event. Returns how many. */
static int check_arrows(const struct loaded *l)
{
    enum { IDS = 4096 };
    static int seen[IDS];
    memset(seen, 0, sizeof seen);
    int starts = 0, ends = 0;
    for (int e = 0; e < count_events(l); e++) {
        const struct node *event = node_child(l->events, e);
        bool start = is(event, "s");
        if (!start && !is(event, "f"))
            continue;
        long id = number_of(event, "id");
        CU_ASSERT_FATAL(id > 0 && id < IDS);
        CU_ASSERT_EQUAL(seen[id], start ? 0 : 1);
        seen[id]++;
        CU_ASSERT(lies_on(l, event, !start));
        CU_ASSERT(start || strcmp(text_of(event, "bp"), "e") == 0);
        *(start ? &starts : &ends) += 1;
    }
    CU_ASSERT_EQUAL(starts, ends);
    return starts;
}

static int check_all(const struct loaded *l)
{
    check_metadata(l);
    check_order(l);
    check_nesting(l);
    return check_arrows(l);
}

/* The name of an event's row. */
static const char *row_of(const struct loaded *l, const struct node *event)
{
    for (int e = 0; e < count_events(l); e++) {
        const struct node *meta = node_child(l->events, e);
        if (is(meta, "M") && strcmp(text_of(meta, "name"), "thread_name") == 0 &&
            number_of(meta, "pid") == number_of(event, "pid") &&
            number_of(meta, "tid") == number_of(event, "tid"))
            return arg_of(meta, "name");
    }
    return "";
}

/* The one event of a chip with that name, row, start and length in us, or NULL. */
static const struct node *find(const struct loaded *l, int pid, const char *row, const char *name,
                               double start_us, double dur_us)
{
    const struct node *found = NULL;
    for (int e = 0; e < count_events(l); e++) {
        const struct node *event = node_child(l->events, e);
        if (!is(event, "X") || number_of(event, "pid") != pid || strcmp(text_of(event, "name"), name) != 0 ||
            strcmp(row_of(l, event), row) != 0)
            continue;
        if (ps_of(event, "ts") == (long long)(start_us * 1e6 + 0.5) &&
            ps_of(event, "dur") == (long long)(dur_us * 1e6 + 0.5)) {
            CU_ASSERT_PTR_NULL(found);
            found = event;
        }
    }
    return found;
}

/* The loop of 4 chips with permutes of 10 us and products of 12.5, 6, 12.5, 5 us. Permutes arrive at 10, 20,
 * 30; bytes flow from 1 us after their start. Products: 0 .. 12.5, 12.5 .. 18.5, 20 .. 32.5 (it waits 1.5 us
 * for permute 1), 32.5 .. 37.5. */
static const double products_us[] = {12.5, 6, 12.5, 5};

static void events_of_a_loop(void)
{
    struct traced t;
    struct loaded l;
    traced_loop(&t, 4, 10, products_us);
    load(&l, &t.program, &t.trace, (struct perfetto_options){0});
    /* Per chip 3 arrows from an arrival to a product; 2 from a permute to the next, from the one that arrived
     * and from the chip's own. */
    CU_ASSERT_EQUAL(check_all(&l), 4 * (3 + 2 * 2));
    for (int chip = 0; chip < 4; chip++) {
        const struct node *product = find(&l, chip, "XLA Ops", "fusion.2", 20, 12.5);
        CU_ASSERT_PTR_NOT_NULL_FATAL(product);
        CU_ASSERT_STRING_EQUAL(text_of(product, "cat"), "compute");
        CU_ASSERT_STRING_EQUAL(arg_of(product, "step"), "2");
        const struct node *wait = find(&l, chip, "XLA Ops", "collective-permute-done.1", 18.5, 1.5);
        CU_ASSERT_PTR_NOT_NULL_FATAL(wait);
        CU_ASSERT_STRING_EQUAL(text_of(wait, "cat"), "wait");
        CU_ASSERT_STRING_EQUAL(arg_of(wait, "axis"), "x+");
        CU_ASSERT_STRING_EQUAL(arg_of(wait, "step"), "1");
        const struct node *start = find(&l, chip, "Async XLA Ops", "collective-permute-start.1", 10, 10);
        CU_ASSERT_PTR_NOT_NULL_FATAL(start);
        CU_ASSERT_STRING_EQUAL(text_of(start, "cat"), "comm");
        char row[32];
        snprintf(row, sizeof row, "ICI x+ -> TPU:%d", (chip + 1) % 4);
        const struct node *flow = find(&l, chip, row, "collective-permute.1", 11, 9);
        CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
        CU_ASSERT_STRING_EQUAL(arg_of(flow, "bytes"), "9000");
        CU_ASSERT_STRING_EQUAL(arg_of(flow, "hops"), "1");
        CU_ASSERT_PTR_NOT_NULL(find(&l, chip, "Steps", "collective-permute.1", 0, 30));
        CU_ASSERT_PTR_NOT_NULL(find(&l, chip, "Steps", "collective-permute.1[1]", 10, 10));
        CU_ASSERT_PTR_NOT_NULL(find(&l, chip, "Steps (2)", "fusion.2[3]", 32.5, 5));
    }
    unload(&l);
    traced_free(&t);
}

/* The same file, byte by byte, as tests/golden has it: the numbers in it follow from the comment above. */
static void golden(void)
{
    static const char path[] = "tests/golden/trace-loop.json";
    struct traced t;
    struct loaded l;
    const struct perfetto_pair manifest[] = {{"op", "loop of 4 chips"}};
    traced_loop(&t, 4, 10, products_us);
    load(&l, &t.program, &t.trace, (struct perfetto_options){.chips = 2, .pairs = 1, .manifest = manifest});
    char *want = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    ssize_t bytes = getdelim(&want, &room, EOF, file);
    fclose(file);
    bool same = bytes == (ssize_t)l.bytes && memcmp(want, l.text, l.bytes) == 0;
    if (!same)
        fprintf(stderr, "%s differs; it is now:\n%s", path, l.text);
    CU_ASSERT(same);
    free(want);
    unload(&l);
    traced_free(&t);
}

/* A collective is one async event; the wait for it is one; a join is not seen, but looked through. */
static void events_of_a_collective(void)
{
    struct traced t;
    struct loaded l;
    traced_naive(&t, 4, 10, 40);
    load(&l, &t.program, &t.trace, (struct perfetto_options){0});
    /* Per chip one arrow to the product, from the last arrival; 2 sends with one each from both before. */
    CU_ASSERT_EQUAL(check_all(&l), 4 * (1 + 2 * 2));
    const struct node *gather = find(&l, 3, "Async XLA Ops", "all-gather-start.1", 0, 30);
    CU_ASSERT_PTR_NOT_NULL_FATAL(gather);
    CU_ASSERT_STRING_EQUAL(arg_of(gather, "bytes"), "27000");
    CU_ASSERT_STRING_EQUAL(arg_of(gather, "steps"), "3");
    CU_ASSERT_PTR_NOT_NULL(find(&l, 3, "XLA Ops", "all-gather-done.1", 0, 30));
    CU_ASSERT_PTR_NOT_NULL(find(&l, 3, "XLA Ops", "fusion.2", 30, 40));
    CU_ASSERT_PTR_NOT_NULL(find(&l, 3, "Steps", "all-gather.1[1]", 10, 10));
    unload(&l);
    traced_free(&t);
}

/* Value of a counter of chip 0 from an instant on; -1 if it does not change then. */
static double counter_at(const struct loaded *l, const char *name, double at_us)
{
    for (int e = 0; e < count_events(l); e++) {
        const struct node *event = node_child(l->events, e);
        if (is(event, "C") && number_of(event, "pid") == 0 && strcmp(text_of(event, "name"), name) == 0 &&
            ps_of(event, "ts") == (long long)(at_us * 1e6 + 0.5))
            return atof(arg_of(event, "frac"));
    }
    return -1;
}

/* Two flows from chip 0 share its link x+, one of them goes on over the next: 6000 bytes on 1 link and 3000
 * on 2. Both rows of chip 0's link are used: latencies are 1 and 2 us. Alone from 1 to 2 us the first has
 * 5000 left; then both have half: the second ends at 2 + 6 = 8, the first has 2000 left and ends at 10.
 * Mean rates: 6000 / 9 us and 3000 / 6 us of 1000 a us. */
static void shared_links(void)
{
    struct traced t;
    struct loaded l;
    traced_init(&t, 1, (const int[]){4, 1, 1}, false);
    int32_t stage = program_stage(&t.program, "all-to-all.1");
    traced_send(&t, stage, 0, 0, 1, 6000);
    traced_send(&t, stage, 0, 0, 2, 3000);
    traced_run(&t);
    load(&l, &t.program, &t.trace, (struct perfetto_options){0});
    check_all(&l);
    CU_ASSERT_PTR_NOT_NULL(find(&l, 0, "ICI x+ -> TPU:1", "all-to-all.1", 1, 9));
    CU_ASSERT_PTR_NOT_NULL(find(&l, 0, "ICI x+ -> TPU:1 (2)", "all-to-all.1", 2, 6));
    CU_ASSERT_PTR_NOT_NULL(find(&l, 1, "ICI x+ -> TPU:2", "all-to-all.1", 2, 6));
    CU_ASSERT_PTR_NOT_NULL(find(&l, 2, "Async XLA Ops", "all-to-all-start.1", 0, 8)); /* only receives */
    NEAR(counter_at(&l, "use of ICI x+", 1), 6.0 / 9, 1e-5);
    NEAR(counter_at(&l, "use of ICI x+", 2), 6.0 / 9 + 3.0 / 6, 1e-5);
    NEAR(counter_at(&l, "use of ICI x+", 8), 6.0 / 9, 1e-5);
    CU_ASSERT_EQUAL(counter_at(&l, "use of ICI x+", 10), 0);
    unload(&l);
    traced_free(&t);
}

/* Rows of a chip have the stated order, and names that say where a link leads. Events of no length have 1
 * ps. */
static void rows_and_names(void)
{
    static const char *const want[] = {"Steps",           "XLA Ops",         "Async XLA Ops",
                                       "ICI x+ -> TPU:4", "ICI y+ -> TPU:1", "ICI y- -> TPU:3"};
    struct traced t;
    struct loaded l;
    traced_init(&t, 2, (const int[]){2, 4, 1}, true);
    int32_t stage = program_stage(&t.program, "fusion.1");
    traced_compute(&t, stage, 0, 0, 0);
    traced_compute(&t, stage, 1, 0, 5);
    traced_run(&t);
    load(&l, &t.program, &t.trace, (struct perfetto_options){0});
    check_all(&l);
    CU_ASSERT_PTR_NOT_NULL(find(&l, 0, "XLA Ops", "fusion.1", 0, 0.000001));
    int row = 0;
    for (int e = 0; e < count_events(&l); e++) {
        const struct node *event = node_child(l.events, e);
        if (number_of(event, "pid") == 5 && strcmp(text_of(event, "name"), "process_name") == 0)
            CU_ASSERT_STRING_EQUAL(arg_of(event, "name"), "/device:TPU:5 (1,1)");
        if (number_of(event, "pid") != 0 || strcmp(text_of(event, "name"), "thread_name") != 0)
            continue;
        CU_ASSERT_FATAL(row < 6);
        CU_ASSERT_STRING_EQUAL(arg_of(event, "name"), want[row]);
        row++;
        CU_ASSERT_EQUAL(number_of(event, "tid"), row);
    }
    CU_ASSERT_EQUAL(row, 6);
    unload(&l);
    traced_free(&t);
}

/* No more chips than asked for, the critical one among them: of 4 chips, chip 3 alone computes. */
static void chips_are_capped(void)
{
    struct traced t;
    struct loaded l;
    traced_init(&t, 1, (const int[]){4, 1, 1}, true);
    traced_compute(&t, program_stage(&t.program, "fusion.1"), 0, 3, 5);
    traced_run(&t);
    load(&l, &t.program, &t.trace, (struct perfetto_options){.chips = 2});
    int processes = 0;
    for (int e = 0; e < count_events(&l); e++) {
        const struct node *event = node_child(l.events, e);
        long pid = number_of(event, "pid");
        CU_ASSERT(pid == 0 || pid == 3);
        processes += strcmp(text_of(event, "name"), "process_name") == 0;
    }
    CU_ASSERT_EQUAL(processes, 2);
    CU_ASSERT_PTR_NOT_NULL(find(&l, 3, "XLA Ops", "fusion.1", 0, 5));
    unload(&l);
    traced_free(&t);
}

static void faults(void)
{
    struct traced t;
    struct trace summary;
    struct perfetto_options options = {0};
    struct status st = {0};
    traced_naive(&t, 4, 10, 40);
    OKAY(trace_init(&summary, &t.program, false, &st), st);
    CU_ASSERT_EQUAL(perfetto_write(&t.program, NULL, &summary, &options, stdout, &st), STATUS_INPUT);
    trace_free(&summary);
    FILE *full = fopen("/dev/full", "w");
    setvbuf(full, NULL, _IONBF, 0);
    CU_ASSERT_EQUAL(perfetto_write(&t.program, NULL, &t.trace, &options, full, &st), STATUS_IO);
    fclose(full);
    t.trace.total_s = 2e6;
    CU_ASSERT_EQUAL(perfetto_write(&t.program, NULL, &t.trace, &options, stdout, &st), STATUS_LIMIT);
    traced_free(&t);
}

static void random_programs(void)
{
    int arrows = 0;
    for (unsigned seed = 0; seed < 150; seed++) {
        struct suite_random r = {seed};
        struct random_program random;
        struct trace trace;
        struct loaded l;
        struct status st = {0};
        OKAY(random_program_init(&random, (struct random_limits){12, 30, false}, &r, &st), st);
        OKAY(trace_init(&trace, &random.program, true, &st), st);
        OKAY(engine_run(engine_by_name("event"), &random.program, &trace, &st), st);
        unsigned failures = CU_get_number_of_failures();
        load(&l, &random.program, &trace, (struct perfetto_options){.chips = 1 + (int)(seed % 12)});
        arrows += check_all(&l);
        unload(&l);
        trace_free(&trace);
        random_program_free(&random);
        if (CU_get_number_of_failures() > failures) {
            printf("seed %u\n", seed);
            break;
        }
    }
    CU_ASSERT(arrows > 1000);
}

SUITE("perfetto", TEST(events_of_a_loop), TEST(golden), TEST(events_of_a_collective), TEST(shared_links),
      TEST(rows_and_names), TEST(chips_are_capped), TEST(faults), TEST(random_programs))
