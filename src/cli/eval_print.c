/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `icisim eval` shows. Devices are numbered in mesh order, as JAX numbers them; steps are those of
 * `run --steps`: how many sends, each waiting for the one before, an op is behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/eval.h"
#include "icisim/engine.h"
#include "icisim/units.h"

enum { LINE_ROOM = 72, VALUES_MOST = 12, LABEL = 160 };

/* One payload that was delivered. */
struct moved {
    int32_t step, op;
    int from, to; /* chips */
    int64_t elements;
    double value[VALUES_MOST]; /* if there are no more */
};

struct moves {
    const struct program *program;
    int32_t *depth; /* [ops] */
    int64_t count, room;
    struct moved *item;
    bool nomem;
};

/* The array's lines as one, or NULL where that is too long or there is no memory. */
static char *on_one_line(const char *text)
{
    char *line = malloc(strlen(text) + 1), *to = line;
    for (const char *at = text; line && *at; at++) {
        if (*at != '\n') {
            *to++ = *at;
            continue;
        }
        at += strspn(at, "\n ") - 1; /* the indent of the next row, or the end */
        if (at[1])
            *to++ = ' ';
    }
    if (line)
        *to = '\0';
    if (line && to - line > LINE_ROOM) {
        free(line);
        line = NULL;
    }
    return line;
}

/* Behind a label that is `width` wide: on its line if it fits, else below. */
static int print_array(const char *label, int width, const struct array *array, FILE *out, struct status *st)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return status_nomem(st);
    array_print(array, memory);
    if (fclose(memory) != 0) {
        free(text);
        return status_nomem(st);
    }
    char *line = on_one_line(text), *rest = text, *row;
    if (line) {
        fprintf(out, "%-*s  %s\n", width, label, line);
    } else {
        fprintf(out, "%s\n", label);
        while ((row = strsep(&rest, "\n")))
            if (*row || (rest && *rest))
                fprintf(out, "    %s\n", row);
    }
    free(line);
    free(text);
    return 0;
}

/* "  device 5 (dp 2, tp 1)", and where it lies if the mesh is not laid row by row. */
static void print_label(const struct mesh *mesh, int device, char text[static LABEL])
{
    size_t used = (size_t)snprintf(text, LABEL, "  device %d (", device);
    for (int a = 0; a < mesh->axes.count && used < LABEL; a++)
        used += (size_t)snprintf(text + used, LABEL - used, "%s%s %d", a ? ", " : "", mesh->axes.axis[a].name,
                                 axes_coord(&mesh->axes, device, a));
    if (used < LABEL)
        used += (size_t)snprintf(text + used, LABEL - used, ")");
    if (mesh->chip_of && used < LABEL)
        snprintf(text + used, LABEL - used, " on chip %d", mesh_chip(mesh, device));
}

static int print_blocks(const struct mesh *mesh, const struct array block[], FILE *out, struct status *st)
{
    char label[LABEL];
    int width = 0, code = 0;
    for (int device = 0; device < mesh->slice->chips; device++) {
        print_label(mesh, device, label);
        width = (int)strlen(label) > width ? (int)strlen(label) : width;
    }
    for (int device = 0; device < mesh->slice->chips && code == 0; device++) {
        print_label(mesh, device, label);
        code = print_array(label, width, &block[device], out, st);
    }
    return code;
}

static void print_heading(const struct eval *eval, FILE *out)
{
    const struct mesh *mesh = &eval->machine.mesh;
    const struct call *call = &eval->example.call;
    char shape[SLICE_TEXT], wrap[SLICE_TEXT], axes[AXES_TEXT], sizes[AXES_TEXT], mapping[MESH_TEXT];
    fprintf(out, "# %s", call_name(call->op));
    if (call->op != CALL_NONE)
        fprintf(out, " over %s%s", axis_list_print(&call->axes, &mesh->axes, axes),
                call->divide.count > 0 ? " in groups" : "");
    fprintf(out, " of %s on %s %s (wrap: %s), mesh %s: %s", eval->dtype, eval->machine.chip->name,
            slice_print_shape(mesh->slice, shape), slice_print_wrap(mesh->slice, wrap),
            axes_print(&mesh->axes, sizes), mesh_print_mapping(mesh, mapping));
    bool direct = call->op == CALL_ALL_TO_ALL && eval->plan.algorithm == ALGORITHM_DIRECT;
    if (call->op == CALL_ALL_TO_ALL)
        fprintf(out, ", %s", algorithm_name(eval->plan.algorithm));
    if (eval->evaluation.rings > 0 && call->op != CALL_RAGGED && !direct)
        fprintf(out, ", ring %s", ring_kind_name(eval->plan.kind));
    fputc('\n', out);
}

static int print_start(const struct eval *eval, FILE *out, struct status *st)
{
    const struct example *example = &eval->example;
    const struct evaluation *e = &eval->evaluation;
    char shape[ARRAY_TEXT], spec[SPEC_TEXT], label[LABEL + ARRAY_TEXT];
    snprintf(label, sizeof label, "input, %s", array_print_shape(&example->input, shape));
    int code = print_array(label, 0, &example->input, out, st);
    if (code < 0)
        return code;
    fprintf(out, "blocks by %s%s, %s each\n", spec_print(&example->in_spec, &example->axes, spec),
            example->local.kind != LOCAL_NONE ? ", after the local step" : "",
            array_print_shape(&e->start[0], shape));
    return print_blocks(e->mesh, e->start, out, st);
}

/* What the buffers of the steps below are. */
static void print_buffers(const struct evaluation *e, FILE *out)
{
    const struct call *call = &e->example->call;
    int n = e->groups.size;
    switch (call->op) {
    case CALL_ALL_GATHER:
        fprintf(out, "# in: %d chunks, the block of each position", n);
        break;
    case CALL_PSUM_SCATTER:
        fprintf(out, "# in: the block in %d chunks along dim %d, one for each position", n, call->dim);
        break;
    case CALL_ALL_TO_ALL:
        fprintf(out, "# in: the block in %d chunks along dim %d, one for each position; out: one from each",
                n, call->split_axis);
        break;
    case CALL_RAGGED:
        fputs("# in: rows for each position; out: rows from each", out);
        break;
    case CALL_PPERMUTE:
    case CALL_RING_SHIFT:
        fputs("# in: the block; out: what arrives", out);
        break;
    default:
        fputs("# in: the block", out);
        break;
    }
    bool in_order = true;
    for (int i = 0; i < n; i++)
        in_order &= e->order[i] == i;
    if (!in_order) {
        fputs("; in the order of the ring, positions", out);
        for (int i = 0; i < n; i++)
            fprintf(out, " %d", e->order[i]);
    }
    fputc('\n', out);
}

static void record(void *user, const struct execute_move *move)
{
    struct moves *moves = user;
    if (moves->count == moves->room) {
        int64_t room = moves->room > 0 ? 2 * moves->room : 64;
        struct moved *item = realloc(moves->item, (size_t)room * sizeof *item);
        if (!item) {
            moves->nomem = true;
            return;
        }
        moves->item = item;
        moves->room = room;
    }
    /* What stays on its chip goes along with the sends that wait for as much. */
    bool crosses = op_crosses_links(moves->program, &moves->program->op[move->op]);
    struct moved *moved = &moves->item[moves->count++];
    *moved = (struct moved){
        moves->depth[move->op] + !crosses, move->op, move->from, move->to, move->elements, {0}};
    if (move->elements <= VALUES_MOST)
        memcpy(moved->value, move->value, (size_t)move->elements * sizeof *move->value);
}

static int by_step(const void *a, const void *b)
{
    const struct moved *m = a, *k = b;
    int difference = (m->step > k->step) - (m->step < k->step);
    difference = difference ? difference : (m->op > k->op) - (m->op < k->op);
    return difference ? difference : (m->from > k->from) - (m->from < k->from);
}

static void print_values(const struct moved *moved, bool integer, FILE *out)
{
    if (moved->elements > VALUES_MOST) {
        fprintf(out, " (%lld elements)", (long long)moved->elements);
        return;
    }
    fputs(" = [", out);
    for (int64_t i = 0; i < moved->elements; i++)
        fprintf(out, integer ? "%s%.0f" : "%s%.9g", i ? " " : "", moved->value[i]);
    fputc(']', out);
}

static void print_moved(const struct evaluation *e, const struct moved *moved, FILE *out)
{
    static const char *const does[] = {"put in", "added to", "largest with", "smallest with"};
    const struct payload *payload = &e->program.payload[e->program.op[moved->op].payload];
    char from[MEMORY_TEXT], to[MEMORY_TEXT];
    memory_print_view(&e->program, &payload->a, moved->from, moved->from, from);
    memory_print_view(&e->program, &payload->to, moved->from, moved->to, to);
    fprintf(out, "  %d ", mesh_device(e->mesh, moved->from));
    if (moved->from != moved->to)
        fprintf(out, "-> %d  %s", mesh_device(e->mesh, moved->to), from);
    else
        fprintf(out, "keeps  %s", from);
    print_values(moved, e->start[0].integer, out);
    if (moved->from == moved->to || payload->combine != COMBINE_COPY || strcmp(from, to) != 0)
        fprintf(out, ", %s %s", does[payload->combine], to);
    fputc('\n', out);
}

static int print_steps(struct evaluation *e, FILE *out, struct status *st)
{
    struct moves moves = {.program = &e->program};
    moves.depth = malloc(((size_t)e->program.ops + 1) * sizeof *moves.depth);
    if (!moves.depth)
        return status_nomem(st);
    program_depths(&e->program, moves.depth);
    struct execute_options options = {.on_move = record, .user = &moves};
    int code = evaluation_run(e, &options, st);
    if (code == 0 && moves.nomem)
        code = status_nomem(st);
    if (code == 0 && moves.count > 0) {
        print_buffers(e, out);
        qsort(moves.item, (size_t)moves.count, sizeof *moves.item, by_step);
    }
    for (int64_t i = 0; i < moves.count && code == 0; i++) {
        const struct moved *moved = &moves.item[i];
        if (i == 0 || moved->step != moved[-1].step)
            fprintf(out, "step %d\n", moved->step);
        print_moved(e, moved, out);
    }
    if (code == 0 && moves.count == 0)
        fputs("# no transfer: nothing leaves its device\n", out);
    free(moves.item);
    free(moves.depth);
    return code;
}

static int print_result(const struct eval *eval, FILE *out, struct status *st)
{
    const struct example *example = &eval->example;
    const struct evaluation *e = &eval->evaluation;
    char shape[ARRAY_TEXT], spec[SPEC_TEXT], label[LABEL + ARRAY_TEXT + SPEC_TEXT];
    bool even = evaluation_is_even(e);
    if (even)
        fprintf(out, "blocks of the result, %s each\n", array_print_shape(&e->got[0], shape));
    else
        fputs("blocks of the result; their shapes differ, so that they make no global array\n", out);
    int code = print_blocks(e->mesh, e->got, out, st);
    if (code < 0 || !even)
        return code;
    struct array result;
    if ((code = spec_assemble(&example->out_spec, &example->axes, e->got, &result, st)) == 0) {
        snprintf(label, sizeof label, "result by %s, %s",
                 spec_print(&example->out_spec, &example->axes, spec), array_print_shape(&result, shape));
        code = print_array(label, 0, &result, out, st);
    }
    array_free(&result);
    return code;
}

/* Simulated, on the slice and by the schedule that the numbers took. */
static int print_time(const struct evaluation *e, FILE *out, struct status *st)
{
    struct trace trace = {0};
    char time[UNITS_TEXT];
    if (program_transfers(&e->program) == 0)
        return 0;
    int steps = program_steps(&e->program, st);
    int code = steps < 0 ? steps : trace_init(&trace, &e->program, false, st);
    if (code == 0)
        code = engine_run(engine_by_name("event"), &e->program, &trace, st);
    if (code == 0)
        fprintf(out, "# takes %s: %d step%s, %lld transfers, %.9g B over links\n",
                units_print_time(trace.total_s, time), steps, steps == 1 ? "" : "s",
                (long long)program_transfers(&e->program), program_link_bytes(&e->program));
    trace_free(&trace);
    return code;
}

/* Does the result that must come out have the sharding asked for? If it does not, the input is wrong. */
static int check_out_spec(const struct eval *eval, struct status *st)
{
    const struct example *example = &eval->example;
    const struct evaluation *e = &eval->evaluation;
    struct status own = {0};
    struct array result = {0};
    char text[SPEC_TEXT];
    for (int device = 1; device < e->mesh->slice->chips; device++)
        if (!array_same_shape(&e->want[device], &e->want[0]))
            return eval->has_out_spec
                       ? status_fail(st, STATUS_INPUT,
                                     "--out: blocks of several shapes make no array; leave it out")
                       : 0;
    int code = case_result(example, e->want, &result, &own);
    array_free(&result);
    if (code == 0)
        return 0;
    return status_fail(st, own.code == STATUS_CHECK ? STATUS_INPUT : own.code, "--out %s%s: %s",
                       spec_print(&example->out_spec, &example->axes, text),
                       eval->has_out_spec ? "" : " (by default)", own.text);
}

int eval_print(struct eval *eval, FILE *out, struct status *st)
{
    struct evaluation *e = &eval->evaluation;
    struct status wrong = {0};
    int code = check_out_spec(eval, st);
    if (code < 0)
        return code;
    print_heading(eval, out);
    if ((code = print_start(eval, out, st)) < 0 || (code = print_steps(e, out, st)) < 0 ||
        (code = print_result(eval, out, st)) < 0)
        return code;
    if (evaluation_check(e, &wrong) == 0) {
        fputs("# equals the definition\n", out);
        return print_time(e, out, st);
    }
    fprintf(out, "# differs from the definition: %s\n", wrong.text);
    return status_fail(st, STATUS_CHECK, "the result differs from the definition: %s", wrong.text);
}
