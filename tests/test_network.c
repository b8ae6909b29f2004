/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The course's network under its five ways of being cut: what is issued, loss and gradients; a wrong module is found out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compile/pass.h"
#include "hlo/module_check.h"
#include "hlo/tally.h"
#include "model/model.h"
#include "model/numbers.h"
#include "models.h"
#include "modules.h"
#include "settings/option.h"
#include "study/model_eval.h"

/* A set-up as it runs: gathers are recomputed in the backward pass. */
static void load(const char *name, const char *mesh, struct model *model, struct module *module)
{
    char path[128];
    struct status st = {0};
    struct axes axes;
    struct point point;
    point_init(&point);
    snprintf(path, sizeof path, "workloads/%s.yaml", name);
    point.work.file = path;
    point.work.dtype = "f32";
    OKAY(axes_parse(mesh, &axes, &st), st);
    OKAY(model_read(&point, NULL, &axes, model, &st), st);
    OKAY(pass_recompute(&model->module, REMAT_NONE, module, &st), st);
    OKAY(module_check(module, NULL, &st), st);
}

static void close_both(struct model *model, struct module *module)
{
    model_free(model);
    module_free(module);
}

struct row {
    const char *phase, *op, *axes;
    int group;
    const char *what;
    bool recomputed;
    double count, in_bytes, out_bytes;
};

/* Weights 32 x 128 + 128 x 256 + 256 x 128 + 128 x 4 = 70,144 elements, 280,576 B; biases 128 + 256 + 128 + 4 = 516, 2,064 B.
 * Without the first layer's 4,096 weights 66,048, 264,192 B. Activations: 16 rows. */
static const struct row dp[] = {
    {"fwd", "all-reduce", "dp,tp", 8, "loss", false, 1, 4, 4},
    {"bwd", "all-reduce", "dp,tp", 8, "b", false, 4, 2064, 2064},
    {"bwd", "all-reduce", "dp,tp", 8, "w", false, 4, 280576, 280576},
    {0},
};
static const struct row fsdp_a[] = {
    {"fwd", "all-gather", "dp,tp", 8, "w", false, 4, 35072, 280576},
    {"fwd", "all-gather", "tp", 2, "b", false, 4, 1032, 2064},
    {"fwd", "all-reduce", "dp,tp", 8, "loss", false, 1, 4, 4},
    {"bwd", "all-gather", "dp,tp", 8, "w", true, 3, 33024, 264192},
    {"bwd", "reduce-scatter", "dp,tp", 8, "w", false, 4, 280576, 35072},
    {"bwd", "all-reduce", "dp", 4, "b", false, 4, 2064, 2064},
    {"bwd", "reduce-scatter", "tp", 2, "b", false, 4, 2064, 1032},
    {0},
};
static const struct row fsdp_b[] = {
    {"fwd", "all-gather", "tp", 2, "w", false, 4, 35072, 70144},
    {"fwd", "all-gather", "dp", 4, "w", false, 4, 70144, 280576},
    {"fwd", "all-gather", "tp", 2, "b", false, 4, 1032, 2064},
    {"fwd", "all-reduce", "dp,tp", 8, "loss", false, 1, 4, 4},
    {"bwd", "all-gather", "tp", 2, "w", true, 3, 33024, 66048},
    {"bwd", "all-gather", "dp", 4, "w", true, 3, 66048, 264192},
    {"bwd", "reduce-scatter", "dp", 4, "w", false, 4, 280576, 70144},
    {"bwd", "reduce-scatter", "tp", 2, "w", false, 4, 70144, 35072},
    {"bwd", "all-reduce", "dp", 4, "b", false, 4, 2064, 2064},
    {"bwd", "reduce-scatter", "tp", 2, "b", false, 4, 2064, 1032},
    {0},
};
static const struct row tp[] = {
    {"fwd", "reduce-scatter", "tp", 2, "activations", false, 4, 33024, 16512},
    {"fwd", "all-reduce", "tp", 2, "loss", false, 1, 64, 64},
    {"bwd", "all-gather", "tp", 2, "activations", false, 4, 16512, 33024},
    {0},
};
static const struct row fsdp_tp[] = {
    {"fwd", "all-gather", "dp", 4, "w", false, 4, 35072, 140288},
    {"fwd", "reduce-scatter", "tp", 2, "activations", false, 4, 8256, 4128},
    {"fwd", "all-reduce", "tp", 2, "loss", false, 1, 16, 16},
    {"fwd", "all-reduce", "dp", 4, "loss", false, 1, 4, 4},
    {"bwd", "all-gather", "dp", 4, "w", true, 3, 33024, 132096},
    {"bwd", "all-gather", "tp", 2, "activations", false, 4, 4128, 8256},
    {"bwd", "reduce-scatter", "dp", 4, "w", false, 4, 140288, 35072},
    {"bwd", "all-reduce", "dp", 4, "b", false, 4, 1032, 1032},
    {0},
};
static const struct {
    const char *name;
    const struct row *row;
} setups[] = {
    {"net-dp", dp}, {"net-fsdp-a", fsdp_a}, {"net-fsdp-b", fsdp_b}, {"net-tp", tp}, {"net-fsdp-tp", fsdp_tp},
};
enum { SETUPS = sizeof setups / sizeof *setups };

static bool is_row(const struct tally_row *got, const struct row *want)
{
    return strcmp(got->phase, want->phase) == 0 && strcmp(opcode_info(got->opcode)->name, want->op) == 0 &&
           strcmp(got->axes, want->axes) == 0 && got->group == want->group &&
           strcmp(got->what, want->what) == 0 && got->recomputed == want->recomputed &&
           got->count == want->count && got->in_bytes == want->in_bytes && got->out_bytes == want->out_bytes;
}

static void collectives_issued(void)
{
    for (int s = 0; s < SETUPS; s++) {
        struct model model;
        struct module module;
        struct tally tally;
        struct status st = {0};
        load(setups[s].name, "dp=4,tp=2", &model, &module);
        OKAY(tally_collectives(&module, &tally, &st), st);
        int rows = 0;
        for (; setups[s].row[rows].phase; rows++)
            ;
        CU_ASSERT_EQUAL(tally.rows, rows);
        for (int r = 0; r < tally.rows; r++) {
            const struct tally_row *got = &tally.row[r];
            bool found = false;
            for (int w = 0; w < rows; w++)
                found = found || is_row(got, &setups[s].row[w]);
            if (!found)
                fprintf(stderr, "%s: not in the table: %s %s%s %s %d %s %g: %g to %g\n", setups[s].name,
                        got->phase, opcode_info(got->opcode)->name, got->recomputed ? " (again)" : "",
                        got->axes, got->group, got->what, got->count, got->in_bytes, got->out_bytes);
            CU_ASSERT(found);
        }
        tally_free(&tally);
        close_both(&model, &module);
    }
}

static void run_file(const struct model *model, const struct module *module, struct array out[])
{
    struct array in[MODEL_INPUTS] = {0};
    struct status st = {0};
    OKAY(numbers_read("workloads/net-dp.yaml", model, in, &st), st);
    CU_ASSERT_EQUAL_FATAL(st.code, 0);
    OKAY(numbers_run(model, module, in, 1e-12, out, &st), st);
    arrays_free(in, MODEL_INPUTS);
}

/* 4.0431547: worked out by an independent SPMD machine, and by the course in f32. */
static void numbers_are_one_chips(void)
{
    struct array one[MODEL_INPUTS] = {0};
    struct model model;
    struct module module;
    load("net-dp", "dp=1,tp=1", &model, &module);
    run_file(&model, &module, one);
    CU_ASSERT_EQUAL(model.outputs, 9);
    NEAR(one[0].data[0], 4.0431547, 1e-7);
    close_both(&model, &module);
    for (int s = 0; s < SETUPS; s++) {
        struct array out[MODEL_INPUTS] = {0};
        load(setups[s].name, "dp=4,tp=2", &model, &module);
        run_file(&model, &module, out);
        for (int o = 0; o < model.outputs; o++) {
            double off = arrays_difference(&out[o], &one[o]);
            CU_ASSERT(off < 1e-13);
            if (!(off < 1e-13))
                fprintf(stderr, "%s: %s differs by %g\n", setups[s].name, model.output[o].name, off);
        }
        arrays_free(out, MODEL_INPUTS);
        close_both(&model, &module);
    }
    arrays_free(one, MODEL_INPUTS);
}

static void loops_of(const struct module *module, enum overlap_way way, struct module *loops)
{
    struct status st = {0};
    struct overlap_options options = {.context = &way, .way = one_way};
    OKAY(pass_overlap(module, &options, loops, &st), st);
    OKAY(module_check(loops, NULL, &st), st);
}

static int count(const struct module *module, enum opcode opcode)
{
    int n = 0;
    for (int32_t i = 0; i < module->instructions; i++)
        n += module_at(module, i)->opcode == opcode;
    return n;
}

/* Loops of permutes: in FSDP a, 7 gathers and 4 scatters of weights, each over 8 devices. Uni: 7 permutes each; bidi: 4 and
 * 3; bidi-half: 7 and 7. Nothing of them is left. */
static void loops_are_one_chips(void)
{
    static const int permutes[] = {0, 77, 77, 154};
    struct array one[MODEL_INPUTS] = {0};
    struct model model;
    struct module module;
    load("net-dp", "dp=1,tp=1", &model, &module);
    run_file(&model, &module, one);
    close_both(&model, &module);
    for (int s = 0; s < SETUPS; s++)
        for (enum overlap_way way = OVERLAP_UNI; way < OVERLAP_WAYS; way++) {
            struct array out[MODEL_INPUTS] = {0};
            struct module loops;
            load(setups[s].name, "dp=4,tp=2", &model, &module);
            loops_of(&module, way, &loops);
            if (s == 1) {
                CU_ASSERT_EQUAL(count(&loops, HLO_COLLECTIVE_PERMUTE_START), permutes[way]);
                CU_ASSERT_EQUAL(count(&loops, HLO_ALL_GATHER), 4);
            }
            run_file(&model, &loops, out);
            for (int o = 0; o < model.outputs; o++)
                CU_ASSERT(arrays_difference(&out[o], &one[o]) < 1e-12);
            arrays_free(out, MODEL_INPUTS);
            module_free(&loops);
            close_both(&model, &module);
        }
    arrays_free(one, MODEL_INPUTS);
}

/* Weights gathered up to three layers ahead, and what is left in loops. In FSDP b 4 + 4 gathers of weights, 3 + 3 again, 4 of
 * biases: none in its old place. */
static void ahead_is_one_chips(void)
{
    struct array one[MODEL_INPUTS] = {0};
    struct model model;
    struct module module;
    load("net-dp", "dp=1,tp=1", &model, &module);
    run_file(&model, &module, one);
    close_both(&model, &module);
    for (int s = 0; s < SETUPS; s++)
        for (int layers = 1; layers <= 3; layers++) {
            struct array out[MODEL_INPUTS] = {0};
            struct module loops, ahead;
            struct status st = {0};
            load(setups[s].name, "dp=4,tp=2", &model, &module);
            OKAY(pass_prefetch(&module, layers, &ahead, &st), st);
            OKAY(module_check(&ahead, NULL, &st), st);
            if (s == 2) {
                CU_ASSERT_EQUAL(count(&ahead, HLO_ALL_GATHER), 0);
                CU_ASSERT_EQUAL(count(&ahead, HLO_ALL_GATHER_START), 18);
                CU_ASSERT_EQUAL(count(&ahead, HLO_ALL_GATHER_DONE), 18);
            }
            loops_of(&ahead, OVERLAP_BIDI, &loops);
            run_file(&model, &loops, out);
            for (int o = 0; o < model.outputs; o++)
                CU_ASSERT(arrays_difference(&out[o], &one[o]) < 1e-12);
            arrays_free(out, MODEL_INPUTS);
            module_free(&loops);
            module_free(&ahead);
            close_both(&model, &module);
        }
    arrays_free(one, MODEL_INPUTS);
}

/* A broken module either leaves devices with different values, or gives gradients that are off by far more than 1e-5. */
static void is_found_out(const struct model *model, const struct module *module, const char *what)
{
    struct array one[MODEL_INPUTS] = {0}, in[MODEL_INPUTS] = {0}, out[MODEL_INPUTS] = {0};
    struct model right;
    struct module whole;
    struct status st = {0};
    double most = 0;
    load("net-dp", "dp=1,tp=1", &right, &whole);
    run_file(&right, &whole, one);
    OKAY(numbers_read("workloads/net-dp.yaml", model, in, &st), st);
    int code = numbers_run(model, module, in, 1e-6, out, &st);
    for (int o = 0; o < model->outputs && code == 0; o++)
        most = fmax(most, arrays_difference(&out[o], &one[o]));
    if (code == 0 && most < 1e-2)
        fprintf(stderr, "not found out: %s (%g)\n", what, most);
    CU_ASSERT(code == STATUS_CHECK || most > 1e-2);
    close_both(&right, &whole);
    arrays_free(one, MODEL_INPUTS);
    arrays_free(in, MODEL_INPUTS);
    arrays_free(out, MODEL_INPUTS);
}

/* Each permute of the loops turned round: pieces come from the other side than the products take them to come from. */
static void wrong_rings_are_found_out(void)
{
    for (int s = 1; s < SETUPS; s++) {
        struct model model;
        struct module module, loops;
        load(setups[s].name, "dp=4,tp=2", &model, &module);
        loops_of(&module, OVERLAP_UNI, &loops);
        int32_t turned = -1; /* steps share their pairs */
        for (int32_t i = 0; i < loops.instructions; i++) {
            int pairs;
            const struct attribute *list = module_find(&loops, i, ATTR_SOURCE_TARGET_PAIRS);
            if (!list || list->first <= turned)
                continue;
            turned = list->first;
            module_numbers(&loops, i, ATTR_SOURCE_TARGET_PAIRS, &pairs);
            for (int p = 0; p < pairs; p += 2) {
                int64_t *pair = loops.number + list->first + p, source = pair[0];
                pair[0] = pair[1];
                pair[1] = source;
            }
        }
        /* round a ring of two both ways are the same */
        if (s != 3)
            is_found_out(&model, &loops, setups[s].name);
        module_free(&loops);
        close_both(&model, &module);
    }
}

/* Each collective that leaves the shape as it is, one by one, does nothing; but the loss's own, which the gradients do not
 * need, shows in the loss. */
static void missing_all_reduces_are_found_out(void)
{
    int left_out = 0;
    for (int s = 0; s < SETUPS; s++) {
        struct model model;
        struct module module;
        load(setups[s].name, "dp=4,tp=2", &model, &module);
        for (int32_t i = 0; i < module.instructions; i++) {
            if (module_at(&module, i)->opcode != HLO_ALL_REDUCE)
                continue;
            module.instruction[i].opcode = HLO_COPY;
            is_found_out(&model, &module, module_word(&module, module_at(&module, i)->name));
            module.instruction[i].opcode = HLO_ALL_REDUCE;
            left_out++;
        }
        close_both(&model, &module);
    }
    CU_ASSERT_EQUAL(left_out, 9 + 5 + 5 + 1 + 6); /* the tables above */
}

/* Weights and inputs whose blocks lie on the devices in another order than the module takes them to. */
static void wrong_shardings_are_found_out(void)
{
    for (int s = 0; s < SETUPS; s++) {
        struct model model;
        struct module module;
        load(setups[s].name, "dp=4,tp=2", &model, &module);
        for (int i = 0; i < model.inputs; i++) {
            struct axis_list *list = &model.input[i].tensor.dim[0].shard, kept = *list;
            if (list->count < 2)
                continue;
            list->axis[0] = kept.axis[1];
            list->axis[1] = kept.axis[0];
            is_found_out(&model, &module, model.input[i].name);
            *list = kept;
        }
        close_both(&model, &module);
    }
}

/* What `icisim eval` asks: the step as it runs, and with its first bias taken away instead of added. */
static void steps_are_held_against_one_device(void)
{
    static const int len[] = {4, 2};
    static const bool wrap[] = {false, false};
    struct status st = {0};
    struct slice slice;
    struct mesh mesh;
    struct point point;
    struct model_step step;
    struct module module = {0};
    point_init(&point);
    point.work.file = "workloads/net-tp.yaml";
    point.work.dtype = "f32";
    OKAY(slice_init(&slice, 2, len, wrap, 45e9, 1e-6, &st), st);
    OKAY(mesh_init(&mesh, &slice, "dp=4,tp=2", NULL, &st), st);
    OKAY(model_step_open(&step, &point, NULL, &mesh, &st), st);
    OKAY(model_step_write(&step, NULL, &module, &st), st);
    for (int broken = 0; broken < 2; broken++) {
        struct model_eval eval;
        OKAY(model_eval(&eval, &step, &module, &st), st);
        for (int o = 0; o < eval.outputs; o++)
            CU_ASSERT_EQUAL(model_eval_difference(&eval, o) > 1e-5, broken == 1);
        if (!broken)
            NEAR(model_eval_norm(&eval, 0), 4.0431547, 1e-7);
        model_eval_free(&eval);
        int32_t at = module.computation[module.entry].first;
        while (module_at(&module, at)->opcode != HLO_ADD)
            at++;
        module.instruction[at].opcode = HLO_SUBTRACT;
    }
    module_free(&module);
    model_step_free(&step);
    mesh_free(&mesh);
    slice_free(&slice);
}

SUITE("network", TEST(collectives_issued), TEST(numbers_are_one_chips), TEST(loops_are_one_chips),
      TEST(ahead_is_one_chips), TEST(wrong_rings_are_found_out), TEST(missing_all_reduces_are_found_out),
      TEST(wrong_shardings_are_found_out), TEST(steps_are_held_against_one_device))
