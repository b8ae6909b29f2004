/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which chips do a collective together: the rings they walk, whom each sends to, how much each pair moves. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notation/groups.h"
#include "study/collective_job.h"
#include "study/ragged.h"

static int open_axes(struct collective_job *c, const struct job *job, struct status *st)
{
    const struct mesh *mesh = &job->machine.mesh;
    int code = mesh_parse_axes(mesh, job->point->work.axis, &c->axes, st);
    if (code < 0)
        return status_prefix(st, "--axis: ");
    c->group_chips = axis_list_size(&c->axes, &mesh->axes);
    return ring_choice_open(c, mesh, job->point, st);
}

/* One ring through the chips of each replica group, in the order listed. */
static int open_groups(struct collective_job *c, const struct job *job, struct status *st)
{
    const struct machine *machine = &job->machine;
    if (job->point->work.axis)
        return status_fail(st, STATUS_INPUT,
                           "--groups and --axis both say who takes part; leave one of them out");
    struct groups groups = {0};
    int chips = machine->mesh.devices;
    int32_t *chip = malloc((size_t)chips * sizeof *chip);
    int code = chip ? groups_parse(job->point->work.groups, chips, &groups, st) : status_nomem(st);
    for (int i = 0; code == 0 && i < chips; i++)
        chip[i] = mesh_chip(&machine->mesh, groups.member[i]);
    if (code == 0)
        code = ring_of_groups(&c->choice.set.ring[0], &machine->slice, chip, groups.count, groups.size, st);
    if (code == 0) {
        c->choice.set.rings = 1;
        c->group_chips = groups.size;
    }
    groups_free(&groups);
    free(chip);
    return code;
}

/* Reads "0-1,1-2"; returns the number of pairs, of which `pair` has room for as many as there are commas. */
static int read_pairs(const char *text, int32_t pair[][2], struct status *st)
{
    int pairs = 0;
    for (const char *at = text;; at++) {
        char *end = NULL;
        long from = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1;
        long to = end && *end == '-' && isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : -1;
        if (from < 0 || to < 0 || from > INT32_MAX || to > INT32_MAX || (*end && *end != ','))
            return status_fail(st, STATUS_INPUT, "--pairs '%s': write source-target pairs, such as 0-1,1-0",
                               text);
        pair[pairs][0] = (int32_t)from;
        pair[pairs++][1] = (int32_t)to;
        at = end;
        if (*at == '\0')
            return pairs;
    }
}

static int open_pairs(struct collective_job *c, const struct job *job, int32_t chip[], struct status *st)
{
    const char *text = job->point->work.pairs;
    size_t commas = 0;
    for (const char *at = text; *at; at++)
        commas += *at == ',';
    int32_t(*pair)[2] = malloc((commas + 1) * sizeof *pair);
    if (!pair)
        return status_nomem(st);
    int pairs = read_pairs(text, pair, st);
    int code = pairs < 0 ? pairs
                         : permute_pairs(&job->machine.mesh, &c->axes, (const int32_t(*)[2])pair, pairs, chip,
                                         c->target, st);
    free(pair);
    return code;
}

/* A permute without pairs is a shift along the axes. */
static int open_targets(struct collective_job *c, const struct job *job, struct status *st)
{
    if (job->point->work.groups)
        return status_fail(st, STATUS_INPUT,
                           "--groups: a collective-permute has pairs; give --pairs or --offset");
    size_t chips = (size_t)job->machine.slice.chips;
    int32_t *chip = malloc(chips * sizeof *chip);
    c->target = malloc(chips * sizeof *c->target);
    int code = chip && c->target ? 0 : status_nomem(st);
    if (code == 0 && job->point->work.pairs)
        code = open_pairs(c, job, chip, st);
    else if (code == 0)
        permute_shift(&job->machine.mesh, &c->axes, job->point->work.offset, chip, c->target);
    free(chip);
    return code;
}

int participants_open(struct collective_job *c, const struct job *job, struct status *st)
{
    bool permutes = c->collective->has_targets;
    int code = job->point->work.groups && !permutes ? open_groups(c, job, st) : open_axes(c, job, st);
    if (code < 0)
        return code;
    if (permutes)
        return open_targets(c, job, st);
    if (job->point->work.root >= c->group_chips)
        return status_fail(st, STATUS_INPUT, "--root %d: a group has %d chips; their positions are 0 to %d",
                           job->point->work.root, c->group_chips, c->group_chips - 1);
    if (c->collective->has_pair_sizes)
        return ragged_read(job->point->work.pair_sizes, c->group_chips, c->elements, c->dtype,
                           &c->pair_elements, st);
    return 0;
}
