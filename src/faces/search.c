/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/search.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/progress.h"
#include "base/time_limit.h"
#include "base/workers.h"
#include "faces/rows.h"
#include "faces/seats.h"
#include "settings/option.h"
#include "study/budget.h"
#include "study/step_bound.h"

/* The number of candidates simulated before the rest is compared with the best again. */
enum { AT_ONCE = 4 };

/* Points take up to 2.3 % more than their estimates. */
#define ROUGH_ABOVE 1.03

/* Times are equal but for rounding. */
#define ALIKE_FRAC 1e-9

/* Seats of the same sizes with the same other options, and their common properties. Families of the same seats follow
 * one another, in the order of their points. */
struct family {
    int64_t point;            /* index of its first point in the grid, with the first seat of all */
    int first_seat, end_seat; /* of its own */
    int64_t like;             /* its point with the first values of the next three */
    int batches, ahead;       /* micro-batches, prefetch */
    const char *strategy;     /* "": none is given */
    double compute_s, sent_s; /* computes alone; bytes sent over all links of a chip */
    double step_s;            /* the bound of its own step; 0: that was not opened */
    bool loops;               /* that has loops */
    double bound_s;           /* no point of it is faster; 0: not known */
    double promise_s;         /* families with a lower one are searched first */
    double memory_bytes;
    struct status why; /* the fault, if its points cannot run */
};

/* What a family's step takes at least, by one that is otherwise the same. Steps that both hide gathers, or both do not,
 * take alike; so do bidi and bidi-half. Computes are least without loops or gathers ahead. With more micro-batches arrays
 * may fit VMEM, which multiplies one of the others; with pieces both ways round products are larger than one way. Of 59,000
 * pairs of families of Llama 8B on 16 to 64 chips of v5e and v6e and 70B on 512 of v5p the least were 0.986, 0.916 (of
 * 0.98 * 0.93) and 0.203. */
#define SHARE_OF_LIKE    0.98
#define SHARE_OF_FEWER   0.93
#define SHARE_OF_ONE_WAY 0.2

/* The outcome of a point, for its row. */
enum end { END_OPEN, END_SIMULATED, END_REFUSED, END_BOUND, END_ESTIMATE };
struct fate {
    double least_s;
    int32_t family;
    enum end end;
};

struct candidate {
    double least_s;
    int64_t point, like; /* with the first strategy: a step without loops is the same with all of them */
    int32_t family;      /* -1: it has been estimated again */
    int seat;
    bool rough; /* its estimate could be higher */
};

struct found {
    int64_t point;
    struct result result;
};

struct search {
    const struct grid *grid;
    struct catalog *catalog;
    int jobs;
    struct ranking *ranking;
    struct least_table table;
    struct heap promised; /* as many of the least estimates as are asked for, negated, so the highest first */
    struct seats seats;
    struct family *family;
    const struct family **order;         /* the promising first */
    int32_t families, others;            /* of them with the same seats */
    struct candidate *candidate, *batch; /* all of them; those being simulated now */
    int32_t candidates, candidate_room;
    struct heap heap; /* of those that are left */
    bool writes;
    struct fate *fate; /* [points], if rows are written */
    struct found *found;
    int64_t founds, found_room;
    struct candidate *settled; /* those that were simulated */
    int64_t settles, settle_room;
    struct progress progress;
    struct budget_hold held; /* of a worker */
};

int search_matches(const struct sweep_file *file, const struct ranking *ranking, struct status *st)
{
    struct point point;
    if (!ranking->top || !file->grid->settings->tied || file->shard.of > 1)
        return 0;
    grid_point(file->grid, 0, &point);
    return step_bound_matches(&point, st);
}

/* The time of the last of the best so far. */
static double last_s(const struct search *search)
{
    const struct ranking *ranking = search->ranking;
    return ranking->count < ranking->top ? INFINITY : ranking->result[ranking->top - 1].time_s;
}

/* What is above this is not among the best. */
static double limit_s(const struct search *search)
{
    return last_s(search) * (1 + ALIKE_FRAC);
}

static bool is_out(const struct search *search, double bound_s)
{
    return bound_s > limit_s(search);
}

static int64_t point_at(const struct search *search, const struct family *family, int seat)
{
    return family->point + search->seats.seat[seat].value * search->seats.stride;
}

/* Records the outcome of a point. */
static void end_point(struct search *search, int64_t point, int32_t family, enum end end, double least_s)
{
    search->progress.done++;
    search->ranking->seen += end != END_SIMULATED;
    search->ranking->bounded += end == END_BOUND;
    search->ranking->slower += end == END_ESTIMATE;
    if (search->fate)
        search->fate[point] = (struct fate){least_s, family, end};
}

static void refuse(struct search *search, int32_t f, int64_t point, const struct status *why)
{
    search->family[f].why = *why;
    ranking_count(search->ranking, why->code);
    end_point(search, point, f, END_REFUSED, NAN);
}

static void end_family(struct search *search, int32_t f, enum end end, double bound_s)
{
    const struct family *family = &search->family[f];
    for (int s = family->first_seat; s < family->end_seat; s++)
        if (end == END_REFUSED)
            refuse(search, f, point_at(search, family, s), &search->family[f].why);
        else
            end_point(search, point_at(search, family, s), f, end, bound_s);
}

/* Candidates, the least first. */

static int push(struct search *search, struct candidate candidate, struct status *st)
{
    if (!GROW(search->candidate, search->candidates, search->candidate_room) ||
        !heap_push(&search->heap, candidate.least_s, candidate.point, search->candidates))
        return status_nomem(st);
    search->candidate[search->candidates++] = candidate;
    return 0;
}

static struct candidate pop(struct search *search)
{
    return search->candidate[heap_pop(&search->heap)];
}

/* Simulations, by workers. */

static void work(void *context, int64_t index, void *result)
{
    struct search *search = context;
    struct point point;
    struct status own = {0};
    double above_s = isinf(last_s(search)) ? 0 : limit_s(search);
    grid_point(search->grid, search->batch[index].point, &point);
    budget_hold(&search->held, &point, search->jobs);
    time_hold(2 * point.run.time_limit_s); /* to build it, and to simulate it */
    job_result_with(&point, &(struct job_options){.limit_s = above_s, .least_table = &search->table},
                    search->catalog, result, &own);
}

static int keep(struct search *search, int64_t point, const struct result *result, struct status *st)
{
    if (!search->writes)
        return 0;
    if (!GROW(search->found, search->founds, search->found_room))
        return status_nomem(st);
    search->found[search->founds].point = point;
    search->found[search->founds++].result = *result;
    return 0;
}

/* Takes the result of a candidate. */
static int rank(struct search *search, const struct candidate *candidate, struct result *result,
                struct status *st)
{
    if (result->rough) {
        end_point(search, candidate->point, candidate->family, END_ESTIMATE, last_s(search));
        return 0;
    }
    result->least_s = candidate->least_s;
    ranking_add(search->ranking, candidate->point, result);
    end_point(search, candidate->point, candidate->family, END_SIMULATED, candidate->least_s);
    if (search->ranking->count > 0)
        snprintf(search->progress.best, sizeof search->progress.best, "%.6g s: --slice %s --mesh %s",
                 search->ranking->result[0].time_s, search->ranking->result[0].slice,
                 grid_text(search->grid, search->ranking->index[0], option_by_name("mesh")));
    return keep(search, candidate->point, result, st);
}

static int take(void *context, int64_t index, const void *data, const char *how, struct status *st)
{
    struct search *search = context;
    const struct candidate *candidate = &search->batch[index];
    struct result result;
    if (!GROW(search->settled, search->settles, search->settle_room))
        return status_nomem(st);
    search->settled[search->settles++] = *candidate;
    rows_take(search->grid, candidate->point, search->catalog, data, how, &result);
    return rank(search, candidate, &result, st);
}

static int tick(void *context, struct status *st)
{
    struct search *search = context;
    (void)st;
    progress_tick(&search->progress);
    return 0;
}

static int run_workers(struct search *search, int64_t count, struct status *st)
{
    const struct workers_task task = {.count = count,
                                      .result_bytes = sizeof(struct result),
                                      .context = search,
                                      .work = work,
                                      .done = take,
                                      .tick = tick};
    return count > 0 ? workers_run(&task, search->jobs, st) : 0;
}

/* Families. */

/* Opens the step of a point in a family; returns 1 if it cannot run. */
static int open_step(struct search *search, int32_t f, int64_t at, struct step_bound *step, struct status *st)
{
    struct family *family = &search->family[f];
    struct point point;
    struct status own = {0};
    grid_point(search->grid, at, &point);
    int code = step_bound_open(step, &point, search->catalog, &search->table, &own);
    if (code == STATUS_NOMEM)
        return status_nomem(st);
    if (step->memory_bytes > 0)
        family->memory_bytes = step->memory_bytes;
    if (code < 0) {
        family->why = own;
        return 1;
    }
    family->step_s = step->bound_s;
    family->loops = step->loops;
    family->compute_s = step->compute_s;
    family->sent_s = step->sent_s;
    return 0;
}

/* The bound of a step, or what is about that for other loops of its family. */
static double family_bound_s(const struct step_bound *step)
{
    return (step->loops ? STEP_LOOPS : 1) * step->bound_s;
}

/* Estimates a point, roughly if that is above a limit; it becomes a candidate if it may be among the best. Returns 1
 * if its estimate is not above the limit, but has other loops than the step. */
static int estimate(struct search *search, struct step_bound *step, int32_t f, int seat, double rough_s,
                    struct status *st)
{
    struct status own = {0};
    struct point point;
    int64_t at = point_at(search, &search->family[f], seat);
    struct candidate candidate = {.family = f, .point = at, .like = at, .seat = seat};
    grid_point(search->grid, at, &point);
    int code = step_bound_estimate(step, &point, rough_s, search->catalog, &candidate.least_s, &own);
    progress_tick(&search->progress);
    if (code == STATUS_NOMEM)
        return status_nomem(st);
    candidate.least_s = fmax(candidate.least_s, code > 0 ? family_bound_s(step) : step->bound_s);
    candidate.rough = candidate.least_s > rough_s;
    if (!step->loops)
        candidate.like = grid_with(search->grid, at, option_by_name("strategy"), 0);
    if (code > 0 && !candidate.rough)
        return 1;
    if (code < 0)
        refuse(search, f, at, &own);
    else if (is_out(search, candidate.least_s))
        end_point(search, at, f, END_ESTIMATE, candidate.least_s);
    else
        code = push(search, candidate, st);
    if (code == 0 && !candidate.rough && !heap_push(&search->promised, -candidate.least_s, at, 0))
        return status_nomem(st);
    if (search->promised.count > search->ranking->top)
        heap_pop(&search->promised);
    return code == STATUS_NOMEM ? code : 0;
}

/* The family of the same seats whose points have another value of an option; -1: there is none. */
static int32_t family_with(const struct search *search, int32_t f, const char *option, const char *text)
{
    const struct option_row *row = option_by_name(option);
    int value = grid_find(search->grid, row, text);
    int64_t stride = search->seats.stride, at = grid_with(search->grid, search->family[f].point, row, value);
    int64_t other = at / (stride * search->seats.count) * stride + at % stride;
    return value < 0 ? -1 : (int32_t)(f / search->others * search->others + other);
}

/* Estimates the points of some seats of a family with the step of the first of them, roughly what is above a limit. Returns the
 * number of seats, now in front, whose points may be among the best, but have other loops. */
static int expand_with(struct search *search, int32_t f, int seat[], int seats, double rough_s,
                       struct status *st)
{
    struct step_bound step = {0};
    int left = 0, code = open_step(search, f, point_at(search, &search->family[f], *seat), &step, st);
    double bound_s = family_bound_s(&step);
    bool refused = code > 0, out = code == 0 && is_out(search, bound_s);
    for (int s = 0; s < seats && code >= 0; s++) {
        int64_t at = point_at(search, &search->family[f], seat[s]);
        int other = 0;
        if (refused)
            refuse(search, f, at, &search->family[f].why);
        else if (out)
            end_point(search, at, f, step.loops ? END_ESTIMATE : END_BOUND, bound_s);
        else
            code = other = estimate(search, &step, f, seat[s], fmin(rough_s, limit_s(search)), st);
        if (other > 0)
            seat[left++] = seat[s];
    }
    step_bound_close(&step);
    return code < 0 ? code : left;
}

/* Estimates all points of a family, or those again that were estimated roughly. What is above as many estimates as are to be found
 * is not worth more than a rough one at first, as long as few points are simulated. */
static int expand(struct search *search, int32_t f, bool again, struct status *st)
{
    const struct family *family = &search->family[f];
    int seats = 0, *seat = malloc((size_t)(family->end_seat - family->first_seat) * sizeof *seat);
    if (!seat)
        return status_nomem(st);
    for (int s = family->first_seat; s < family->end_seat && !again; s++)
        seat[seats++] = s;
    for (struct candidate *c = search->candidate; c < search->candidate + search->candidates && again; c++)
        if (c->family == f && c->rough) {
            seat[seats++] = c->seat;
            c->family = -1;
        }
    bool exact = again || seats == 1 || search->promised.count < search->ranking->top;
    double rough_s = exact ? INFINITY : -ROUGH_ABOVE * search->promised.entry[0].key;
    while (seats > 0 && !workers_interrupted())
        seats = expand_with(search, f, seat, seats, rough_s, st);
    free(seat);
    return seats < 0 ? seats : 0;
}

/* Takes a candidate whose step was simulated with another strategy. If that is not among the best any more, neither
 * is this. */
static int take_like(struct search *search, const struct candidate *candidate, int64_t point,
                     struct status *st)
{
    const struct ranking *ranking = search->ranking;
    struct result result = {.rough = true};
    int r = 0;
    while (r < ranking->count && ranking->index[r] != point)
        r++;
    if (r < ranking->count) {
        result = ranking->result[r];
        RESULT_PUT(result.strategy, grid_text(search->grid, candidate->point, option_by_name("strategy")));
        grid_print_given(search->grid, candidate->point, result.varied, sizeof result.varied);
    }
    return rank(search, candidate, &result, st);
}

/* Adds a candidate to the `count` that are to be simulated, unless its step is known from another. */
static int enlist(struct search *search, struct candidate candidate, int *count, struct status *st)
{
    int code = 0;
    for (int i = 0; i < *count && code == 0; i++)
        if (search->batch[i].like == candidate.like) {
            code = run_workers(search, *count, st);
            *count = 0;
        }
    for (int64_t s = 0; s < search->settles && code == 0; s++)
        if (search->settled[s].like == candidate.like)
            return take_like(search, &candidate, search->settled[s].point, st);
    search->batch[*count] = candidate;
    *count += code == 0;
    return code;
}

/* Simulates the candidates that may be among the best in ascending order of time, some at a time. */
static int settle(struct search *search, struct status *st)
{
    int code = 0, count = 0;
    while (code == 0 && (count > 0 || search->heap.count > 0)) {
        bool open = search->heap.count > 0 && !is_out(search, search->heap.entry[0].key);
        if (count == AT_ONCE || (count > 0 && !open)) {
            code = run_workers(search, count, st);
            count = 0;
        } else if (!open) {
            break;
        } else {
            struct candidate first = pop(search);
            code = first.family < 0 ? 0
                   : first.rough    ? expand(search, first.family, true, st)
                                    : enlist(search, first, &count, st);
        }
        code = code == 0 && workers_interrupted() ? WORKERS_STOPPED : code;
    }
    return code;
}

/* The family with fewer micro-batches; itself if that is not before it, or cannot run. */
static int32_t fewer_of(const struct search *search, int32_t f)
{
    const struct option_row *row = option_by_name("micro-batches");
    const struct family *family = &search->family[f];
    int value = grid_value(search->grid, family->point, row);
    int64_t with = grid_with(search->grid, family->point, row, value > 0 ? value - 1 : value);
    int32_t fewer = value < 0 ? f : family_with(search, f, row->name, grid_text(search->grid, with, row));
    return search->family[fewer].batches < family->batches && search->family[fewer].why.code == 0 ? fewer : f;
}

/* The family without loops or gathers ahead, whose computes and bytes are the same; itself if that is not before it. */
static int32_t base_of(const struct search *search, int32_t f)
{
    int32_t naive = family_with(search, f, "strategy", "naive");
    int32_t none = family_with(search, naive < 0 ? f : naive, "prefetch", "0");
    int32_t base = none < 0 ? naive : none;
    return base < 0 || base > f || search->family[base].loops ? f : base;
}

/* Finds the bound of a family, and as its priority the estimate of its first point. */
static int find_bound(struct search *search, int32_t f, struct status *st)
{
    struct family *family = &search->family[f];
    struct step_bound step = {0};
    struct status own = {0};
    int code = open_step(search, f, point_at(search, family, family->first_seat), &step, st);
    if (code == 0) {
        family->bound_s = step.loops ? fmax(step.compute_s, step.sent_s) : step.bound_s;
        code = step_bound_estimate(&step, &step.point, INFINITY, search->catalog, &family->promise_s, &own);
        family->promise_s = code < 0 ? INFINITY : family->promise_s;
    }
    step_bound_close(&step);
    return code == STATUS_NOMEM ? status_nomem(st) : 0;
}

/* What the points of a family take at least by the step of another one; 0: that says nothing. */
static double told_s(const struct family *family, const struct family *other)
{
    const char *way = family->strategy, *others = other->strategy;
    bool ahead = family->ahead > 0, other_ahead = other->ahead > 0, both_ways = strncmp(way, "bidi", 4) == 0;
    if (other == family)
        return STEP_LOOPS * family->step_s;
    if (other->like != family->like || other->batches > family->batches)
        return 0;
    double share = strncmp(way, others, 4) == 0              ? SHARE_OF_LIKE
                   : both_ways && strcmp(others, "uni") == 0 ? SHARE_OF_ONE_WAY
                                                             : 0;
    double least_s = ahead == other_ahead ? share * other->step_s : 0;
    if (ahead >= other_ahead && strcmp(others, "naive") == 0)
        least_s = fmax(least_s, SHARE_OF_LIKE * fmax(other->compute_s, other->sent_s));
    return (other->batches < family->batches ? SHARE_OF_FEWER : 1) * least_s;
}

/* What the points of a family take at least by the steps that were opened. */
static double known_s(const struct search *search, int32_t f)
{
    double most_s = 0;
    int32_t first = f / search->others * search->others;
    for (int32_t other = first; other < first + search->others; other++)
        if (search->family[other].step_s > 0)
            most_s = fmax(most_s, told_s(&search->family[f], &search->family[other]));
    return most_s;
}

/* Takes bounds from the family's base: it needs at least as much memory, and has the same tokens. Or expects it to take
 * a little longer than with fewer micro-batches. */
static void inherit(struct search *search, int32_t f, int32_t base)
{
    const struct family *from = &search->family[base];
    struct family *family = &search->family[f];
    bool same = from->batches == family->batches;
    double least_s = fmax(from->compute_s, from->sent_s);
    family->compute_s = from->compute_s;
    family->sent_s = from->sent_s;
    family->bound_s = same && from->step_s > 0 ? least_s : 0;
    family->promise_s =
        same ? least_s + (from->promise_s - from->compute_s) / (1.5 + family->ahead) : 1.05 * from->promise_s;
    if (from->why.code == STATUS_MEMORY || from->why.code == STATUS_UNEVEN)
        family->why = from->why;
}

static int promising_first(const void *a, const void *b)
{
    const struct family *left = *(const struct family *const *)a, *right = *(const struct family *const *)b;
    if (left->promise_s < right->promise_s || right->promise_s < left->promise_s)
        return left->promise_s < right->promise_s ? -1 : 1;
    return left->point != right->point ? (left->point < right->point ? -1 : 1)
                                       : left->first_seat - right->first_seat;
}

static int look_at_families(struct search *search, struct status *st)
{
    int code = 0;
    for (int32_t f = 0; f < search->families && code == 0; f++) {
        int32_t base = base_of(search, f);
        base = base == f ? fewer_of(search, f) : base;
        if (base == f)
            code = find_bound(search, f, st);
        else
            inherit(search, f, base);
        progress_tick(&search->progress);
        code = code == 0 && workers_interrupted() ? WORKERS_STOPPED : code;
    }
    for (int32_t f = 0; f < search->families; f++)
        search->order[f] = &search->family[f];
    qsort(search->order, (size_t)search->families, sizeof *search->order, promising_first);
    return code;
}

/* Estimates the first few families before anything is simulated, so that the first candidates are good ones. */
static int search_families(struct search *search, struct status *st)
{
    enum { FIRST = 12 };
    int code = look_at_families(search, st), expanded = 0;
    for (int32_t i = 0; i < search->families && code == 0; i++) {
        int32_t f = (int32_t)(search->order[i] - search->family);
        const struct family *family = &search->family[f];
        bool refused = family->why.code < 0, out = is_out(search, family->bound_s);
        double least_s = refused || out ? family->bound_s : known_s(search, f);
        if (refused || is_out(search, least_s)) {
            end_family(search, f, refused ? END_REFUSED : out ? END_BOUND : END_ESTIMATE, least_s);
            continue;
        }
        code = expand(search, f, false, st);
        if (code == 0 && ++expanded >= FIRST)
            code = settle(search, st);
        code = code == 0 && workers_interrupted() ? WORKERS_STOPPED : code;
    }
    if (code == 0)
        code = settle(search, st);
    while (search->heap.count > 0 && code == 0) {
        struct candidate left = pop(search);
        if (left.family >= 0)
            end_point(search, left.point, left.family, END_ESTIMATE, left.least_s);
    }
    return code;
}

/* Rows. */

static int by_point(const void *a, const void *b)
{
    const struct found *left = a, *right = b;
    return left->point < right->point ? -1 : left->point > right->point;
}

/* A point that was not simulated has only a bound or an estimate in its row, and no time. */
static void describe_left(const struct search *search, int64_t at, struct result *result)
{
    const struct fate *fate = &search->fate[at];
    const struct family *family = &search->family[fate->family];
    struct status why = family->why;
    struct point point;
    if (fate->end == END_BOUND)
        status_fail(&why, STATUS_INPUT, "not simulated: the bound of its mesh is above the fastest");
    if (fate->end == END_ESTIMATE)
        status_fail(&why, STATUS_INPUT, "not simulated: its estimate is above the fastest");
    grid_point(search->grid, at, &point);
    job_result_left(&point, search->catalog, &why, result);
    grid_print_given(search->grid, at, result->varied, sizeof result->varied);
    result->least_s = fate->least_s;
    result->memory_bytes = family->memory_bytes > 0 ? family->memory_bytes : NAN;
}

static int write_rows(struct search *search, struct sweep_file *file, struct status *st)
{
    int code = 0;
    if (search->founds > 0)
        qsort(search->found, (size_t)search->founds, sizeof *search->found, by_point);
    for (int64_t i = 0, f = 0; i < search->grid->points && code == 0; i++) {
        struct result left;
        bool found = f < search->founds && search->found[f].point == i;
        if (!found)
            describe_left(search, i, &left);
        code = sweep_file_write(file, found ? &search->found[f++].result : &left, st);
    }
    return code;
}

static void describe_family(const struct search *search, struct family *family)
{
    static const char *const name[] = {"micro-batches", "prefetch", "strategy"};
    const char *text[3];
    family->like = family->point;
    for (int i = 0; i < 3; i++) {
        const struct option_row *row = option_by_name(name[i]);
        text[i] = grid_text(search->grid, family->point, row);
        family->like = grid_with(search->grid, family->like, row, 0);
    }
    family->batches = text[0] ? atoi(text[0]) : 0;
    family->ahead = text[1] ? atoi(text[1]) : 0;
    family->strategy = text[2] ? text[2] : "";
}

/* Makes a family for each group of seats of the same sizes, and each combination of the other options. */
static int make_families(struct search *search, struct status *st)
{
    const struct seats *seats = &search->seats;
    int64_t others = search->grid->points / seats->count, most = others * seats->groups;
    search->others = (int32_t)others;
    search->family = calloc((size_t)most, sizeof *search->family);
    search->order = malloc((size_t)most * sizeof *search->order);
    if (!search->family || !search->order)
        return status_nomem(st);
    for (int first = 0, end; first < seats->count; first = end) {
        for (end = first + 1; end < seats->count && seats_alike(seats, first, end);)
            end++;
        for (int64_t k = 0; k < others; k++) {
            struct family *family = &search->family[search->families++];
            family->point = k / seats->stride * seats->stride * seats->count + k % seats->stride;
            family->first_seat = first;
            family->end_seat = end;
            describe_family(search, family);
        }
    }
    return 0;
}

static void search_free(struct search *search)
{
    least_table_free(&search->table);
    seats_free(&search->seats);
    free(search->family);
    free(search->order);
    free(search->heap.entry);
    free(search->promised.entry);
    free(search->candidate);
    free(search->batch);
    free(search->fate);
    free(search->found);
    free(search->settled);
}

int search_run(struct sweep_file *file, struct catalog *catalog, int jobs, struct ranking *ranking,
               struct status *st)
{
    const struct grid *grid = file->grid;
    struct search search = {.grid = grid,
                            .catalog = catalog,
                            .jobs = jobs,
                            .ranking = ranking,
                            .writes = file->csv.output.file,
                            .progress = progress_start(grid->points)};
    sigset_t before;
    ranking->searched = search.progress.searches = true;
    workers_hold(&before);
    search.batch = malloc(AT_ONCE * sizeof *search.batch);
    search.fate = search.writes ? calloc((size_t)grid->points, sizeof *search.fate) : NULL;
    int code = !search.batch || (search.writes && !search.fate)
                   ? status_nomem(st)
                   : seats_find(&search.seats, grid, catalog, st);
    if (code == 0)
        code = make_families(&search, st);
    if (code == 0)
        code = search_families(&search, st);
    progress_end(&search.progress);
    if (code == 0 && search.writes)
        code = write_rows(&search, file, st);
    workers_release(&before);
    search_free(&search);
    return code;
}
