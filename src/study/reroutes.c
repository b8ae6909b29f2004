/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What dead links change: rings that become lines, and pairs of chips whose route goes round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "study/job.h"

enum { SHOWN = 3 };

/* A send whose regular route is dead. */
struct detour {
    int32_t from, to;
    struct route route;
};

struct detours {
    int count, room;
    struct detour *detour;
};

static int by_pair(const void *a, const void *b)
{
    const struct detour *x = a, *y = b;
    int from = (x->from > y->from) - (x->from < y->from);
    return from ? from : (x->to > y->to) - (x->to < y->to);
}

static int note(struct detours *list, struct detour detour, struct status *st)
{
    if (!GROW(list->detour, list->count, list->room))
        return status_nomem(st);
    list->detour[list->count++] = detour;
    return 0;
}

static int find(const struct program *program, struct detours *list, struct status *st)
{
    const struct slice *slice = program->slice;
    struct minimal_route minimal[MINIMAL_ROUTES];
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        for (int chip = 0; op->kind == OP_SEND && chip < slice->chips; chip++) {
            if (!op_takes_part(program, op, chip))
                continue;
            int to = op_destination(program, op, chip);
            route_minimal(slice, chip, to, minimal);
            if (route_walk(slice, chip, minimal[0].hop, minimal[0].hops, NULL) == to)
                continue;
            if (note(list, (struct detour){chip, to, op_route(program, op, chip)}, st) < 0)
                return st->code;
        }
    }
    if (list->count > 0)
        qsort(list->detour, (size_t)list->count, sizeof *list->detour, by_pair);
    int kept = 0;
    for (int i = 0; i < list->count; i++)
        if (i == 0 || by_pair(&list->detour[i], &list->detour[kept - 1]) != 0)
            list->detour[kept++] = list->detour[i];
    list->count = kept;
    return 0;
}

static void print_detours(const struct program *program, const struct detours *list, FILE *out)
{
    char from[SLICE_PLACE], to[SLICE_PLACE], hop[HOP_TEXT];
    for (int i = 0; i < list->count && i < SHOWN; i++) {
        const struct detour *detour = &list->detour[i];
        fprintf(out, "%s%s to %s by",
                i ? ", " : "rerouted: ", slice_print_place(program->slice, detour->from, from),
                slice_print_place(program->slice, detour->to, to));
        for (int h = 0; h < detour->route.hops; h++)
            fprintf(out, " %s", hop_print(program->hop[detour->route.first + h], hop));
    }
    if (list->count > SHOWN)
        fprintf(out, " and %d pairs more", list->count - SHOWN);
}

/* The mesh axes whose rings dead links break. Returns their number. */
static int print_lines(const struct mesh *mesh, FILE *out, struct status *st)
{
    int broken = 0;
    for (int a = 0; a < mesh->axes.count; a++) {
        struct ring ring;
        if (ring_along(&ring, mesh, a, st) < 0)
            return st->code;
        if (ring.broken)
            fprintf(out, "%s%s", broken++ ? "," : "rings over ", mesh->axes.axis[a].name);
        ring_free(&ring);
    }
    fputs(broken ? " become lines" : "", out);
    return broken;
}

int reroutes_print(const struct job *job, char text[static RESULT_LINE], struct status *st)
{
    const struct slice *slice = job->program.slice;
    bool dead = false;
    *text = '\0';
    for (int id = 0; slice->link && id < slice_link_ids(slice); id++)
        dead |= slice->link[id].kind == LINK_DEAD;
    if (!dead)
        return 0;
    struct detours list = {0};
    char *line = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&line, &bytes);
    int lines = out ? print_lines(&job->machine.mesh, out, st) : status_nomem(st);
    int code = lines < 0 ? lines : find(&job->program, &list, st);
    if (code == 0 && lines > 0 && list.count > 0)
        fputs("; ", out);
    if (code == 0)
        print_detours(&job->program, &list, out);
    if (out && !text_end(out, &line) && code == 0)
        code = status_nomem(st);
    if (code == 0)
        snprintf(text, RESULT_LINE, "%s", *line ? line : "nothing passes them");
    free(line);
    free(list.detour);
    return code;
}
