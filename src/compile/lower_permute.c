/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile/lower_permute.h"

#include "base/grow.h"
#include "compile/cores.h"

/* The permute that was written already between the same pairs; NULL: none. Steps of a loop share them (loop_permute()). */
static const struct lowered_permute *find_permute(const struct lower *lower,
                                                  const struct lowered_permute *like)
{
    for (int32_t p = 0; p < lower->permutes; p++) {
        const struct lowered_permute *known = &lower->permute[p];
        if (known->first == like->first && known->count == like->count && known->ids == like->ids)
            return known;
    }
    return NULL;
}

/* Read there and written here. */
static double inside_s(const struct lower *lower, const struct collective_spec *spec, double bytes)
{
    return spec->setup_s + roofline_hbm_s(&lower->options->roofline, 2 * bytes);
}

/* Writes a permute from its pairs, and keeps which ops it is for others between the same ones. */
static int write_first(struct lower *lower, int32_t instruction, struct collective_spec *spec,
                       struct lowered_permute *made, double bytes, int32_t before, struct status *st)
{
    struct groups pairs = {0};
    struct cores_pairs between = {0};
    struct program *program = &lower->program;
    char name[STAGE_NAME];
    int32_t after;
    spec->name = lower_name(lower->module, instruction, name);
    int code = module_groups_of(lower->module, instruction, &pairs, st);
    if (code == 0)
        code = cores_pairs_init(&between, lower->placement, &pairs, st);
    made->together = between.together;
    made->first_op = program->ops;
    for (int p = 0; p < between.parts && code == 0; p++) {
        spec->target = between.target + (size_t)p * (size_t)lower->placement->slice->chips;
        spec->elements = (int64_t)(bytes * made->together);
        code = collective_of(COLLECTIVE_PERMUTE)->build(spec, program, before, &after, st);
    }
    made->inside_op = program->ops;
    if (code == 0 && between.inside)
        cores_exchange(lower, instruction, program_mask(program, between.inside),
                       inside_s(lower, spec, bytes), before);
    made->end_op = program->ops;
    cores_pairs_free(&between);
    groups_free(&pairs);
    if (code < 0 || made->end_op == made->first_op) /* nobody sends */
        return code;
    if (!GROW(lower->permute, lower->permutes, lower->permutes_room))
        return status_nomem(st);
    lower->permute[lower->permutes++] = *made;
    return 0;
}

static int32_t own_stage(struct lower *lower, int32_t instruction)
{
    char name[STAGE_NAME];
    int32_t stage = program_stage(&lower->program, lower_name(lower->module, instruction, name));
    program_stage_permutes(&lower->program, stage);
    return stage;
}

/* The same ops once more, for other bytes. */
static void write_again(struct lower *lower, const struct collective_spec *spec,
                        const struct lowered_permute *known, double bytes, int32_t stage, int32_t before)
{
    struct program *program = &lower->program;
    for (int32_t o = known->first_op; o < known->end_op && program->error == 0; o++) {
        struct op op = program->op[o];
        bool inside = o >= known->inside_op;
        op.stage = stage;
        op.step = 0;
        op.times = 0;
        op.amount = amount_of(inside ? 0 : (double)(int64_t)(bytes * known->together));
        op.setup_s = inside ? inside_s(lower, spec, bytes) : spec->setup_s;
        program_add(program, op);
        program_wait(program, before);
    }
}

int lower_permute(struct lower *lower, int32_t instruction, struct collective_spec *spec, int32_t stage,
                  int32_t before, int32_t *after, struct status *st)
{
    const struct attribute *pairs = module_find(lower->module, instruction, ATTR_SOURCE_TARGET_PAIRS);
    struct lowered_permute own = {.first = pairs ? pairs->first : 0,
                                  .count = pairs ? pairs->count : 0,
                                  .ids = module_ids_of(lower->module, instruction)};
    const struct lowered_permute *known = find_permute(lower, &own);
    double bytes = lower_collective_bytes(lower->module, instruction, 1);
    int32_t first = lower->program.ops;
    int code = 0;
    if (known)
        write_again(lower, spec, known, bytes, stage < 0 ? own_stage(lower, instruction) : stage, before);
    else
        code = write_first(lower, instruction, spec, &own, bytes, before, st);
    if (code == 0 && lower->program.ops > first)
        *after = program_join_since(&lower->program, first, WHERE_ALL, lower->program.op[first].stage);
    return code < 0 ? code : program_close(&lower->program, st);
}
