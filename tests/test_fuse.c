/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes that are left to HBM where what is element by element runs with what reads it: by hand, and on a transformer. */
#include <string.h>

#include "compile/pass.h"
#include "hlo/cost.h"
#include "modules.h"

/* A norm before a product, and a residual that the next layer reads, too. */
static const char norm[] =
    "HloModule m\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  p = bf16[96,40] parameter(0)\n  w = bf16[40,56] parameter(1)\n  z = f32[] constant(0)\n"
    "  wide = f32[96,40] convert(p), frontend_attributes={layer=\"1\"}\n"
    "  square = f32[96,40] multiply(wide, wide), frontend_attributes={layer=\"1\"}\n"
    "  r = f32[96] reduce(square, z), dimensions={1}, to_apply=sum, frontend_attributes={layer=\"1\"}\n"
    "  b = f32[96,40] broadcast(r), dimensions={0}, frontend_attributes={layer=\"1\"}\n"
    "  y = f32[96,40] multiply(wide, b), frontend_attributes={layer=\"1\"}\n"
    "  n = bf16[96,40] convert(y), frontend_attributes={layer=\"1\"}\n"
    "  named = bf16[96,40] reshape(n), frontend_attributes={layer=\"1\"}\n"
    "  d = bf16[96,56] dot(named, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  g = bf16[96,56] logistic(d), frontend_attributes={layer=\"1\"}\n"
    "  h = bf16[96,56] multiply(g, d), frontend_attributes={layer=\"1\"}\n"
    "  u = bf16[96,56] tanh(h), frontend_attributes={layer=\"2\"}\n"
    "  ROOT v = bf16[96,56] negate(u), frontend_attributes={layer=\"2\"}\n}\n";

/* The same norm, whose input, scale and result the backward pass reads, too. */
static const char both_ways[] =
    "HloModule m\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
    "ENTRY e {\n  p = bf16[96,40] parameter(0)\n  z = f32[] constant(0)\n"
    "  wide = f32[96,40] convert(p), frontend_attributes={layer=\"1\"}\n"
    "  r = f32[96] reduce(wide, z), dimensions={1}, to_apply=sum, frontend_attributes={layer=\"1\"}\n"
    "  s = f32[96] rsqrt(r), frontend_attributes={layer=\"1\"}\n"
    "  b = f32[96,40] broadcast(s), dimensions={0}, frontend_attributes={layer=\"1\"}\n"
    "  y = f32[96,40] multiply(wide, b), frontend_attributes={layer=\"1\"}\n"
    "  n = bf16[96,40] convert(y), frontend_attributes={layer=\"1\"}\n"
    "  g = f32[96,40] multiply(wide, b), frontend_attributes={layer=\"1\",phase=\"bwd\"}\n"
    "  h = bf16[96,40] convert(g), frontend_attributes={layer=\"1\",phase=\"bwd\"}\n"
    "  ROOT v = bf16[96,40] multiply(h, n), frontend_attributes={layer=\"1\",phase=\"bwd\"}\n}\n";

/* A softmax's largest scores and sums, after the product of attention. */
#define SOFTMAX                                                                                              \
    "HloModule m\n"                                                                                          \
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"                       \
    "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n"                  \
    "ENTRY e {\n  q = bf16[2,8,4] parameter(0)\n  k = bf16[2,16,4] parameter(1)\n  z = f32[] constant(0)\n"  \
    "  scores = f32[2,8,16] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "   \
    "rhs_contracting_dims={2}\n"                                                                             \
    "  m = f32[2,8] reduce(scores, z), dimensions={2}, to_apply=most\n"                                      \
    "  b = f32[2,8,16] broadcast(m), dimensions={0,1}\n"                                                     \
    "  d = f32[2,8,16] subtract(scores, b)\n"                                                                \
    "  p = f32[2,8,16] exponential(d)\n"
static const char softmax[] =
    SOFTMAX "  t = f32[2,8] reduce(p, z), dimensions={2}, to_apply=sum\n"
            "  ROOT v = f32[2,8,16] negate(p), frontend_attributes={phase=\"bwd\"}\n}\n";
static const char own_softmax[] = SOFTMAX
    "  t = f32[2,8] reduce(p, z), dimensions={2}, to_apply=sum, frontend_attributes={what=\"attention\"}\n"
    "  ROOT v = f32[2,8,16] negate(p)\n}\n";

static void moves(const struct module *module, const char *name, double bytes)
{
    NEAR(module_cost(module, instruction_of(module, NULL, name)).hbm_bytes, bytes, 1e-12);
}

/* bf16[96,40] has 7,680 B, bf16[96,56] 10,752 B, f32[96] 384 B. */
static void of_a_norm(void)
{
    struct module from, to;
    struct status st = {0};
    module_of(&from, norm);
    OKAY(pass_fuse(&from, 0, 0, &to, &st), st);
    static const char *const inside[] = {"wide", "square", "b", "y", "g", "u", "named"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        moves(&to, inside[i], 0);
    moves(&to, "r", 7680 + 384);                 /* p, the sums */
    moves(&to, "n", 7680 + 384 + 7680);          /* p again, the sums; what the product reads */
    moves(&to, "d", 7680 + 40 * 56 * 2 + 10752); /* as before */
    moves(&to, "h", 2 * 10752);                  /* d, once; the next layer reads it */
    moves(&to, "v", 2 * 10752);
    module_free(&from);
    module_free(&to);
}

/* What is wider or broadcast is made again from what is smaller; a narrower one is kept itself. */
static void of_a_norm_both_ways(void)
{
    struct module from, to;
    struct status st = {0};
    module_of(&from, both_ways);
    OKAY(pass_fuse(&from, 0, 0, &to, &st), st);
    static const char *const inside[] = {"wide", "b", "y", "g", "h"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        moves(&to, inside[i], 0);
    moves(&to, "r", 7680 + 384);
    moves(&to, "s", 2 * 384);
    moves(&to, "n", 7680 + 384 + 7680);
    moves(&to, "v", 7680 + 384 + 7680 + 7680); /* p, the scale and n; the result */
    module_free(&from);
    module_free(&to);
}

/* f32[2,8] has 64 B, f32[2,8,16] 1024 B: the product writes scores and finds the largest ones, exponentials are kept for the backward
 * pass, sums read these. Where rows of 16 are whole in the product, it writes exponentials, and finds the sums, too. */
static void of_a_softmax(void)
{
    for (int row = 15; row <= 16; row++) {
        struct module from, to;
        struct status st = {0};
        module_of(&from, softmax);
        OKAY(pass_fuse(&from, 0, row, &to, &st), st);
        moves(&to, "m", 64);
        moves(&to, "p", row < 16 ? 1024 + 64 + 1024 : 0);
        moves(&to, "t", row < 16 ? 1024 + 64 : 64 + 64);
        moves(&to, "v", row < 16 ? 1024 + 1024 : 1024 + 64 + 1024);
        module_free(&from);
        module_free(&to);
    }
}

/* Exponentials that only the forward pass reads: rows of 16 are written by the sum, where they are too long for the product, and
 * what comes next reads as much of them as it would of scores. */
static void of_its_own_softmax(void)
{
    for (int row = 15; row <= 16; row++) {
        struct module from, to;
        struct status st = {0};
        module_of(&from, own_softmax);
        OKAY(pass_fuse(&from, 0, row, &to, &st), st);
        moves(&to, "p", 0);
        moves(&to, "t", row < 16 ? 1024 + 64 + 1024 + 64 : 64 + 64);
        moves(&to, "v", 1024 + 64 + 1024);
        module_free(&from);
        module_free(&to);
    }
}

/* All but labels stay. */
static void nothing_else_changes(void)
{
    struct module from, to, again;
    struct status st = {0};
    module_of(&from, norm);
    OKAY(pass_fuse(&from, 0, 0, &to, &st), st);
    CU_ASSERT_EQUAL(from.instructions, to.instructions);
    for (int32_t i = 0; i < from.instructions; i++)
        CU_ASSERT(module_at(&from, i)->opcode == module_at(&to, i)->opcode);
    OKAY(pass_fuse(&to, 0, 0, &again, &st), st); /* what was found is found again */
    CU_ASSERT(modules_equal(&to, &again));
    module_free(&from);
    module_free(&to);
    module_free(&again);
}

SUITE("fuse", TEST(of_a_norm), TEST(of_a_norm_both_ways), TEST(of_a_softmax), TEST(of_its_own_softmax),
      TEST(nothing_else_changes))
