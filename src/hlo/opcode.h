/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to hlo/. */
/*
 * opcode: HLO's opcodes, each with the class by which readers, cost models and interpreters treat it.
 *
 *   FREE         names or regroups values: no time, no traffic
 *   ELEMENTWISE  an element of the result depends on the elements of the operands at the same index
 *   MEMORY       moves or reduces elements: it costs HBM traffic
 *   MATMUL       dot, ragged-dot, scaled-dot, convolution: it costs FLOPs
 *   COLLECTIVE   communication that ends before the next instruction begins
 *   START, UPDATE, DONE  the parts of an asynchronous instruction: it is issued, continues, is waited for. XLA prints
 *                an async-start whose computation is a single X as X-start
 *   CALL         runs other computations: fusion, call, while, conditional
 *   OPAQUE       custom-call and others whose cost cannot be told from their shapes
 *
 * Units: none. Errors: the index of an unknown opcode is -1. Ownership: a constant table.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>

enum opcode_class {
    CLASS_FREE,
    CLASS_ELEMENTWISE,
    CLASS_MEMORY,
    CLASS_MATMUL,
    CLASS_COLLECTIVE,
    CLASS_START,
    CLASS_UPDATE,
    CLASS_DONE,
    CLASS_CALL,
    CLASS_OPAQUE
};

/* id, name, class, and the id of the whole: for a START, UPDATE or DONE the instruction of which it is a part, else
 * itself */
#define PARTS(X, id, name) X(id##_START, name "-start", START, id) X(id##_DONE, name "-done", DONE, id)
#define OPCODES(X)                                                                                           \
    X(PARAMETER, "parameter", FREE, PARAMETER)                                                               \
    X(CONSTANT, "constant", FREE, CONSTANT)                                                                  \
    X(TUPLE, "tuple", FREE, TUPLE)                                                                           \
    X(GET_TUPLE_ELEMENT, "get-tuple-element", FREE, GET_TUPLE_ELEMENT)                                       \
    X(BITCAST, "bitcast", FREE, BITCAST)                                                                     \
    X(AFTER_ALL, "after-all", FREE, AFTER_ALL)                                                               \
    X(ADD_DEPENDENCY, "add-dependency", FREE, ADD_DEPENDENCY)                                                \
    X(OPTIMIZATION_BARRIER, "opt-barrier", FREE, OPTIMIZATION_BARRIER)                                       \
    X(PARTITION_ID, "partition-id", FREE, PARTITION_ID)                                                      \
    X(REPLICA_ID, "replica-id", FREE, REPLICA_ID)                                                            \
    X(GET_DIMENSION_SIZE, "get-dimension-size", FREE, GET_DIMENSION_SIZE)                                    \
    X(DOMAIN, "domain", FREE, DOMAIN)                                                                        \
    X(ABS, "abs", ELEMENTWISE, ABS)                                                                          \
    X(ACOS, "acos", ELEMENTWISE, ACOS)                                                                       \
    X(ACOSH, "acosh", ELEMENTWISE, ACOSH)                                                                    \
    X(ADD, "add", ELEMENTWISE, ADD)                                                                          \
    X(AND, "and", ELEMENTWISE, AND)                                                                          \
    X(ASIN, "asin", ELEMENTWISE, ASIN)                                                                       \
    X(ASINH, "asinh", ELEMENTWISE, ASINH)                                                                    \
    X(ATAN2, "atan2", ELEMENTWISE, ATAN2)                                                                    \
    X(ATANH, "atanh", ELEMENTWISE, ATANH)                                                                    \
    X(BITCAST_CONVERT, "bitcast-convert", ELEMENTWISE, BITCAST_CONVERT)                                      \
    X(CBRT, "cbrt", ELEMENTWISE, CBRT)                                                                       \
    X(CEIL, "ceil", ELEMENTWISE, CEIL)                                                                       \
    X(CLAMP, "clamp", ELEMENTWISE, CLAMP)                                                                    \
    X(COUNT_LEADING_ZEROS, "count-leading-zeros", ELEMENTWISE, COUNT_LEADING_ZEROS)                          \
    X(COMPARE, "compare", ELEMENTWISE, COMPARE)                                                              \
    X(COMPLEX, "complex", ELEMENTWISE, COMPLEX)                                                              \
    X(CONVERT, "convert", ELEMENTWISE, CONVERT)                                                              \
    X(COSINE, "cosine", ELEMENTWISE, COSINE)                                                                 \
    X(COSH, "cosh", ELEMENTWISE, COSH)                                                                       \
    X(DIVIDE, "divide", ELEMENTWISE, DIVIDE)                                                                 \
    X(ERF, "erf", ELEMENTWISE, ERF)                                                                          \
    X(EXPONENTIAL, "exponential", ELEMENTWISE, EXPONENTIAL)                                                  \
    X(EXPONENTIAL_MINUS_ONE, "exponential-minus-one", ELEMENTWISE, EXPONENTIAL_MINUS_ONE)                    \
    X(FLOOR, "floor", ELEMENTWISE, FLOOR)                                                                    \
    X(IMAG, "imag", ELEMENTWISE, IMAG)                                                                       \
    X(IS_FINITE, "is-finite", ELEMENTWISE, IS_FINITE)                                                        \
    X(LOG, "log", ELEMENTWISE, LOG)                                                                          \
    X(LOG_PLUS_ONE, "log-plus-one", ELEMENTWISE, LOG_PLUS_ONE)                                               \
    X(LOGISTIC, "logistic", ELEMENTWISE, LOGISTIC)                                                           \
    X(MAP, "map", ELEMENTWISE, MAP)                                                                          \
    X(MAXIMUM, "maximum", ELEMENTWISE, MAXIMUM)                                                              \
    X(MINIMUM, "minimum", ELEMENTWISE, MINIMUM)                                                              \
    X(MULHI, "mulhi", ELEMENTWISE, MULHI)                                                                    \
    X(MULTIPLY, "multiply", ELEMENTWISE, MULTIPLY)                                                           \
    X(NEGATE, "negate", ELEMENTWISE, NEGATE)                                                                 \
    X(NOT, "not", ELEMENTWISE, NOT)                                                                          \
    X(OR, "or", ELEMENTWISE, OR)                                                                             \
    X(POPULATION_COUNT, "popcnt", ELEMENTWISE, POPULATION_COUNT)                                             \
    X(POWER, "power", ELEMENTWISE, POWER)                                                                    \
    X(REAL, "real", ELEMENTWISE, REAL)                                                                       \
    X(REDUCE_PRECISION, "reduce-precision", ELEMENTWISE, REDUCE_PRECISION)                                   \
    X(REMAINDER, "remainder", ELEMENTWISE, REMAINDER)                                                        \
    X(ROUND_AFZ, "round-nearest-afz", ELEMENTWISE, ROUND_AFZ)                                                \
    X(ROUND_EVEN, "round-nearest-even", ELEMENTWISE, ROUND_EVEN)                                             \
    X(RSQRT, "rsqrt", ELEMENTWISE, RSQRT)                                                                    \
    X(SELECT, "select", ELEMENTWISE, SELECT)                                                                 \
    X(SHIFT_LEFT, "shift-left", ELEMENTWISE, SHIFT_LEFT)                                                     \
    X(SHIFT_RIGHT_ARITHMETIC, "shift-right-arithmetic", ELEMENTWISE, SHIFT_RIGHT_ARITHMETIC)                 \
    X(SHIFT_RIGHT_LOGICAL, "shift-right-logical", ELEMENTWISE, SHIFT_RIGHT_LOGICAL)                          \
    X(SIGN, "sign", ELEMENTWISE, SIGN)                                                                       \
    X(SINE, "sine", ELEMENTWISE, SINE)                                                                       \
    X(SINH, "sinh", ELEMENTWISE, SINH)                                                                       \
    X(SQRT, "sqrt", ELEMENTWISE, SQRT)                                                                       \
    X(STOCHASTIC_CONVERT, "stochastic-convert", ELEMENTWISE, STOCHASTIC_CONVERT)                             \
    X(SUBTRACT, "subtract", ELEMENTWISE, SUBTRACT)                                                           \
    X(TAN, "tan", ELEMENTWISE, TAN)                                                                          \
    X(TANH, "tanh", ELEMENTWISE, TANH)                                                                       \
    X(XOR, "xor", ELEMENTWISE, XOR)                                                                          \
    X(BATCH_NORM_GRAD, "batch-norm-grad", MEMORY, BATCH_NORM_GRAD)                                           \
    X(BATCH_NORM_INFERENCE, "batch-norm-inference", MEMORY, BATCH_NORM_INFERENCE)                            \
    X(BATCH_NORM_TRAINING, "batch-norm-training", MEMORY, BATCH_NORM_TRAINING)                               \
    X(BROADCAST, "broadcast", MEMORY, BROADCAST)                                                             \
    X(CONCATENATE, "concatenate", MEMORY, CONCATENATE)                                                       \
    X(COPY, "copy", MEMORY, COPY)                                                                            \
    X(DYNAMIC_SLICE, "dynamic-slice", MEMORY, DYNAMIC_SLICE)                                                 \
    X(DYNAMIC_UPDATE_SLICE, "dynamic-update-slice", MEMORY, DYNAMIC_UPDATE_SLICE)                            \
    X(GATHER, "gather", MEMORY, GATHER)                                                                      \
    X(IOTA, "iota", MEMORY, IOTA)                                                                            \
    X(PAD, "pad", MEMORY, PAD)                                                                               \
    X(REDUCE, "reduce", MEMORY, REDUCE)                                                                      \
    X(REDUCE_WINDOW, "reduce-window", MEMORY, REDUCE_WINDOW)                                                 \
    X(RESHAPE, "reshape", MEMORY, RESHAPE)                                                                   \
    X(REVERSE, "reverse", MEMORY, REVERSE)                                                                   \
    X(RNG, "rng", MEMORY, RNG)                                                                               \
    X(RNG_BIT_GENERATOR, "rng-bit-generator", MEMORY, RNG_BIT_GENERATOR)                                     \
    X(RNG_STATE, "rng-get-and-update-state", MEMORY, RNG_STATE)                                              \
    X(SCATTER, "scatter", MEMORY, SCATTER)                                                                   \
    X(SELECT_AND_SCATTER, "select-and-scatter", MEMORY, SELECT_AND_SCATTER)                                  \
    X(SLICE, "slice", MEMORY, SLICE)                                                                         \
    X(SORT, "sort", MEMORY, SORT)                                                                            \
    X(TOPK, "topk", MEMORY, TOPK)                                                                            \
    X(TRANSPOSE, "transpose", MEMORY, TRANSPOSE)                                                             \
    PARTS(X, COPY, "copy")                                                                                   \
    X(DOT, "dot", MATMUL, DOT)                                                                               \
    X(RAGGED_DOT, "ragged-dot", MATMUL, RAGGED_DOT)                                                          \
    X(SCALED_DOT, "scaled-dot", MATMUL, SCALED_DOT)                                                          \
    X(CONVOLUTION, "convolution", MATMUL, CONVOLUTION)                                                       \
    X(ALL_GATHER, "all-gather", COLLECTIVE, ALL_GATHER)                                                      \
    X(ALL_REDUCE, "all-reduce", COLLECTIVE, ALL_REDUCE)                                                      \
    X(ALL_TO_ALL, "all-to-all", COLLECTIVE, ALL_TO_ALL)                                                      \
    X(COLLECTIVE_BROADCAST, "collective-broadcast", COLLECTIVE, COLLECTIVE_BROADCAST)                        \
    X(COLLECTIVE_PERMUTE, "collective-permute", COLLECTIVE, COLLECTIVE_PERMUTE)                              \
    X(RAGGED_ALL_TO_ALL, "ragged-all-to-all", COLLECTIVE, RAGGED_ALL_TO_ALL)                                 \
    X(REDUCE_SCATTER, "reduce-scatter", COLLECTIVE, REDUCE_SCATTER)                                          \
    PARTS(X, ALL_GATHER, "all-gather")                                                                       \
    PARTS(X, ALL_REDUCE, "all-reduce")                                                                       \
    PARTS(X, COLLECTIVE_PERMUTE, "collective-permute")                                                       \
    PARTS(X, REDUCE_SCATTER, "reduce-scatter")                                                               \
    PARTS(X, ALL_TO_ALL, "all-to-all")                                                                       \
    PARTS(X, RAGGED_ALL_TO_ALL, "ragged-all-to-all")                                                         \
    PARTS(X, COLLECTIVE_BROADCAST, "collective-broadcast")                                                   \
    X(ASYNC_START, "async-start", START, ASYNC_START)                                                        \
    X(ASYNC_UPDATE, "async-update", UPDATE, ASYNC_START)                                                     \
    X(ASYNC_DONE, "async-done", DONE, ASYNC_START)                                                           \
    PARTS(X, SLICE, "slice")                                                                                 \
    PARTS(X, DYNAMIC_SLICE, "dynamic-slice")                                                                 \
    PARTS(X, DYNAMIC_UPDATE_SLICE, "dynamic-update-slice")                                                   \
    PARTS(X, FUSION, "fusion")                                                                               \
    PARTS(X, CALL, "call")                                                                                   \
    PARTS(X, CUSTOM_CALL, "custom-call")                                                                     \
    X(CALL, "call", CALL, CALL)                                                                              \
    X(CONDITIONAL, "conditional", CALL, CONDITIONAL)                                                         \
    X(FUSION, "fusion", CALL, FUSION)                                                                        \
    X(WHILE, "while", CALL, WHILE)                                                                           \
    X(CHOLESKY, "cholesky", OPAQUE, CHOLESKY)                                                                \
    X(CUSTOM_CALL, "custom-call", OPAQUE, CUSTOM_CALL)                                                       \
    X(FFT, "fft", OPAQUE, FFT)                                                                               \
    X(INFEED, "infeed", OPAQUE, INFEED)                                                                      \
    X(OUTFEED, "outfeed", OPAQUE, OUTFEED)                                                                   \
    X(SET_DIMENSION_SIZE, "set-dimension-size", OPAQUE, SET_DIMENSION_SIZE)                                  \
    X(DYNAMIC_RESHAPE, "dynamic-reshape", OPAQUE, DYNAMIC_RESHAPE)                                           \
    X(TRIANGULAR_SOLVE, "triangular-solve", OPAQUE, TRIANGULAR_SOLVE)                                        \
    X(SEND, "send", OPAQUE, SEND)                                                                            \
    X(SEND_DONE, "send-done", OPAQUE, SEND)                                                                  \
    X(RECV, "recv", OPAQUE, RECV)                                                                            \
    X(RECV_DONE, "recv-done", OPAQUE, RECV)

enum opcode {
#define OPCODE_ENUM(id, name, class, whole) HLO_##id,
    OPCODES(OPCODE_ENUM)
#undef OPCODE_ENUM
        HLO_OPCODES
};

struct opcode_info {
    const char *name;
    enum opcode_class class;
    enum opcode whole; /* all-gather for all-gather-start and all-gather-done; itself if it is not a part */
};

extern const struct opcode_info opcode_table[HLO_OPCODES];
static inline const struct opcode_info *opcode_info(enum opcode opcode)
{
    assert((unsigned)opcode < HLO_OPCODES);
    return &opcode_table[opcode];
}

/* Is it a collective, or the start of one? */
static inline bool opcode_communicates(enum opcode opcode)
{
    enum opcode_class class = opcode_info(opcode)->class;
    return class == CLASS_COLLECTIVE || (class == CLASS_START && opcode != HLO_ASYNC_START &&
                                         opcode_info(opcode_info(opcode)->whole)->class == CLASS_COLLECTIVE);
}

/* May a pass move or drop it? It may if it is FREE (and not a parameter), ELEMENTWISE or MEMORY. */
static inline bool opcode_is_cheap(enum opcode opcode)
{
    enum opcode_class class = opcode_info(opcode)->class;
    return opcode != HLO_PARAMETER &&
           (class == CLASS_FREE || class == CLASS_ELEMENTWISE || class == CLASS_MEMORY);
}

/* Does it only change the type, shape, layout or place of its one operand? */
static inline bool opcode_is_renaming(enum opcode opcode)
{
    return opcode == HLO_RESHAPE || opcode == HLO_BITCAST || opcode == HLO_CONVERT ||
           opcode == HLO_TRANSPOSE || opcode == HLO_COPY;
}

/* The opcode with a name of `length` characters; -1: there is none. */
int opcode_by_name(const char *name, int length);
