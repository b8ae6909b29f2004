/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The printed output of `icisim eval`. Devices are numbered in mesh order, as JAX numbers them. */
#include <stdlib.h>
#include <string.h>

#include "faces/eval.h"

#include "base/units.h"

enum { LINE_ROOM = 72, LABEL = 160 };

/* Prints the rows of an array on one line: each newline with its indent becomes a space. Returns the length;
 * `out` may be NULL. */
static size_t put_on_one_line(const char *text, FILE *out)
{
    size_t n = 0;
    for (; *text; text++, n++) {
        bool ends = *text == '\n';
        if (ends)
            text += strspn(text, "\n ") - 1;
        if (ends && !text[1])
            break;
        if (out)
            fputc(ends ? ' ' : *text, out);
    }
    return n;
}

/* Prints an array after a label of `width` characters: on the label's line if it fits, else below. */
static int print_array(const char *label, int width, const struct array *array, FILE *out, struct status *st)
{
    char *text = NULL, *rest, *row;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return status_nomem(st);
    array_print(array, memory);
    if (!text_end(memory, &text))
        return status_nomem(st);
    if (put_on_one_line(text, NULL) <= LINE_ROOM) {
        fprintf(out, "%-*s  ", width, label);
        put_on_one_line(text, out);
        fputc('\n', out);
    } else {
        fprintf(out, "%s\n", label);
        for (rest = text; (row = strsep(&rest, "\n"));)
            if (*row || (rest && *rest))
                fprintf(out, "    %s\n", row);
    }
    free(text);
    return 0;
}

/* Prints "  device 5 (dp 2, tp 1)", and its chip if the mesh is not laid out row by row. */
static void print_label(const struct mesh *mesh, int device, char text[static LABEL])
{
    snprintf(text, LABEL, "  device %d (", device);
    for (int a = 0; a < mesh->axes.count; a++)
        text_add(text, LABEL, "%s%s %d", a ? ", " : "", mesh->axes.axis[a].name,
                 axes_coord(&mesh->axes, device, a));
    text_add(text, LABEL, ")");
    if (mesh->chip_of)
        text_add(text, LABEL, " on chip %d", mesh_chip(mesh, device));
}

static int print_blocks(const struct mesh *mesh, const struct array block[], FILE *out, struct status *st)
{
    char label[LABEL];
    int width = 0, code = 0;
    for (int device = 0; device < mesh->devices; device++) {
        print_label(mesh, device, label);
        width = (int)strlen(label) > width ? (int)strlen(label) : width;
    }
    for (int device = 0; device < mesh->devices && code == 0; device++) {
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
    char config[CONFIG_TEXT];
    fprintf(out, "# %s", call_name(call->op));
    if (call->op != CALL_NONE)
        fprintf(out, " over %s%s", axis_list_print(&call->axes, &mesh->axes, axes),
                call->divide.count > 0 ? " in groups" : "");
    fprintf(out, " of %s on %s %s (wrap: %s), mesh %s: %s", eval->dtype, eval->machine.chip->name,
            slice_print_shape(mesh->slice, shape), slice_print_wrap(mesh->slice, wrap),
            axes_print(&mesh->axes, sizes), mesh_print_mapping(mesh, mapping));
    bool direct = call->op == CALL_ALL_TO_ALL && eval->plan.all_to_all == ALL_TO_ALL_DIRECT;
    if (call->op == CALL_ALL_TO_ALL)
        fprintf(out, ", algorithm %s", all_to_all_name(eval->plan.all_to_all));
    const struct evaluation *e = &eval->evaluation;
    if (e->follows)
        fprintf(out, ", xla: %s", config_print(&e->config, config));
    else if (e->pattern != PATTERN_RINGS)
        fprintf(out, ", algorithm %s", pattern_name(e->pattern));
    else if (e->rings.rings > 0 && call->op != CALL_RAGGED && !direct)
        fprintf(out, ", ring %s", ring_kind_name(e->kind));
    fputc('\n', out);
}

/* Prints the blocks as sharded by the spec, and after the local step if there is one. */
static int print_start(const struct eval *eval, FILE *out, struct status *st)
{
    const struct evaluation *e = &eval->evaluation;
    struct example cut = eval->example;
    char shape[ARRAY_TEXT], spec[SPEC_TEXT], label[LABEL + ARRAY_TEXT];
    if (cut.call.op == CALL_AXIS_INDEX)
        return 0;
    struct array *block = calloc((size_t)e->mesh->devices, sizeof *block);
    cut.local = (struct local){0};
    snprintf(label, sizeof label, "input, %s", array_print_shape(&cut.input, shape));
    int code = block ? print_array(label, 0, &cut.input, out, st) : status_nomem(st);
    if (code == 0 && (code = case_blocks(&cut, block, st)) == 0) {
        fprintf(out, "blocks by %s, %s each\n", spec_print(&cut.in_spec, &cut.axes, spec),
                array_print_shape(&block[0], shape));
        code = print_blocks(e->mesh, block, out, st);
    }
    if (code == 0 && eval->local) {
        fprintf(out, "blocks after %s, %s each\n", eval->local, array_print_shape(&e->start[0], shape));
        code = print_blocks(e->mesh, e->start, out, st);
    }
    case_free_blocks(block, e->mesh->devices);
    return code;
}

/* Prints the result; if nothing was sent, the blocks are printed already. */
static int print_result(const struct eval *eval, FILE *out, struct status *st)
{
    const struct example *example = &eval->example;
    const struct evaluation *e = &eval->evaluation;
    char shape[ARRAY_TEXT], spec[SPEC_TEXT], label[LABEL + ARRAY_TEXT + SPEC_TEXT];
    bool even = evaluation_is_even(e);
    int code = 0;
    if (example->call.op != CALL_NONE) {
        fprintf(out, "blocks of the result%s%s\n",
                even ? ", " : "; their shapes differ, so that they make no global array",
                even ? array_print_shape(&e->got[0], shape) : "");
        code = print_blocks(e->mesh, e->got, out, st);
    }
    if (code < 0 || !even)
        return code;
    struct array result;
    if ((code = case_result(example, e->got, &result, st)) == 0) {
        snprintf(label, sizeof label, "result by %s, %s",
                 spec_print(&example->out_spec, &example->axes, spec), array_print_shape(&result, shape));
        code = print_array(label, 0, &result, out, st);
    }
    array_free(&result);
    return code;
}

/* Prints the simulated time, on the same slice and schedule. */
static int print_time(const struct evaluation *e, FILE *out, struct status *st)
{
    double time_s;
    char time[UNITS_TEXT];
    long long transfers = program_transfers(&e->program);
    if (transfers == 0)
        return 0;
    int steps = program_steps(&e->program, st);
    if (steps < 0 || program_time(&e->program, &time_s, st) < 0)
        return st->code;
    fprintf(out, "# takes %s: %d step%s, %lld transfer%s, %.9g B over links\n",
            units_print_time(time_s, time), steps, steps == 1 ? "" : "s", transfers,
            transfers == 1 ? "" : "s", program_link_bytes(&e->program));
    return 0;
}

/* Can the expected result be sharded as --out says? If not, the input is wrong. */
static int check_out_spec(const struct eval *eval, struct status *st)
{
    const struct example *example = &eval->example;
    const struct evaluation *e = &eval->evaluation;
    struct status own = {0};
    struct array result = {0};
    char text[SPEC_TEXT];
    if (!evaluation_is_even(e))
        return eval->has_out_spec ? status_fail(st, STATUS_INPUT,
                                                "--out: blocks of several shapes make no array; leave it out")
                                  : 0;
    if (e->want[0].dims == 0 && example->out_spec.dims > 0 && example->call.op != CALL_AXIS_INDEX)
        return status_fail(
            st, STATUS_INPUT,
            "each device's result is a number without dims, which nothing joins; keep a dim with --tiled");
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
    if (check_out_spec(eval, st) < 0)
        return st->code;
    print_heading(eval, out);
    if (print_start(eval, out, st) < 0 || eval_steps(e, out, st) < 0 || print_result(eval, out, st) < 0)
        return st->code;
    if (evaluation_check(e, &wrong) == 0) {
        fputs("# equals the definition\n", out);
        return print_time(e, out, st);
    }
    fprintf(out, "# differs from the definition: %s\n", wrong.text);
    return status_fail(st, STATUS_CHECK, "the result differs from the definition: %s", wrong.text);
}
