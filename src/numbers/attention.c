/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The attention kernel that a transformer calls, and its backward kernel (model/transformer_attention.c), by
 * definition:
 *
 *   p[s, t] = exp(q[s] . k[t] / sqrt(w)) / sum over t of the same, of one sequence and head; causal: t <= s only,
 *                                                        and s - t below the window, if there is one
 *   y[s]    = sum over t of p[s, t] v[t]
 *
 * and, of dy and dp[s, t] = dy[s] . v[t],
 *
 *   ds[s, t] = p[s, t] (dp[s, t] - sum over t of p[s, t] dp[s, t])
 *   dv[t] = sum over s of p[s, t] dy[s]    dq[s] = sum over t of ds[s, t] k[t] / sqrt(w)    dk[t] = ... of ds[s, t] q[s] / sqrt(w)
 *
 * With sinks the sum over t has exp(sink) of the head, too, as if there were a token with v = 0; a fourth result is
 *
 *   dsink = - sum over s of p[s, sink] (sum over t of p[s, t] dp[s, t])
 *
 * A real kernel computes the same numbers and only keeps less in memory. Rows are tokens; a row holds its
 * heads one after another, each of width w (v and y have a width of their own). Several consecutive heads of
 * q share a head of k and v.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/cost.h"
#include "numbers/frame.h"

struct attention {
    const double *q, *k, *v, *dy, *sink; /* dy: backward only; sink: [heads], NULL: none */
    int64_t batch, sequence, heads, kv, width, of_values, window;
    bool causal;
    double *p, *ds; /* [sequence]: a row */
};

bool attention_knows(const struct module *module, int32_t instruction)
{
    return module_at(module, instruction)->opcode == HLO_CUSTOM_CALL &&
           strstr(module_value(module, instruction, ATTR_CUSTOM_CALL_TARGET), "flash_attention") != NULL &&
           module_config_number(module, instruction, "sequence") > 0 &&
           module_config_number(module, instruction, "head_dim") > 0;
}

/* The start of a token's head in an array with `heads` heads per row: of q and k, and of v and y. */
static int64_t at(const struct attention *a, int64_t batch, int64_t token, int64_t head, int64_t heads)
{
    return ((batch * a->sequence + token) * heads + head) * a->width;
}

static int64_t value_at(const struct attention *a, int64_t batch, int64_t token, int64_t head, int64_t heads)
{
    return ((batch * a->sequence + token) * heads + head) * a->of_values;
}

/* The first token that a token attends to. */
static int64_t first_of(const struct attention *a, int64_t token)
{
    return a->window > 0 && token >= a->window ? token + 1 - a->window : 0;
}

static double dot(const double left[], const double right[], int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += left[i] * right[i];
    return sum;
}

static void add(double factor, const double from[], double to[], int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

/* Computes p of a token for all tokens that it attends to; returns the end of their range. */
static int64_t weigh(const struct attention *a, int64_t batch, int64_t token, int64_t head)
{
    int64_t n = a->causal ? token + 1 : a->sequence, of_k = head / (a->heads / a->kv);
    double most = a->sink ? a->sink[head] : -INFINITY, sum = 0;
    for (int64_t t = first_of(a, token); t < n; t++) {
        a->p[t] =
            dot(a->q + at(a, batch, token, head, a->heads), a->k + at(a, batch, t, of_k, a->kv), a->width) /
            sqrt((double)a->width);
        most = fmax(most, a->p[t]);
    }
    for (int64_t t = first_of(a, token); t < n; t++)
        sum += a->p[t] = exp(a->p[t] - most);
    sum += a->sink ? exp(a->sink[head] - most) : 0;
    for (int64_t t = first_of(a, token); t < n; t++)
        a->p[t] /= sum;
    return n;
}

static void go_forward(const struct attention *a, int64_t batch, int64_t token, int64_t head,
                       struct array out[])
{
    int64_t n = weigh(a, batch, token, head), of_k = head / (a->heads / a->kv);
    double *y = out[0].data + value_at(a, batch, token, head, a->heads);
    for (int64_t t = first_of(a, token); t < n; t++)
        add(a->p[t], a->v + value_at(a, batch, t, of_k, a->kv), y, a->of_values);
}

static void go_back(const struct attention *a, int64_t batch, int64_t token, int64_t head, struct array out[])
{
    int64_t n = weigh(a, batch, token, head), of_k = head / (a->heads / a->kv);
    int64_t of_q = at(a, batch, token, head, a->heads), of_y = value_at(a, batch, token, head, a->heads);
    double mean = 0, others = 0, scale = 1 / sqrt((double)a->width);
    for (int64_t t = first_of(a, token); t < n; t++) {
        a->ds[t] = dot(a->dy + of_y, a->v + value_at(a, batch, t, of_k, a->kv), a->of_values);
        mean += a->p[t] * a->ds[t];
        others += a->p[t];
    }
    if (a->sink)
        out[3].data[head] -= (1 - others) * mean;
    for (int64_t t = first_of(a, token); t < n; t++) {
        int64_t other = at(a, batch, t, of_k, a->kv);
        double due = a->p[t] * (a->ds[t] - mean) * scale;
        add(due, a->k + other, out[0].data + of_q, a->width);
        add(due, a->q + of_q, out[1].data + other, a->width);
        add(a->p[t], a->dy + of_y, out[2].data + value_at(a, batch, t, of_k, a->kv), a->of_values);
    }
}

/* Operands are q, k, v, with sinks those, and for the backward kernel dy. */
enum { OPERANDS = 5, RESULTS = 4 };

static bool is_backward(const struct module *module, int32_t instruction)
{
    return strstr(module_value(module, instruction, ATTR_CUSTOM_CALL_TARGET), "_backward") != NULL;
}

static int check(const struct frame *frame, int32_t instruction, const struct attention *a, int operands,
                 const struct array *const of[])
{
    bool back = is_backward(frame->module, instruction);
    int first = operands - back; /* operands of the forward kernel */
    bool fits = (first == 3 || first == 4) && of[0]->dims == 2 && of[1]->dims == 2 && a->kv > 0 &&
                of[0]->shape[0] % a->sequence == 0 && of[0]->shape[1] % a->width == 0 &&
                of[1]->shape[1] % a->width == 0 && a->heads % a->kv == 0 &&
                of[1]->shape[0] == of[0]->shape[0] && of[2]->dims == 2 && a->of_values > 0 &&
                array_elements(of[2]) == of[0]->shape[0] * a->kv * a->of_values &&
                (first == 3 || array_elements(of[3]) == a->heads) &&
                (!back || array_elements(of[first]) == of[0]->shape[0] * a->heads * a->of_values);
    return fits ? 0
                : interpret_fail(
                      frame->module, instruction, frame->st,
                      "attention needs q[tokens, heads * w], k[tokens, kv * w], v[tokens, kv * w'], whole "
                      "sequences of tokens, perhaps sinks[heads], and going back what is due to its result");
}

/* Runs the kernel on one device: zeroed results, y or as many as operands but dy, in their shapes, and rows for intermediate
 * values. */
static int run_on(const struct frame *frame, int32_t instruction, int device, struct value *const part[])
{
    const struct module *module = frame->module;
    int operands = module_at(module, instruction)->operands, code = 0;
    const struct array *of[OPERANDS] = {NULL};
    struct array out[RESULTS] = {{0}};
    for (int o = 0; o < operands && o < OPERANDS; o++)
        of[o] = &frame_operand(frame, instruction, o)->array[device];
    double window = module_config_number(module, instruction, "window");
    struct attention a = {
        .window = window > 0 ? (int64_t)window : 0,
        .sequence = (int64_t)module_config_number(module, instruction, "sequence"),
        .width = (int64_t)module_config_number(module, instruction, "head_dim"),
        .causal = strstr(module_value(module, instruction, ATTR_CUSTOM_CALL_TARGET), "causal") != NULL};
    if (operands >= 3 && of[0]->dims == 2 && of[1]->dims == 2) {
        a.batch = of[0]->shape[0] / a.sequence;
        a.heads = of[0]->shape[1] / a.width;
        a.kv = of[1]->shape[1] / a.width;
        a.of_values = a.kv > 0 && of[2]->dims == 2 ? of[2]->shape[1] / a.kv : 0;
    }
    if ((code = check(frame, instruction, &a, operands, of)) < 0)
        return code;
    a.q = of[0]->data;
    a.k = of[1]->data;
    a.v = of[2]->data;
    int first = operands - is_backward(module, instruction);
    a.sink = first == 4 ? of[3]->data : NULL;
    a.dy = first < operands ? of[first]->data : NULL;
    const int64_t of_y[] = {of[0]->shape[0], a.heads * a.of_values};
    for (int o = 0; o < (a.dy ? first : 1) && code == 0; o++)
        code = array_init(&out[o], of[o]->dims, a.dy ? of[o]->shape : of_y, of[o]->dtype, frame->st);
    a.p = malloc((size_t)a.sequence * sizeof *a.p);
    a.ds = malloc((size_t)a.sequence * sizeof *a.ds);
    if (code == 0 && (!a.p || !a.ds))
        code = status_nomem(frame->st);
    for (int64_t at = 0; code == 0 && at < a.batch * a.heads * a.sequence; at++)
        (a.dy ? go_back : go_forward)(&a, at / (a.heads * a.sequence), at % a.sequence,
                                      at / a.sequence % a.heads, out);
    for (int o = 0; o < RESULTS; o++)
        part[o]->array[device] = out[o];
    free(a.p);
    free(a.ds);
    return code;
}

/* The result is y, or a tuple of the gradients of q, k, v, and sinks. */
int attention_run(struct frame *frame, int32_t instruction)
{
    bool back = is_backward(frame->module, instruction);
    struct value *part[RESULTS] = {NULL}, **slot = frame_slot(frame, instruction);
    int code = 0, results = module_at(frame->module, instruction)->operands == OPERANDS ? 4 : 3;
    for (int o = 0; o < RESULTS && code == 0; o++)
        code = (part[o] = value_new(frame->devices, frame->st)) ? 0 : frame->st->code;
    for (int d = 0; d < frame->devices && code == 0; d++)
        if (frame->active[d])
            code = run_on(frame, instruction, d, part);
    if (code == 0 && !(*slot = back ? value_tuple(part, results, frame->st) : value_keep(part[0])))
        code = frame->st->code;
    for (int o = 0; o < RESULTS; o++)
        value_drop(part[o]);
    return code;
}
