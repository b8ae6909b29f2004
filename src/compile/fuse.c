/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is element by element runs with what reads it: a value that only such instructions and reductions of the same layer
 * and phase read is never in HBM, and each of those reads what it is made of. Of a value that another layer or phase reads it
 * is the value itself that is in HBM, or what it is made of where that is smaller (the backward pass widens and broadcasts
 * again). Products with a softmax, those of attention and of the head, read so, too, and the first
 * reduction of their result runs with them. Nothing is moved: the labels hbm_bytes say what is left to read and write.
 */
#include <stdlib.h>

#include "compile/pass.h"
#include "hlo/cost.h"
#include "hlo/edit.h"

enum { SCORES_DIMS = 4 }; /* or more: of batches, heads, and tokens by tokens */

/* What is known of an instruction of the entry. */
struct value {
    bool kept;    /* in HBM */
    bool reduced; /* of a product with a softmax: a reduction runs with it */
    int32_t seen; /* the root whose inputs were counted last: those are read once */
    int32_t region;
};

struct fuse {
    const struct module *from;
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

/* Another name for what the operand has, or for a part of it in one piece. */
static bool renames(const struct module *m, int32_t at)
{
    enum opcode opcode = module_at(m, at)->opcode;
    return opcode == HLO_BITCAST || (opcode == HLO_RESHAPE && !(module_cost(m, at).hbm_bytes > 0)) ||
           (opcode == HLO_SLICE && module_shape_of(m, at)->count == 1);
}

/* A product with which a softmax runs: of matrices of a batch, such as those of attention, or one of the head. */
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

/* What is in HBM for a value that another layer or phase reads. */
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

/* Is a value made element by element of results of such products, of reductions, also over devices, and of inputs and constants? Where
 * another phase needs it, it is made again of these. `depth` bounds the search. */
static bool is_remade(const struct module *m, int32_t at, int depth)
{
    enum opcode opcode = module_at(m, at)->opcode;
    bool remade = is_elementwise(m, at) && depth > 0;
    if (has_softmax(m, at) || opcode == HLO_REDUCE || opcode == HLO_ALL_REDUCE || opcode == HLO_PARAMETER)
        return true;
    for (int o = 0; o < module_at(m, at)->operands && remade; o++)
        remade = is_remade(m, module_operand(m, at, o), depth - 1);
    return remade;
}

/* Scores of attention, or what the loss makes of logits. */
static bool is_scores(const struct module *m, int32_t at)
{
    enum { DEPTH = 12 };
    bool scores = module_shape_of(m, at)->count >= SCORES_DIMS || module_has_label(m, at, "what=\"loss\"");
    return scores && is_remade(m, at, DEPTH);
}

/* From the last to the first: whatever reads a value comes after it. */
static void find_kept(struct fuse *f)
{
    const struct module *m = f->from;
    int32_t first = f->entry->first;
    f->value[f->entry->root - first].kept = true;
    for (int32_t at = first + f->entry->count - 1; at >= first; at--) {
        bool elementwise = is_elementwise(m, at), passes = renames(m, at);
        bool reads = elementwise || module_at(m, at)->opcode == HLO_REDUCE || has_softmax(m, at);
        f->value[at - first].kept |= !elementwise;
        for (int o = 0; o < module_at(m, at)->operands; o++) {
            int32_t of = module_operand(m, at, o) - first;
            f->value[of].kept |= !reads || (passes && f->value[at - first].kept);
            if (f->value[of].region != f->value[at - first].region && !is_scores(m, of + first))
                f->value[made_of(m, of + first) - first].kept = true;
        }
    }
}

/* What is read of HBM for an instruction: whatever it is made of is in there. */
static double read_bytes(struct fuse *f, int32_t at, int32_t root)
{
    const struct module *m = f->from;
    double bytes = 0;
    for (int o = 0; o < module_at(m, at)->operands; o++) {
        int32_t operand = module_operand(m, at, o), of = operand - f->entry->first;
        if (f->value[of].seen == root)
            continue;
        f->value[of].seen = root;
        bool runs_with =
            module_at(m, root)->opcode == HLO_REDUCE && has_softmax(m, operand) && !f->value[of].reduced;
        f->value[of].reduced |= runs_with;
        if (runs_with)
            continue;
        if (!f->value[of].kept)
            bytes += read_bytes(f, operand, root);
        else
            bytes +=
                shape_hbm_bytes(m, module_at(m, module_at(m, at)->opcode == HLO_SLICE ? at : operand)->shape);
    }
    return bytes;
}

static void copy(struct fuse *f, struct edit *edit, int32_t at)
{
    const struct module *m = f->from;
    bool elementwise = is_elementwise(m, at);
    double was = module_cost(m, at).hbm_bytes, bytes = was;
    if (elementwise && (!f->value[at - f->entry->first].kept || renames(m, at)))
        bytes = 0;
    else if (elementwise || module_at(m, at)->opcode == HLO_REDUCE || has_softmax(m, at))
        bytes = read_bytes(f, at, at) + shape_hbm_bytes(m, module_at(m, at)->shape);
    edit_copy(edit, at);
    if (bytes != was && module_at(m, at)->opcode != HLO_CONSTANT)
        module_label_hbm_bytes(edit->to, bytes);
}

int pass_fuse(const struct module *in, struct module *out, struct status *st)
{
    struct edit edit;
    struct fuse f = {.from = in, .entry = &in->computation[in->entry]};
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
