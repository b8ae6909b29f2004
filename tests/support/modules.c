/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/cost.h"
#include "hlo/hlo_print.h"
#include "hlo/hlo_read.h"

void module_of(struct module *module, const char *text)
{
    struct status st = {0};
    OKAY(hlo_read(module, "text", text, strlen(text), NULL, &st), st);
}

void text_is_refused(const char *text, const char *why)
{
    struct module m;
    struct status st = {0};
    CU_ASSERT_EQUAL(hlo_read(&m, "m.hlo", text, strlen(text), NULL, &st), STATUS_INPUT);
    if (!strstr(st.text, why)) {
        fprintf(stderr, "said, instead of '%s': %s\n", why, st.text);
        CU_FAIL("another refusal");
    }
    CU_ASSERT_PTR_NULL(strchr(st.text, '\n'));
    module_free(&m);
}

char *text_of(const struct module *module)
{
    struct status st = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    OKAY(hlo_print(module, out, &st), st);
    fclose(out);
    return text;
}

int32_t instruction_of(const struct module *module, const char *computation, const char *name)
{
    for (int32_t i = 0; i < module->instructions; i++) {
        int32_t of = module_at(module, i)->computation;
        bool inside = computation
                          ? strcmp(module_word(module, module->computation[of].name), computation) == 0
                          : of == module->entry;
        if (inside && strcmp(module_word(module, module_at(module, i)->name), name) == 0)
            return i;
    }
    fprintf(stderr, "there is no instruction '%s'\n", name);
    CU_FAIL_FATAL("no such instruction");
    return -1;
}

static bool words_equal(const struct module *a, int32_t s, const struct module *b, int32_t t)
{
    return strcmp(module_word(a, s), module_word(b, t)) == 0;
}

static bool shapes_equal(const struct module *a, int32_t s, const struct module *b, int32_t t)
{
    const struct shape *x = &a->shape[s], *y = &b->shape[t];
    bool equal = x->dtype == y->dtype && x->count == y->count && x->on_chip == y->on_chip &&
                 words_equal(a, x->layout, b, y->layout);
    for (int i = 0; i < x->count && equal; i++) {
        int64_t n = a->number[x->first + i], m = b->number[y->first + i];
        equal = x->dtype == SHAPE_TUPLE ? shapes_equal(a, (int32_t)n, b, (int32_t)m) : n == m;
    }
    return equal;
}

static bool groups_equal(const struct module *a, int64_t g, const struct module *b, int64_t h)
{
    const struct groups *x = &a->groups[g].groups, *y = &b->groups[h].groups;
    return words_equal(a, a->groups[g].text, b, b->groups[h].text) && x->count == y->count &&
           (x->count == 0 ||
            (x->size == y->size &&
             memcmp(x->member, y->member, (size_t)(x->count * x->size) * sizeof *x->member) == 0));
}

static bool attributes_equal(const struct module *a, const struct attribute *x, const struct module *b,
                             const struct attribute *y)
{
    bool equal = x->key == y->key && words_equal(a, x->name, b, y->name) &&
                 words_equal(a, x->text, b, y->text) && x->count == y->count;
    for (int i = 0; i < x->count && equal; i++) {
        int64_t n = a->number[x->first + i], m = b->number[y->first + i];
        equal = attribute_info(x->key)->kind == VALUE_GROUPS ? groups_equal(a, n, b, m) : n == m;
    }
    return equal;
}

static bool instructions_equal(const struct module *a, const struct module *b, int32_t at)
{
    const struct instruction *x = module_at(a, at), *y = module_at(b, at);
    bool equal = x->opcode == y->opcode && words_equal(a, x->name, b, y->name) &&
                 shapes_equal(a, x->shape, b, y->shape) && x->computation == y->computation &&
                 x->operands == y->operands && x->attributes == y->attributes;
    for (int o = 0; o < x->operands && equal; o++)
        equal = module_operand(a, at, o) == module_operand(b, at, o);
    for (int i = 0; i < x->attributes && equal; i++)
        equal = attributes_equal(a, &a->attribute[x->first_attribute + i], b,
                                 &b->attribute[y->first_attribute + i]);
    return equal;
}

bool modules_equal(const struct module *a, const struct module *b)
{
    bool equal = words_equal(a, a->name, b, b->name) && words_equal(a, a->header, b, b->header) &&
                 words_equal(a, a->sources, b, b->sources) && a->scheduled == b->scheduled &&
                 a->partitions == b->partitions && a->replicas == b->replicas && a->entry == b->entry &&
                 a->computations == b->computations && a->instructions == b->instructions;
    if (!equal)
        fputs("modules differ in what their first lines say, or in length\n", stderr);
    for (int32_t c = 0; c < a->computations && equal; c++) {
        const struct computation *x = &a->computation[c], *y = &b->computation[c];
        equal = words_equal(a, x->name, b, y->name) && x->first == y->first && x->count == y->count &&
                x->root == y->root && a->caller[c] == b->caller[c];
        if (!equal)
            fprintf(stderr, "computation %s differs\n", module_word(a, x->name));
    }
    for (int32_t i = 0; i < a->instructions && equal; i++)
        if (!(equal = instructions_equal(a, b, i)))
            fprintf(stderr, "instruction %s differs\n", module_word(a, module_at(a, i)->name));
    return equal;
}

void module_comes_back(const struct module *module)
{
    struct module again;
    char *text = text_of(module);
    module_of(&again, text);
    char *twice = text_of(&again);
    CU_ASSERT(strcmp(text, twice) == 0);
    CU_ASSERT(modules_equal(module, &again));
    free(text);
    free(twice);
    module_free(&again);
}

void module_file_comes_back(const char *path)
{
    struct module m;
    struct status st = {0};
    OKAY(hlo_load(&m, path, NULL, NULL, &st), st);
    module_comes_back(&m);
    module_free(&m);
}

double module_executed(const struct module *m, enum opcode opcode, double *flops, double *uncosted)
{
    struct status st = {0};
    double *runs = calloc((size_t)m->computations, sizeof *runs), times = 0;
    OKAY(module_executions(m, runs, &st), st);
    *flops = *uncosted = 0;
    for (int32_t i = 0; i < m->instructions; i++) {
        double n = runs[module_at(m, i)->computation];
        struct cost cost = module_cost(m, i);
        times += module_at(m, i)->opcode == opcode ? n : 0;
        *flops += opcode_info(module_at(m, i)->opcode)->class == CLASS_MATMUL ? n * cost.flops : 0;
        *uncosted += cost.uncosted ? n : 0;
    }
    free(runs);
    return times;
}

enum overlap_way one_way(void *context, const struct module *module, int32_t collective, bool contracts)
{
    (void)module;
    (void)collective;
    (void)contracts;
    return *(const enum overlap_way *)context;
}

char *entry_text(const char *instructions)
{
    char *text = NULL;
    int n = asprintf(&text,
                     "HloModule m, num_partitions=8\n"
                     "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
                     "ENTRY main {\n  p = f32[8,16]{1,0} parameter(0)\n%s\n}\n",
                     instructions);
    CU_ASSERT_FATAL(n > 0);
    return text;
}
