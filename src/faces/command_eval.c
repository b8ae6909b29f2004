/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim eval: a collective, or a model's step, executed with real numbers, on the simulated schedule. */
#include "faces/eval.h"

#include <stdlib.h>
#include <string.h>

#include "faces/command.h"
#include "study/collective_job.h"

/* The op in the option table whose options the call takes; ops that the table lacks take those of a similar
 * one. */
static enum op_set op_of_call(enum call_op op)
{
    struct status unknown = {0};
    switch (op) {
    case CALL_NONE:
        return ON_NONE;
    case CALL_RING_SHIFT:
        return ON_SHIFT;
    case CALL_AXIS_INDEX:
        return ON_ALL_REDUCE;
    case CALL_PSHUFFLE:
        return ON_PERMUTE;
    case CALL_PSWAPAXES: /* its axis is --dim */
        return ON_ALL_GATHER;
    default:
        return (enum op_set)(1 << collective_by_name(call_name(op), &unknown)->id);
    }
}

/* The start and length of part i of a tuple "(a, b)"; a text without a tuple is one part. False beyond the
 * last. */
static bool find_part(const char *text, int i, const char **at, int *length)
{
    int depth = 0, part = 0;
    *at = text;
    *length = (int)strlen(text);
    if (*text != '(')
        return i == 0;
    const char *first = text + 1;
    for (const char *c = text; *c; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (depth > 1 || (depth == 1 && *c != ',') || (depth == 0 && *c != ')'))
            continue;
        *at = first + strspn(first, " ");
        *length = (int)(c - *at);
        if (part++ == i)
            return *length > 0; /* "(a,)" has one part */
        first = c + 1;
    }
    return false;
}

/* Sets a field of the example from an option, if it is given; for a tuple of inputs, each part may have its
 * own value. */
static int set(struct eval *eval, const struct settings *settings, const char *option, enum case_field field,
               struct status *st)
{
    const char *text = settings_text(settings, option), *at = text;
    int length = text ? (int)strlen(text) : 0, code = 0;
    if (!text)
        return 0;
    if (strncmp(text, "(P", 2) == 0 && !find_part(text, eval->example.part, &at, &length))
        return status_fail(st, STATUS_INPUT, "--%s '%s': it has no part %d, but --input has", option, text,
                           eval->example.part + 1);
    char *own = strndup(at, (size_t)length);
    code = own ? case_set(&eval->example, field, own, st) : status_nomem(st);
    free(own);
    return code < 0 ? status_prefix(st, "--%s: ", option) : 0;
}

static int read_call(struct eval *eval, const struct settings *settings, struct status *st)
{
    struct call *call = &eval->example.call;
    int code = 0;
    if (call->op != CALL_NONE)
        code = mesh_parse_axes(&eval->machine.mesh, settings_text(settings, "axis"), &call->axes, st);
    if (code < 0)
        return status_prefix(st, "--axis: ");
    call->tiled = settings_flag(settings, "tiled");
    call->dim = settings_integer(settings, call->op == CALL_PSUM_SCATTER ? "scatter-dimension" : "dim");
    call->split_axis = settings_integer(settings, "split-axis");
    call->concat_axis = settings_integer(settings, "concat-axis");
    call->offset = settings_integer(settings, "offset");
    call->root = settings_integer(settings, "root");
    if (call->op == CALL_PPERMUTE && !settings_text(settings, "perm"))
        return status_fail(st, STATUS_INPUT, "ppermute needs --perm, such as --perm 0-1,1-0");
    if ((code = set(eval, settings, "perm", CASE_PERM, st)) < 0 ||
        (code = set(eval, settings, "rows", CASE_ROWS, st)) < 0 ||
        (code = set(eval, settings, "groups", CASE_GROUPS, st)) < 0)
        return code;
    return case_resolve(&eval->example, st);
}

/* Without --in, dim 0 is sharded over the axes of the call (over all axes, if nothing is sent). */
static int read_in_spec(struct eval *eval, const struct settings *settings, struct status *st)
{
    struct example *example = &eval->example;
    example->in_spec.dims = 1;
    example->in_spec.dim[0] = example->call.axes;
    if (example->call.op == CALL_NONE &&
        mesh_parse_axes(&eval->machine.mesh, NULL, &example->in_spec.dim[0], st) < 0)
        return st->code;
    return set(eval, settings, "in", CASE_IN_SPEC, st);
}

enum { MOST_NUMBERS = 1 << 22 };
static int read_input(struct eval *eval, const struct settings *settings, struct status *st)
{
    const char *text = settings_text(settings, "input");
    if (!text && eval->example.call.op == CALL_AXIS_INDEX)
        return 0;
    if (!text)
        return status_fail(
            st, STATUS_INPUT,
            "--input is missing: numbers, such as \"arange(8).reshape(2,4)\", or a .json or .csv file");
    const char *at;
    int length;
    find_part(text, eval->example.part, &at, &length);
    char *own = strndup(at, (size_t)length);
    int code = own ? array_read(own, &eval->example.input, st) : status_nomem(st);
    free(own);
    if (code == 0 && array_elements(&eval->example.input) > MOST_NUMBERS)
        code = status_fail(st, STATUS_LIMIT, "more than %d numbers; write fewer, which go the same ways",
                           MOST_NUMBERS);
    if (code < 0)
        return status_prefix(st, "--input: ");
    eval->local = settings_text(settings, "local");
    if (settings_count(settings, "dtype") > 0 && set(eval, settings, "dtype", CASE_DTYPE, st) < 0)
        return st->code;
    return set(eval, settings, "local", CASE_LOCAL, st);
}

int eval_choose(const struct point *point, enum call_op op, struct collective_spec *plan,
                struct evaluate_choice *choice, struct status *st)
{
    struct status none = {0};
    const struct collective *collective = collective_by_name(call_name(op), &none);
    int asked = point->schedule.algorithm;
    *choice = (struct evaluate_choice){ALGORITHM_SCHEDULE, point->machine.chip};
    if (asked == ALGORITHM_AS_COMPILED)
        return algorithm_refuse_compiled(st);
    if (asked == CHOICE_OPEN)
        return 0;
    plan->pattern = pattern_of_choice(asked);
    choice->algorithm = asked < ALGORITHMS ? (enum algorithm)asked : ALGORITHM_SCHEDULE;
    return !collective || collective_has_pattern(collective, plan->pattern)
               ? 0
               : status_fail(st, STATUS_INPUT,
                             "--algorithm %s does not apply to %s; write schedule, xla or best",
                             pattern_name(plan->pattern), call_name(op));
}

static int read_plan(struct eval *eval, const struct point *point, struct status *st)
{
    enum dtype_id given = eval->example.input.data ? eval->example.input.dtype : DTYPE_S32;
    const struct dtype *dtype = dtype_info(call_sum_dtype(eval->example.call.op, given));
    int kind = ring_kind_or(point->schedule.ring, eval->example.call.op == CALL_ALL_TO_ALL,
                            eval->machine.chip->ring, st);
    if (kind < 0)
        return kind;
    eval->dtype = dtype->name;
    eval->plan = (struct collective_spec){.kind = (enum ring_kind)kind,
                                          .all_to_all = (enum all_to_all)point->schedule.all_to_all,
                                          .keep_ties = point->schedule.keep_ties,
                                          .routes = point->schedule.routes,
                                          .elem_bytes = dtype->bytes,
                                          .setup_s = eval->machine.chip->setup_s};
    return eval_choose(point, eval->example.call.op, &eval->plan, &eval->choice, st);
}

static int open_one(struct eval *eval, const struct settings *settings, const struct point *point,
                    struct catalog *catalog, struct status *st)
{
    if (!point->work.op)
        return status_fail(
            st, STATUS_INPUT,
            "what is to run? name a collective, such as psum, or none, or give --cases FILE.json");
    int op = call_by_name(point->work.op, st);
    if (op < 0)
        return op;
    eval->example.call.op = (enum call_op)op;
    if (option_check(point, op_of_call((enum call_op)op), call_name((enum call_op)op), st) < 0 ||
        machine_open(&eval->machine, point, catalog, st) < 0)
        return st->code;
    eval->example.axes = eval->machine.mesh.axes;
    if (read_input(eval, settings, st) < 0 || read_call(eval, settings, st) < 0 ||
        read_in_spec(eval, settings, st) < 0)
        return st->code;
    return read_plan(eval, point, st);
}

static int run_one(const struct settings *settings, const struct point *point, struct catalog *catalog,
                   int part, FILE *out, struct status *st)
{
    struct eval eval = {.example.part = part};
    struct evaluation *evaluation = &eval.evaluation;
    if (open_one(&eval, settings, point, catalog, st) == 0 &&
        evaluation_open(evaluation, &eval.example, &eval.machine.mesh, &eval.plan, &eval.choice, st) == 0) {
        /* the call is checked, so that a spec can follow from it */
        eval.example.out_spec = evaluate_out_spec(&eval.example);
        eval.has_out_spec = settings_text(settings, "out") != NULL;
        if (set(&eval, settings, "out", CASE_OUT_SPEC, st) == 0)
            eval_print(&eval, out, st);
    }
    evaluation_close(evaluation);
    case_free(&eval.example);
    machine_close(&eval.machine);
    return st->code;
}

/* Runs the parts of a tuple one call after the other, as JAX does; prints nothing if any of them is invalid.
 * */
static int run_all(const struct settings *settings, const struct point *point, struct catalog *catalog,
                   struct status *st)
{
    const char *input = settings_text(settings, "input"), *at;
    char *text = NULL;
    size_t bytes = 0;
    int length;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return status_nomem(st);
    int code = run_one(settings, point, catalog, 0, out, st);
    for (int part = 1; code == 0 && input && find_part(input, part, &at, &length); part++)
        code = run_one(settings, point, catalog, part, out, st);
    if (!text_end(out, &text))
        return status_nomem(st);
    if (code == 0 || code == STATUS_CHECK)
        fputs(text, stdout);
    free(text);
    return code;
}

/* Opens a job of the point, and shows it with real numbers. */
static int run_job(const struct point *point, int (*show)(struct job *job, FILE *out, struct status *st),
                   struct status *st)
{
    struct catalog catalog = {0};
    struct job job = {.options.model.numbers = show == eval_model};
    if (job_open(&job, point, &catalog, st) == 0)
        show(&job, stdout, st);
    job_close(&job);
    catalog_free(&catalog);
    return st->code;
}

/* Only one point is allowed: real numbers are not swept. */
static int check_single(const struct grid *grid, struct status *st)
{
    for (int d = 0; d < grid->dims; d++) {
        const struct option_row *option = &option_table[grid->option[d]];
        if (grid->count[d] > 1)
            return status_fail(st, STATUS_INPUT, "eval takes one value of %s%s, not %d%s",
                               option->positional ? "" : "--", option->name, grid->count[d],
                               strcmp(option->name, "axis") == 0 ? "; several axes at once are --axis x,y"
                                                                 : "");
    }
    return 0;
}

/* The chip for the step of a model: a mesh of three axes takes a chip with a 3D torus. */
static const char *chip_for(const char *mesh)
{
    struct axes axes = {0};
    struct status ignored = {0};
    int long_ones = 0;
    if (mesh && axes_parse(mesh, &axes, &ignored) >= 0)
        for (int a = 0; a < axes.count; a++)
            long_ones += axes.axis[a].n > 1;
    return long_ones > 2 ? "v5p" : "v5e";
}

static int eval_run(struct settings *settings, struct status *st)
{
    struct grid grid;
    struct point point;
    bool any_chip = settings_count(settings, "chip") == 0;
    if (settings_check(settings, st) < 0 || grid_init(&grid, settings, st) < 0 || check_single(&grid, st) < 0)
        return st->code;
    grid_point(&grid, 0, &point);
    if (any_chip && !point.machine.slice)
        point.machine.chip = chip_for(point.machine.mesh);
    if (settings_text(settings, "cases"))
        return eval_cases(settings, &point, stdout, st);
    if (point.work.has_parts)
        return run_job(&point, eval_parts, st);
    if (point.work.op && workload_kind(point.work.op) == ON_MODEL)
        return run_job(&point, eval_model, st);
    struct catalog catalog = {0};
    struct eval_slice of;
    bool matmul = point.work.op && expr_is(point.work.op);
    if (eval_slice(&point, any_chip, &of, &catalog, st) == 0)
        matmul ? run_job(&point, eval_matmul, st) : run_all(settings, &point, &catalog, st);
    catalog_free(&catalog);
    return st->code;
}

const struct command command_eval = {
    .name = "eval",
    .arguments = "OP|MATMUL|WORKLOAD.yaml",
    .what =
        "runs a collective, a matmul or a model's step on numbers, through the schedule that is simulated",
    .more =
        "OP by JAX's name or XLA's: none, psum, pmean, pmax, pmin, all_gather, psum_scatter, all_to_all, "
        "ppermute, pshuffle, pswapaxes, axis_index, ring_shift, broadcast, ragged_all_to_all; or a matmul in "
        "sharding notation, which multiplies whole numbers of its own as its module does. Prints input, each "
        "device's block, each step, the result, and whether it equals the definition; exits with 1 if it "
        "does not. Whole numbers wrap around as their type does, bf16 and f16 round at the end; what lies "
        "between is doubles. Of a model's step it prints loss and gradients by their norms, and whether they "
        "are those of one device; exits with 1 if they are not.",
    .bit = FOR_EVAL,
    .run = eval_run,
};
