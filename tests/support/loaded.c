/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "loaded.h"

#include <stdlib.h>
#include <string.h>

#include "suite.h"

void loaded_read(struct loaded *l, const struct program *program, const struct trace *trace,
                 struct perfetto_options options)
{
    memset(l, 0, sizeof *l);
    FILE *out = open_memstream(&l->text, &l->bytes);
    OKAY(perfetto_write(program, NULL, trace, &options, out, &l->st), l->st);
    fclose(out);
    CU_ASSERT_FATAL(document_parse(&l->document, "trace.json", l->text, l->bytes, &l->st) == 0);
    l->events = node_get(l->document.root, "traceEvents");
    CU_ASSERT_FATAL(l->events != NULL && l->events->kind == NODE_SEQUENCE);
}

void loaded_free(struct loaded *l)
{
    document_free(&l->document);
    free(l->text);
}

const char *event_text(const struct node *event, const char *key)
{
    struct status st = {0};
    const char *text = "";
    const struct node *node = node_get(event, key);
    if (node)
        OKAY(node_text(node, key, &text, &st), st);
    return text;
}

const char *event_arg(const struct node *event, const char *key)
{
    const struct node *args = node_get(event, "args");
    return args ? event_text(args, key) : "";
}

bool event_is(const struct node *event, const char *ph)
{
    return strcmp(event_text(event, "ph"), ph) == 0;
}

/* Microseconds with six decimals, as picoseconds; -1 for anything else. */
long long event_ps(const struct node *event, const char *key)
{
    const char *text = event_text(event, key), *dot = strchr(text, '.');
    char *end;
    if (!dot || strlen(dot) != 7 || strspn(text, "0123456789.") != strlen(text))
        return -1;
    long long whole = strtoll(text, &end, 10);
    return end == dot ? whole * 1000000 + strtoll(dot + 1, NULL, 10) : -1;
}

long event_number(const struct node *event, const char *key)
{
    const char *text = event_text(event, key);
    return *text ? strtol(text, NULL, 10) : -1;
}

int loaded_events(const struct loaded *l)
{
    return l->events->count;
}

/* Rows that events lie on have been named, before any event that is not metadata, and only once. */
static void check_metadata(const struct loaded *l)
{
    bool named[64][512] = {{false}}, begun = false;
    for (int e = 0; e < loaded_events(l); e++) {
        const struct node *event = l->events->child[e];
        long pid = event_number(event, "pid"), tid = event_number(event, "tid");
        CU_ASSERT_FATAL(pid >= 0 && pid < 64 && tid < 512);
        if (event_is(event, "M")) {
            CU_ASSERT_FALSE(begun);
            if (strcmp(event_text(event, "name"), "thread_name") == 0) {
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
    for (int e = 0; e < loaded_events(l); e++) {
        const struct node *event = l->events->child[e];
        if (event_is(event, "M"))
            continue;
        long long now[3] = {event_ps(event, "ts"), event_number(event, "pid"), event_number(event, "tid")};
        CU_ASSERT(now[0] >= 0);
        int k = 0;
        while (k < 2 && now[k] == last[k])
            k++;
        CU_ASSERT(now[k] >= last[k]);
        memcpy(last, now, sizeof now);
        CU_ASSERT(*event_text(event, "name") != '\0');
        const char *cat = event_text(event, "cat");
        CU_ASSERT(strcmp(cat, "compute") == 0 || strcmp(cat, "comm") == 0 || strcmp(cat, "wait") == 0);
        CU_ASSERT(!event_is(event, "X") || event_ps(event, "dur") > 0);
    }
}

/* On each row, what begins within an event ends within it: a stack of ends per row. */
static void check_nesting(const struct loaded *l)
{
    enum { DEEP = 64 }; /* events of no length at one instant lie within each other */
    static long long end[64][512][DEEP];
    int depth[64][512] = {{0}};
    for (int e = 0; e < loaded_events(l); e++) {
        const struct node *event = l->events->child[e];
        if (!event_is(event, "X"))
            continue;
        long pid = event_number(event, "pid"), tid = event_number(event, "tid");
        int *d = &depth[pid][tid];
        long long from = event_ps(event, "ts"), to = from + event_ps(event, "dur");
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
    for (int e = 0; e < loaded_events(l); e++) {
        const struct node *event = l->events->child[e];
        if (!event_is(event, "X") || event_number(event, "pid") != event_number(arrow, "pid") ||
            event_number(event, "tid") != event_number(arrow, "tid"))
            continue;
        long long from = event_ps(event, "ts"), at = event_ps(arrow, "ts");
        if (begins ? from == at : from <= at && at < from + event_ps(event, "dur"))
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
    for (int e = 0; e < loaded_events(l); e++) {
        const struct node *event = l->events->child[e];
        bool start = event_is(event, "s");
        if (!start && !event_is(event, "f"))
            continue;
        long id = event_number(event, "id");
        CU_ASSERT_FATAL(id > 0 && id < IDS);
        CU_ASSERT_EQUAL(seen[id], start ? 0 : 1);
        seen[id]++;
        CU_ASSERT(lies_on(l, event, !start));
        CU_ASSERT(start || strcmp(event_text(event, "bp"), "e") == 0);
        *(start ? &starts : &ends) += 1;
    }
    CU_ASSERT_EQUAL(starts, ends);
    return starts;
}

int loaded_check(const struct loaded *l)
{
    check_metadata(l);
    check_order(l);
    check_nesting(l);
    return check_arrows(l);
}

/* The name of an event's row. */
static const char *row_of(const struct loaded *l, const struct node *event)
{
    for (int e = 0; e < loaded_events(l); e++) {
        const struct node *meta = l->events->child[e];
        if (event_is(meta, "M") && strcmp(event_text(meta, "name"), "thread_name") == 0 &&
            event_number(meta, "pid") == event_number(event, "pid") &&
            event_number(meta, "tid") == event_number(event, "tid"))
            return event_arg(meta, "name");
    }
    return "";
}

/* The one event of a chip with that name, row, start and length in us, or NULL. */
const struct node *loaded_find(const struct loaded *l, int pid, const char *row, const char *name,
                               double start_us, double dur_us)
{
    const struct node *found = NULL;
    for (int e = 0; e < loaded_events(l); e++) {
        const struct node *event = l->events->child[e];
        if (!event_is(event, "X") || event_number(event, "pid") != pid ||
            strcmp(event_text(event, "name"), name) != 0 || strcmp(row_of(l, event), row) != 0)
            continue;
        if (event_ps(event, "ts") == (long long)(start_us * 1e6 + 0.5) &&
            event_ps(event, "dur") == (long long)(dur_us * 1e6 + 0.5)) {
            CU_ASSERT_PTR_NULL(found);
            found = event;
        }
    }
    return found;
}
