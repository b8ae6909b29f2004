/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a plan to a program: gathers, product and sums of one product after the other. */
#include <stdlib.h>

#include "matmul/writer.h"

/* The product as one op. */
static struct tensor whole_product(struct writer *w, const struct matmul_product *p, struct tensor *left,
                                   struct tensor *right)
{
    struct tensor out = writer_product(p);
    struct view of_left = writer_buffer(w, "left", left, NULL),
                of_right = writer_buffer(w, "right", right, NULL);
    out.place.own = writer_buffer(w, "product", &out, NULL);
    writer_place(w, left, of_left, NULL);
    writer_place(w, right, of_right, NULL);
    int32_t fusion = program_stage(w->program, "fusion.%d", w->program->stages + 1);
    double seconds = matmul_cost_s(&w->options->roofline, p, (double)p->m, (double)p->k, (double)p->n, false);
    int32_t op = writer_matmul(w, fusion, 0, w->members, seconds, of_left, of_right, out.place.own);
    program_wait(w->program, left->ready);
    program_wait(w->program, right->ready);
    out.ready = op;
    return out;
}

static struct tensor product_by(struct writer *w, const struct matmul_product *p,
                                const struct matmul_move *move, struct tensor *left, struct tensor *right)
{
    if (!move)
        return whole_product(w, p, left, right);
    if (move->kind == MOVE_GATHER_LEFT || move->kind == MOVE_GATHER_RIGHT)
        return writer_gather_loop(w, p, move, left, right);
    if (move->kind == MOVE_REDUCE && w->options->reduce == REDUCE_CHUNKS)
        return writer_reduce_chunks(w, p, move, left, right);
    return writer_scatter_loop(w, p, move, left, right);
}

static bool before_product(const struct matmul_move *move)
{
    return move->kind == MOVE_GATHER_LEFT || move->kind == MOVE_GATHER_RIGHT;
}

static struct tensor write_product(struct writer *w, const struct matmul_product *p, struct tensor left,
                                   struct tensor right)
{
    int overlap = w->options->strategy == STRATEGY_NAIVE ? -1 : p->overlap;
    if (overlap >= 0 && axis_list_size(&p->move[overlap].axes, &w->mesh->axes) < 2)
        overlap = -1; /* axes of one chip: nothing to permute */
    for (int i = 0; i < p->moves; i++)
        if (i != overlap && before_product(&p->move[i]))
            writer_collective(w, &p->move[i], w->options->kind,
                              p->move[i].kind == MOVE_GATHER_LEFT ? &left : &right);
    struct tensor out = product_by(w, p, overlap < 0 ? NULL : &p->move[overlap], &left, &right);
    for (int i = 0; i < p->moves; i++)
        if (i != overlap && !before_product(&p->move[i]))
            writer_collective(w, &p->move[i], w->options->kind, &out);
    return out;
}

static struct tensor operand(const struct expr_tensor *t, int index, const struct axes *axes)
{
    struct tensor tensor = {.dtype = t->dtype, .operand = index, .ready = -1};
    for (int d = 0; d < 2; d++)
        tensor.len[d] = t->dim[d].n / axis_list_size(&t->dim[d].shard, axes);
    return tensor;
}

/* The mask of the mesh's chips. */
static int find_members(struct writer *w)
{
    uint8_t *mask = malloc((size_t)w->mesh->slice->chips);
    if (!mask)
        return status_nomem(w->st);
    mesh_mask(w->mesh, mask);
    w->members = program_mask(w->program, mask);
    free(mask);
    return 0;
}

int matmul_write(const struct matmul_plan *plan, const struct matmul_options *options,
                 const struct mesh *mesh, struct program *program, struct matmul_build *build,
                 struct status *st)
{
    *build = (struct matmul_build){.rings = 0};
    struct writer w = {
        .options = options, .mesh = mesh, .program = program, .build = build, .copies = -1, .st = st};
    if (find_members(&w) < 0)
        return st->code;
    struct tensor out = operand(&plan->product[0].left, 0, &mesh->axes);
    for (int i = 0; i < plan->products && st->code == 0; i++)
        out = write_product(&w, &plan->product[i], out, operand(&plan->product[i].right, i + 1, &mesh->axes));
    build->output = out.place;
    return st->code < 0 ? st->code : program_close(program, st);
}

void matmul_build_free(struct matmul_build *build)
{
    for (int i = 0; i < build->rings; i++)
        ring_free(&build->ring[i]);
    build->rings = 0;
}
