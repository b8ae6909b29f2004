/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to numbers/. */
/*
 * cases: a whole example of a collective: mesh, specs, call, local step, input, and expected output.
 *
 * The command line describes one case when it evaluates a collective, and a file of cases holds many
 * (tests/golden/jax_collectives.json; the fields stand in cases.c). Two styles: `shard_map` cuts a global
 * array by in_spec and joins the results by out_spec; with `pmap` dim 0 of input and output is the device.
 *
 *     blocks of the input -> local step -> collective -> result from the blocks
 *
 * The middle is done by definition_apply(), or by a program and the executor; this module does the ends.
 *
 * Errors: STATUS_INPUT with file:line:column. Ownership: the caller's structs, freed with case_free() and
 * cases_free(), safe when zeroed; blocks are arrays of axes_devices() that the caller frees.
 */
#pragma once

#include <stdbool.h>

#include "notation/spec.h"
#include "numbers/call.h"
#include "numbers/local.h"

enum { CASE_ID = 64 };

struct example {
    char id[CASE_ID];
    struct status fault; /* why it cannot be read; code 0: it is valid */
    int line;            /* in its file, 0 if it comes from no file */
    int part; /* of a tuple, for which JAX makes the call once for each of its arrays; 0 of what is none */
    bool pmap;
    struct axes axes;
    struct call call;
    struct local local;
    struct spec in_spec, out_spec; /* shard_map */
    bool typed; /* as `dtype` says; else the input has the type that its numbers have in JAX */
    enum dtype_id dtype;
    struct array input;
    struct array output; /* the expected output */
};

struct cases {
    int count;
    struct example *item;
};

void case_free(struct example *example);

/* Sets a field that has a notation from its text; the mesh comes before the fields that name its axes. Groups
 * are lists of positions over the axes. */
enum case_field {
    CASE_STYLE,
    CASE_MESH,
    CASE_OP,
    CASE_AXIS,
    CASE_GROUPS,
    CASE_PERM,
    CASE_ROWS,
    CASE_LOCAL,
    CASE_DTYPE,
    CASE_IN_SPEC,
    CASE_OUT_SPEC,
    CASE_FIELDS
};
int case_set(struct example *example, enum case_field field, const char *text, struct status *st);

/* Brings the call into a form of call.h's table, once all its fields are set, and gives the input its type.
 * case_blocks() needs a resolved case. */
int case_resolve(struct example *example, struct status *st);

/* Reads a file of cases; each part of a tuple becomes a case. A case that is wrong keeps its fault and does
 * not stop the others. */
int cases_load(struct cases *cases, const char *path, struct status *st);
void cases_free(struct cases *cases);

/* The blocks of all devices when the collective starts: the input is sharded, then the local step runs. */
int case_blocks(const struct example *example, struct array block[], struct status *st);

/* The result, assembled from the blocks of all devices at the end. For shard_map it fails if devices differ
 * along an axis that out_spec does not name. An axis_index is a scalar and gets the dims of out_spec, as
 * nothing joins scalars. */
int case_result(const struct example *example, const struct array block[], struct array *result,
                struct status *st);

/* Frees the blocks and the array that holds them. */
void case_free_blocks(struct array *block, int devices);
