/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a ring that are longer than a hop: their cost, and the order of mesh axes that avoids them. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "study/collective_job.h"
#include "study/ring_choice.h"

/* Moves the axes of the collective to the end, where neighbours are adjacent; both parts keep their order. */
static struct axis_list walked_last(const struct collective_job *c, const struct mesh *mesh)
{
    unsigned walked = axis_list_set(&c->axes);
    struct axis_list order = axis_list_of_set(((1u << mesh->axes.count) - 1) & ~walked);
    struct axis_list last = axis_list_of_set(walked);
    axis_list_append(&order, &last);
    return order;
}

/* The same axes in another order, and the collective over them. */
static int open_other(const struct collective_job *c, const struct job *job, const struct axis_list *order,
                      struct collective_job *other, struct mesh *mesh, struct status *st)
{
    const struct mesh *now = &job->machine.mesh;
    struct axes axes = {0};
    char text[AXES_TEXT];
    int code = 0;
    for (int i = 0; i < order->count && code >= 0; i++)
        code = axes_add(&axes, now->axes.axis[order->axis[i]].name, now->axes.axis[order->axis[i]].n, st);
    if (code >= 0)
        code = mesh_init(mesh, now->slice, axes_print(&axes, text), &(struct mesh_rule){now->order, true, 0},
                         st);
    *other = *c;
    other->choice = (struct ring_choice){0};
    for (int i = 0; i < c->axes.count; i++)
        other->axes.axis[i] = axes_find(&axes, now->axes.axis[c->axes.axis[i]].name);
    return code < 0 ? code : ring_choice_open(other, mesh, job->point, st);
}

/* Tries one order. Returns its time if no step is longer than a hop; else NaN. */
static int try_order(const struct collective_job *c, const struct job *job, const struct axis_list *order,
                     char mesh_text[static AXES_TEXT], double *time_s, struct status *st)
{
    struct collective_job other;
    struct mesh mesh = {0};
    *time_s = NAN;
    int code = open_other(c, job, order, &other, &mesh, st);
    if (code == 0 && ring_set_edge_links(&other.choice.set) <= 1 &&
        ring_set_edge_links(&other.choice.other) <= 1) {
        axes_print(&mesh.axes, mesh_text);
        code = ring_choice_settle(&other, job, &mesh, st);
        if (code == 0)
            code = ring_choice_time(&other, job, &mesh, time_s, st);
    }
    ring_choice_close(&other.choice);
    mesh_free(&mesh);
    return code;
}

/* The first order without long steps, among all orders if there are not too many. */
static int find_order(const struct collective_job *c, const struct job *job, char mesh_text[static AXES_TEXT],
                      double *time_s, struct status *st)
{
    enum { MOST = 120 };
    struct axis_list order = walked_last(c, &job->machine.mesh);
    int code = 0, orders = 1;
    for (int i = 2; i <= order.count && orders < MOST; i++)
        orders *= i;
    *time_s = NAN;
    for (int i = 0; i < orders && i < MOST && code == 0 && isnan(*time_s); i++) {
        code = try_order(c, job, &order, mesh_text, time_s, st);
        axes_next_order(order.axis, order.count);
    }
    return code;
}

int long_hops_print(const struct collective_job *c, const struct job *job, char text[static RESULT_LINE],
                    struct status *st)
{
    const struct mesh *mesh = &job->machine.mesh;
    char axes[AXES_TEXT], order[AXES_TEXT], time[UNITS_TEXT];
    int links = ring_set_edge_links(&c->choice.set);
    double time_s;
    *text = '\0';
    if (links <= 1 || !c->uses_ring || job->point->work.groups || job->point->machine.on || mesh->slice->link)
        return 0;
    int code = find_order(c, job, order, &time_s, st);
    if (code < 0)
        return code;
    snprintf(text, RESULT_LINE, "neighbours over %s are up to %d hops apart",
             axis_list_print(&c->axes, &mesh->axes, axes), links);
    double ideal_s = ring_choice_ideal_s(c, job);
    if (!isnan(time_s))
        text_add(text, RESULT_LINE, "; --mesh %s has all side by side: %s", order,
                 units_print_time(time_s, time));
    else if (!isnan(ideal_s))
        text_add(text, RESULT_LINE, ", in every order of the axes; side by side: %s",
                 units_print_time(ideal_s, time));
    return 0;
}
