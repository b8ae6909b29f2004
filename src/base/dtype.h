/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dtype: the types of array elements, under XLA's names (bf16, s32); JAX's long (bfloat16, int32) and short
 * (i32) names are read too.
 *
 * A chip's file gives peak rates for some types. A type without a rate of its own may be computed at
 * another's: f32 at bf16's, for JAX on TPU multiplies f32 in one bf16 pass unless a higher precision is asked
 * for (docs.jax.dev, "Matmul precision").
 *
 * Units: bytes of an element, a fraction of one for 2-bit and 4-bit types. Errors: status.h. Ownership: constant tables.
 */
#pragma once

#include <stdbool.h>

#include "base/status.h"

/* id, XLA's name, JAX's long name, the short name (or XLA's again), bits, the type whose peak rate it uses if
 * the chip has none for it */
#define DTYPES(X)                                                                                            \
    X(DTYPE_PRED, "pred", "bool", "pred", 8, DTYPE_PRED)                                                     \
    X(DTYPE_S2, "s2", "int2", "i2", 2, DTYPE_S4)                                                             \
    X(DTYPE_U2, "u2", "uint2", "u2", 2, DTYPE_S4)                                                            \
    X(DTYPE_S4, "s4", "int4", "i4", 4, DTYPE_S4)                                                             \
    X(DTYPE_U4, "u4", "uint4", "u4", 4, DTYPE_S4)                                                            \
    X(DTYPE_S8, "s8", "int8", "i8", 8, DTYPE_S8)                                                             \
    X(DTYPE_U8, "u8", "uint8", "u8", 8, DTYPE_S8)                                                            \
    X(DTYPE_S16, "s16", "int16", "i16", 16, DTYPE_S16)                                                       \
    X(DTYPE_U16, "u16", "uint16", "u16", 16, DTYPE_S16)                                                      \
    X(DTYPE_S32, "s32", "int32", "i32", 32, DTYPE_S32)                                                       \
    X(DTYPE_U32, "u32", "uint32", "u32", 32, DTYPE_S32)                                                      \
    X(DTYPE_S64, "s64", "int64", "i64", 64, DTYPE_S64)                                                       \
    X(DTYPE_U64, "u64", "uint64", "u64", 64, DTYPE_S64)                                                      \
    X(DTYPE_F4E2M1FN, "f4e2m1fn", "float4_e2m1fn", "f4e2m1fn", 4, DTYPE_F8E4M3FN)                            \
    X(DTYPE_F8E3M4, "f8e3m4", "float8_e3m4", "f8e3m4", 8, DTYPE_F8E4M3FN)                                    \
    X(DTYPE_F8E4M3, "f8e4m3", "float8_e4m3", "f8e4m3", 8, DTYPE_F8E4M3FN)                                    \
    X(DTYPE_F8E4M3B11FNUZ, "f8e4m3b11fnuz", "float8_e4m3b11fnuz", "f8e4m3b11fnuz", 8, DTYPE_F8E4M3FN)        \
    X(DTYPE_F8E4M3FNUZ, "f8e4m3fnuz", "float8_e4m3fnuz", "f8e4m3fnuz", 8, DTYPE_F8E4M3FN)                    \
    X(DTYPE_F8E5M2FNUZ, "f8e5m2fnuz", "float8_e5m2fnuz", "f8e5m2fnuz", 8, DTYPE_F8E4M3FN)                    \
    X(DTYPE_F8E8M0FNU, "f8e8m0fnu", "float8_e8m0fnu", "f8e8m0fnu", 8, DTYPE_F8E4M3FN)                        \
    X(DTYPE_F8E4M3FN, "f8e4m3fn", "float8_e4m3fn", "f8e4m3fn", 8, DTYPE_F8E4M3FN)                            \
    X(DTYPE_F8E5M2, "f8e5m2", "float8_e5m2", "f8e5m2", 8, DTYPE_F8E4M3FN)                                    \
    X(DTYPE_BF16, "bf16", "bfloat16", "bf16", 16, DTYPE_BF16)                                                \
    X(DTYPE_F16, "f16", "float16", "f16", 16, DTYPE_F16)                                                     \
    X(DTYPE_F32, "f32", "float32", "f32", 32, DTYPE_BF16)                                                    \
    X(DTYPE_F64, "f64", "float64", "f64", 64, DTYPE_F64)                                                     \
    X(DTYPE_C64, "c64", "complex64", "c64", 64, DTYPE_C64)                                                   \
    X(DTYPE_C128, "c128", "complex128", "c128", 128, DTYPE_C128)

enum dtype_id {
#define DTYPE_ENUM(id, xla, jax, brief, bits, rate) id,
    DTYPES(DTYPE_ENUM)
#undef DTYPE_ENUM
        DTYPE_COUNT
};

struct dtype {
    const char *name; /* XLA's name: the one we print */
    const char *jax;
    const char *brief;
    double bytes;
    enum dtype_id rate; /* the type whose peak rate it uses if the chip has none for this one */
};

/* The row of a type; never NULL. */
const struct dtype *dtype_info(enum dtype_id id);

/* Is the type pred or an integer? These come first in the table. */
static inline bool dtype_is_whole(enum dtype_id id)
{
    return id < DTYPE_F4E2M1FN;
}

/* The value that an element of the type holds after a value is stored in it: integers of up to 32 bits wrap
 * around (two's complement); pred is 1 unless the value is 0; bf16 and f16 round to nearest even; bf16, f16
 * and f32 become infinite beyond their range. All other types keep the value. */
double dtype_hold(enum dtype_id id, double value);

/* The distance from 1 to the next larger number: of bf16 and f16 their own, of every other type that
 * of f32. */
double dtype_epsilon(enum dtype_id id);

/* The type of a name, in any of its spellings. If there is none, dtype_find() returns -1, and dtype_by_name()
 * fails with the nearest names. */
int dtype_find(const char *name);
int dtype_by_name(const char *name, struct status *st);
