/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The machine behind measured times: t_i = E_i(overhead, hop latency, link bandwidth), with E_i the exact form of the
 * i-th collective. All forms are sums of so many overheads, latencies and bytes / bandwidth, or the largest or least of
 * a few such sums. So E_i is linear in overhead, latency and 1/bandwidth as long as the same sum counts, and Gauss and
 * Newton's method, a linear fit of the derivatives where the last one ended, is there after a step or two.
 *
 * For rings E_i is overhead + steps_i a + bytes_i / w, so hop latency and overhead are one number unless the steps
 * differ.
 */
#include <math.h>
#include <stdlib.h>

#include "study/fit.h"

const char *const fit_machine_names[MACHINE_PARAMETERS + 1] = {"overhead", "hop", "link", NULL};

static const char one_ring_size[] = "every row has the same number of steps, so hop latency and overhead "
                                    "cannot be told apart: hop latency is held, "
                                    "the overhead takes the rest; measure rings of two sizes to have both";
static const char overhead_below_zero[] = "every row has the same number of steps, so hop latency and "
                                          "overhead cannot be told apart, and the hops at the latency given "
                                          "take longer than what was measured: overhead is held at 0, hop "
                                          "latency is fitted; measure rings of two sizes to have both, or "
                                          "hold the overhead of a chip like it (--hold overhead=4us)";
static const char overhead_negative[] = "the overhead came out below 0 and is held at 0";
static const char hop_negative[] = "the hop latency came out below 0 and is held at 0";

/* The time of a case on a machine of overhead, hop latency and seconds per byte of a link. */
static double time_of(const struct formula_case *c, const double machine[static MACHINE_PARAMETERS])
{
    struct formula_case at = *c;
    at.setup_s = machine[MACHINE_OVERHEAD];
    at.hop_latency_s = machine[MACHINE_HOP];
    at.link_Bps = 1 / machine[MACHINE_LINK];
    return formula_exact_s(&at);
}

void fit_machine_init(struct fit_machine *machine, const struct formula_case *c)
{
    *machine = (struct fit_machine){.fit.parameters = MACHINE_PARAMETERS};
    machine->fit.parameter[MACHINE_OVERHEAD].value = c->setup_s;
    machine->fit.parameter[MACHINE_HOP].value = c->hop_latency_s;
    machine->fit.parameter[MACHINE_LINK].value = c->link_Bps;
}

double fit_machine_time_s(const struct fit_machine *machine, const struct formula_case *c)
{
    const struct fit_parameter *p = machine->fit.parameter;
    return time_of(c, (double[]){p[MACHINE_OVERHEAD].value, p[MACHINE_HOP].value, 1 / p[MACHINE_LINK].value});
}

/* The hops of a case in sequence: the slope of its time by hop latency alone. */
static double hops_of(const struct formula_case *c)
{
    struct formula_case one = *c;
    one.elements = 1;
    return time_of(&one, (double[]){0, 1, 0});
}

static bool same_hops(const struct formula_case cases[], int points)
{
    for (int i = 1; i < points; i++)
        if (fabs(hops_of(&cases[i]) - hops_of(&cases[0])) > 1e-9)
            return false;
    return true;
}

/* The state of a fit. Fitted parameters are scaled so that all are about 1. */
struct problem {
    const struct formula_case *cases;
    const double *time_s;
    int points;
    double unit[MACHINE_PARAMETERS], at[MACHINE_PARAMETERS]; /* the current point of the fit, scaled */
    int free[MACHINE_PARAMETERS], frees;                     /* index of the j-th free parameter */
    double *x, *y, *weight, *residual;
};

/* What the linear form says of a point near `at`: time = E(at) + sum over j of x[j] (parameter[j] - at[j]). */
static void linearise(struct problem *p, int point)
{
    double machine[MACHINE_PARAMETERS], *x = p->x + point * p->frees;
    for (int k = 0; k < MACHINE_PARAMETERS; k++)
        machine[k] = p->at[k] * p->unit[k];
    double here_s = time_of(&p->cases[point], machine);
    p->y[point] = p->time_s[point] - here_s;
    for (int j = 0; j < p->frees; j++) {
        int k = p->free[j];
        double kept = machine[k], step = 1.0 / 64;
        machine[k] = kept + step * p->unit[k];
        x[j] = (time_of(&p->cases[point], machine) - here_s) / step;
        machine[k] = kept;
        p->y[point] += x[j] * p->at[k];
    }
}

/* Steps of Gauss and Newton, until one changes nothing. */
static int solve(struct problem *p, struct fit *fit, struct status *st)
{
    enum { STEPS = 20, ROUNDS = 3 };
    struct fit_data data = {p->points, p->frees, false, p->x, p->y, p->weight, p->residual};
    bool changed = true;
    for (int step = 0; step < STEPS && changed; step++) {
        for (int i = 0; i < p->points; i++)
            linearise(p, i);
        int code = fit_relative(&data, p->time_s, ROUNDS, fit, st);
        if (code)
            return code;
        changed = false;
        for (int j = 0; j < p->frees; j++) {
            double *at = &p->at[p->free[j]], value = fit->parameter[j].value;
            changed |= fabs(value - *at) > 1e-12 * fabs(value);
            *at = value;
        }
    }
    return 0;
}

/* Fits the parameters that are not held. For a link, seconds per byte are fitted; the bandwidth is the
 * inverse, and its error to first order error / value^2. */
static int fit_free(struct problem *p, struct fit_machine *machine, struct status *st)
{
    struct fit fit;
    struct fit_parameter *parameter = machine->fit.parameter;
    p->frees = 0;
    for (int k = 0; k < MACHINE_PARAMETERS; k++) {
        double value = parameter[k].value;
        p->at[k] = (k == MACHINE_LINK ? 1 / value : value) / p->unit[k];
        if (!machine->held[k])
            p->free[p->frees++] = k;
        parameter[k] = (struct fit_parameter){value, 0, value, value};
    }
    if (p->frees == 0)
        return status_fail(st, STATUS_INPUT,
                           "overhead, hop and link are all held, so nothing is left to fit");
    int code = solve(p, &fit, st);
    if (code)
        return code;
    for (int j = 0; j < p->frees; j++) {
        int k = p->free[j];
        double half = fit.parameter[j].high - fit.parameter[j].value;
        double value = fit.parameter[j].value * p->unit[k], scale = p->unit[k];
        if (k == MACHINE_LINK) {
            value = 1 / value;
            scale *= value * value;
        }
        parameter[k] = (struct fit_parameter){value, fit.parameter[j].error * scale, value - half * scale,
                                              value + half * scale};
    }
    machine->fit.points = p->points;
    machine->fit.spread = fit.spread;
    machine->fit.r2 = fit.r2;
    return 0;
}

/* After a fit: holds parameters with impossible values. Returns true if the fit must be repeated. */
static bool hold_impossible(struct fit_machine *machine, double hop_start_s)
{
    struct fit_parameter *overhead = &machine->fit.parameter[MACHINE_OVERHEAD];
    struct fit_parameter *hop = &machine->fit.parameter[MACHINE_HOP];
    if (!machine->held[MACHINE_OVERHEAD] && overhead->value < 0) {
        overhead->value = 0;
        machine->held[MACHINE_OVERHEAD] = true;
        if (machine->note == one_ring_size) {
            hop->value = hop_start_s;
            machine->held[MACHINE_HOP] = false;
            machine->note = overhead_below_zero;
        } else {
            machine->note = overhead_negative;
        }
        return true;
    }
    if (!machine->held[MACHINE_HOP] && hop->value < 0) {
        hop->value = 0;
        machine->held[MACHINE_HOP] = true;
        machine->note = hop_negative;
        return true;
    }
    return false;
}

static int check(const struct formula_case cases[], const double time_s[], int points, struct status *st)
{
    for (int i = 0; i < points; i++)
        if (!(formula_exact_s(&cases[i]) > 0) || !(time_s[i] > 0))
            return status_fail(st, STATUS_INPUT, "point %d: %s", i + 1,
                               time_s[i] > 0 ? "this collective has no closed form to fit"
                                             : "times must be above 0");
    return 0;
}

int fit_machine(const struct formula_case cases[], const double time_s[], int points,
                struct fit_machine *machine, struct status *st)
{
    struct fit_parameter *parameter = machine->fit.parameter;
    size_t n = (size_t)points + 1;
    int code = check(cases, time_s, points, st);
    if (code)
        return code;
    double *x = malloc(n * (MACHINE_PARAMETERS + 3) * sizeof *x), *vectors = x + n * MACHINE_PARAMETERS;
    if (!x)
        return status_nomem(st);
    double hop_start_s = parameter[MACHINE_HOP].value, second = hop_start_s > 0 ? hop_start_s : 1e-6;
    struct problem problem = {.cases = cases,
                              .time_s = time_s,
                              .points = points,
                              .unit = {second, second, 1 / parameter[MACHINE_LINK].value},
                              .x = x,
                              .y = vectors,
                              .weight = vectors + n,
                              .residual = vectors + 2 * n};
    machine->note = NULL;
    if (!machine->held[MACHINE_OVERHEAD] && !machine->held[MACHINE_HOP] && same_hops(cases, points)) {
        machine->held[MACHINE_HOP] = true;
        machine->note = one_ring_size;
    }
    do {
        code = fit_free(&problem, machine, st);
    } while (code == 0 && hold_impossible(machine, hop_start_s));
    if (code == 0 && !(parameter[MACHINE_LINK].value > 0))
        code = status_fail(st, STATUS_INPUT,
                           "times fall with size, which no link does; check the columns and units");
    free(x);
    return code;
}
