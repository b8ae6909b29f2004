/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "program/resource.h"

/* How many times the bytes of a send pass the HBM of the sender and the HBM of the receiver, and which other
 * resource of the chip they pass; 0: none. */
static const struct {
    int leaves, reaches;
    enum resource_kind beside;
} memory_row[] = {
    [MEMORY_ENDS] = {1, 1, 0}, [MEMORY_REDUCES] = {1, 2, 0},          [MEMORY_COPY] = {1, 0, 0},
    [MEMORY_MOVE] = {2, 0, 0}, [MEMORY_HOST] = {1, 0, RESOURCE_PCIE}, [MEMORY_JOINT] = {2, 0, RESOURCE_JOINT},
    [MEMORY_NONE] = {0, 0, 0},
};

static bool is_copy(const struct op *op)
{
    return op->memory == MEMORY_COPY || op->memory == MEMORY_MOVE || op->memory == MEMORY_HOST;
}

int memory_passes(enum memory_use memory, bool receiver)
{
    return receiver ? memory_row[memory].reaches : memory_row[memory].leaves;
}

bool passes_memory(const struct program *program, const struct op *op, enum sharing sharing)
{
    if (op->kind == OP_SEND && op->memory == MEMORY_JOINT)
        return sharing != SHARES_LINKS && resource_Bps(program->slice, RESOURCE_JOINT, 0) > 0;
    if (sharing != SHARES_MEMORY || !(program->slice->hbm_Bps > 0))
        return false;
    if (op->kind == OP_COMPUTE)
        return op->hbm_Bps > 0 && !program->silent;
    return op->memory != MEMORY_NONE && (is_copy(op) || op_crosses_links(program, op));
}

int op_resources(const struct program *program, const struct op *op, enum sharing sharing, int chip, int to,
                 int32_t id[static RESOURCES_MOST])
{
    const struct slice *slice = program->slice;
    int ids = 0;
    if (!passes_memory(program, op, sharing))
        return 0;
    if (op->kind == OP_COMPUTE) {
        id[ids++] = resource_of(slice, RESOURCE_HBM, chip);
        id[ids++] = resource_of(slice, RESOURCE_COMPUTE, chip);
        return ids;
    }
    bool joins = op->memory == MEMORY_JOINT, hbm = sharing == SHARES_MEMORY && slice->hbm_Bps > 0;
    enum resource_kind beside = memory_row[op->memory].beside;
    if (!is_copy(op) && !joins && op_route(program, op, chip).hops == 0)
        return 0;
    for (int i = 0; i < memory_row[op->memory].leaves && hbm; i++)
        id[ids++] = resource_of(slice, RESOURCE_HBM, chip);
    for (int i = 0; i < memory_row[op->memory].reaches; i++)
        id[ids++] = resource_of(slice, RESOURCE_HBM, to);
    if (beside != RESOURCE_HBM && resource_Bps(slice, beside, chip) > 0)
        id[ids++] = resource_of(slice, beside, chip);
    return ids;
}

/* Bandwidth of the fastest link. */
static double fastest_Bps(const struct slice *slice)
{
    double most_Bps = slice->link ? 0 : slice->link_Bps;
    for (int link = 0; slice->link && link < slice_link_ids(slice); link++)
        most_Bps = fmax(most_Bps, slice_link_Bps(slice, link));
    return most_Bps;
}

double program_links_Bps(const struct program *program)
{
    int leaves = 0, reaches = 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->kind != OP_SEND || is_copy(op) || op->memory == MEMORY_JOINT ||
            !(op_crosses_links(program, op) || op->hbm_Bps > 0))
            continue;
        leaves = memory_row[op->memory].leaves > leaves ? memory_row[op->memory].leaves : leaves;
        reaches = memory_row[op->memory].reaches > reaches ? memory_row[op->memory].reaches : reaches;
    }
    return (leaves + reaches) * 2 * program->slice->axes * fastest_Bps(program->slice);
}

bool fills_memory(const struct program *program, const struct op *op, double links_Bps)
{
    if (op->kind == OP_SEND)
        return is_copy(op) || op->memory == MEMORY_JOINT;
    return op->hbm_Bps + links_Bps > program->slice->hbm_Bps * (1 + 1e-9);
}

/* If a send were held back by HBM, that would be full, and none of its flows faster than the send, hence than a link
 * (max-min fairness): all sends together have links_Bps at most, the one compute fastest_Bps. So HBM with more than
 * both is never what holds a send back. */
bool computes_yield(const struct program *program, double links_Bps)
{
    const struct slice *slice = program->slice;
    bool wide = !slice->chip_frac && links_Bps + fastest_Bps(slice) <= slice->hbm_Bps;
    for (int32_t o = 0; o < program->ops && wide; o++)
        wide = program->op[o].kind == OP_COMPUTE || !fills_memory(program, &program->op[o], links_Bps);
    return wide;
}

enum sharing program_sharing(const struct program *program)
{
    double queue_Bps = 0;
    bool joins = false, hbm = program->slice->hbm_Bps > 0;
    for (int32_t o = 0; o < program->ops; o++) {
        const struct op *op = &program->op[o];
        if (op->kind == OP_COMPUTE && !program->silent)
            queue_Bps = fmax(queue_Bps, op->hbm_Bps);
        else if (op->kind == OP_SEND && is_copy(op) && hbm)
            return SHARES_MEMORY;
        else
            joins = joins || (op->kind == OP_SEND && op->memory == MEMORY_JOINT);
    }
    double joint_Bps = joins ? 2 * resource_Bps(program->slice, RESOURCE_JOINT, 0) : 0;
    double most_Bps = queue_Bps + joint_Bps + (hbm && queue_Bps > 0 ? program_links_Bps(program) : 0);
    if (hbm && queue_Bps > 0 && most_Bps > program->slice->hbm_Bps * (1 + 1e-9))
        return SHARES_MEMORY;
    return joins ? SHARES_JOINTS : SHARES_LINKS;
}
