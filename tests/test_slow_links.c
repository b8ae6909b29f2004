/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A slow cable does not surprise: no collective is slower by it than on a slice all of whose links are as slow, or on one where it is
 * dead, none is faster with longer hops, and none knows what axes are called. On random slices.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/option.h"
#include "study/job.h"
#include "suite.h"

enum { AXES = 3, WORDS = 12, WORD = 80 };

/* A point as a command line has it, but its axes as numbers: those are called by an order that may change. */
struct draw {
    const char *op, *ring, *all_to_all, *size;
    int axes, len[AXES], at[AXES], along, mesh_axes, offset;
    bool wrap[AXES], both, one_ring;
    unsigned walked; /* bits of the axes */
    double share, hop_s;
};

/* What changes from run to run: called[a] is the place of axis a. */
struct change {
    int called[AXES];
    double share, link_Bps, hop_s;
};

static const double built_Bps = 90e9;

/* Bits of axes as text: "x*z". */
static char *print_axes(const struct draw *d, const struct change *change, unsigned bits, char between,
                        char text[static WORD])
{
    size_t used = 0;
    *text = '\0';
    for (int place = 0; place < d->axes; place++)
        for (int a = 0; a < d->axes; a++)
            if (change->called[a] == place && bits >> a & 1)
                used += (size_t)snprintf(text + used, WORD - used, "%s%c", used ? (char[]){between, 0} : "",
                                         'x' + place);
    return text;
}

struct words {
    char slice[WORD], wrap[WORD], link[2 * WORD], axis[WORD], mesh[WORD], hop[WORD], speed[WORD],
        offset[WORD];
};

static void write_words(const struct draw *d, const struct change *c, struct words *w)
{
    int len[AXES] = {1, 1, 1}, at[AXES] = {0};
    unsigned wraps = 0, all = (1u << d->axes) - 1;
    char axes[WORD], others[WORD];
    for (int a = 0; a < d->axes; a++) {
        len[c->called[a]] = d->len[a];
        at[c->called[a]] = d->at[a];
        wraps |= (unsigned)d->wrap[a] << a;
    }
    snprintf(w->slice, WORD, d->axes == 2 ? "%dx%d" : "%dx%dx%d", len[0], len[1], len[2]);
    snprintf(w->wrap, WORD, "%s", wraps ? print_axes(d, c, wraps, ',', axes) : "none");
    snprintf(axes, WORD, d->axes == 2 ? "%d,%d" : "%d,%d,%d", at[0], at[1], at[2]);
    snprintf(w->link, sizeof w->link, "%s:%c%s=%g", axes, 'x' + c->called[d->along], d->both ? "" : "+",
             c->share);
    snprintf(w->hop, WORD, "%.9gs", c->hop_s);
    snprintf(w->speed, WORD, "%.9gBps", c->link_Bps);
    snprintf(w->offset, WORD, "%d", d->offset);
    print_axes(d, c, d->walked, ',', w->axis);
    *w->mesh = '\0';
    if (d->mesh_axes) { /* one mesh axis on those that are walked */
        print_axes(d, c, d->walked, '*', axes);
        print_axes(d, c, all & ~d->walked, '*', others);
        snprintf(w->mesh, WORD, *others ? "a=%s,b=%s" : "a=%s", axes, others);
        snprintf(w->axis, WORD, "a");
    }
}

/* Seconds; NaN where the slice falls apart. `text` gets the command. */
static double run(const struct draw *d, const struct change *change, char text[static 512])
{
    struct words w;
    write_words(d, change, &w);
    const char *option[][2] = {{"op", d->op},
                               {"chip", "v5p"},
                               {"slice", w.slice},
                               {"wrap", w.wrap},
                               {"twist", d->axes == 3 ? "off" : NULL},
                               {"size", d->size},
                               {"axis", w.axis},
                               {"mesh", *w.mesh ? w.mesh : NULL},
                               {"ring", d->ring},
                               {"all-to-all", d->all_to_all},
                               {"offset", d->offset ? w.offset : NULL},
                               {"one-ring", d->one_ring ? "on" : NULL},
                               {"link", change->share < 1 ? w.link : NULL},
                               {"hop-latency", w.hop},
                               {"link-bandwidth", w.speed}};
    struct point point;
    struct catalog catalog = {0};
    struct result result;
    struct status st = {0};
    size_t used = (size_t)snprintf(text, 512, "run %s", d->op);
    point_init(&point);
    for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
        if (!option[i][1])
            continue;
        if (i > 0)
            used += (size_t)snprintf(text + used, 512 - used, " --%s %s", option[i][0], option[i][1]);
        OKAY(option_set(option_by_name(option[i][0]), option[i][1], &point, &st), st);
    }
    int code = job_result(&point, &catalog, &result, &st);
    catalog_free(&catalog);
    if (code < 0 && change->share > 0) {
        fprintf(stderr, "%s: %s\n", text, st.text);
        CU_FAIL("a point that does not run");
    }
    return code < 0 ? NAN : result.time_s;
}

static const char *one_of(struct suite_random *random, const char *const *list)
{
    int n = 0;
    while (list[n])
        n++;
    return list[suite_random(random, (unsigned)n)];
}

static struct draw draw_point(struct suite_random *random)
{
    static const char *const ops[] = {"all-gather", "reduce-scatter",     "all-reduce",
                                      "all-gather", "reduce-scatter",     "all-reduce",
                                      "all-to-all", "collective-permute", NULL};
    static const char *const rings[] = {"uni", "bidi", "bidi-half", NULL};
    static const char *const sizes[] = {"46080B", "921600B", "23040000B", "460800000B", NULL};
    static const double shares[] = {0.9, 0.8, 0.7, 0.5, 0.3, 0.1};
    struct draw d = {.op = one_of(random, ops), .size = one_of(random, sizes)};
    int chips;
    d.axes = 2 + (int)suite_random(random, 2);
    do {
        chips = 1;
        for (int a = 0; a < d.axes; a++)
            chips *= d.len[a] = 1 + (int)suite_random(random, 6);
    } while (chips < 4 || chips > 72);
    do
        d.along = (int)suite_random(random, (unsigned)d.axes);
    while (d.len[d.along] < 2);
    for (int a = 0; a < d.axes; a++) {
        d.wrap[a] = d.len[a] > 2 && suite_random(random, 2);
        int ends = d.len[a] - (a == d.along && !d.wrap[a]);
        d.at[a] = (int)suite_random(random, (unsigned)ends);
        d.walked |= (unsigned)(suite_random(random, 3) > 0) << a;
    }
    d.walked = d.walked ? d.walked : (1u << d.axes) - 1;
    d.both = suite_random(random, 3) > 0;
    d.share = shares[suite_random(random, 6)];
    d.hop_s = 0.5e-6 * (double)suite_random(random, 6);
    if (strcmp(d.op, "collective-permute") == 0) { /* along one axis, whose order has no other name */
        d.walked = 1u << d.along;
        d.offset = 1 + (int)suite_random(random, (unsigned)d.len[d.along] - 1);
        return d;
    }
    d.mesh_axes = suite_random(random, 4) == 0;
    d.one_ring = suite_random(random, 8) == 0;
    bool exchanges = strcmp(d.op, "all-to-all") == 0;
    if (exchanges && suite_random(random, 2))
        d.all_to_all = "direct", d.one_ring = false;
    else {
        d.all_to_all = exchanges ? "ring" : NULL;
        d.ring = one_of(random, rings);
    }
    return d;
}

/* a <= b but for 0.1 %; NaN says nothing. */
static int holds(double a, double b, const char *what, const char *a_text, const char *b_text,
                 unsigned long seed)
{
    if (!(a > b * 1.001))
        return 1;
    fprintf(stderr, "seed %lu, %s: %.9g us, %.9g us (%.4f)\n  %s\n  %s\n", seed, what, a * 1e6, b * 1e6,
            a / b, a_text, b_text);
    return 0;
}

static void look_at(unsigned long seed)
{
    struct suite_random random = {seed};
    struct draw d = draw_point(&random);
    struct change same = {{0, 1, 2}, d.share, built_Bps, d.hop_s}, slow = same, dead = same, near = same,
                  renamed = same;
    char text[512], other[512];
    slow.share = 1;
    slow.link_Bps = built_Bps * d.share;
    dead.share = 0;
    near.hop_s = fmax(d.hop_s - 0.5e-6 * (1 + suite_random(&random, 2)), 0);
    for (int a = d.axes - 1; a > 0; a--) {
        int k = (int)suite_random(&random, (unsigned)a + 1), was = renamed.called[a];
        renamed.called[a] = renamed.called[k];
        renamed.called[k] = was;
    }
    double time_s = run(&d, &same, text);
    int right = holds(time_s, run(&d, &slow, other), "slower than all as slow", text, other, seed);
    right &= holds(time_s, run(&d, &dead, other), "slower than dead", text, other, seed);
    right &= holds(run(&d, &near, other), time_s, "faster with longer hops", other, text, seed);
    double called_s = run(&d, &renamed, other);
    right &= holds(called_s, time_s, "renamed", other, text, seed);
    right &= holds(time_s, called_s, "renamed", text, other, seed);
    CU_ASSERT(right);
}

static void does_not_surprise(void)
{
    const char *more = getenv("ICISIM_ROUNDS"), *from = getenv("ICISIM_FROM");
    unsigned long rounds = more ? strtoul(more, NULL, 10) : 40, start = from ? strtoul(from, NULL, 10) : 0;
    for (unsigned long seed = start; seed < start + rounds; seed++)
        look_at(seed);
}

/* Points that were faster with longer hops before sends were held back. */
static void holds_back(void)
{
    static const unsigned long seeds[] = {592, 1269, 1350, 3154, 3353, 4011};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        look_at(seeds[i]);
}

SUITE("slow_links", TEST(does_not_surprise), TEST(holds_back))
