/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transformers of which layers have experts: gradients against those of one chip, whatever is sent where. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/tally.h"
#include "model/numbers.h"
#include "models.h"
#include "settings/option.h"

/* Experts on axes of each part; what is routed is the same on any mesh, and no row is dropped: 2 x T entries of a device go to the
 * 4 experts in turn, and divide by 4. */
static void experts_are_one_chips(void)
{
    static const struct {
        const char *more, *one_chip, *mesh;
    } cases[] = {
        {TRANSFORMER_MOE "}\n", "ep=1", "ep=4"},
        {TRANSFORMER_MOE "}\n", "ep=1", "dp=2,ep=2"},
        {TRANSFORMER_MOE "}\ngated: false\n", "ep=1", "fsdp=2,ep=2"},
        {TRANSFORMER_MOE "}\n", "ep=1", "ep=2,tp=2"},
        {TRANSFORMER_MOE ", every: 2}\nfused: true\n", "ep=1", "fsdp=2,ep=2"},
        {TRANSFORMER_MOE ", expert-axis: fsdp}\n", "fsdp=1", "fsdp=4"},
        {TRANSFORMER_MOE ", expert-axis: fsdp}\n", "fsdp=1", "fsdp=2,tp=2"},
        {TRANSFORMER_MOE ", expert-axis: tp, every: 2}\n", "tp=1", "dp=2,tp=2"},
        {TRANSFORMER_MOE ", expert-axis: '(fsdp,tp)'}\n", "fsdp=1,tp=1", "fsdp=2,tp=2"},
        {TRANSFORMER_MOE "}\nhead: true\n", "ep=1", "dp=2,ep=2"},
        {TRANSFORMER_MOE "}\n# chunks: 3\n", "ep=1", "dp=2,ep=2"},
        {TRANSFORMER_MOE ", shared-experts: 2, expert-d-ff: 10}\nfused: true\n", "tp=1,ep=1", "tp=2,ep=2"},
        {TRANSFORMER_MOE ", first-dense-layers: 1, products: ragged}\nlayers: 3\n", "ep=1", "fsdp=2,ep=2"},
        {TRANSFORMER_MOE ", capacity-by: receiver, products: ragged}\n", "ep=1", "ep=4"},
        {TRANSFORMER_MOE ", every: 2}\nbias: [q, o, router, experts]\n", "tp=1,ep=1", "fsdp=2,ep=2"},
        {TRANSFORMER_MOE "}\nbias: [experts]\nsinks: true\nplan: textbook\n", "tp=1,ep=1", "ep=2,tp=2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (enum remat remat = REMAT_NONE; remat < REMATS; remat++) {
            char more[512];
            snprintf(more, sizeof more, "batch: 4\nkernel: plain\n%s", cases[i].more);
            transformer_same_as(transformer_with(more), cases[i].one_chip, cases[i].mesh, remat);
        }
}

/* Are the entries of a device's layers other ones? */
static bool layers_differ(const struct model_experts *experts)
{
    bool differ = experts->count > 1;
    for (int i = 1; i < experts->count; i++) {
        const struct routing *a = &experts->of[i - 1].routing, *b = &experts->of[i].routing;
        bool other = false;
        for (int64_t e = 0; e < a->devices * routing_entries(a); e++)
            other = other || a->entry[e].expert != b->entry[e].expert;
        differ = differ && other;
    }
    return differ;
}

/* Whatever each layer's tokens are routed to, and whatever is dropped of that: one device, to which all tokens come in their order in
 * the batch, makes the same numbers of them. */
static void routed_layers_are_one_chips(void)
{
    static const char *const draws[] = {"draw: uniform, seed: 3", "draw: zipf, exponent: 1.2",
                                        "draw: hot, share: 0.6", "draw: multinomial, weights: [5, 1, 1, 2]"};
    static const struct {
        const char *more, *rest, *mesh;
        int layers;
    } cases[] = {
        {"}\n", "", "ep=4", 2},
        {"}\n", "", "dp=2,ep=2", 2},
        {"}\n", "", "ep=2,tp=2,dp=2", 2},
        {", every: 2}\nlayers: 5\n", "", "tp=2,fsdp=2,ep=2", 2},
        {", expert-axis: '(fsdp,tp)'}\n", "head: true\n", "fsdp=2,tp=2", 2},
        {", every: 3}\nlayers: 3\n", "# chunks: 3\n", "ep=2,dp=2", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t d = 0; d < sizeof draws / sizeof *draws; d++) {
            struct array one[MODEL_INPUTS] = {0}, many[MODEL_INPUTS] = {0};
            char more[512], text[1024];
            struct transformer_case on_mesh, alone;
            snprintf(more, sizeof more,
                     "batch: 4\nkernel: plain\nmoe: {experts: 4, top-k: 2, capacity-factor: 0.3, d-ff: 12, "
                     "routing: {%s}%s%s",
                     draws[d], cases[i].more, cases[i].rest);
            snprintf(text, sizeof text, "%s", transformer_with(more));
            transformer_load(&on_mesh, text, cases[i].mesh, (enum remat)(d % REMATS), 1);
            transformer_load_like(&alone, text, NULL, &on_mesh.model, REMAT_NONE, 1);
            const struct model_experts *experts = on_mesh.model.experts;
            int64_t dropped = 0;
            for (int l = 0; l < experts->count; l++) {
                dropped += routing_dropped(&experts->of[l].routing, -1);
                CU_ASSERT_EQUAL(routing_dropped(&experts->of[l].routing, -1),
                                routing_dropped(&alone.model.experts->of[l].routing, 0));
            }
            CU_ASSERT_EQUAL(experts->count, cases[i].layers);
            CU_ASSERT(cases[i].layers == 1 || layers_differ(experts));
            CU_ASSERT(dropped > 0);
            transformer_run(&alone, one);
            transformer_run_ahead(&on_mesh, many);
            transformer_same_numbers(&on_mesh.model, cases[i].mesh, many, one);
            transformer_unload(&on_mesh);
            transformer_unload(&alone);
            arrays_free(one, MODEL_INPUTS);
            arrays_free(many, MODEL_INPUTS);
        }
}

SUITE("transformer_experts", TEST(experts_are_one_chips), TEST(routed_layers_are_one_chips))
