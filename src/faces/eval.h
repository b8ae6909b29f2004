/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/* The interface between the parts of `icisim eval`: eval.c reads one example, eval_print.c and eval_steps.c
 * show it, eval_cases.c runs a file of them; eval_slice.c finds a slice; eval_model.c runs the step of a
 * model. */
#pragma once

#include "numbers/evaluate.h"
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

/* For a point without a slice: finds a slice for its mesh, on its chip or, if it has none, on v5e or v5p. The
 * results do not depend on it. `of` owns the texts. */
struct eval_slice {
    char slice[SLICE_TEXT], mesh[MESH_TEXT];
};
int eval_slice(struct point *point, bool any_chip, struct eval_slice *of, struct catalog *catalog,
               struct status *st);

/* Sets the schedule of --algorithm; the plan gets its pattern. A call without that algorithm is a fault. */
int eval_choose(const struct point *point, enum call_op op, struct collective_spec *plan,
                struct evaluate_choice *choice, struct status *st);

/* Runs the example and prints input, blocks, steps, result, verdict. STATUS_CHECK if the result is wrong. */
int eval_print(struct eval *eval, FILE *out, struct status *st);

/* Runs the evaluation and prints the delivered data, step by step. */
int eval_steps(struct evaluation *evaluation, FILE *out, struct status *st);

/* `--cases FILE`: every case through its program, with every schedule unless an option fixes it. */
int eval_cases(const struct settings *settings, const struct point *point, FILE *out, struct status *st);

/* Runs the step of a model, prints its results and compares them with those of one device; for a step with
 * experts, prints the tokens sent and dropped, and compares y with the file's data. STATUS_CHECK if they
 * differ. */
int eval_model(struct job *job, FILE *out, struct status *st);

/* Runs batches through the parts of a workload; prints the loss of each batch. */
int eval_parts(struct job *job, FILE *out, struct status *st);

/* Runs a matmul: whole numbers through the simulated module, on virtual devices, compared with the plain
 * product. STATUS_CHECK if they differ. */
int eval_matmul(struct job *job, FILE *out, struct status *st);
