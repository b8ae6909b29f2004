/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matmuls whose gathers may stand before the product or after it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "study/matmul_job.h"
#include "study/module_bound.h"

/* One of the other bases that there could be: what it is bound by, and, where the best is to be found, the base itself. */
static int add_other(struct matmul_job *m, const struct mesh *mesh, unsigned after, bool keep,
                     struct status *st)
{
    struct chain chain = {0};
    double bound_s = 0;
    int code = chain_build(&m->expr, &mesh->axes, after, &chain, st);
    if (code == 0)
        code = module_bound(&chain.model.module, mesh, &m->m.options.roofline, &bound_s, st);
    m->bound_s = fmin(m->bound_s, bound_s);
    if (code == 0 && keep) {
        m->other[m->m.others] = after;
        m->m.other[m->m.others++] = chain.model.module;
        chain.model.module = (struct module){0};
    }
    model_free(&chain.model);
    return code;
}

/* All subsets of the choices, most of which are one dim or two. */
int matmul_open_gathers(struct matmul_job *m, const struct mesh *mesh, struct status *st)
{
    enum { SUBSETS = 1 << TENSOR_DIMS };
    bool keep = m->m.step.asked == OVERLAP_WAYS && m->m.step.point->schedule.gather == GATHER_AUTO;
    int code = module_bound(&m->m.step.base, mesh, &m->m.options.roofline, &m->bound_s, st);
    if (code < 0 || m->chain.choices == 0)
        return code;
    m->other = calloc(SUBSETS, sizeof *m->other);
    m->m.other = calloc(SUBSETS, sizeof *m->m.other);
    m->m.other_s = calloc(SUBSETS, sizeof *m->m.other_s);
    if (!m->other || !m->m.other || !m->m.other_s)
        return status_nomem(st);
    for (unsigned after = m->chain.choices;; after = (after - 1) & m->chain.choices) {
        if (after != m->after && (code = add_other(m, mesh, after, keep, st)) < 0)
            return code;
        if (after == 0)
            return 0;
    }
}

unsigned matmul_taken(const struct matmul_job *m)
{
    return m->m.taken ? m->other[m->m.taken - 1] : m->after;
}

const char *matmul_gather_name(const struct matmul_job *m)
{
    unsigned after = matmul_taken(m);
    if (m->chain.choices == 0)
        return "";
    return after == 0 ? "before" : after == m->chain.choices ? "after" : "mixed";
}

void matmul_print_gathers(const struct matmul_job *m, char text[static RESULT_LINE])
{
    static const char *const name[] = {"before", "after"};
    const unsigned after[] = {0, m->chain.choices};
    char time[UNITS_TEXT];
    for (int i = 0; i < 2 && m->chain.choices; i++) {
        size_t used = strlen(text);
        double time_s = after[i] == m->after ? m->m.own_s : 0;
        for (int o = 0; o < m->m.others; o++)
            time_s = m->other[o] == after[i] ? m->m.other_s[o] : time_s;
        if (after[i] != matmul_taken(m))
            snprintf(text + used, RESULT_LINE - used, "; --gather %s %s", name[i],
                     time_s > 0 ? units_print_time(time_s, time) : "is possible, too");
    }
}
