/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model: a step of a model as a module for one device of a mesh, with its inputs and outputs.
 *
 * A front end declares the inputs (model_input), appends the forward pass with tensors (tensor.h), and ends
 * it (model_end): with the backward pass from a loss, or from an output and its cotangent. The module's
 * parameters are the inputs in their order, its root a tuple of the outputs: those of the forward pass, then
 * the gradient of each trained input, with the sharding of the input.
 *
 * A matrix that is held flat is a tensor of one dim; its numbers are read and written as the matrix
 * (numbers.h).
 *
 * Units: elements. Errors: status.h. Ownership: the caller's struct, freed with model_free(), safe when zeroed.
 */
#pragma once

#include "compile/pass.h"
#include "hlo/memory_analysis.h"
#include "model/routing.h"
#include "model/tensor.h"
#include "numbers/array.h"
#include "settings/point.h"

/* A matrix (or vector) that is held flat: its dim `cut` (-1: none) is split into `parts`, each part row by
 * row and padded with zeros to a multiple of the devices that share it. */
struct model_flat {
    int dims; /* of the matrix; 0: the tensor is not flat */
    int64_t dim[2];
    int cut;
    int64_t parts;
};

struct model_tensor {
    char name[TENSOR_NAME]; /* "w3"; a gradient has the name of its input */
    struct tensor tensor;
    struct model_flat flat;
    enum dtype_id dtype;
    bool trained;       /* of inputs */
    int64_t below;      /* of index inputs: all are below this; otherwise 0 */
    struct array given; /* numbers set by the front end; else data is NULL */
};

/* A part of the rows sent to experts, which is sent separately: its inputs, and the number of rows from
 * device to position, in the other direction, and for each device's matmuls. */
struct chunk {
    int64_t rows;
    struct ragged_rows sent, back, mine;
    int32_t order, local, size, offset; /* inputs */
};

/* The routings of a model with experts, and their dispatches: one for each layer with experts that is built,
 * or one for all of them. */
struct routed {
    int layer; /* from 1 */
    struct routing routing;
    struct dispatch dispatch;
    struct chunk *chunk; /* NULL if no rows are sent */
    int32_t gate, logit; /* inputs: gates, or the positions of the chosen logits */
};
struct model_experts {
    int count;
    struct routed *of;
    struct groups groups;    /* of the experts' axis */
    struct axis_list tokens; /* the axes that cut the tokens, the major one first */
    bool by_chance;          /* the routings were drawn, and can be drawn again */
    int chunks;              /* parts of the rows that are sent */
};

/* The memory of a step on each chip, by kind. */
enum memory_kind {
    MEMORY_PARAMETERS,
    MEMORY_GRADIENTS,
    MEMORY_STATE, /* the optimizer's */
    MEMORY_GATHERED,
    MEMORY_ACTIVATIONS,
    MEMORY_LOGITS,
    MEMORY_KINDS
};
/* Equal tensors, one of each weight for all layers, and the bytes of one of them on a chip. */
struct memory_tensor {
    char name[40];
    int tensors;
    double bytes;
};
/* The size of a model's step, regardless of recomputation and replication. */
struct model_size {
    double parameters, met; /* of a transformer; those that a token meets, of experts as many as top-k */
    double tokens;          /* on all chips; 0: unknown */
    double flops;           /* forward and backward, on all chips */
    double half_flops, full_flops; /* the same with attention counted half, as causal, and in full */
    double memory_bytes[REMATS][MEMORY_KINDS]; /* at the peak; of that the largest: */
    struct memory_tensor largest[REMATS][MEMORY_LARGEST];
    /* with --shard-optimizer dp; with --optimizer adafactor */
    double sharded_state_bytes, factored_state_bytes;
    bool factored; /* the optimizer is adafactor */
};

/* Options of a run besides its point. Zeroed: the whole step, for its time. */
struct model_options {
    int layers_most;      /* at most so many equal layers are built; 0: all of them */
    bool same_time;       /* layers with different routings are all built, since their times differ */
    int draw;             /* of a model with experts: number of the routing draw */
    struct drawn **drawn; /* counts of the first draw, which are kept; NULL: none are */
    bool numbers;         /* the numbers of inputs are needed, too */
    /* Experts' buffers have as many rows as come, instead of room for all that might: for times. */
    bool rows_that_come;
    double hbm_bytes;    /* what a program may have of each device; 0: not known, and everything fits */
    double full_bytes;   /* above these XLA's scheduler overlaps less; 0: not known */
    double vmem_bytes;   /* what arrays may have of its VMEM; 0: none lies there */
    int64_t softmax_row; /* rows of so many scores are whole in the product that makes them */
    bool sums_whole;     /* XLA all-reduces what it would scatter over all of this slice */
    bool whole_by_xla;   /* collectives over all devices are done as XLA chooses */
    bool gathers_early;  /* XLA has them beside products by default */
    bool permutes_wait;  /* those of loops as XLA writes them are not asynchronous */
    double loop_columns; /* overlap_pays() of these; 0: they always do */
    unsigned squares; /* set of mesh axes whose four devices lie two by two: XLA writes no loops over them */
    bool must_fit;    /* a model that is over that is refused before it is built */
};

/* Frees the counts that options.drawn came to. */
void drawn_free(struct drawn *first);

/* The sum of all kinds, in bytes per chip. */
double model_memory_bytes(const struct model_size *size, enum remat remat);

/* Does it fit in the memory of a program? The rule is accurate to a tenth, so within that the answer is only
 * "tight". */
enum memory_fit { MEMORY_FITS, MEMORY_TIGHT, MEMORY_OVER };
enum memory_fit memory_fit(double bytes, double limit_bytes);
const char *memory_fit_name(enum memory_fit fit);
/* The first kind of recomputation that fits; full if none does. And: STATUS_MEMORY if a kind does not fit. */
enum remat model_least_remat(const struct model_size *size, double limit_bytes);
int model_fits(const struct model_size *size, enum remat remat, double limit_bytes, struct status *st);

struct model {
    struct model_options options;
    struct axes axes;
    struct model_size size;
    enum remat remat; /* as requested, or the least that fits */
    /* XLA writes collectives over these axes, "dp,fsdp", or those, beside a product as loops; "": none. */
    char windowed[2][AXES_TEXT];
    bool contracted;    /* over the first ones only gathers before products that contract the gathered dim */
    bool sums_only;     /* over the second ones no gathers */
    bool combines_sums; /* XLA combines sums of its gradients */
    int layers, layers_built; /* of a transformer: number of layers, and how many of them the module has */
    bool kept_on_host;        /* values kept for the backward pass */
    int layers_apart;         /* number of first layers that differ from the others */
    struct module module;
    struct builder builder; /* during the build */
    int inputs, outputs, rooms[2];
    struct model_tensor *input, *output;
    struct model_experts *experts; /* of a model with experts, else NULL */
    /* The same on more devices, whose tokens go to the same experts here; or NULL. */
    const struct model *like;
};

/* Reads the workload file of a point, `model:` and its keys, for a mesh; options may be NULL. model_free() is
 * safe after a failure. */
int model_read(const struct point *point, const struct model_options *options, const struct axes *axes,
               struct model *model, struct status *st);

/* The same model on one device, on the axes of a model read before, which must stay in place. The same tokens
 * go to the same experts, and the same are dropped; STATUS_INPUT if the numbers of tokens differ, or only
 * counts of them are known. */
int model_read_one(const struct point *point, const struct model *like, struct model *one, struct status *st);

/* Does a workload file have a key at its top, with this value: 1 or 0? A file that cannot be read has none, unless memory is out. */
int model_file_has(const char *file, const char *key, const char *value, struct status *st);

/* Begins a step on a mesh; options, remat, experts and like of the model, otherwise zeroed, are kept.
 * `dtype`: the types that are summed. From here on the first fault goes to `st`, and model_close() returns
 * it. */
void model_begin(struct model *model, const char *name, const struct axes *axes, const enum dtype_id dtype[],
                 int dtypes, struct status *st);
void model_free(struct model *model);
void chunk_free(struct chunk *chunk);

/* Adds an input whose dims and shardings are set and checked; returns its value. */
struct tensor model_input(struct model *model, const char *name, const struct tensor *tensor,
                          enum dtype_id dtype, bool trained);

/* Adds an output, and the input whose flat form it has, or NULL. */
void model_output(struct model *model, const char *name, const struct tensor *tensor,
                  const struct model_tensor *like);

/* Ends a step whose outputs have all been added. */
int model_close(struct model *model, struct status *st);

/* Ends a step with one output; `backward`: with gradients, of a scalar, or else from a last input that is the
 * cotangent of the output and is named d and the output's name. */
int model_end(struct model *model, const char *name, const struct tensor *output, bool backward,
              struct status *st);
