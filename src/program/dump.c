/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program as text, one op a line. */
#include "program/program.h"

static void dump_route(const struct program *p, struct route route, FILE *out)
{
    if (route.hops == 0)
        fputs("stay", out);
    char text[HOP_TEXT];
    for (int32_t h = 0; h < route.hops; h++)
        fprintf(out, "%s%s", h ? ";" : "", hop_print(p->hop[route.first + h], text));
}

/* A table is shown by the entries of its first few chips. */
enum { SHOWN = 6 };

static void dump_towards(const struct program *p, const struct op *op, FILE *out)
{
    if (op->towards.table == NO_TABLE) {
        dump_route(p, p->route[op->towards.route], out);
        return;
    }
    int shown = 0, chip = 0;
    for (; chip < p->slice->chips && shown < SHOWN; chip++) {
        if (!op_takes_part(p, op, chip))
            continue;
        fprintf(out, "%s%d:", shown++ ? " " : "[", chip);
        dump_route(p, op_route(p, op, chip), out);
    }
    fputs(chip < p->slice->chips ? " ...]" : "]", out);
}

static void dump_amount(const struct program *p, const struct op *op, FILE *out)
{
    const char *unit = op->kind == OP_SEND ? "B" : "s";
    if (op->amount.table == NO_TABLE) {
        fprintf(out, "%.9g %s", op->amount.each, unit);
        return;
    }
    int shown = 0, chip = 0;
    for (; chip < p->slice->chips && shown < SHOWN; chip++)
        if (op_takes_part(p, op, chip))
            fprintf(out, "%s%d:%.9g", shown++ ? " " : "[", chip, op_amount(p, op, chip));
    fprintf(out, "%s %s", chip < p->slice->chips ? " ...]" : "]", unit);
}

static void dump_where(const struct program *p, const struct op *op, FILE *out)
{
    if (op->where == WHERE_ALL)
        return;
    int count = (int)op_takers(p, op);
    fprintf(out, "  on %d chips:", count);
    int shown = 0;
    for (int chip = 0; chip < p->slice->chips && shown < SHOWN; chip++)
        if (p->mask[op->where][chip] && ++shown)
            fprintf(out, " %d", chip);
    fputs(shown < count ? " ..." : "", out);
}

static void dump_view(const struct program *p, const struct view *view, FILE *out)
{
    const struct buffer *buffer = &p->buffer[view->buffer];
    fputs(buffer->name, out);
    for (int d = 0; d < buffer->dims; d++) {
        struct pick pick = view->pick[d];
        if (pick.kind == PICK_ALL)
            fputs("[:]", out);
        else if (pick.kind == PICK_FIXED)
            fprintf(out, "[%d]", pick.offset);
        else if (pick.kind == PICK_SET)
            fprintf(out, "[{v%d}]", pick.var);
        else if (p->var[pick.var].axis >= 0)
            fprintf(out, "[%c%+d]", slice_axis_name(p->var[pick.var].axis), pick.offset);
        else
            fprintf(out, "[v%d%+d]", pick.var, pick.offset);
    }
}

static void dump_payload(const struct program *p, const struct payload *payload, FILE *out)
{
    static const char *const combines[] = {"=", "+=", "max=", "min=", "?="};
    fputs("  ", out);
    dump_view(p, &payload->to, out);
    fprintf(out, " %s ", combines[payload->combine]);
    dump_view(p, &payload->a, out);
}

static const char *const memory_names[] = {
    [MEMORY_REDUCES] = "reduces", [MEMORY_COPY] = "copy",   [MEMORY_MOVE] = "move",
    [MEMORY_HOST] = "host",       [MEMORY_JOINT] = "joint", [MEMORY_NONE] = "vmem",
};

static void dump_op(const struct program *p, int32_t o, FILE *out)
{
    const struct op *op = &p->op[o];
    fprintf(out, "%5d  %s[%d]  ", o, p->stage[op->stage].name, op->step);
    if (op->kind == OP_SEND) {
        fputs("SEND ", out);
        dump_towards(p, op, out);
        fputs("  ", out);
    } else {
        fputs("COMPUTE  ", out);
    }
    dump_amount(p, op, out);
    if (op->setup_s > 0)
        fprintf(out, "  setup %.9g s", op->setup_s);
    if (op->memory != MEMORY_ENDS)
        fprintf(out, "  %s", memory_names[op->memory]);
    if (op->real_frac > 0)
        fprintf(out, "  endless %d, %.9g of it", op->line, op->real_frac);
    if (op->hbm_Bps > 0)
        fprintf(out, "  hbm %.9g B/s", op->hbm_Bps);
    if (op->times > 0 && op->times != 1)
        fprintf(out, "  x%.9g", op->times);
    dump_where(p, op, out);
    for (int32_t a = 0; a < op->afters; a++) {
        struct after after = p->after[op->first_after + a];
        fprintf(out, "%s%s %d", a ? ", " : "  after ", after.kind == AFTER_DONE ? "DONE" : "ARRIVED",
                after.op);
    }
    if (op->payload != NO_PAYLOAD)
        dump_payload(p, &p->payload[op->payload], out);
    fputc('\n', out);
}

void program_dump(const struct program *p, FILE *out)
{
    char shape[SLICE_TEXT], wrap[SLICE_TEXT];
    fprintf(out, "# program: slice %s, wrap %s, %d ops, %lld transfers\n", slice_print_shape(p->slice, shape),
            slice_print_wrap(p->slice, wrap), p->ops, (long long)program_transfers(p));
    for (int32_t b = 0; b < p->buffers; b++) {
        const struct buffer *buffer = &p->buffer[b];
        fprintf(out, "# buffer %s: %lld of %g B, pieces", buffer->name, (long long)buffer->elements,
                buffer->elem_bytes);
        for (int d = 0; d < buffer->dims; d++)
            fprintf(out, " %d", buffer->dim[d]);
        fprintf(out, "%s\n", buffer->dims == 0 ? " 1" : buffer->ragged ? ", ragged" : "");
    }
    for (int32_t o = 0; o < p->ops; o++)
        dump_op(p, o, out);
}
