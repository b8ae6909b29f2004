/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/* What the parts of `icisim eval` share: eval.c reads one example, eval_print.c and
 * eval_steps.c show it, eval_cases.c runs a file of them; eval_slice.c finds a slice; eval_model.c runs the step of a model. */
#ifndef CLI_EVAL_H
#define CLI_EVAL_H

#include "numbers/evaluate.h"
#include "settings/settings.h"
#include "study/job.h"

struct eval {
    struct machine machine;
    const char *dtype; /* its name, for the heading and the simulated time */
    struct example example;
    const char *local; /* as given, or NULL */
    bool has_out_spec; /* --out was given */
    struct collective_spec plan;
    struct evaluate_choice choice;
    struct evaluation evaluation;
};

/* Gives a point without a slice one that its mesh fits, of its chip, or, where none is asked for, of v5e or v5p: for numbers,
 * which do not depend on it. `of` has the texts. */
struct eval_slice {
    char slice[SLICE_TEXT], mesh[MESH_TEXT];
};
int eval_slice(struct point *point, bool any_chip, struct eval_slice *of, struct catalog *catalog,
               struct status *st);

/* Whose schedule --algorithm asks for; the plan gets its pattern. A call that does not have it is a fault. */
int eval_choose(const struct point *point, enum call_op op, struct collective_spec *plan,
                struct evaluate_choice *choice, struct status *st);

/* Runs it, printing as it goes: input, blocks, steps, result, verdict. STATUS_CHECK where the result is wrong. */
int eval_print(struct eval *eval, FILE *out, struct status *st);

/* Runs the evaluation and prints what was delivered, step by step. */
int eval_steps(struct evaluation *evaluation, FILE *out, struct status *st);

/* `--cases FILE`: every case through its program, by every schedule that is not fixed by an option. */
int eval_cases(const struct settings *settings, const struct point *point, FILE *out, struct status *st);

/* The step of a model: what comes out, and whether it is what one device gets; of a step with experts, what is sent and dropped,
 * and whether y is what the file's data says. STATUS_CHECK where it is not. */
int eval_model(struct job *job, FILE *out, struct status *st);

/* Batches through parts: the loss of each. */
int eval_parts(struct job *job, FILE *out, struct status *st);

/* A matmul: whole numbers through the module that runs, on virtual devices, against the plain product. STATUS_CHECK where they
 * differ. */
int eval_matmul(struct job *job, FILE *out, struct status *st);

#endif
