/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * transformer: a transformer and its training step, as read from a workload file, and its weights.
 *
 * A block is  x + o(attention(norm(x)))  and then  x + down(f(gate(norm(x))) * up(norm(x))); or, if parallel, h =
 * norm(x),  x + o(attention(h)) + down(f(gate(h)) * up(h)),  with a single sum over tp. Mesh axes have roles: `dp`
 * shards the batch; `fsdp` the batch and the weights, which are gathered for use; `tp` the heads, the feed-forward
 * width and the vocabulary, and between matmuls the tokens (sequence parallelism). If tp has more devices than there
 * are key-value heads, neighbours hold copies of one.
 *
 * Each weight is a matrix, of which tp cuts one dim. With the textbook's plan fsdp cuts the rest as a flat array,
 * padded with zeros to a multiple of its devices, so that it may have any number of devices. Otherwise fsdp cuts the
 * matrix along the dim that tp does not cut, if that divides, and the step does what XLA does by default, as compiled
 * steps show: gradients are summed in the type of compute, those of the embedding in their own; rows of the embedding
 * are exchanged, and its table is never gathered; the head is gathered once; vectors are replicated.
 *
 * In some layers, or all, the feed-forward part may be a mixture of experts. The experts lie along mesh axes of any
 * role; the remaining axes of fsdp and tp cut each expert, those of dp replicate it. Each device sends its own tokens.
 * Experts that all tokens go to are one feed-forward part beside the others.
 *
 * With latents (multi-head latent attention, DeepSeek-V2, arXiv 2405.04434) queries, keys and values come from narrow
 * matmuls with norms, which each device computes for its own tokens:  q = norm(h qa) wq,  k = [norm(h ka) wk, r],
 * v = norm(h ka) wv,  where r, a part of h ka, is the same for all heads.
 *
 * Units: elements, tokens. Errors: status.h, with the place in the file. Ownership: plain values.
 */
#pragma once

#include "model/experts.h"

/* The tokens that a token attends to: none, all of its sequence, or those up to itself. */
enum attention { ATTENTION_NONE, ATTENTION_FULL, ATTENTION_CAUSAL };
/* Plain: scores are written to memory and kept. Flash: they are not, and the backward pass recomputes them: 5 matmuls
 * for the 2 of the forward pass. Ideal: they are not, and the backward pass takes twice as long as the forward pass. */
enum kernel { KERNEL_PLAIN, KERNEL_FLASH, KERNEL_IDEAL };

enum weight_id {
    WEIGHT_NORM_1,
    WEIGHT_Q,
    WEIGHT_K,
    WEIGHT_V,
    WEIGHT_O,
    WEIGHT_NORM_2,
    WEIGHT_GATE,
    WEIGHT_UP,
    WEIGHT_DOWN,
    WEIGHT_ROUTER, /* in layers with experts, instead of the three above */
    WEIGHT_EXPERT_GATE,
    WEIGHT_EXPERT_UP,
    WEIGHT_EXPERT_DOWN,
    WEIGHT_SHARED_GATE, /* of the experts that all tokens go to */
    WEIGHT_SHARED_UP,
    WEIGHT_SHARED_DOWN,
    WEIGHT_Q_LATENT, /* of latents, and their norms; the last columns of KV_LATENT give r */
    WEIGHT_Q_LATENT_NORM,
    WEIGHT_KV_LATENT,
    WEIGHT_KV_LATENT_NORM,
    WEIGHT_Q_NORM, /* of each head */
    WEIGHT_K_NORM,
    WEIGHT_SINKS,
    WEIGHT_Q_BIAS,
    WEIGHT_K_BIAS,
    WEIGHT_V_BIAS,
    WEIGHT_O_BIAS,
    WEIGHT_ROUTER_BIAS,
    WEIGHT_EXPERT_GATE_BIAS,
    WEIGHT_EXPERT_UP_BIAS,
    WEIGHT_EXPERT_DOWN_BIAS,
    WEIGHT_EMBED, /* from here on not in a block */
    WEIGHT_NORM,
    WEIGHT_UNEMBED,
    WEIGHTS,
    BLOCK_WEIGHTS = WEIGHT_EMBED
};
/* Bits for what full recomputation keeps of a block: 1 << WEIGHT_Q the result of the matmul with that weight, and the
 * result of attention. */
#define KEEP_ATTENTION (1u << 31)

/* Widths of latents. kv 0: there are none; q 0: queries come from the input. A head of q and k has `plain` elements of
 * its own and `rotary` ones, which for k are the same in all heads. */
struct latents {
    int64_t q, kv, plain, rotary;
};

struct transformer {
    int64_t d, ff, heads, kv_heads, head_dim, sequence, layers, vocabulary;
    int64_t value_dim;   /* of a head of v; head_dim unless there are latents */
    int64_t window;      /* the tokens that one attends to; 0: the whole sequence */
    unsigned squares;    /* of the source, but of the axes as they are split */
    int64_t whole_every; /* every whole_every-th layer attends to the whole sequence nevertheless; 0: none */
    struct latents latents;
    bool gated, tied, head;
    bool fused;    /* q, k and v are one matmul, gate and up another */
    bool textbook; /* the plan: the textbook's collectives, else XLA's */
    bool whole;    /* all devices of tp have the whole residual stream, else it is cut over the tokens */
    bool parallel; /* attention and the feed-forward part both read the block's only norm */
    bool qk_norm;  /* the heads of q and k have norms */
    bool sinks;    /* each head has a learned score that takes its share of the softmax, and gives nothing */
    unsigned bias; /* set of bits: 1 << (WEIGHT_K_BIAS - WEIGHT_Q_BIAS) */
    unsigned keep; /* set of bits */
    bool host;     /* values kept for the backward pass are copied to the host and back */
    int attention, kernel;                                     /* enum attention, enum kernel */
    int activation;                                            /* front_function() */
    enum dtype_id params, compute, gradients, state, momentum; /* momentum: of the state's first moment */
    enum dtype_id gathered, multiplied; /* of blocks' matrices: in gathers, in matmuls; else compute */
    enum optimizer optimizer;
    bool sharded;                  /* its state is cut over dp, too */
    bool master;                   /* there is a copy of the parameters in the state's type */
    int64_t micro_batches, tokens; /* of a step, on all chips */
    struct experts moe;            /* of the layers with experts; moe.root is NULL if there are none */
    int64_t expert_ff, every;      /* every: the last of each so many layers has experts ... */
    int64_t dense, shared; /* ... except the first `dense` layers; shared: experts that all tokens go to */
    struct axes axes;      /* of the mesh; an axis that cuts key-value heads only in part is two */
    struct axis_list dp, fsdp, tp;
    struct axis_list kv, copies; /* the axes of tp that cut key-value heads, and the others */
};

/* Reads a transformer on a mesh, from the file's keys and the point's options. */
int transformer_read(const struct front_source *source, struct transformer *t, struct status *st);

/* Reads `moe:`, once the axes are known; axes of the experts that have no role join dp. */
int transformer_read_experts(const struct node *root, struct transformer *t, struct status *st);
/* The number of tokens that one attends to in a layer, counted from 0. */
int64_t transformer_reach(const struct transformer *t, int64_t layer);
/* Are some layers different from others, not counting the first ones without experts? */
bool transformer_is_mixed(const struct transformer *t);
/* Does a layer, counted from 0, have experts? Does a layer with, or without, experts have a weight? */
bool transformer_has_experts(const struct transformer *t, int64_t layer);
bool transformer_has(enum weight_id id, bool experts);
static inline bool transformer_has_bias(const struct transformer *t, enum weight_id id)
{
    return t->bias >> (id - WEIGHT_Q_BIAS) & 1;
}
/* The number of layers with a weight; 1 if it is not in a block. */
int64_t transformer_layers_with(const struct transformer *t, enum weight_id id);

/* A weight, a matrix or a vector, and its sharding. A weight that does not exist (the gate of an ungated block) has no
 * dims. */
struct weight {
    const char *name;
    int dims, cut; /* the dim that `over` cuts; -1: none */
    int64_t dim[2];
    struct axis_list over;   /* axes that cut dim `cut` */
    struct axis_list shared; /* axes over which the rest is sharded, and gathered for use */
    struct axis_list copies; /* axes over which it is replicated */
    int split;               /* the dim that `shared` cuts; -1: it is held flat */
    int64_t local[2];        /* the gathered matrix on one device */
    int64_t chunk;           /* elements that one device holds */
};
struct weight transformer_weight(const struct transformer *t, enum weight_id id);

/* The optimizer's state on a chip, for a weight of one layer. AdamW has two moments per parameter; Adafactor (arXiv
 * 1804.04235, without a first moment) has sums of the second by rows and by columns for a matrix, and the moment
 * itself for a vector; SGD has none. */
double transformer_state_bytes(const struct transformer *t, enum weight_id id);
/* AdamW; Adafactor where parameters, gradients, copies and AdamW's state are more than all devices have room for, were they
 * shared out over them. */
enum optimizer transformer_optimizer(const struct transformer *t, double hbm_bytes);

/* The tokens of a micro-batch on the devices of one group of tp. */
int64_t transformer_local_tokens(const struct transformer *t);
/* The tokens of a micro-batch on one device between matmuls. */
int64_t transformer_device_tokens(const struct transformer *t);

/* FLOPs of the model per token, forward: of a block, 2 per parameter of matmuls, with top-k of the experts, and its
 * attention; and of attention alone, the mean of all layers. Causal attention counts S^2 / 2 pairs of S tokens, with a
 * window of w w S - w^2 / 2. */
double transformer_block_flops(const struct transformer *t, bool experts);
double transformer_attention_flops(const struct transformer *t);

/* The parameters of the model; of experts all, or those that a token goes to. */
double transformer_parameters(const struct transformer *t, bool all);

/* The number of devices that some axes of the mesh have. */
static inline int part_size(const struct axis_list *part, const struct transformer *t)
{
    return axis_list_size(part, &t->axes);
}

/* Does XLA write gathers over fsdp beside a product as loops of permutes (transformer_step.c)? */
bool transformer_has_loops(const struct transformer *t);
/* Where dp cuts tokens beside fsdp, and there are more than 1.5 of them a word, XLA adds the cotangents of a device's rows
 * to a whole table and sums these over all devices; of ten programs it did with 2.05 or more, and not with 1.02 or less. Beside tp
 * without fsdp it also gathers the table for the rows: of eleven programs five with 1.02 or more did, six with 0.51 or less did not. */
bool transformer_sums_table(const struct transformer *t);

/* Memory and flops of a step, with the weights of `ahead` layers prefetched. */
void transformer_size(const struct transformer *t, int ahead, struct model_size *size);
