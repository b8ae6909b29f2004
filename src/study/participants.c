/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which chips do a collective together: the rings they walk, whom each sends to, how much each pair moves. */
#include <stdlib.h>

#include "numbers/call.h"
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
    if (job->point->work.axis)
        return status_fail(st, STATUS_INPUT,
                           "--groups and --axis both say who takes part; leave one of them out");
    struct groups groups = {0};
    int code = groups_parse(job->point->work.groups, job->machine.mesh.devices, &groups, st);
    if (code == 0)
        code = ring_set_of_groups(&c->choice.set, &job->machine.mesh, &groups, st);
    c->group_chips = groups.size;
    groups_free(&groups);
    return code;
}

static int open_pairs(struct collective_job *c, const struct job *job, int32_t chip[], struct status *st)
{
    const char *text = job->point->work.pairs;
    struct call call = {0};
    struct status why = {0};
    int code = call_parse_pairs(text, &call, &why);
    if (code == 0)
        code = permute_pairs(&job->machine.mesh, &c->axes, (const int32_t(*)[2])call.pair, call.pairs, chip,
                             c->target, st);
    else if (code == STATUS_NOMEM)
        code = status_nomem(st);
    else
        code =
            status_fail(st, STATUS_INPUT, "--pairs '%s': write source-target pairs, such as 0-1,1-0", text);
    call_free(&call);
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
