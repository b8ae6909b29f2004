/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of steps: what each moved over which links, and what it waited for. */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "traced.h"

/* Prints the steps of a program; without `record` from the summary of its trace alone. Ends with `want`. */
static void check_steps(struct traced *t, bool record, const char *want)
{
    struct run run = {
        .timing = {.whole = &t->program, .program = &t->program, .fold.orbit = 1, .trace = t->trace}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!record)
        run.timing.trace.start_s = run.timing.trace.end_s = NULL;
    OKAY(report_steps(&run, out, &t->st), t->st);
    fclose(out);
    const char *table = strstr(text, "#  stage");
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    if (strcmp(table, want) != 0)
        printf("%s", text);
    CU_ASSERT_STRING_EQUAL(table, want);
    free(text);
}

/* A ring of 3, permutes of 20 us, products of 8, 30 and 8: product 1 waits from 8 until 20, and its end at
 * 50 is after the second arrival at 40. Without single times nothing is said of waits. */
static void loop(void)
{
    struct traced t;
    traced_loop(&t, 3, 20, (const double[]){8, 30, 8});
    check_steps(
        &t, true,
        "#  stage                 step  kind      start     end    took  ops  bytes     x+   waits  "
        "after\n"
        "#                                         (us)    (us)    (us)         (B)    (B)    (us)\n"
        "   collective-permute.1     0  send      0.000  20.000  20.000    3  19000  19000       -  -\n"
        "   collective-permute.1     1  send     20.000  40.000  20.000    3  19000  19000       -  "
        "collective-permute.1[0] x+\n"
        "   fusion.2                 0  compute   0.000   8.000   8.000    3      -      -   0.000  -\n"
        "   fusion.2                 1  compute  20.000  50.000  30.000    3      -      -  12.000  "
        "collective-permute.1[0] x+\n"
        "   fusion.2                 2  compute  50.000  58.000   8.000    3      -      -   0.000  "
        "fusion.2[1]\n");
    check_steps(&t, false,
                "#  stage                 step  kind      start     end    took  ops  bytes     x+\n"
                "#                                         (us)    (us)    (us)         (B)    (B)\n"
                "   collective-permute.1     0  send      0.000  20.000  20.000    3  19000  19000\n"
                "   collective-permute.1     1  send     20.000  40.000  20.000    3  19000  19000\n"
                "   fusion.2                 0  compute   0.000   8.000   8.000    3      -      -\n"
                "   fusion.2                 1  compute  20.000  50.000  30.000    3      -      -\n"
                "   fusion.2                 2  compute  50.000  58.000   8.000    3      -      -\n");
    traced_free(&t);
}

/* On a line of 4: chip 0 sends 3000 B to chip 2 and chip 1 sends 5000 B to chip 2 by +, chip 3 sends 1000 B
 * to chip 2 by -. Over the link from 1 to 2 go 8000. Latencies 2, 1 and 1 us; from 2 us on the first two
 * share it: 4000 left and 3000, the latter ends at 2 + 6 = 8, the former at 9. Chip 1 is the last to
 * finish, by its own send. */
static void several_links(void)
{
    struct traced t;
    traced_init(&t, 1, (const int[]){4, 1, 1}, false);
    int32_t stage = program_stage(&t.program, "all-to-all.1");
    traced_send(&t, stage, 0, 0, 2, 3000);
    traced_send(&t, stage, 0, 1, 1, 5000);
    traced_send(&t, stage, 0, 3, -1, 1000);
    traced_run(&t);
    check_steps(&t, true,
                "#  stage         step  kind  start    end   took  ops  bytes    x+    x-  after\n"
                "#                             (us)   (us)   (us)         (B)   (B)   (B)\n"
                "   all-to-all.1     0  send  0.000  9.000  9.000    3   5000  8000  1000  -\n");
    traced_free(&t);
}

/* A join before the product is no step, and is seen through: the product starts after the last send. */
static void join(void)
{
    struct traced t;
    traced_naive(&t, 3, 10, 40);
    check_steps(&t, true,
                "#  stage         step  kind      start     end    took  ops  bytes    x+   waits  after\n"
                "#                                 (us)    (us)    (us)         (B)   (B)    (us)\n"
                "   all-gather.1     0  send      0.000  10.000  10.000    3   9000  9000       -  -\n"
                "   all-gather.1     1  send     10.000  20.000  10.000    3   9000  9000       -  "
                "all-gather.1[0] x+\n"
                "   fusion.2         0  compute  20.000  60.000  40.000    3      -     -  20.000  "
                "all-gather.1[1] x+\n");
    traced_free(&t);
}

SUITE("steps", TEST(loop), TEST(several_links), TEST(join))
