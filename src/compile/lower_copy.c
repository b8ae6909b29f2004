/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asynchronous instructions that are not collectives: copies and slices between memories, and what
 * SparseCores do with rows of HBM. Each is issued by its start, beside the queue, and its done holds the
 * queue.
 *
 * A copy takes the bytes of its target, padded: from HBM to VMEM once, from HBM to HBM twice; to and from the host they pass PCIe, too. It
 * is a send without links, and shares both with all that runs beside it. Work of a SparseCore takes what its instructions read and
 * write, one after the other on a queue of its own.
 */
#include "compile/lower_own.h"
#include "hlo/communication.h"
#include "hlo/layout.h"

/* The opcode of a copy: that of a start, or of the only instruction of an async-start. */
static enum opcode copied_by(const struct module *module, int32_t start)
{
    enum opcode opcode = module_at(module, start)->opcode;
    int32_t called = opcode == HLO_ASYNC_START ? module_called(module, start, 0) : -1;
    return called < 0 ? opcode_info(opcode)->whole
                      : module_at(module, module->computation[called].root)->opcode;
}

static void add_copy(const struct module *module, int32_t start, struct traffic *traffic)
{
    const struct instruction *i = module_at(module, start);
    enum opcode opcode = copied_by(module, start);
    int source = opcode == HLO_DYNAMIC_UPDATE_SLICE ? 1 : 0;
    bool known = opcode == HLO_COPY || opcode == HLO_SLICE || opcode == HLO_DYNAMIC_SLICE || source;
    if (!known || i->operands <= source)
        return;
    int32_t from = module_at(module, module_operand(module, start, source))->shape,
            to = module_result(module, start);
    int ends[] = {layout_space(module, from), layout_space(module, to)};
    double bytes = layout_bytes(module, source ? from : to);
    for (int e = 0; e < 2; e++) {
        traffic->hbm_bytes += ends[e] == SPACE_HBM ? bytes : 0;
        traffic->host_bytes += ends[e] == SPACE_HOST ? bytes : 0;
    }
}

/* Adds the bytes that the instructions of a computation, and of those it calls, read and write. */
static void add_work(const struct module *module, int32_t computation, struct traffic *traffic)
{
    const struct computation *c = &module->computation[computation];
    for (int32_t at = c->first; at < c->first + c->count; at++) {
        int32_t called = module_called(module, at, 0);
        if (called >= 0 && module_at(module, at)->opcode != HLO_FUSION)
            add_work(module, called, traffic);
        else
            traffic->hbm_bytes += module_cost(module, at).hbm_bytes;
    }
}

struct traffic lower_traffic(const struct module *module, int32_t instruction)
{
    struct traffic traffic = {0};
    int32_t start = communication_late_start(module, instruction);
    start = start < 0 ? instruction : start;
    enum opcode_class class = opcode_info(module_at(module, instruction)->opcode)->class;
    if (class == CLASS_START && start == instruction && module_at(module, start)->operands == 0)
        return traffic; /* the update has the operands */
    traffic.sparse = module_on_sparse_core(module, instruction);
    if (traffic.sparse && module_called(module, start, 0) >= 0)
        add_work(module, module_called(module, start, 0), &traffic);
    else
        add_copy(module, start, &traffic);
    return traffic;
}

int32_t walker_copy(struct walker *w, int32_t instruction, struct waits *waits)
{
    struct lower *lower = w->lower;
    struct traffic traffic = lower_traffic(w->module, instruction);
    bool host = traffic.host_bytes > 0;
    char name[STAGE_NAME];
    double bytes = lower->options->roofline.cores * (host ? traffic.host_bytes : traffic.hbm_bytes);
    int32_t stage = program_stage(w->program, lower_name(w->module, instruction, name));
    struct op op = program_local(w->program, w->where, bytes, stage);
    op.memory = host ? MEMORY_HOST : MEMORY_COPY;
    if (traffic.sparse)
        walker_add_wait(waits, w->sparse);
    int32_t copy = program_add(w->program, op);
    walker_wait(w, waits);
    if (traffic.sparse)
        w->sparse = copy;
    lower->item[lower->items - 1].aside = true;
    return copy;
}
