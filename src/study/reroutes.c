/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What dead links change: rings that become lines, and pairs of chips whose route is a detour. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "study/job.h"

enum { SHOWN = 3 };

/* The route of a chip's sends to another, if it is not the regular one, which is dead. */
struct detour {
    bool there;
    struct route route;
};

/* Finds the detours of one chip, detour[chips] by destination, and returns their number. */
static int find(const struct program *program, int chip, struct detour detour[])
{
    const struct slice *slice = program->slice;
    struct minimal_route minimal[MINIMAL_ROUTES];
    int found = 0;
    memset(detour, 0, (size_t)slice->chips * sizeof *detour);
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->kind != OP_SEND || !op_takes_part(program, op, chip))
            continue;
        int to = op_destination(program, op, chip);
        route_minimal(slice, chip, to, minimal);
        if (detour[to].there || route_walk(slice, chip, minimal[0].hop, minimal[0].hops, NULL) == to)
            continue;
        detour[to] = (struct detour){true, op_route(program, op, chip)};
        found++;
    }
    return found;
}

/* Prints the first few detours after the text `before`. */
static int print_detours(const struct program *program, const char *before, FILE *out, struct status *st)
{
    char from[SLICE_PLACE], to[SLICE_PLACE], hop[HOP_TEXT];
    const struct slice *slice = program->slice;
    struct detour *detour = malloc((size_t)slice->chips * sizeof *detour);
    int shown = 0, all = 0;
    if (!detour)
        return status_nomem(st);
    for (int chip = 0; chip < slice->chips; chip++) {
        all += find(program, chip, detour);
        for (int end = 0; end < slice->chips && shown < SHOWN; end++) {
            if (!detour[end].there)
                continue;
            fprintf(out, "%s%s%s to %s by", shown ? ", " : before,
                    shown ? "" : "rerouted: ", slice_print_place(slice, chip, from),
                    slice_print_place(slice, end, to));
            shown++;
            for (int h = 0; h < detour[end].route.hops; h++)
                fprintf(out, " %s", hop_print(program->hop[detour[end].route.first + h], hop));
        }
    }
    if (all > SHOWN)
        fprintf(out, " and %d pairs more", all - SHOWN);
    free(detour);
    return 0;
}

/* Prints the mesh axes whose rings dead links break, and returns their number. */
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
    static const char *const way[SLOW_LINKS_WAYS] = {"", "slow ones are avoided as if dead; ",
                                                     "slow ones set the pace of all; "};
    const struct slice *slice = job->program.slice;
    char *line = NULL, hop[UNITS_TEXT];
    size_t bytes = 0;
    bool dead = false;
    for (int id = 0; slice->link && id < slice_link_ids(slice); id++)
        dead |= slice->link[id].kind == LINK_DEAD;
    snprintf(text, RESULT_LINE, "%s", way[job->machine.slow_links]);
    if (job->machine.held_back)
        text_add(text, RESULT_LINE, "sends are held back as if a hop took %s; ",
                 units_print_time(slice->hop_latency_s, hop));
    if (!dead) {
        text_add(text, RESULT_LINE, "%s", *text ? "nothing is dead" : "");
        return 0;
    }
    FILE *out = open_memstream(&line, &bytes);
    int lines = out ? print_lines(&job->machine.mesh, out, st) : status_nomem(st);
    int code = lines < 0 ? lines : print_detours(&job->program, lines > 0 ? "; " : "", out, st);
    if (out && !text_end(out, &line) && code == 0)
        code = status_nomem(st);
    if (code == 0)
        text_add(text, RESULT_LINE, "%s", *line ? line : "nothing passes them");
    free(line);
    return code;
}
