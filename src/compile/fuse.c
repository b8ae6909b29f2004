/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fuses element-wise instructions with their users: a value that is only read by such instructions and by
 * reductions of the same layer and phase is never in HBM, and each of these reads the inputs of the value
 * instead. If another layer or phase reads the value, HBM holds the value itself, or its inputs if they are
 * smaller (the backward pass widens and broadcasts again). Products with a softmax, in attention and in the
 * head, read their operands in the same way, and the first reduction of their result is fused with them; on some
 * chips, if its rows are short, the sum of exponentials is, too, and these are what is written (chip_softmax_row()).
 * A result that fits VMEM, and is only read in its layer and phase, is not in HBM. No instruction is moved: the
 * labels hbm_bytes give the remaining bytes.
 */
#include <math.h>
#include <stdlib.h>

#include "compile/pass.h"
#include "hlo/cost.h"
#include "hlo/edit.h"

enum { DEPTH = 12 }; /* of searches */

/* The state of an instruction of the entry. */
struct value {
    bool kept;    /* in HBM */
    bool reduced; /* for a product with a softmax: a reduction is fused with it */
    int32_t seen; /* the last root that counted its inputs: each is read once per root */
    int32_t region;
    bool leaves; /* its layer and phase, or is read by an instruction that computes nothing */
};

struct fuse {
    const struct module *from;
    double vmem_bytes;
    int64_t softmax_row;
    const struct computation *entry;
    struct value *value; /* [instructions of the entry] */
};

static bool is_elementwise(const struct module *m, int32_t at)
{
    enum opcode opcode = module_at(m, at)->opcode;
    return opcode_info(opcode)->class == CLASS_ELEMENTWISE || opcode_is_renaming(opcode) ||
           opcode == HLO_BROADCAST || opcode == HLO_CONCATENATE || opcode == HLO_CONSTANT ||
           opcode == HLO_IOTA || opcode == HLO_PAD || opcode == HLO_REVERSE || opcode == HLO_SLICE;
}

/* Does it only rename its operand, or a contiguous part of it? */
static bool renames(const struct module *m, int32_t at)
{
    enum opcode opcode = module_at(m, at)->opcode;
    return opcode == HLO_BITCAST || (opcode == HLO_RESHAPE && !(module_cost(m, at).hbm_bytes > 0)) ||
           (opcode == HLO_SLICE && module_shape_of(m, at)->count == 1);
}

/* Is it a product with a softmax: of batched matrices, as in attention, or of the head? */
static bool has_softmax(const struct module *m, int32_t at)
{
    static const char *const head[] = {"what=\"logits\"", "what=\"unembed\"", "what=\"embed\""};
    int batches = 0;
    if (module_at(m, at)->opcode != HLO_DOT)
        return false;
    module_numbers(m, at, ATTR_LHS_BATCH, &batches);
    for (size_t i = 0; i < sizeof head / sizeof *head && batches == 0; i++)
        batches = module_has_label(m, at, head[i]);
    return batches > 0;
}

static bool computes(const struct module *m, int32_t at)
{
    return is_elementwise(m, at) || module_at(m, at)->opcode == HLO_REDUCE ||
           module_at(m, at)->opcode == HLO_DOT;
}

/* The instruction whose result is in HBM for a value that another layer or phase reads. */
static int32_t made_of(const struct module *m, int32_t at)
{
    for (;;) {
        enum opcode opcode = module_at(m, at)->opcode;
        if (opcode != HLO_BROADCAST && opcode != HLO_CONVERT)
            return at;
        int32_t of = module_operand(m, at, 0);
        if (shape_hbm_bytes(m, module_at(m, of)->shape) >= shape_hbm_bytes(m, module_at(m, at)->shape))
            return at;
        at = of;
    }
}

/* Is a value made element by element of constants; or of the loss, which XLA makes again of logits, also of results of such products, of
 * reductions, also over devices, and of inputs? Where another phase needs it, it is made again of these. `depth` bounds the search. */
static bool is_remade(const struct module *m, int32_t at, bool loss, int depth)
{
    enum opcode opcode = module_at(m, at)->opcode;
    bool remade = is_elementwise(m, at) && depth > 0;
    if (loss &&
        (has_softmax(m, at) || opcode == HLO_REDUCE || opcode == HLO_ALL_REDUCE || opcode == HLO_PARAMETER))
        return true;
    for (int o = 0; o < module_at(m, at)->operands && remade; o++)
        remade = is_remade(m, module_operand(m, at, o), loss, depth - 1);
    return remade;
}

/* Is the whole softmax fused with a product: are its rows short enough? */
static bool has_whole_rows(const struct fuse *f, int32_t product)
{
    const struct shape *shape = module_shape_of(f->from, product);
    return f->from->number[shape->first + shape->count - 1] <= f->softmax_row;
}

/* Are these exponentials of scores whose rows are whole in the product that makes them, so that it writes them and not the scores; or,
 * if not `whole`, of longer ones? */
static bool is_of_rows(const struct fuse *f, int32_t at, bool whole, int depth)
{
    const struct module *m = f->from;
    bool found = has_softmax(m, at) && has_whole_rows(f, at) == whole;
    for (int o = 0; o < module_at(m, at)->operands && !found && depth > 0 && is_elementwise(m, at); o++)
        found = is_of_rows(f, module_operand(m, at, o), whole, depth - 1);
    return found;
}

/* Bytes of the exponentials of attention's scores that an instruction sums, if no product makes them: the fusion that sums them
 * writes them, too. */
static double summed_bytes(const struct fuse *f, int32_t at)
{
    const struct module *m = f->from;
    int32_t of = module_at(m, at)->opcode == HLO_REDUCE ? module_operand(m, at, 0) : at;
    bool writes = module_at(m, of)->opcode == HLO_EXPONENTIAL && of != at &&
                  module_has_label(m, at, "what=\"attention\"") && !f->value[of - f->entry->first].kept &&
                  is_of_rows(f, of, false, DEPTH);
    return writes ? shape_hbm_bytes(m, module_at(m, of)->shape) : 0;
}

/* Goes from the last to the first instruction: all users of a value come after it. */
static void find_kept(struct fuse *f)
{
    const struct module *m = f->from;
    int32_t first = f->entry->first;
    f->value[f->entry->root - first].kept = true;
    for (int32_t at = first + f->entry->count - 1; at >= first; at--) {
        struct value *reader = &f->value[at - first];
        bool elementwise = is_elementwise(m, at), passes = renames(m, at);
        bool reads = computes(m, at) && (module_at(m, at)->opcode != HLO_DOT || has_softmax(m, at));
        reader->kept |= !elementwise;
        if (module_at(m, at)->opcode == HLO_EXPONENTIAL && is_of_rows(f, at, true, DEPTH))
            reader->kept = false;
        for (int o = 0; o < module_at(m, at)->operands; o++) {
            int32_t of = module_operand(m, at, o);
            struct value *value = &f->value[of - first];
            value->kept |= !reads || (passes && reader->kept);
            value->leaves |= value->region != reader->region || !computes(m, at) ||
                             (reader->leaves && (passes || !reader->kept));
            if (value->region != reader->region &&
                !is_remade(m, of, module_has_label(m, of, "what=\"loss\""), DEPTH))
                f->value[made_of(m, of) - first].kept = true;
        }
    }
}

/* Bytes of a value in HBM: none of a result that fits VMEM and is read by computes of its layer and phase only. */
static double value_bytes(const struct fuse *f, int32_t at)
{
    double bytes = shape_hbm_bytes(f->from, module_at(f->from, at)->shape);
    bool stays = computes(f->from, at) && !f->value[at - f->entry->first].leaves;
    return stays && bytes <= f->vmem_bytes ? 0 : bytes;
}

/* The bytes read from HBM for an instruction: those of the inputs in HBM that it is made of. */
static double read_bytes(struct fuse *f, int32_t at, int32_t root)
{
    const struct module *m = f->from;
    double bytes = 0;
    for (int o = 0; o < module_at(m, at)->operands; o++) {
        int32_t operand = module_operand(m, at, o);
        struct value *value = &f->value[operand - f->entry->first];
        if (value->seen == root)
            continue;
        value->seen = root;
        bool runs_with = module_at(m, root)->opcode == HLO_REDUCE && has_softmax(m, operand) &&
                         (!value->reduced || has_whole_rows(f, operand));
        value->reduced |= runs_with;
        if (runs_with)
            continue;
        if (!value->kept)
            bytes += read_bytes(f, operand, root);
        else if (module_at(m, at)->opcode == HLO_SLICE)
            bytes += fmin(value_bytes(f, operand), shape_hbm_bytes(m, module_at(m, at)->shape));
        else
            bytes += value_bytes(f, operand);
    }
    return bytes;
}

static void copy(struct fuse *f, struct edit *edit, int32_t at)
{
    const struct module *m = f->from;
    const struct value *value = &f->value[at - f->entry->first];
    bool elementwise = is_elementwise(m, at);
    double was = module_cost(m, at).hbm_bytes, bytes = was;
    if (elementwise && (!value->kept || renames(m, at)))
        bytes = 0;
    else if (computes(m, at))
        bytes = read_bytes(f, at, at) + summed_bytes(f, at) + value_bytes(f, at);
    edit_copy(edit, at);
    if (bytes != was && module_at(m, at)->opcode != HLO_CONSTANT)
        module_label_number(edit->to, "hbm_bytes", bytes);
}

int pass_fuse(const struct module *in, double vmem_bytes, int64_t softmax_row, struct module *out,
              struct status *st)
{
    struct edit edit;
    struct fuse f = {.from = in,
                     .vmem_bytes = vmem_bytes,
                     .softmax_row = softmax_row,
                     .entry = &in->computation[in->entry]};
    int code = edit_open_entry(&edit, in, out, st);
    f.value = malloc(((size_t)f.entry->count + 1) * sizeof *f.value);
    if (code == 0 && !f.value)
        code = status_nomem(st);
    for (int32_t i = 0; i < f.entry->count && code == 0; i++)
        f.value[i] = (struct value){.seen = -1, .region = module_region(in, f.entry->first + i)};
    if (code == 0)
        find_kept(&f);
    for (int32_t i = 0; i < f.entry->count && code == 0; i++)
        copy(&f, &edit, f.entry->first + i);
    free(f.value);
    return edit_close(&edit, code, st);
}
