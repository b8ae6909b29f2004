/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rings a collective walks where its axes can be walked in two ways; and what that is called. */
#include "study/ring_choice.h"

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
int ring_choice_open(struct collective_job *c, const struct mesh *mesh, const struct point *point,
                     struct status *st)
{
    const struct axis_list *list = &c->axes;
    struct ring_choice *choice = &c->choice;
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
        return no_lines(mesh, list, st);
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

int ring_choice_root(const struct collective_job *c, const struct job *job)
{
    const struct mesh *mesh = &job->machine.mesh;
    int root = job->point->work.root;
    if (c->choice.form == RING_FORM_AXES)
        return root;
    for (int device = 0; device < mesh->devices; device++)
        if (axis_list_position(&c->axes, &mesh->axes, device) == root)
            return ring_set_piece(&c->choice.set, mesh->slice, mesh_chip(mesh, device));
    return root;
}

/* Who is where along lines: the root, and the pairs of a ragged all-to-all, are numbered by the mesh. */
static int renumber(struct collective_job *c, const struct mesh *mesh, struct collective_spec *spec,
                    struct status *st)
{
    struct ring_choice *choice = &c->choice;
    size_t n = (size_t)c->group_chips;
    int32_t *position = malloc(n * sizeof *position);
    int64_t *pair = spec->pair_elements && !choice->pair_elements ? malloc(n * n * sizeof *pair) : NULL;
    if (!position || (spec->pair_elements && !choice->pair_elements && !pair)) {
        free(position);
        free(pair);
        return status_nomem(st);
    }
    ring_set_positions(&choice->set, mesh, &c->axes, position);
    spec->root = position[spec->root];
    for (size_t i = 0; pair && i < n; i++)
        for (size_t j = 0; j < n; j++)
            pair[(size_t)position[i] * n + (size_t)position[j]] = spec->pair_elements[i * n + j];
    if (pair)
        choice->pair_elements = pair;
    spec->pair_elements = choice->pair_elements;
    free(position);
    return 0;
}

int ring_choice_spec(struct collective_job *c, const struct mesh *mesh, struct collective_spec *spec,
                     struct status *st)
{
    spec->rings = c->choice.set.rings;
    memcpy(spec->share, c->choice.share, sizeof spec->share);
    for (int r = 0; r < spec->rings; r++)
        spec->ring[r] = &c->choice.set.ring[r];
    return c->choice.form == RING_FORM_AXES ? 0 : renumber(c, mesh, spec, st);
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

static void swap(struct ring_choice *choice)
{
    struct ring_set set = choice->set;
    choice->set = choice->other;
    choice->other = set;
    choice->form = choice->form == RING_FORM_LINES ? RING_FORM_AXES : RING_FORM_LINES;
}

/* The best shares of the array on the collective's rings; and what it takes by them, unless that is NULL. */
static int time_best(struct collective_job *c, const struct job *job, const struct mesh *mesh, double *time_s,
                     struct status *st)
{
    struct collective_spec spec = collective_job_spec(job);
    int code = ring_choice_spec(c, mesh, &spec, st);
    if (code == 0 && c->best)
        code = collective_best(c->collective, mesh->slice, &spec, time_s, st);
    else if (code == 0)
        code = collective_best_share(c->collective, mesh->slice, &spec, time_s, st);
    memcpy(c->choice.share, spec.share, sizeof spec.share);
    c->choice.kind = spec.kind;
    c->choice.pattern = spec.pattern;
    return code;
}

/* 1, 0 or a negative code. */
static int has_shares(struct collective_job *c, const struct job *job, const struct mesh *mesh,
                      struct status *st)
{
    struct collective_spec spec = collective_job_spec(job);
    int code = ring_choice_spec(c, mesh, &spec, st);
    return code < 0 ? code : collective_has_shares(c->collective, &spec);
}

/* Rings whose every step is a link take what a closed form says, and others longer: where that is more than the lines
 * take, and one ring through a pod is many steps, nothing needs to be simulated. */
static int choose(struct collective_job *c, const struct job *job, const struct mesh *mesh, struct status *st)
{
    struct ring_choice *choice = &c->choice, lines;
    double lines_s, rings_s = c->best ? NAN : ring_choice_ideal_s(c, job);
    swap(choice);
    int code = time_best(c, job, mesh, &lines_s, st);
    if (code < 0 || rings_s >= lines_s)
        return code;
    lines = *choice;
    swap(choice);
    code = time_best(c, job, mesh, &rings_s, st);
    if (lines_s <= rings_s * (1 + 1e-9))
        *choice = lines;
    return code;
}

int ring_choice_settle(struct collective_job *c, const struct job *job, const struct mesh *mesh,
                       struct status *st)
{
    struct ring_choice *choice = &c->choice;
    double time_s;
    int code = 1;
    if (choice->settled)
        return 0;
    choice->settled = true;
    if (choice->other.rings == 0 && !c->best)
        code = has_shares(c, job, mesh, st);
    if (code < 0)
        return code;
    choice->weighed = code;
    code = 0;
    if (choice->other.rings > 0)
        code = choose(c, job, mesh, st);
    else if (choice->weighed)
        code = time_best(c, job, mesh, c->best ? &time_s : NULL, st);
    if (c->best) {
        c->kind = choice->kind;
        c->pattern = choice->pattern;
    }
    ring_set_free(&choice->other);
    return code;
}

size_t mapping_print(const struct mesh *mesh, unsigned marked, const char *how, char text[static RESULT_LINE])
{
    size_t used = 0;
    *text = '\0';
    for (int a = 0; a < mesh->axes.count && used < RESULT_LINE; a++)
        used += (size_t)snprintf(text + used, RESULT_LINE - used, "%s%s on %s%s", a ? ", " : "",
                                 mesh->axes.axis[a].name, mesh->lay[a].how, marked >> a & 1 ? how : "");
    return used;
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
    size_t used = mapping_print(mesh, walked, how[c->choice.form], text);
    if (c->choice.form == RING_FORM_RING && used < RESULT_LINE)
        snprintf(text + used, RESULT_LINE - used, ", one ring over %s",
                 axis_list_print(&c->axes, &mesh->axes, axes));
    return text;
}
