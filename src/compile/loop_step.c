/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the instructions of a step in the entry: products as fusions, conditional on lines if only some
 * devices take part; permutes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "compile/loop.h"
#include "hlo/cost.h"
#include "hlo/tally.h"

static int32_t self(struct overlap *o)
{
    if (o->self < 0)
        o->self = module_add(o->b.module, HLO_PARTITION_ID, NULL, loop_scalar_shape(o, DTYPE_U32), NULL, 0);
    return o->self;
}

/* Is the device at places first .. last of its ring? A pred[], looked up by the device. */
static int32_t takes_part(struct overlap *o, const struct loop *loop, int first, int last)
{
    struct module *module = o->b.module;
    int n = loop->ring.size, devices = n * loop->ring.count;
    int64_t *flag = malloc((size_t)devices * sizeof *flag);
    if (!flag) {
        builder_fail(&o->b, STATUS_NOMEM);
        return 0;
    }
    for (int i = 0; i < devices; i++)
        flag[loop->ring.member[i]] = i % n >= first && i % n <= last;
    struct shape one = {
        .dtype = DTYPE_PRED, .count = 1, .layout = module_text(module, "{0:S(6)}", -1), .on_chip = true};
    int32_t operand[2];
    operand[0] = module_add(module, HLO_CONSTANT, NULL,
                            module_array(module, DTYPE_PRED, &(int64_t){devices}, 1), NULL, 0);
    module_attribute(module, ATTR_LITERAL, flag, devices);
    free(flag);
    operand[1] = self(o);
    int32_t slice =
        module_add(module, HLO_DYNAMIC_SLICE, NULL, module_shape(module, one, &(int64_t){1}), operand, 2);
    module_attribute(module, ATTR_DYNAMIC_SLICE_SIZES, &(int64_t){1}, 1);
    return module_add(module, HLO_RESHAPE, NULL, loop_scalar_shape(o, DTYPE_PRED), &slice, 1);
}

void loop_label(struct overlap *o, const struct loop *loop, int32_t old)
{
    char both[40]; /* labels, added at once */
    snprintf(both, sizeof both, "%d\",step=\"%d", (int)(loop - o->loop) + 1, o->step);
    edit_attribute(&o->edit, old, ATTR_FRONTEND_ATTRIBUTES);
    module_add_label(o->b.module, "loop", both);
}

int32_t loop_in_place(struct overlap *o, int32_t before, int32_t value)
{
    if (o->b.module->instructions > before)
        module_label_number(o->b.module, "hbm_bytes", 0);
    return value;
}

int32_t loop_add(struct overlap *o, int32_t came, int32_t partial)
{
    int32_t before = o->b.module->instructions;
    return loop_in_place(o, before, build_binary(&o->b, HLO_ADD, came, partial));
}

static double bytes_of(const struct module *module, int32_t operand)
{
    return shape_hbm_bytes(module, module_at(module, operand)->shape);
}

/* Of a value that steps use one after the other so much is in HBM: nothing if three fit VMEM (what is added to, what comes of it and
 * what another loop has made), half if one does. */
static double in_hbm(const struct overlap *o, double bytes)
{
    return 3 * bytes < o->options->vmem_bytes ? 0 : bytes < o->options->vmem_bytes ? 0.5 : 1;
}

/* HBM bytes of the product of a step: of the operand that is cut its share; of the other one as much if that is cut alike, or
 * contracted with it; of the result too, unless that is whole in each step. One that is added to is also read. *results is how often
 * the result passes HBM for the product: XLA adds two at a time, so only every other one of those that are summed adds. */
static double piece_bytes(const struct overlap *o, const struct loop *loop, const struct loop_dot *dot,
                          const struct loop_product *product, double *results)
{
    bool gathers = loop->kind == LOOP_GATHER, contracted = dot->role == ROLE_CONTRACTED;
    double cut = bytes_of(o->from, module_operand(o->from, dot->dot, dot->side)), share = 0;
    double other = bytes_of(o->from, module_operand(o->from, dot->dot, 1 - dot->side));
    double out = bytes_of(o->from, dot->dot);
    for (int c = 0; c < product->chunks; c++)
        share += (double)(product->chunk[c].half < 0 ? loop->piece : loop->half[product->chunk[c].half]);
    share /= (double)loop->piece * loop->ring.size;
    bool sums = gathers && contracted;
    double here = in_hbm(o, gathers ? out : out * share), passes = (1 + product->accumulates) * here;
    *results = (1 + (product->accumulates && (!sums || o->step % 2 > 0))) * here;
    other *= in_hbm(o, other) * (dot->role == ROLE_BATCH || sums ? share : 1);
    return share * cut + other + (sums ? 1 : share) * out * passes;
}

/* The call of a product of a step. */
struct step {
    struct body body;
    int32_t result, shape[LOOP_CHUNKS]; /* of the result; of a scatter, of each chunk */
    int32_t operand[12];
    int operands;
};

static struct step begin(struct overlap *o, const struct loop *loop, const struct loop_dot *dot,
                         const struct loop_product *product)
{
    struct step s = {.body = {.kind = BODY_STEP,
                              .loop = loop,
                              .dot = dot,
                              .chunks = product->chunks,
                              .accumulates = product->accumulates}};
    for (int c = 0; c < LOOP_CHUNKS; c++)
        s.body.half[c] = c < product->chunks ? product->chunk[c].half : -1;
    if (loop->kind == LOOP_GATHER) {
        s.result = edit_shape(&o->edit, module_at(o->from, dot->dot)->shape);
        return s;
    }
    for (int c = 0; c < product->chunks; c++)
        s.shape[c] =
            loop_shape(o, dot->dot, dot->out_dim,
                       product->chunk[c].half < 0 ? loop->piece : loop->half[product->chunk[c].half]);
    s.result = product->chunks > 1 ? module_tuple(o->b.module, s.shape, product->chunks) : s.shape[0];
    return s;
}

/* The computation of a body of this kind; 0 if it is not built yet. */
static int32_t computation_of(struct overlap *o, struct body body, enum body_kind kind, int32_t inner)
{
    body.kind = kind;
    body.inner = inner;
    int32_t at = loop_body(o, &body);
    return at < o->bodies ? o->body[at].computation : 0;
}

static void run(struct module *module, enum attribute_key key, int32_t computation)
{
    module_attribute(module, key, &(int64_t){computation}, 1);
}

/* Writes fusion(operands) or, for some devices only, conditional(takes part, (operands), other). */
static int32_t run_step(struct overlap *o, const struct step *s, const struct loop_product *product,
                        int32_t other)
{
    struct module *module = o->b.module;
    const struct loop *loop = s->body.loop;
    int32_t made, step = loop_body(o, &s->body);
    if (product->first <= 0 && product->last >= loop->ring.size - 1) {
        made = module_add(module, HLO_FUSION, NULL, s->result, s->operand, s->operands);
        module_attribute_text(module, ATTR_KIND, NULL, "kOutput");
        run(module, ATTR_CALLS, computation_of(o, s->body, BODY_STEP, 0));
        loop_label(o, loop, s->body.dot->dot);
        bool adds = loop->kind != LOOP_GATHER && product->accumulates;
        if (adds || o->options->vmem_bytes > 0) {
            double results;
            module_label_number(module, "hbm_bytes", piece_bytes(o, loop, s->body.dot, product, &results));
            module_label_number(module, "results", results);
        }
        return made;
    }
    int32_t operand[] = {takes_part(o, loop, product->first, product->last),
                         build_tuple(&o->b, s->operand, s->operands), other};
    enum body_kind others = loop->kind == LOOP_GATHER ? BODY_KEEPS : BODY_ZEROS;
    made = module_add(module, HLO_CONDITIONAL, NULL, s->result, operand, 3);
    run(module, ATTR_TRUE_COMPUTATION, computation_of(o, s->body, BODY_CALLS, step));
    run(module, ATTR_FALSE_COMPUTATION, computation_of(o, s->body, others, 0));
    loop_label(o, loop, s->body.dot->dot);
    return made;
}

static void push(struct step *s, int32_t operand)
{
    s->operand[s->operands++] = operand;
}

static void push_offsets(struct overlap *o, struct step *s, const struct loop_product *product)
{
    int n = s->body.loop->ring.size;
    push(s, self(o));
    for (int c = 0; c < product->chunks; c++)
        push(s, loop_offset(o, (product->chunk[c].offset % n + n) % n));
}

int32_t loop_gather_product(struct overlap *o, const struct loop *loop, const struct loop_dot *dot,
                            const struct loop_product *product, const int32_t value[], int32_t accumulator)
{
    struct step s = begin(o, loop, dot, product);
    for (int c = 0; c < product->chunks; c++)
        push(&s, value[product->chunk[c].leg]);
    push(&s, o->edit.now[module_operand(o->from, dot->dot, 1 - dot->side)]);
    if (product->accumulates)
        push(&s, accumulator);
    push_offsets(o, &s, product);
    return run_step(o, &s, product, accumulator);
}

void loop_scatter_product(struct overlap *o, const struct loop *loop, const struct loop_dot *dot,
                          const struct loop_product *product, int32_t partial[])
{
    struct step s = begin(o, loop, dot, product);
    for (int side = 0; side < 2; side++)
        push(&s, o->edit.now[module_operand(o->from, dot->dot, side)]);
    push_offsets(o, &s, product);
    int32_t made = run_step(o, &s, product, self(o));
    for (int c = 0; c < product->chunks; c++)
        partial[c] = product->chunks == 1 ? made : build_element(&o->b, made, c);
}

/* Adds the pairs of an earlier permute with the same to the one that was added last; false: there is none. */
static bool share_pairs(struct overlap *o, const struct loop *loop, struct loop_send send)
{
    for (const struct loop_sent *s = o->sent; s < o->sent + o->sends; s++)
        if (s->ring == loop->ring.member && s->send.sign == send.sign && s->send.first == send.first &&
            s->send.last == send.last) {
            module_attribute_of(o->b.module, s->permute, ATTR_SOURCE_TARGET_PAIRS);
            return true;
        }
    if (GROW(o->sent, o->sends, o->send_room))
        o->sent[o->sends++] = (struct loop_sent){loop->ring.member, send, o->b.module->instructions - 1};
    else
        builder_fail(&o->b, STATUS_NOMEM);
    return false;
}

/* Adds the pairs to the permute that was added last. */
static void add_pairs(struct overlap *o, const struct loop *loop, struct loop_send send)
{
    if (share_pairs(o, loop, send))
        return;
    int n = loop->ring.size, pairs = 0;
    int64_t *pair = malloc(2 * (size_t)n * (size_t)loop->ring.count * sizeof *pair);
    if (!pair) {
        builder_fail(&o->b, STATUS_NOMEM);
        return;
    }
    for (int g = 0; g < loop->ring.count; g++)
        for (int k = send.first; k <= send.last; k++) {
            pair[2 * pairs] = loop->ring.member[g * n + k];
            pair[2 * pairs++ + 1] = loop->ring.member[g * n + (k + send.sign + n) % n];
        }
    module_attribute(o->b.module, ATTR_SOURCE_TARGET_PAIRS, pair, 2 * pairs);
    free(pair);
}

int32_t loop_permute(struct overlap *o, const struct loop *loop, int32_t value, struct loop_send send)
{
    struct module *module = o->b.module;
    char axes[TALLY_AXES], issue[TALLY_AXES + sizeof "data\",over=\""] = "data";
    bool waits = o->options->waits || (o->options->crowded && module_is_backward(o->from, loop->collective));
    int32_t shape = module_at(module, value)->shape, flag = loop_scalar_shape(o, DTYPE_U32);
    if (!waits) /* operand, result, and two flags */
        shape = module_tuple(module, (int32_t[]){shape, shape, flag, flag}, 4);
    int32_t made = module_add(module, waits ? HLO_COLLECTIVE_PERMUTE : HLO_COLLECTIVE_PERMUTE_START, NULL,
                              shape, &value, 1);
    module_attribute(module, ATTR_CHANNEL_ID, &(int64_t){++o->b.channels}, 1);
    add_pairs(o, loop, send);
    if (send.before >= 0)
        module_attribute(module, ATTR_CONTROL_PREDECESSORS, &(int64_t){send.before}, 1);
    loop_label(o, loop, loop->collective);
    if (!strpbrk(tally_axes(o->from, loop->collective, axes), "{[<"))
        stpcpy(stpcpy(issue, "data\",over=\""), axes);
    module_add_label(module, "issue", issue);
    return made;
}

int32_t loop_arrived(struct overlap *o, int32_t start)
{
    struct module *module = o->b.module;
    if (module_at(module, start)->opcode == HLO_COLLECTIVE_PERMUTE)
        return start;
    int32_t shape = module_at(module, module_operand(module, start, 0))->shape;
    return module_add(module, HLO_COLLECTIVE_PERMUTE_DONE, NULL, shape, &start, 1);
}
