/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the rings of a collective if its axes allow two ways, and names the choice. */
#include "study/ring_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/collective_job.h"

/* Direct and ragged all-to-alls use no ring: for them lines do as well, and they fold. */
int ring_choice_open(struct collective_job *c, const struct mesh *mesh, const struct point *point,
                     struct status *st)
{
    const struct axis_list *list = &c->axes;
    struct ring_choice *choice = &c->choice;
    char text[AXES_TEXT];
    int axes = 0;
    *choice = (struct ring_choice){.form = RING_FORM_AXES};
    for (int i = 0; i < list->count; i++)
        axes += mesh->axes.axis[list->axis[i]].n > 1;
    if (point->schedule.one_ring) {
        choice->form = RING_FORM_RING;
        return ring_set_of_ring(&choice->set, mesh, list, st);
    }
    if ((point->schedule.all_axes || ring_set_has_choice(mesh, list)) && !c->collective->has_targets &&
        ring_set_of_lines(&choice->other, mesh, list, st) < 0)
        return st->code;
    if (point->schedule.all_axes && choice->other.rings == 0 && axes > 0)
        return status_fail(st, STATUS_INPUT,
                           "--all-axes does not apply: %s is not on 1 to %d physical axes or parts of them",
                           axis_list_print(list, &mesh->axes, text), COLLECTIVE_RINGS);
    bool only_lines = point->schedule.all_axes || axes > COLLECTIVE_RINGS || !c->uses_ring;
    if (choice->other.rings > 0 && only_lines) {
        choice->set = choice->other;
        choice->other = (struct ring_set){0};
        choice->form = RING_FORM_LINES;
        return 0;
    }
    return ring_set_of_axes(&choice->set, mesh, list, st);
}

void ring_choice_close(struct ring_choice *choice)
{
    ring_set_free(&choice->set);
    ring_set_free(&choice->other);
    free(choice->pair_elements);
    choice->pair_elements = NULL;
}

/* The position along the rings of a root that the mesh numbers. */
static int root_position(const struct collective_job *c, const struct mesh *mesh, int root)
{
    for (int device = 0; device < mesh->devices; device++)
        if (axis_list_position(&c->axes, &mesh->axes, device) == root)
            return ring_set_piece(&c->choice.set, mesh->slice, mesh_chip(mesh, device));
    return root;
}

int ring_choice_root(const struct collective_job *c, const struct job *job)
{
    int root = job->point->work.root;
    return job->point->work.groups ? root : root_position(c, &job->machine.mesh, root);
}

/* Renumbers the pairs of a ragged all-to-all from the mesh's numbering to positions along the rings. */
static int renumber_pairs(struct collective_job *c, const struct mesh *mesh, struct collective_spec *spec,
                          struct status *st)
{
    struct ring_choice *choice = &c->choice;
    size_t n = (size_t)c->group_chips;
    int32_t *position = malloc(n * sizeof *position);
    int64_t *pair = malloc(n * n * sizeof *pair);
    if (!position || !pair) {
        free(position);
        free(pair);
        return status_nomem(st);
    }
    ring_set_positions(&choice->set, mesh, &c->axes, position);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            pair[(size_t)position[i] * n + (size_t)position[j]] = spec->pair_elements[i * n + j];
    free(choice->pair_elements);
    spec->pair_elements = choice->pair_elements = pair;
    free(position);
    return 0;
}

int ring_choice_spec(struct collective_job *c, const struct mesh *mesh, struct collective_spec *spec,
                     struct status *st)
{
    spec->rings = c->choice.set.rings;
    if (c->choice.found.rings > 0)
        collective_go_like(&c->choice.found, spec);
    for (int r = 0; r < spec->rings; r++)
        spec->ring[r] = &c->choice.set.ring[r];
    if (c->follows)
        config_follow(&c->config, c->collective->id == COLLECTIVE_ALL_GATHER, spec);
    if (c->axes.count == 0)
        return 0;
    spec->root = root_position(c, mesh, spec->root);
    return spec->pair_elements ? renumber_pairs(c, mesh, spec, st) : 0;
}

int ring_choice_time(struct collective_job *c, const struct job *job, const struct mesh *mesh, double *time_s,
                     struct status *st)
{
    struct collective_spec spec = collective_job_spec(job);
    int code = ring_choice_spec(c, mesh, &spec, st);
    return code < 0 ? code : collective_time(c->collective, mesh->slice, &spec, time_s, st);
}

double ring_choice_ideal_s(const struct collective_job *c, const struct job *job)
{
    struct formula_case formula;
    struct status unused = {0};
    if (collective_case(c, job, &formula, &unused) < 0)
        return NAN;
    formula.one_link = true;
    return formula_exact_s(&formula);
}

/* Changes to another form of rings over the same axes. */
static int open_form(struct collective_job *c, const struct mesh *mesh, enum ring_form form,
                     struct status *st)
{
    struct ring_choice *choice = &c->choice;
    if (choice->form == form)
        return 0;
    ring_set_free(&choice->set);
    choice->form = form;
    return form == RING_FORM_RING    ? ring_set_of_ring(&choice->set, mesh, &c->axes, st)
           : form == RING_FORM_LINES ? ring_set_of_lines(&choice->set, mesh, &c->axes, st)
                                     : ring_set_of_axes(&choice->set, mesh, &c->axes, st);
}

/* Finds what XLA would choose; `form` becomes the rings that it uses. c->follows: it can be simulated on them. */
static int find_config(struct collective_job *c, const struct job *job, enum ring_form *form,
                       struct status *st)
{
    const struct ring *ring[COLLECTIVE_RINGS];
    struct ring_choice *choice = &c->choice;
    struct choice_case of = {.chip = job->machine.chip->name,
                             .slice = &job->machine.slice,
                             .collective = c->collective->id,
                             .dtype = c->dtype,
                             .bytes = (double)c->elements * c->dtype->bytes};
    for (int r = 0; r < choice->set.rings; r++)
        ring[r] = &choice->set.ring[r];
    of.group = choice_group_of(of.slice, ring, choice->set.rings);
    int axes = choice->other.rings > 0 ? choice->other.rings : choice->set.rings;
    int code = choice_follow(&of, axes, job->point->work.groups != NULL, &c->config, &c->follows, st);
    *form = choice->form;
    if (c->follows && c->config.rings == CONFIG_ONE_RING && choice->set.rings > 1)
        *form = RING_FORM_RING;
    else if (c->follows && c->config.rings == CONFIG_ALL_AXES && choice->other.rings > 0)
        *form = RING_FORM_LINES;
    return code;
}

/* A candidate of the search. */
struct attempt {
    enum ring_form form;
    enum ring_kind kind;
    enum all_to_all all_to_all;
    enum pattern pattern;
    bool follows;
    struct collective_spec found; /* of ring_choice */
    double time_s;
};

/* A search: the best so far. */
struct search {
    struct collective_job *c;
    const struct job *job;
    const struct mesh *mesh;
    struct attempt best;
};

static int take(const struct search *search, const struct attempt *attempt, struct status *st)
{
    struct collective_job *c = search->c;
    c->kind = attempt->kind;
    c->all_to_all = attempt->all_to_all;
    c->pattern = attempt->pattern;
    c->follows = attempt->follows;
    c->uses_ring = c->collective->uses_ring || attempt->all_to_all == ALL_TO_ALL_RING;
    c->choice.found = attempt->found;
    return open_form(c, search->mesh, attempt->form, st);
}

/* Times an attempt, and keeps it if it is the best so far. `open`: with the fastest kind of ring or pattern rather
 * than with the attempt's. */
static int try_one(struct search *search, struct attempt attempt, bool open, struct status *st)
{
    struct collective_job *c = search->c;
    double time_s;
    int code = take(search, &attempt, st);
    struct collective_spec spec = collective_job_spec(search->job);
    if (code == 0)
        code = ring_choice_spec(c, search->mesh, &spec, st);
    if (code == 0)
        code = (open ? collective_best : collective_best_share)(c->collective, search->mesh->slice, &spec,
                                                                &time_s, st);
    if (code < 0 || time_s >= search->best.time_s * (1 - 1e-9))
        return code;
    search->best = attempt;
    search->best.time_s = time_s;
    search->best.kind = spec.kind;
    search->best.pattern = spec.pattern;
    search->best.found = spec;
    return 0;
}

/* One ring through all chips may be fastest if some axis is a line, where links at the ends are idle. Returns a lower
 * bound of its time; infinity if it cannot be faster, or options exclude it. */
static double one_ring_least_s(const struct search *search)
{
    const struct collective_job *c = search->c;
    const struct point *point = search->job->point;
    const struct ring_set *set = &c->choice.set;
    struct ring through = ring_ideal(c->group_chips);
    struct collective_spec spec = collective_job_spec(search->job);
    double links_s;
    bool lines = false;
    for (int r = 0; r < set->rings && set->rings > 1; r++)
        lines |= set->ring[r].n > 1 && !set->ring[r].closed;
    if (!lines || !c->collective->uses_ring || spec.pattern != PATTERN_RINGS || point->work.groups ||
        point->schedule.all_axes)
        return INFINITY;
    spec.rings = 1;
    spec.ring[0] = &through;
    return collective_least_s(c->collective, search->mesh->slice, &spec, &links_s);
}

/* Finds the fastest rings of the requested kind: those of the mesh axes, lines, or one ring through all chips. The
 * closed form is a lower bound, exact if every step is one link; a form whose bound is above the best time so far is
 * not simulated. */
static int settle_schedule(struct search *search, struct status *st)
{
    struct collective_job *c = search->c;
    struct ring_choice *choice = &c->choice;
    struct attempt asked = {
        .form = choice->form, .kind = c->kind, .all_to_all = c->all_to_all, .pattern = c->pattern};
    double ring_s = one_ring_least_s(search), axes_s = 0;
    int code = 0;
    bool lines = choice->other.rings > 0;
    if (!lines && isinf(ring_s)) {
        struct collective_spec spec = collective_job_spec(search->job);
        if (ring_choice_spec(c, search->mesh, &spec, st) < 0)
            return st->code;
        if (!collective_has_shares(c->collective, search->mesh->slice, &spec))
            return 0;
    }
    choice->weighed = true;
    if (lines) {
        struct attempt along = asked;
        along.form = RING_FORM_LINES;
        axes_s = ring_choice_ideal_s(c, search->job);
        ring_set_free(&choice->other);
        code = try_one(search, along, false, st);
    }
    if (code == 0 && !(axes_s >= search->best.time_s))
        code = try_one(search, asked, false, st);
    asked.form = RING_FORM_RING;
    if (code == 0 && ring_s < search->best.time_s)
        code = try_one(search, asked, false, st);
    return code < 0 ? code : take(search, &search->best, st);
}

static int settle_as_xla(struct search *search, struct status *st)
{
    enum ring_form form;
    struct collective_job *c = search->c;
    int code = find_config(c, search->job, &form, st);
    if (code < 0 || !c->follows)
        return code < 0 ? code : settle_schedule(search, st);
    ring_set_free(&c->choice.other);
    return open_form(c, search->mesh, form, st);
}

/* Tries all schedules on one form of rings; all-to-alls directly and by each kind of ring. */
static int try_form(struct search *search, enum ring_form form, struct status *st)
{
    const struct collective *collective = search->c->collective;
    struct attempt attempt = {.form = form};
    int code = try_one(search, attempt, collective->uses_ring, st);
    attempt.all_to_all = ALL_TO_ALL_RING;
    for (int kind = 0; kind < RING_KINDS && code == 0 && collective->has_algorithms; kind++) {
        attempt.kind = (enum ring_kind)kind;
        code = try_one(search, attempt, false, st);
    }
    return code;
}

/* Tries all schedules on all forms of rings, and XLA's choice. */
static int settle_best(struct search *search, struct status *st)
{
    struct collective_job *c = search->c;
    const struct job *job = search->job;
    struct ring_choice *choice = &c->choice;
    enum ring_form form[RING_FORM_RING + 2] = {choice->form};
    int forms = 1;
    struct attempt xla = {.follows = true};
    int code = find_config(c, job, &xla.form, st);
    bool follows = c->follows;
    if (choice->other.rings > 0)
        form[forms++] = RING_FORM_LINES;
    if (choice->set.rings > 1 && !job->point->work.groups)
        form[forms++] = RING_FORM_RING;
    ring_set_free(&choice->other);
    choice->weighed = true;
    for (int f = 0; f < forms && code == 0; f++)
        if (form[f] != RING_FORM_RING ||
            c->group_chips / 2 * job->machine.slice.hop_latency_s < search->best.time_s)
            code = try_form(search, form[f], st); /* its steps alone would take longer */
    if (code == 0 && follows && (xla.form != RING_FORM_RING || forms == 1 || choice->form == RING_FORM_RING))
        code = try_one(search, xla, false, st);
    return code < 0 ? code : take(search, &search->best, st);
}

int ring_choice_settle(struct collective_job *c, const struct job *job, const struct mesh *mesh,
                       struct status *st)
{
    struct search search = {c, job, mesh, {.form = c->choice.form, .time_s = INFINITY}};
    if (c->choice.settled)
        return 0;
    c->choice.settled = true;
    int code = c->algorithm == ALGORITHM_XLA    ? settle_as_xla(&search, st)
               : c->algorithm == ALGORITHM_BEST ? settle_best(&search, st)
                                                : settle_schedule(&search, st);
    c->choice.weighed |= c->algorithm != ALGORITHM_SCHEDULE;
    return code;
}

char *ring_choice_name(const struct collective_job *c, char text[static RESULT_LINE])
{
    static const char *const forms[] = {"", " as axes", " as one ring"};
    char config[CONFIG_TEXT], line[CONFIG_TEXT + 64];
    bool exchanges = c->collective->has_algorithms, xla = c->algorithm == ALGORITHM_XLA;
    if (c->algorithm == ALGORITHM_SCHEDULE)
        return text;
    if (c->follows || (c->config.emitter[0] && xla))
        snprintf(line, sizeof line, "%s: %s%s%s", algorithm_name(c->algorithm),
                 c->config.as_all_reduce ? "all-reduce by " : "", config_print(&c->config, config),
                 c->follows || exchanges ? "" : ", simulated by our schedule");
    else
        snprintf(line, sizeof line, "%s: %s%s%s", algorithm_name(c->algorithm), xla ? "not known: " : "",
                 c->pattern != PATTERN_RINGS ? pattern_name(c->pattern)
                 : c->uses_ring              ? ring_kind_name(c->kind)
                 : exchanges                 ? all_to_all_name(c->all_to_all)
                                             : "",
                 forms[c->choice.form]);
    return text_one_line(line, text, RESULT_LINE);
}

char *ring_choice_print(const struct collective_job *c, const struct mesh *mesh,
                        char text[static RESULT_LINE])
{
    static const char *const how[] = {
        [RING_FORM_AXES] = " as one ring", [RING_FORM_LINES] = " as axes", [RING_FORM_RING] = ""};
    char axes[AXES_TEXT];
    unsigned walked = 0;
    for (int a = 0; a < mesh->axes.count; a++)
        if (axis_list_has(&c->axes, a) && mesh->lay[a].physical < 0 &&
            mesh->layout.sides[a] + c->axes.count > 2)
            walked |= 1u << a;
    mesh_print_marked(mesh, walked, how[c->choice.form], text);
    if (c->choice.form == RING_FORM_RING)
        text_add(text, RESULT_LINE, ", one ring over %s", axis_list_print(&c->axes, &mesh->axes, axes));
    return text;
}
