/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rings a collective walks where its axes can be walked in two ways; and what that is called. */
#include "study/walks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/collective_job.h"

static int no_lines(const struct mesh *mesh, const struct axis_list *list, struct status *st)
{
    char text[AXES_TEXT];
    return status_fail(st, STATUS_INPUT,
                       "--all-axes does not apply: %s is not on 1 to %d physical axes or parts of them",
                       axis_list_print(list, &mesh->axes, text), COLLECTIVE_RINGS);
}

/* Where no ring cuts the array (direct all-to-alls, ragged ones), lines serve as well as rings, and fold. */
int walks_open(struct collective_job *c, const struct mesh *mesh, const struct point *point,
               struct status *st)
{
    const struct axis_list *list = &c->axes;
    struct walks *walks = &c->walks;
    int axes = 0;
    *walks = (struct walks){.form = WALK_AXES};
    for (int i = 0; i < list->count; i++)
        axes += mesh->axes.axis[list->axis[i]].n > 1;
    if (point->schedule.one_ring) {
        walks->form = WALK_RING;
        return span_of_ring(&walks->span, mesh, list, st);
    }
    if ((point->schedule.all_axes || span_has_choice(mesh, list)) && !c->collective->has_targets &&
        span_of_lines(&walks->other, mesh, list, st) < 0)
        return st->code;
    if (point->schedule.all_axes && walks->other.rings == 0 && axes > 0)
        return no_lines(mesh, list, st);
    bool only_lines = point->schedule.all_axes || axes > COLLECTIVE_RINGS || !c->uses_ring;
    if (walks->other.rings > 0 && only_lines) {
        walks->span = walks->other;
        walks->other = (struct span){0};
        walks->form = WALK_LINES;
        return 0;
    }
    return span_of_axes(&walks->span, mesh, list, st);
}

void walks_close(struct walks *walks)
{
    span_free(&walks->span);
    span_free(&walks->other);
    free(walks->pair_elements);
    walks->pair_elements = NULL;
}

int walks_root(const struct collective_job *c, const struct job *job)
{
    const struct mesh *mesh = &job->machine.mesh;
    int at = 0, root = job->point->work.root;
    if (c->walks.form == WALK_AXES)
        return root;
    for (int device = 0; device < mesh->devices; device++) {
        if (axis_list_position(&c->axes, &mesh->axes, device) != root)
            continue;
        for (int r = 0; r < c->walks.span.rings; r++)
            at = at * c->walks.span.ring[r].n +
                 ring_piece(&c->walks.span.ring[r], mesh->slice, mesh_chip(mesh, device));
        return at;
    }
    return root;
}

/* Who is where along lines: the root, and the pairs of a ragged all-to-all, are numbered by the mesh. */
static int renumber(struct collective_job *c, const struct mesh *mesh, struct collective_spec *spec,
                    struct status *st)
{
    struct walks *walks = &c->walks;
    size_t n = (size_t)c->group_chips;
    int32_t *position = malloc(n * sizeof *position);
    int64_t *pair = spec->pair_elements && !walks->pair_elements ? malloc(n * n * sizeof *pair) : NULL;
    if (!position || (spec->pair_elements && !walks->pair_elements && !pair)) {
        free(position);
        free(pair);
        return status_nomem(st);
    }
    span_positions(&walks->span, mesh, &c->axes, position);
    spec->root = position[spec->root];
    for (size_t i = 0; pair && i < n; i++)
        for (size_t j = 0; j < n; j++)
            pair[(size_t)position[i] * n + (size_t)position[j]] = spec->pair_elements[i * n + j];
    if (pair)
        walks->pair_elements = pair;
    spec->pair_elements = walks->pair_elements;
    free(position);
    return 0;
}

int walks_spec(struct collective_job *c, const struct mesh *mesh, struct collective_spec *spec,
               struct status *st)
{
    spec->rings = c->walks.span.rings;
    memcpy(spec->share, c->walks.share, sizeof spec->share);
    for (int r = 0; r < spec->rings; r++)
        spec->ring[r] = &c->walks.span.ring[r];
    return c->walks.form == WALK_AXES ? 0 : renumber(c, mesh, spec, st);
}

int walks_time(struct collective_job *c, const struct job *job, const struct mesh *mesh, double *time_s,
               struct status *st)
{
    struct collective_spec spec = collective_job_spec(job);
    int code = walks_spec(c, mesh, &spec, st);
    return code < 0 ? code : collective_time(c->collective, mesh->slice, &spec, time_s, st);
}

double walks_ideal_s(const struct collective_job *c, const struct job *job)
{
    struct formula_case formula;
    struct status unused = {0};
    if (collective_case(c, job, &formula, &unused) < 0)
        return NAN;
    formula.one_link = true;
    return formula_exact_s(&formula);
}

static void swap(struct walks *walks)
{
    struct span span = walks->span;
    walks->span = walks->other;
    walks->other = span;
    walks->form = walks->form == WALK_LINES ? WALK_AXES : WALK_LINES;
}

/* The best shares of the array on the collective's rings; and what it takes by them, unless that is NULL. */
static int time_best(struct collective_job *c, const struct job *job, const struct mesh *mesh, double *time_s,
                     struct status *st)
{
    struct collective_spec spec = collective_job_spec(job);
    int code = walks_spec(c, mesh, &spec, st);
    if (code == 0)
        code = collective_best_share(c->collective, mesh->slice, &spec, time_s, st);
    memcpy(c->walks.share, spec.share, sizeof spec.share);
    return code;
}

static bool has_shares(struct collective_job *c, const struct job *job, const struct mesh *mesh)
{
    struct collective_spec spec = collective_job_spec(job);
    struct status unused = {0};
    return walks_spec(c, mesh, &spec, &unused) == 0 && collective_has_shares(c->collective, &spec);
}

/* Rings whose every step is a link take what a closed form says, and others longer: where that is more than the lines
 * take, and one ring through a pod is many steps, nothing needs to be simulated. */
int walks_settle(struct collective_job *c, const struct job *job, const struct mesh *mesh, struct status *st)
{
    struct walks *walks = &c->walks;
    int share[COLLECTIVE_RINGS], code = 0;
    double rings_s, lines_s;
    if (walks->settled)
        return 0;
    walks->settled = true;
    walks->weighed = walks->other.rings > 0 || has_shares(c, job, mesh);
    if (walks->other.rings == 0)
        return walks->weighed ? time_best(c, job, mesh, NULL, st) : 0;
    rings_s = walks_ideal_s(c, job);
    swap(walks);
    code = time_best(c, job, mesh, &lines_s, st);
    if (code == 0 && !(rings_s >= lines_s)) {
        memcpy(share, walks->share, sizeof share);
        swap(walks);
        code = time_best(c, job, mesh, &rings_s, st);
        if (lines_s <= rings_s * (1 + 1e-9)) {
            swap(walks);
            memcpy(walks->share, share, sizeof share);
        }
    }
    span_free(&walks->other);
    return code;
}

char *walks_print(const struct collective_job *c, const struct mesh *mesh, char text[static RESULT_LINE])
{
    static const char *const how[] = {
        [WALK_AXES] = " as one ring", [WALK_LINES] = " as axes", [WALK_RING] = ""};
    char axes[AXES_TEXT];
    size_t used = 0;
    *text = '\0';
    for (int a = 0; a < mesh->axes.count && used < RESULT_LINE; a++) {
        bool walked = false;
        for (int i = 0; i < c->axes.count; i++)
            walked |= c->axes.axis[i] == a && mesh->lay[a].physical < 0 &&
                      mesh->laying.sides[a] + c->axes.count > 2;
        used += (size_t)snprintf(text + used, RESULT_LINE - used, "%s%s on %s%s", a ? ", " : "",
                                 mesh->axes.axis[a].name, mesh->lay[a].how, walked ? how[c->walks.form] : "");
    }
    if (c->walks.form == WALK_RING && used < RESULT_LINE)
        snprintf(text + used, RESULT_LINE - used, ", one ring over %s",
                 axis_list_print(&c->axes, &mesh->axes, axes));
    return text;
}
