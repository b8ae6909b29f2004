/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/memory_analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hlo/layout.h"
#include "hlo/live_range.h"

enum { SPACES = SPACE_CMEM + 1 };

struct count {
    const struct module *module;
    struct live_ranges live;
    struct sources sources;
    struct live_value **order; /* [values] those that take memory, sorted by buffer, then start */
    int32_t values;
    double *change[SPACES]; /* [times + 2] bytes allocated at each time, minus bytes freed */
    int32_t peak;           /* the time at which temporaries take most of HBM */
};

static int by_buffer(const void *a, const void *b)
{
    const struct live_value *left = *(struct live_value *const *)a, *right = *(struct live_value *const *)b;
    if (left->buffer != right->buffer)
        return left->buffer < right->buffer ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->end != right->end ? (left->end < right->end ? -1 : 1) : (left > right) - (left < right);
}

/* A buffer, and the values that share it. */
struct buffer {
    struct live_value **value;
    int32_t values;
    int space;
    bool argument, output;
    double bytes;
};

static struct buffer buffer_at(const struct count *c, int32_t first)
{
    struct buffer buffer = {.value = &c->order[first]};
    for (; first < c->values && c->order[first]->buffer == buffer.value[0]->buffer; first++) {
        const struct live_value *v = c->order[first];
        buffer.space = layout_space(c->module, v->shape);
        buffer.argument |= v->argument;
        buffer.output |= v->output;
        buffer.bytes = fmax(buffer.bytes, layout_bytes(c->module, v->shape));
        buffer.values++;
    }
    return buffer;
}

static void add(struct count *c, const struct buffer *buffer, int32_t start, int32_t end)
{
    c->change[buffer->space][start] += buffer->bytes;
    c->change[buffer->space][end + 1] -= buffer->bytes;
}

/* A buffer is occupied while one of its values is live. Outside HBM, XLA counts it twice while one value becomes the
 * next, except for the values of a loop or a conditional. */
static void add_ranges(struct count *c, const struct buffer *buffer)
{
    int32_t start = buffer->value[0]->start, end = buffer->value[0]->end;
    for (int32_t i = 1; i < buffer->values; i++) {
        const struct live_value *v = buffer->value[i];
        enum opcode maker = module_at(c->module, v->maker)->opcode;
        if (v->start > end) {
            add(c, buffer, start, end);
            start = v->start;
        } else if (buffer->space != SPACE_HBM && v->start > buffer->value[i - 1]->start &&
                   maker != HLO_WHILE && maker != HLO_CONDITIONAL)
            add(c, buffer, v->start, v->start);
        end = v->end > end ? v->end : end;
    }
    add(c, buffer, start, end);
}

static void add_all(struct count *c, struct memory_analysis *memory)
{
    struct buffer buffer;
    for (int32_t first = 0; first < c->values; first += buffer.values) {
        buffer = buffer_at(c, first);
        bool hbm = buffer.space == SPACE_HBM;
        if (buffer.argument)
            *(hbm ? &memory->arguments_bytes : &memory->host_bytes) += buffer.bytes;
        else if (buffer.output)
            *(hbm ? &memory->outputs_bytes : &memory->host_bytes) += buffer.bytes;
        else if (buffer.space >= 0 && buffer.space < SPACES)
            add_ranges(c, &buffer);
    }
}

static double most_of(const struct count *c, int space, int32_t *when)
{
    double now = 0, most = 0;
    for (int32_t t = 0; t < c->live.times; t++) {
        now += c->change[space][t];
        *when = now > most ? t : *when;
        most = fmax(most, now);
    }
    return most;
}

static bool is_there(const struct buffer *buffer, int32_t time)
{
    bool there = buffer->argument || buffer->output;
    for (int32_t i = 0; i < buffer->values && !there; i++)
        there = buffer->value[i]->start <= time && time <= buffer->value[i]->end;
    return there && buffer->space == SPACE_HBM;
}

static void print_shape(const struct module *module, int32_t shape, char text[static MEMORY_NAME])
{
    const struct shape *s = &module->shape[shape];
    snprintf(text, MEMORY_NAME, "%s[", dtype_info((enum dtype_id)s->dtype)->name);
    for (int32_t i = 0; i < s->count; i++)
        text_add(text, MEMORY_NAME, "%s%lld", i ? "," : "", (long long)module->number[s->first + i]);
    text_add(text, MEMORY_NAME, "]");
}

static void describe(const struct count *c, const struct buffer *buffer, struct memory_buffer *out)
{
    const struct module *module = c->module;
    int32_t maker = buffer->value[0]->maker;
    out->bytes = buffer->bytes;
    snprintf(out->name, sizeof out->name, "%s", module_name_at(module, maker));
    print_shape(module, buffer->value[0]->shape, out->shape);
    for (int32_t i = 0; i < buffer->values; i++)
        if (*source_line(&c->sources, buffer->value[i]->maker, out->source)) {
            maker = buffer->value[i]->maker;
            break;
        }
    source_op_name(module, maker, out->op_name);
}

static void find_largest(const struct count *c, struct memory_analysis *memory)
{
    struct buffer largest[MEMORY_LARGEST + 1], buffer;
    for (int32_t first = 0; first < c->values; first += buffer.values) {
        buffer = buffer_at(c, first);
        if (!is_there(&buffer, c->peak))
            continue;
        int at = memory->buffers;
        for (; at > 0 && largest[at - 1].bytes < buffer.bytes; at--)
            largest[at] = largest[at - 1];
        largest[at] = buffer;
        memory->buffers += memory->buffers < MEMORY_LARGEST;
    }
    for (int i = 0; i < memory->buffers; i++)
        describe(c, &largest[i], &memory->largest[i]);
}

static int open_count(struct count *c, struct status *st)
{
    int code = live_ranges_find(c->module, &c->live, st);
    if (code < 0 || (code = sources_init(&c->sources, c->module, st)) < 0)
        return code;
    c->order = malloc(((size_t)c->live.values + 1) * sizeof *c->order);
    bool room = c->order;
    for (int space = 0; space < SPACES; space++)
        room = (c->change[space] = calloc((size_t)c->live.times + 2, sizeof(double))) && room;
    for (int32_t v = 0; v < c->live.values && room; v++)
        if (c->live.value[v].shape >= 0)
            c->order[c->values++] = &c->live.value[v];
    if (room)
        qsort(c->order, (size_t)c->values, sizeof *c->order, by_buffer);
    return room ? 0 : status_nomem(st);
}

static bool is_tiled(const struct module *module)
{
    for (int32_t s = 0; s < module->shapes; s++)
        if (strstr(module_word(module, module->shape[s].layout), "T("))
            return true;
    return false;
}

int memory_analyse(const struct module *module, struct memory_analysis *memory, struct status *st)
{
    struct count c = {.module = module};
    int32_t unused = 0;
    *memory = (struct memory_analysis){.tiled = is_tiled(module)};
    int code = open_count(&c, st);
    if (code == 0) {
        add_all(&c, memory);
        memory->temporaries_bytes = most_of(&c, SPACE_HBM, &c.peak);
        memory->vmem_bytes = most_of(&c, SPACE_VMEM, &unused);
        memory->cmem_bytes = most_of(&c, SPACE_CMEM, &unused);
        double always = memory->arguments_bytes + memory->outputs_bytes;
        memory->peak_bytes = always + memory->temporaries_bytes;
        memory->xla_peak_bytes =
            fmax(memory->peak_bytes, always + fmax(memory->vmem_bytes, memory->cmem_bytes)) +
            memory->host_bytes;
        find_largest(&c, memory);
    }
    for (int space = 0; space < SPACES; space++)
        free(c.change[space]);
    free(c.order);
    sources_free(&c.sources);
    live_ranges_free(&c.live);
    return code;
}
