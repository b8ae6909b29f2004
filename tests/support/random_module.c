/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random modules: computations, and what calls them. */
#include "random_maker.h"

static int32_t shape_of(const struct maker *m, int32_t value)
{
    return module_at(m->module, value)->shape;
}

/* What is called, with the shapes of its parameters and of its result. */
struct callee {
    int32_t computation, result, shape[MAKER_VALUES];
    int parameters;
};

static void finish(struct maker *m, struct callee *made)
{
    const struct module *module = m->module;
    const struct computation *c = &module->computation[module->computations - 1];
    made->computation = module->computations - 1;
    made->result = shape_of(m, c->root);
    made->parameters = 0;
    for (int32_t i = c->first; i < c->first + c->count; i++)
        if (module_at(module, i)->opcode == HLO_PARAMETER && made->parameters < MAKER_VALUES)
            made->shape[made->parameters++] = shape_of(m, i);
}

static void make_callee(struct maker *m, struct callee *made)
{
    make_begin(m, "called");
    make_some(m, 1 + make_below(m, 4));
    finish(m, made);
}

/* A body or a condition of a loop whose state is a counter and an array; the body adds `step` to the counter. */
static int32_t make_loop_part(struct maker *m, int32_t state, int32_t counter, int32_t array, bool body,
                              int64_t number)
{
    struct module *module = m->module;
    make_begin(m, body ? "body" : "condition");
    int32_t t = make_parameter(m, state);
    int32_t i = make_add(m, HLO_GET_TUPLE_ELEMENT, counter, &t, 1);
    module_attribute(module, ATTR_INDEX, (int64_t[]){0}, 1);
    int32_t operand[] = {i, make_add(m, HLO_CONSTANT, counter, NULL, 0)};
    module_attribute(module, ATTR_LITERAL, &number, 1);
    if (body) {
        int32_t part[] = {make_add(m, HLO_ADD, counter, operand, 2),
                          make_add(m, HLO_GET_TUPLE_ELEMENT, array, &t, 1)};
        module_attribute(module, ATTR_INDEX, (int64_t[]){1}, 1);
        make_add(m, HLO_TUPLE, state, part, 2);
    } else {
        make_add(m, HLO_COMPARE, module_array(module, DTYPE_PRED, NULL, 0), operand, 2);
        module_attribute_text(module, ATTR_DIRECTION, NULL, "LT");
    }
    return module->computations - 1;
}

struct loop_parts {
    int32_t body, condition, state, counter, array;
};

static struct loop_parts make_loop(struct maker *m)
{
    struct loop_parts parts = {.counter = module_array(m->module, DTYPE_S32, NULL, 0),
                               .array = make_shape(m)};
    parts.state = module_tuple(m->module, (int32_t[]){parts.counter, parts.array}, 2);
    parts.body = make_loop_part(m, parts.state, parts.counter, parts.array, true, 1 + make_below(m, 3));
    parts.condition = make_loop_part(m, parts.state, parts.counter, parts.array, false, make_below(m, 20));
    return parts;
}

static void add_loop(struct maker *m, struct loop_parts parts)
{
    struct module *module = m->module;
    int32_t operand[] = {make_add(m, HLO_CONSTANT, parts.counter, NULL, 0), 0};
    module_attribute(module, ATTR_LITERAL, (int64_t[]){0}, 1);
    operand[1] = make_value(m, parts.array);
    int32_t state = make_add(m, HLO_TUPLE, parts.state, operand, 2);
    make_add(m, HLO_WHILE, parts.state, &state, 1);
    module_attribute(module, ATTR_CONDITION, (int64_t[]){parts.condition}, 1);
    module_attribute(module, ATTR_BODY, (int64_t[]){parts.body}, 1);
    if (make_below(m, 2))
        module_attribute_text(module, ATTR_BACKEND_CONFIG, NULL, "{\"known_trip_count\":{\"n\":\"7\"}}");
}

static void add_call(struct maker *m, const struct callee *to)
{
    struct module *module = m->module;
    int32_t operand[MAKER_VALUES];
    int kind = make_below(m, 4);
    for (int i = 0; i < to->parameters; i++)
        operand[i] = make_value(m, to->shape[i]);
    if (kind == 3 && to->parameters == 1) { /* two branches, with one parameter each */
        int32_t arguments[] = {make_value(m, module_array(module, DTYPE_S32, NULL, 0)), operand[0],
                               operand[0]};
        make_add(m, HLO_CONDITIONAL, to->result, arguments, 3);
        module_attribute(module, ATTR_BRANCHES, (int64_t[]){to->computation, to->computation}, 2);
        return;
    }
    int32_t pair[] = {module_tuple(module, to->shape, to->parameters), to->result};
    int32_t made = make_add(m,
                            kind == 2   ? HLO_ASYNC_START
                            : kind == 1 ? HLO_CALL
                                        : HLO_FUSION,
                            kind == 2 ? module_tuple(module, pair, 2) : to->result, operand, to->parameters);
    module_attribute(module, kind == 1 ? ATTR_TO_APPLY : ATTR_CALLS, (int64_t[]){to->computation}, 1);
    if (kind == 0)
        module_attribute_text(module, ATTR_KIND, NULL, "kLoop");
    make_decoration(m, made);
    if (kind == 2)
        make_add(m, HLO_ASYNC_DONE, to->result, &made, 1);
}

static void make_reducer(struct maker *m, enum dtype_id dtype)
{
    make_begin(m, "sum");
    int32_t shape = module_array(m->module, dtype, NULL, 0);
    int32_t operand[] = {make_parameter(m, shape), make_parameter(m, shape)};
    make_add(m, HLO_ADD, shape, operand, 2);
    m->sum[dtype] = m->module->computations - 1;
}

void random_module(struct module *module, struct suite_random *r)
{
    struct maker m = {.module = module, .r = r};
    struct callee callee[3];
    struct status st = {0};
    module_init(module, "random.1", 1 + make_below(&m, 4));
    module->replicas = 1 + make_below(&m, 4);
    module->scheduled = make_below(&m, 2);
    if (make_below(&m, 2))
        module->header = module_text(module, "entry_computation_layout={()->f32[]}, odd={a, \"b,\"}", -1);
    make_reducer(&m, DTYPE_F32);
    for (int i = 0; i < 3; i++)
        make_callee(&m, &callee[i]);
    struct loop_parts loop = make_loop(&m);
    make_begin(&m, "main");
    make_some(&m, 3 + make_below(&m, 12));
    for (int i = make_below(&m, 4); i-- > 0;)
        add_call(&m, &callee[i]);
    if (make_below(&m, 2))
        add_loop(&m, loop);
    make_some(&m, 1 + make_below(&m, 3));
    module->computation[module->computations - 1].root = m.value[make_below(&m, m.values)];
    OKAY(module_close(module, &st), st);
}
