/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/live_range.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "hlo/layout.h"

enum { DEPTH_MOST = 1000 }; /* of nested calls */

/* Every instruction has a list of values, one for each array of its shape, in the order in which the shape is written. */
struct walk {
    const struct module *module;
    struct live_ranges *live;
    int32_t *leaf; /* the lists, one after the other: indices of values */
    int32_t leaves, leaf_room;
    int32_t *list;  /* [instructions] where its list begins in leaf */
    int32_t *width; /* [shapes] number of arrays in each */
    bool *entered;  /* [computations] */
    int32_t time;
    int depth;
    bool failed;
};

/* A computation as its caller runs it: parameter p is operand first + p of the caller, or the state of a while. */
struct frame {
    int32_t caller, first, start;
};

static int32_t find_buffer(const struct walk *w, int32_t value)
{
    struct live_value *of = w->live->value;
    while (of[value].buffer != value)
        value = of[value].buffer = of[of[value].buffer].buffer;
    return value;
}

/* Makes two values share a buffer if they are in the same memory space. */
static void share(const struct walk *w, int32_t a, int32_t b)
{
    int32_t left = w->live->value[a].shape, right = w->live->value[b].shape;
    if (left >= 0 && right >= 0 && layout_space(w->module, left) == layout_space(w->module, right))
        w->live->value[find_buffer(w, b)].buffer = find_buffer(w, a);
}

static void append(struct walk *w, int32_t value)
{
    w->failed = w->failed || !GROW(w->leaf, w->leaves, w->leaf_room);
    if (!w->failed)
        w->leaf[w->leaves++] = value;
}

/* Appends a new value for each array of a shape. */
static void make(struct walk *w, int32_t maker, int32_t shape, int32_t start)
{
    const struct shape *s = &w->module->shape[shape];
    struct live_ranges *live = w->live;
    for (int32_t i = 0; s->dtype == SHAPE_TUPLE && i < s->count; i++)
        make(w, maker, (int32_t)w->module->number[s->first + i], start);
    w->failed = w->failed || !GROW(live->value, live->values, live->room);
    if (s->dtype == SHAPE_TUPLE || w->failed)
        return;
    live->value[live->values] =
        (struct live_value){live->values, s->dtype >= 0 ? shape : -1, maker, start, start, false, false};
    append(w, live->values++);
}

static int32_t width_of(const struct walk *w, int32_t instruction)
{
    return w->width[module_at(w->module, instruction)->shape];
}

/* The number of arrays before element `part` of a tuple; 0 if the shape is not a tuple. */
static int32_t offset_of(const struct walk *w, int32_t shape, int64_t part)
{
    const struct shape *s = &w->module->shape[shape];
    int32_t before = 0;
    for (int64_t i = 0; s->dtype == SHAPE_TUPLE && i < part && i < s->count; i++)
        before += w->width[w->module->number[s->first + i]];
    return before;
}

/* The values of an instruction are live now. */
static void need(const struct walk *w, int32_t instruction)
{
    for (int32_t i = 0; i < width_of(w, instruction) && !w->failed; i++) {
        struct live_value *v = &w->live->value[w->leaf[w->list[instruction] + i]];
        v->end = w->time > v->end ? w->time : v->end;
    }
}

static void need_operands(const struct walk *w, int32_t instruction)
{
    for (int o = 0; o < module_at(w->module, instruction)->operands; o++)
        need(w, module_operand(w->module, instruction, o));
}

/* Appends `count` values of another instruction's list, if there are so many. True: the instruction has all its
 * values. */
static bool pass(struct walk *w, int32_t instruction, int32_t from, int32_t offset, int32_t count)
{
    for (int32_t i = 0; offset + count <= width_of(w, from) && i < count && !w->failed; i++)
        append(w, w->leaf[w->list[from] + offset + i]);
    return w->failed || w->leaves - w->list[instruction] == width_of(w, instruction);
}

static bool pass_tuple(struct walk *w, int32_t tuple)
{
    bool all = width_of(w, tuple) == 0;
    for (int o = 0; o < module_at(w->module, tuple)->operands; o++) {
        int32_t operand = module_operand(w->module, tuple, o);
        all = pass(w, tuple, operand, 0, width_of(w, operand));
    }
    return all;
}

/* Forwards the first operand's values from element `part` of its shape on. */
static bool pass_part(struct walk *w, int32_t instruction, int64_t part)
{
    int32_t operand = module_operand(w->module, instruction, 0);
    return pass(w, instruction, operand, offset_of(w, module_at(w->module, operand)->shape, part),
                width_of(w, instruction));
}

static bool pass_parameter(struct walk *w, int32_t parameter, const struct frame *frame)
{
    int64_t operand = frame->first + module_number(w->module, parameter, ATTR_PARAMETER_NUMBER, 0);
    if (frame->caller < 0 || operand >= module_at(w->module, frame->caller)->operands)
        return false;
    bool loop = module_at(w->module, frame->caller)->opcode == HLO_WHILE;
    int32_t given = loop ? frame->caller : module_operand(w->module, frame->caller, (int)operand);
    return pass(w, parameter, given, 0, width_of(w, parameter));
}

/* Forwards values if the instruction defines none of its own, and says whether it did. An update whose shape is not
 * that of its operand (of a SparseCore) contains the operands again and is treated like a start. */
static bool pass_on(struct walk *w, int32_t instruction, const struct frame *frame)
{
    const struct instruction *i = module_at(w->module, instruction);
    if (i->opcode == HLO_PARAMETER)
        return pass_parameter(w, instruction, frame);
    if (i->opcode == HLO_TUPLE)
        return pass_tuple(w, instruction);
    if (i->operands == 0)
        return false;
    if (i->opcode == HLO_GET_TUPLE_ELEMENT)
        return pass_part(w, instruction, module_number(w->module, instruction, ATTR_INDEX, 0));
    bool whole = width_of(w, instruction) == width_of(w, module_operand(w->module, instruction, 0));
    bool done = opcode_info(i->opcode)->class == CLASS_DONE;
    if (!done && !(whole && (i->opcode == HLO_BITCAST || i->opcode == HLO_OPTIMIZATION_BARRIER ||
                             i->opcode == HLO_ASYNC_UPDATE)))
        return false;
    need_operands(w, instruction);
    return pass_part(w, instruction, done && !whole && i->opcode != HLO_COPY_DONE);
}

/* The shape of a start is ((operands), (results), flags): operands are forwarded, and arrays after the results take no
 * memory. A copy-start has its result first. */
static void tie_start(struct walk *w, int32_t start)
{
    const struct instruction *i = module_at(w->module, start);
    bool copy = i->opcode == HLO_COPY_START;
    int32_t *leaf = w->leaf + w->list[start], end = offset_of(w, i->shape, 1 + copy);
    int32_t to = offset_of(w, i->shape, copy), own = offset_of(w, i->shape, 2);
    if (i->opcode == HLO_ALL_REDUCE_START || module_shape_of(w->module, start)->dtype != SHAPE_TUPLE)
        return;
    for (int32_t n = own; n < width_of(w, start); n++)
        w->live->value[leaf[n]].shape = -1;
    for (int o = i->opcode == HLO_ASYNC_UPDATE; o < i->operands; o++) {
        int32_t operand = module_operand(w->module, start, o);
        for (int32_t n = 0; n < width_of(w, operand) && to < end; n++, to++) {
            w->live->value[leaf[to]].shape = -1;
            leaf[to] = w->leaf[w->list[operand] + n];
        }
    }
}

/* The value with number `place` among the arrays of all operands and then of the result; -1: there is none. */
static int32_t value_at(const struct walk *w, int32_t instruction, int64_t place, bool *result)
{
    int operands = module_at(w->module, instruction)->operands;
    for (int o = 0; o <= operands; o++) {
        int32_t at = o < operands ? module_operand(w->module, instruction, o) : instruction;
        *result = o == operands;
        if (place < width_of(w, at))
            return w->leaf[w->list[at] + place];
        place -= width_of(w, at);
    }
    return -1;
}

/* "aliasing_operands":{"lists":[{"indices":["0","3"]}]} */
static void share_listed(const struct walk *w, int32_t instruction)
{
    static const char indices[] = "\"indices\":[";
    const char *list =
        strstr(module_value(w->module, instruction, ATTR_BACKEND_CONFIG), "\"aliasing_operands\":");
    while (list && (list = strstr(list + 1, indices))) {
        int32_t first = -1;
        for (const char *at = list + strlen(indices); *at == '"'; at += strcspn(at, ",]"), at += *at == ',') {
            bool result = false;
            int32_t value = value_at(w, instruction, atoll(at + 1), &result);
            if (result && first >= 0 && value >= 0)
                share(w, first, value);
            first = first < 0 && !result ? value : first;
        }
    }
}

/* The place in the instruction's list that a shape index such as "{1,0}" names; -1: there is none. */
static int32_t place_of(const struct walk *w, int32_t instruction, const char *path)
{
    int32_t shape = module_at(w->module, instruction)->shape, place = 0;
    for (path++; *path >= '0' && *path <= '9';
         path += strspn(path, "0123456789"), path += strspn(path, ", ")) {
        const struct shape *s = &w->module->shape[shape];
        place += offset_of(w, shape, atoll(path));
        if (s->dtype == SHAPE_TUPLE && atoll(path) < s->count)
            shape = (int32_t)w->module->number[s->first + atoll(path)];
    }
    return place < width_of(w, instruction) ? place : -1;
}

/* Operand `number` of an instruction, or parameter `number` of its computation; -1: there is none. */
static int32_t given_at(const struct module *module, int32_t instruction, bool parameter, int64_t number)
{
    const struct instruction *i = module_at(module, instruction);
    if (parameter)
        return module_parameter(module, i->computation, number);
    return number < i->operands ? module_operand(module, instruction, (int)number) : -1;
}

/* "{{0}: (1, {}), {1}: (2, {0}, may-alias)}": the index of a result, the number of an operand (or parameter), and the
 * index in that. */
static void share_said(const struct walk *w, int32_t instruction, bool parameters, const char *text)
{
    for (const char *at = text; *at++ && (at = strchr(at, '{'));) {
        const char *open = strchr(at, '('), *path = open ? strchr(open, '{') : NULL;
        if (!path)
            return;
        int32_t given = given_at(w->module, instruction, parameters, atoll(open + 1));
        int32_t to = place_of(w, instruction, at), from = given >= 0 ? place_of(w, given, path) : -1;
        if (to >= 0 && from >= 0)
            share(w, w->leaf[w->list[given] + from], w->leaf[w->list[instruction] + to]);
        at = strchrnul(path, ')');
        at += *at && at[1] == ',' ? 0 : strlen(at);
    }
}

/* Pieces whose last use is the join end just before it: from then on they are part of the result. */
static void join_pieces(const struct walk *w, int32_t joined)
{
    for (int o = 0; o < module_at(w->module, joined)->operands; o++) {
        int32_t piece = module_operand(w->module, joined, o);
        struct live_value *v = width_of(w, piece) ? &w->live->value[w->leaf[w->list[piece]]] : NULL;
        if (v && v->end == w->time && v->start < w->time)
            v->end--;
    }
}

static void make_result(struct walk *w, int32_t instruction)
{
    const struct instruction *i = module_at(w->module, instruction);
    enum opcode_class class = opcode_info(i->opcode)->class;
    make(w, instruction, i->shape, w->time);
    if (w->failed)
        return;
    need_operands(w, instruction);
    if (class == CLASS_START || class == CLASS_UPDATE)
        tie_start(w, instruction);
    if (strstr(module_value(w->module, instruction, ATTR_CUSTOM_CALL_TARGET), "ConcatBitcast"))
        join_pieces(w, instruction);
    share_listed(w, instruction);
    for (int32_t a = i->first_attribute; a < i->first_attribute + i->attributes; a++) {
        const struct attribute *attribute = &w->module->attribute[a];
        if (attribute->key == ATTR_OTHER &&
            strcmp(module_word(w->module, attribute->name), "output_to_operand_aliasing") == 0)
            share_said(w, instruction, false, module_word(w->module, attribute->text));
    }
}

static void enter(struct walk *w, int32_t computation, int32_t caller, int32_t first);

/* Value i of one instruction shares a buffer with value i of the other. */
static void share_lists(const struct walk *w, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < width_of(w, a) && width_of(w, a) == width_of(w, b) && !w->failed; i++)
        share(w, w->leaf[w->list[a] + i], w->leaf[w->list[b] + i]);
}

/* Until the loop ends, its list has the values inside a trip; then the final ones. */
static void walk_loop(struct walk *w, int32_t loop)
{
    const struct module *module = w->module;
    int32_t body = (int32_t)module_number(module, loop, ATTR_BODY, 0), trip = w->leaves;
    make(w, loop, module_at(module, loop)->shape, w->time);
    share_lists(w, module_operand(module, loop, 0), loop);
    enter(w, (int32_t)module_number(module, loop, ATTR_CONDITION, 0), loop, 0);
    need(w, module_operand(module, loop, 0));
    enter(w, body, loop, 0);
    share_lists(w, module->computation[body].root, loop);
    w->list[loop] = w->leaves;
    make(w, loop, module_at(module, loop)->shape, w->time);
    for (int32_t i = 0; i < width_of(w, loop) && !w->failed; i++)
        share(w, w->leaf[trip + i], w->leaf[w->list[loop] + i]);
}

static void walk_called(struct walk *w, int32_t call)
{
    bool branches = module_at(w->module, call)->opcode == HLO_CONDITIONAL;
    int32_t called;
    for (int b = 0; (called = module_called(w->module, call, b)) >= 0; b++)
        enter(w, called, call, branches ? b + 1 : 0);
    need_operands(w, call);
    w->list[call] = w->leaves;
    make(w, call, module_at(w->module, call)->shape, w->time);
    for (int b = 0; (called = module_called(w->module, call, b)) >= 0; b++)
        share_lists(w, w->module->computation[called].root, call);
}

static void walk_instruction(struct walk *w, int32_t instruction, const struct frame *frame)
{
    const struct instruction *i = module_at(w->module, instruction);
    w->list[instruction] = w->leaves;
    if (i->opcode == HLO_WHILE && i->operands == 1)
        walk_loop(w, instruction);
    else if (i->opcode == HLO_CONDITIONAL || i->opcode == HLO_CALL)
        walk_called(w, instruction);
    else if (!pass_on(w, instruction, frame)) {
        if (i->opcode == HLO_PARAMETER)
            make(w, instruction, i->shape, frame->start);
        else
            make_result(w, instruction);
    }
    for (int32_t n = w->list[instruction]; n < w->leaves && frame->caller < 0 && !w->failed; n++)
        w->live->value[w->leaf[n]].argument |= i->opcode == HLO_PARAMETER;
    need(w, instruction);
    w->time++;
}

static void enter(struct walk *w, int32_t computation, int32_t caller, int32_t first)
{
    const struct computation *c = &w->module->computation[computation];
    const struct frame frame = {caller, first, w->time};
    bool again = w->entered[computation];
    w->entered[computation] = true;
    w->failed = w->failed || ++w->depth > DEPTH_MOST;
    for (int32_t i = c->first; i < c->first + c->count && !w->failed && !again; i++)
        walk_instruction(w, i, &frame);
    if (!again)
        need(w, c->root);
    w->depth -= !w->failed; /* stays after a failure, to tell whether calls were too deep */
}

static void end_program(struct walk *w)
{
    const struct module *module = w->module;
    int32_t root = module->computation[module->entry].root;
    const char *donated = strstr(module_word(module, module->header), "input_output_alias=");
    for (int32_t i = 0; i < width_of(w, root); i++)
        w->live->value[w->leaf[w->list[root] + i]].output = true;
    if (donated)
        share_said(w, root, true, strchrnul(donated, '{'));
    for (int32_t v = 0; v < w->live->values; v++)
        w->live->value[v].buffer = find_buffer(w, v);
    w->live->times = w->time + 1;
}

/* The element shapes of a tuple come before it, so one pass is enough. */
static void count_widths(const struct module *module, int32_t width[])
{
    for (int32_t i = 0; i < module->shapes; i++) {
        const struct shape *s = &module->shape[i];
        width[i] = s->dtype != SHAPE_TUPLE;
        for (int32_t p = 0; s->dtype == SHAPE_TUPLE && p < s->count; p++)
            width[i] += width[module->number[s->first + p]];
    }
}

int live_ranges_find(const struct module *module, struct live_ranges *live, struct status *st)
{
    struct walk w = {.module = module, .live = live};
    *live = (struct live_ranges){0};
    w.list = calloc((size_t)module->instructions + 1, sizeof *w.list);
    w.width = calloc((size_t)module->shapes + 1, sizeof *w.width);
    w.entered = calloc((size_t)module->computations + 1, sizeof *w.entered);
    w.failed = !w.list || !w.width || !w.entered;
    if (!w.failed) {
        count_widths(module, w.width);
        enter(&w, module->entry, -1, 0);
    }
    if (!w.failed)
        end_program(&w);
    free(w.entered);
    free(w.width);
    free(w.list);
    free(w.leaf);
    if (w.failed)
        live_ranges_free(live);
    if (w.depth > DEPTH_MOST)
        return status_fail(st, STATUS_LIMIT, "calls within calls, more than %d deep", DEPTH_MOST);
    return w.failed ? status_nomem(st) : 0;
}

void live_ranges_free(struct live_ranges *live)
{
    free(live->value);
    *live = (struct live_ranges){0};
}

enum { RANK_MOST = 64, BUFFER_BYTES = 512 };

/* The number after a mark that follows the colon of a layout: 1 for "S(" in {0:S(1)}. */
static int marked(const char *layout, const char *mark, int fallback)
{
    const char *colon = strchr(layout, ':'), *at = colon ? strstr(colon, mark) : NULL;
    return at ? atoi(at + strlen(mark)) : fallback;
}

int layout_space(const struct module *module, int32_t shape)
{
    return marked(module_word(module, module->shape[shape].layout), "S(", SPACE_HBM);
}

/* Reads a list of numbers, "1,0:" or "8,128)", and returns how many there are. A star, a tile's dim without padding,
 * counts as 1. */
static int read_list(const char *at, int64_t number[RANK_MOST])
{
    int count = 0;
    while (count < RANK_MOST && ((*at >= '0' && *at <= '9') || *at == '*')) {
        char *end = (char *)at + 1;
        number[count++] = *at == '*' ? 1 : strtoll(at, &end, 10);
        at = end + (*end == ',');
    }
    return count;
}

/* The sizes of the dims, minor-most first. Returns the rank. */
static int sizes_in_order(const struct module *module, const struct shape *s, int64_t size[RANK_MOST])
{
    int64_t order[RANK_MOST];
    const char *layout = module_word(module, s->layout);
    int rank = s->count < RANK_MOST ? s->count : RANK_MOST;
    bool ordered = *layout && read_list(layout + 1, order) == rank;
    for (int i = 0; i < rank; i++) {
        int64_t dim = ordered && order[i] < rank ? order[i] : rank - 1 - i;
        size[i] = module->number[s->first + dim];
    }
    return rank;
}

double layout_bytes(const struct module *module, int32_t shape)
{
    const struct shape *s = &module->shape[shape];
    int64_t size[RANK_MOST], tile[RANK_MOST];
    if (s->dtype < 0)
        return 0;
    const char *layout = module_word(module, s->layout), *tiles = strstr(layout, "T(");
    int rank = sizes_in_order(module, s, size), tile_rank = tiles ? read_list(tiles + 2, tile) : 0;
    double bits = 8 * dtype_info((enum dtype_id)s->dtype)->bytes, elements = 1;
    for (int i = 0; i < rank || i < tile_rank; i++) {
        double dim = i < rank ? (double)size[i] : 1;
        double step = i < tile_rank && tile[tile_rank - 1 - i] > 0 ? (double)tile[tile_rank - 1 - i] : 1;
        elements *= ceil(dim / step) * step;
    }
    bits = marked(layout, "E(", (int)bits);
    return ceil(elements * bits / 8 / BUFFER_BYTES) * BUFFER_BYTES;
}
