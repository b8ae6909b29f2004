/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * front: the kinds of model that a workload file can describe. Each is a const struct in a file of its own
 * and a row in read.c; the file's `model:` names it. Shared code: reading keys, and functions of tensors.
 *
 * Errors: with file, line and column. Ownership: nodes are borrowed while a model is built.
 */
#pragma once

#include "model/model.h"

/* The input of a front end. */
struct front_source {
    const struct node *root;
    const struct point *point;
    const struct axes *axes;
    int64_t devices; /* that share the step's tokens: of the axes, or of a model that it is compared with */
    enum dtype_id dtype; /* the point's */
    unsigned squares;    /* of these axes (model_options) */
};

struct front {
    const char *name;
    const char *const *keys; /* of the file, besides options; ends with NULL */
    const char *options;     /* the model options that it supports, separated by blanks */
    /* Writes the step with its backward pass. */
    int (*build)(const struct front_source *source, struct model *model, struct status *st);
};

extern const struct front front_mlp, front_transformer, front_experts, front_statements;

/* The type of a key's value, and its destination, which is unchanged if the key is missing. */
enum front_kind {
    FRONT_COUNT,    /* int64_t, from 1 to `most` */
    FRONT_WHOLE,    /* int64_t, from 0 to `most` */
    FRONT_REAL,     /* double, from `least` to `most` */
    FRONT_BOOL,     /* bool */
    FRONT_WORD,     /* int: an index of `words` */
    FRONT_FUNCTION, /* int: a function of one tensor, for front_apply() */
    FRONT_DTYPE,    /* enum dtype_id */
    FRONT_TEXT,     /* const char * */
    FRONT_TIME,     /* double, in seconds: "20us" */
};
struct front_key {
    const char *name;
    enum front_kind kind;
    void *to;
    const char *need; /* the message's words if a required key is missing; or NULL */
    double least, most;
    const char *const *words;
};
/* Reads some keys of a mapping (NULL: none is given), in the order of the table. */
int front_read(const struct node *mapping, const struct front_key key[], int keys, struct status *st);
#define FRONT_READ(mapping, table, st) front_read(mapping, table, (int)(sizeof(table) / sizeof *(table)), st)

/* The optional mapping of a name, which may only have these keys; *mapping is NULL if it is missing. */
int front_mapping(const struct node *root, const char *name, const char *const keys[],
                  const struct node **mapping, struct status *st);

/* The sizes under `layers`: the size of the input, and one more for each of 1 to layers_most layers. `size`
 * has room for all of them; the words are those of messages: "layers are" 7 "sizes; give" "the" "input's and
 * one for each of 1 to 16" "layers". */
struct front_sizes {
    const char *has, *whose, *each, *size;
    int layers_most;
    int64_t size_most;
};
int front_sizes(const struct node *root, const struct front_sizes *words, int *layers, int64_t size[],
                struct status *st);

/* The path of a file relative to the workload file; {} in it is replaced by `number`. */
enum { FRONT_PATH = 1024 };
int front_path(const struct node *node, const char *file, const char *number, char path[static FRONT_PATH],
               struct status *st);

/* Finds a function of one tensor by name: relu, tanh ..., "none". Returns its index, or a failure with the
 * nearest names. */
int front_function(const char *name, struct status *st);
void front_apply(struct builder *b, int function, struct tensor *tensor);

/* exp(x - max x) / its sum, over the last dim of a value. */
int32_t front_softmax(struct builder *b, int32_t x);
