/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * front: the ways in which a workload file can say what a step does. Each is a const struct in a file of its own and a row
 * in front_list(); the file's `model:` names it.
 *
 * Errors: with file, line and column. Ownership: nodes are borrowed while a model is built.
 */
#ifndef FRONT_H
#define FRONT_H

#include "base/document.h"
#include "model/model.h"
#include "settings/point.h"

struct front {
    const char *name;
    const char *const *keys; /* of the file, besides options; ends with NULL */
    /* Those of the options of models that it knows; ends with NULL */
    const char *const *options;
    /* Writes the step with its backward pass. */
    int (*build)(const struct node *root, const struct point *point, const struct axes *axes,
                 struct model *model, struct status *st);
};

extern const struct front front_mlp, front_transformer, front_experts, front_statements;
const struct front *const *front_list(void);

/* A tensor's cuts from a node, P(dp,None); NULL: none. The name is for messages. */
int front_cut(const struct node *node, const struct axes *axes, const char *name, struct tensor *tensor,
              struct status *st);

/* A whole number above 0, which has to be there; `what` says it in words. */
int front_count(const struct node *root, const char *name, const char *what, int64_t most, int64_t *value,
                struct status *st);

/* The sizes under `layers`: of what goes in, and one more for each of 1 to layers_most layers. `size` has room for all of
 * them; the words are those of messages: "layers are" 7 "sizes; give" "the" "input's and one for each of 1 to 16" "layers". */
struct front_words {
    const char *has, *whose, *each, *size;
};
int front_sizes(const struct node *root, const struct front_words *words, int layers_most, int64_t size_most,
                int *layers, int64_t size[], struct status *st);

/* The path of a file that lies beside the workload's own; {} in it is replaced by `number`. */
enum { FRONT_PATH = 1024 };
int front_path(const struct node *node, const char *file, const char *number, char path[static FRONT_PATH],
               struct status *st);

/* A function of one tensor by name: relu, tanh ..., "none". Returns its index, or a failure with the nearest names. */
int front_function(const char *name, struct status *st);
void front_apply(struct builder *b, int function, struct tensor *tensor);

#endif
