/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to model/. */
/*
 * transformer: a transformer and its training as read from a workload file, and its weights.
 *
 * A block is  x + o(attention(norm(x)))  and then  x + down(f(gate(norm(x))) * up(norm(x))); or, in parallel,
 * h = norm(x),  x + o(attention(h)) + down(f(gate(h)) * up(h)),  of which the sums over tp are one.  Mesh axes have parts: `dp` cuts
 * the batch; `fsdp` the batch and the weights, which are gathered for use; `tp` heads, the feed-forward width and the
 * vocabulary, and between products the tokens (sequence parallelism). Each weight is a matrix whose dim of tp is cut first;
 * what is left is held flat, filled up with zeros to a multiple of the devices of fsdp, so that any number of these works.
 * By the plan of the textbook each weight is held flat; else as the matrix, of which fsdp cuts the dim that tp does not, where that
 * divides, and what XLA does by default is done (facts of compiled steps): gradients travel in the type of compute, those of the
 * embedding in their own; rows of the embedding are exchanged, and its table never gathered; the head is gathered once; vectors are
 * the same on all devices.
 * Where tp has more devices than there are key-value heads, neighbours hold copies of one.
 *
 * Of some layers, or all, the feed-forward part may be a mixture of experts. The experts are cut over axes of any part, which
 * each of their weights lies on; over what is left of fsdp and tp they are shared out, over what is left of dp they are the same.
 * Each device sends tokens of its own. Experts that all tokens go to are one feed-forward part beside them.
 *
 * With latents (multi-head latent attention, DeepSeek-V2 2405.04434) queries, and keys with values, come from narrow products
 * with norms of their own, which each device makes of its own tokens:  q = norm(h qa) wq,  k = [norm(h ka) wk, r]  of which
 * r, of h ka as well, is one for all heads,  v = norm(h ka) wv.
 *
 * Units: elements, tokens. Errors: status.h, with the place in the file. Ownership: plain values.
 */
#ifndef ICISIM_TRANSFORMER_H
#define ICISIM_TRANSFORMER_H

#include "model/experts.h"

/* What attention does: not at all, each token to all of its sequence, or to those before it. */
enum attention { ATTENTION_NONE, ATTENTION_FULL, ATTENTION_CAUSAL };
/* Plain: scores are written to memory and kept. Flash: they are not, and the backward pass recomputes them, 5 matmuls for
 * the 2 of the forward pass. Ideal: they are not, and the backward pass takes twice the forward one. */
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
    WEIGHT_ROUTER, /* of layers with experts, instead of those three */
    WEIGHT_EXPERT_GATE,
    WEIGHT_EXPERT_UP,
    WEIGHT_EXPERT_DOWN,
    WEIGHT_SHARED_GATE, /* of the experts that all tokens go to */
    WEIGHT_SHARED_UP,
    WEIGHT_SHARED_DOWN,
    WEIGHT_Q_LATENT, /* of latents, and their norms; r stands behind the latents of keys and values */
    WEIGHT_Q_LATENT_NORM,
    WEIGHT_KV_LATENT,
    WEIGHT_KV_LATENT_NORM,
    WEIGHT_EMBED, /* from here on not of a block */
    WEIGHT_NORM,
    WEIGHT_UNEMBED,
    WEIGHTS,
    BLOCK_WEIGHTS = WEIGHT_EMBED
};
/* What full recomputation may keep of a block, a bit each: the result of a matmul with a weight, 1 << WEIGHT_Q, and that of
 * attention. */
enum { KEEP_ATTENTION = 1 << WEIGHTS };

/* Widths of latents, kv 0: there are none; q 0: queries are made of the input. A head of q and k has `plain` elements of its own
 * and `rotary` ones, of k the same for all heads. */
struct latents {
    int64_t q, kv, plain, rotary;
};

struct transformer {
    int64_t d, ff, heads, kv_heads, head_dim, sequence, layers, vocabulary;
    int64_t value_dim;   /* of a head of v; head_dim, but with latents */
    int64_t window;      /* attention to so many tokens; 0: to the whole sequence */
    int64_t whole_every; /* every so many layers attention is to all of it nevertheless; 0: none */
    struct latents latents;
    bool gated, tied, head;
    bool fused;            /* q, k and v are one product, gate and up one */
    bool textbook;         /* the plan: collectives as the textbook has them, else as XLA does */
    bool whole;            /* the residual stream is whole on all devices of tp, else cut over the tokens */
    bool wraps;            /* fsdp has all of a slice all of whose axes wrap */
    bool parallel;         /* attention and the feed-forward part both read the block's one norm */
    unsigned keep;         /* set of bits */
    bool host;             /* what is kept for the backward pass is copied to the host meanwhile, and back */
    int attention, kernel; /* enum attention, enum kernel */
    int activation;        /* front_function() */
    enum dtype_id params, compute, gradients, state, momentum; /* momentum: of the state's first moment */
    enum dtype_id gathered,
        multiplied; /* matrices of blocks travel in a type, and are multiplied in one; else compute */
    enum optimizer optimizer;
    bool sharded;                  /* its state is cut over dp, too */
    bool master;                   /* a copy of the parameters in the state's type */
    int64_t micro_batches, tokens; /* of a step, on all chips */
    struct experts moe;            /* of layers that have them; moe.root is NULL where none has */
    int64_t expert_ff, every;      /* every so many layers have experts, the last of these first */
    int64_t dense, shared;         /* but for so many layers at first; experts that all tokens go to */
    struct axes axes;              /* the mesh's; an axis of which a part cuts key-value heads is two */
    struct axis_list dp, fsdp, tp, kv,
        copies; /* kv: the axes of tp that cut key-value heads, copies: the others */
};

/* Reads a transformer on a mesh, from the file's keys and the point's options. */
int transformer_read(const struct front_source *source, struct transformer *t, struct status *st);

/* What `moe:` says, once the axes are known; and the axes that the experts lie on, which join dp if they have no part. */
int transformer_read_experts(const struct node *root, struct transformer *t, struct status *st);
/* The number of tokens of its sequence that attention reaches in a layer, from 0. */
int64_t transformer_reach(const struct transformer *t, int64_t layer);
/* Do layers differ in what they have or do, but for the first ones, which have no experts? */
bool transformer_is_mixed(const struct transformer *t);
/* Has a layer, from 0, experts? Has one with experts, or without, a weight? How many layers have what a weight is of? Of no block: 1. */
bool transformer_has_experts(const struct transformer *t, int64_t layer);
bool transformer_has(enum weight_id id, bool experts);
int64_t transformer_layers_with(const struct transformer *t, enum weight_id id);

/* A weight: a matrix, or a vector; how it is cut. Parts that do not exist (the gate of an ungated block) have no dims. */
struct weight {
    const char *name;
    int dims, cut; /* the dim that tp cuts, -1: none */
    int64_t dim[2];
    struct axis_list over;   /* cut by these */
    struct axis_list shared; /* what is left is shared out over these */
    struct axis_list copies; /* and is the same over these */
    int split;               /* the dim of the matrix that those cut, -1: it is held flat */
    int64_t local[2];        /* the matrix on one device, gathered */
    int64_t chunk;           /* what one device holds of it */
};
struct weight transformer_weight(const struct transformer *t, enum weight_id id);

/* What a chip holds of the optimizer's state, of the weight of one layer. AdamW has two moments of each parameter; Adafactor
 * (1804.04235, without a first moment) of a matrix the sums of the second by rows and by columns, of a vector the moment itself;
 * SGD none. */
double transformer_state_bytes(const struct transformer *t, enum weight_id id);

/* The tokens of a micro-batch on the devices that share them. */
int64_t transformer_local_tokens(const struct transformer *t);
/* The tokens of a micro-batch that one device has between products. */
int64_t transformer_device_tokens(const struct transformer *t);

/* Operations of the model a token, forward: 2 a parameter of products, of experts of the top-k only, and those of attention
 * (causal: half of it; in a window of w of S tokens w S - w^2 / 2 pairs of S^2 / 2), the mean of all layers. */
double transformer_block_flops(const struct transformer *t, bool experts);
double transformer_attention_flops(const struct transformer *t);

/* Memory and flops of a step, with the weights of `ahead` layers prefetched. */
void transformer_size(const struct transformer *t, int ahead, struct model_size *size);

#endif
