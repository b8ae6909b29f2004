/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The machine behind measured times: t_i = E_i(overhead, hop latency, link bandwidth), with E_i the exact
 * form of the i-th collective. For rings that is overhead + steps_i a + bytes_i / w, so hop latency and
 * overhead are one number unless the steps differ.
 */
#include <math.h>
#include <stdlib.h>

#include "study/squares.h"

/* Rounds of weighting by the fitted time. */
enum { ROUNDS = 3 };

const char *const fit_machine_names[MACHINE_PARAMETERS + 1] = {"overhead", "hop", "link", NULL};

static const char one_ring_size[] = "every row has the same number of steps, so hop latency and overhead "
                                    "cannot be told apart: hop latency is held, "
                                    "the overhead takes the rest; measure rings of two sizes to have both";
static const char overhead_below_zero[] = "every row has the same number of steps, so hop latency and "
                                          "overhead cannot be told apart, and the hops at the "
                                          "latency given take longer than what was measured: overhead is "
                                          "held at 0, hop latency is fitted; measure rings of "
                                          "two sizes to have both, or hold the overhead of a chip like it "
                                          "(--hold overhead=4us)";
static const char overhead_negative[] = "the overhead came out below 0 and is held at 0";
static const char hop_negative[] = "the hop latency came out below 0 and is held at 0";

/* What the model sees: parameters in units in which all are about 1. */
struct problem {
    const struct formula_case *cases;
    double unit[MACHINE_PARAMETERS];
    double value[MACHINE_PARAMETERS]; /* in units; of the held ones */
    int free[MACHINE_PARAMETERS];     /* which parameter the j-th free one is */
    int frees;
};

static double time_of(const struct formula_case *c, double overhead_s, double hop_s, double link_Bps)
{
    struct formula_case at = *c;
    at.setup_s = overhead_s;
    at.hop_latency_s = hop_s;
    at.link_Bps = link_Bps;
    return formula_exact_s(&at);
}

static double model_value(const double parameter[], const void *data, int point)
{
    const struct problem *p = data;
    double value[MACHINE_PARAMETERS];
    for (int k = 0; k < MACHINE_PARAMETERS; k++)
        value[k] = p->value[k] * p->unit[k];
    for (int j = 0; j < p->frees; j++)
        value[p->free[j]] = parameter[j] * p->unit[p->free[j]];
    return time_of(&p->cases[point], value[MACHINE_OVERHEAD], value[MACHINE_HOP], value[MACHINE_LINK]);
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
    return time_of(c, p[MACHINE_OVERHEAD].value, p[MACHINE_HOP].value, p[MACHINE_LINK].value);
}

/* Hops that a case pays one after the other: how its time grows with their latency where that is all there
 * is. */
static double hops_of(const struct formula_case *c)
{
    struct formula_case many = *c;
    many.elements = 1;
    return time_of(&many, 0, 1, INFINITY);
}

static bool same_hops(const struct formula_case cases[], int points)
{
    for (int i = 1; i < points; i++)
        if (fabs(hops_of(&cases[i]) - hops_of(&cases[0])) > 1e-9)
            return false;
    return true;
}

/* The bandwidth at which the slowest case would take the time measured. */
static double start_Bps(const struct formula_case cases[], const double time_s[], int points, double link_Bps)
{
    double slowest_s = 0, start = link_Bps;
    for (int i = 0; i < points; i++) {
        double transfer_s = time_of(&cases[i], 0, 0, link_Bps);
        if (transfer_s > slowest_s) {
            slowest_s = transfer_s;
            start = link_Bps * transfer_s / time_s[i];
        }
    }
    return start;
}

/* One fit of what is free, put back into `machine`. */
static int solve(const struct problem *p, const double time_s[], int points, struct fit_machine *machine,
                 double residual_s[], double weight[], struct status *st)
{
    struct fit_model model = {p->frees, model_value};
    struct fit fit = {0};
    for (int j = 0; j < p->frees; j++)
        /* differences that stand for derivatives need a start that is not 0 */
        fit.parameter[j].value = p->value[p->free[j]] != 0 ? p->value[p->free[j]] : 1;
    for (int i = 0; i < points; i++)
        weight[i] = 1 / (time_s[i] * time_s[i]);
    for (int round = 0; round < ROUNDS; round++) {
        int code = fit_nonlinear(&model, p, time_s, weight, points, &fit, residual_s, st);
        if (code)
            return code;
        for (int i = 0; i < points; i++) {
            double fitted_s = fmax(time_s[i] - residual_s[i], time_s[i] / 2);
            weight[i] = 1 / (fitted_s * fitted_s);
        }
    }
    struct fit *out = &machine->fit;
    *out =
        (struct fit){.points = points, .parameters = MACHINE_PARAMETERS, .spread = fit.spread, .r2 = fit.r2};
    for (int k = 0; k < MACHINE_PARAMETERS; k++) {
        double value = p->value[k] * p->unit[k];
        out->parameter[k] = (struct fit_parameter){value, 0, value, value};
    }
    for (int j = 0; j < p->frees; j++) {
        double unit = p->unit[p->free[j]];
        const struct fit_parameter *f = &fit.parameter[j];
        out->parameter[p->free[j]] =
            (struct fit_parameter){f->value * unit, f->error * unit, f->low * unit, f->high * unit};
    }
    return 0;
}

static void gather_free(struct problem *p, const struct fit_machine *machine)
{
    p->frees = 0;
    for (int k = 0; k < MACHINE_PARAMETERS; k++) {
        p->value[k] = machine->fit.parameter[k].value / p->unit[k];
        if (!machine->held[k])
            p->free[p->frees++] = k;
    }
}

/* After a fit: holds what came out impossible. Returns true if it must be fitted again. */
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

static int check(const struct formula_case cases[], const double time_s[], int points,
                 const struct fit_machine *machine, struct status *st)
{
    int frees = 0;
    for (int k = 0; k < MACHINE_PARAMETERS; k++)
        frees += !machine->held[k];
    if (frees == 0)
        return status_fail(st, STATUS_INPUT,
                           "overhead, hop and link are all held, so nothing is left to fit");
    for (int i = 0; i < points; i++)
        if (!(formula_exact_s(&cases[i]) > 0) || !(time_s[i] > 0))
            return status_fail(st, STATUS_INPUT, "point %d: %s", i + 1,
                               time_s[i] > 0 ? "this collective has no closed form to fit"
                                             : "times must be above 0");
    return 0;
}

int fit_machine(const struct formula_case cases[], const double time_s[], int points,
                struct fit_machine *machine, double residual_s[], struct status *st)
{
    int code = check(cases, time_s, points, machine, st);
    if (code)
        return code;
    double *scratch = malloc(((size_t)points + 1) * 2 * sizeof *scratch);
    if (!scratch)
        return status_nomem(st);
    struct fit_parameter *parameter = machine->fit.parameter;
    double hop_start_s = parameter[MACHINE_HOP].value, second = hop_start_s > 0 ? hop_start_s : 1e-6;
    struct problem problem = {.cases = cases, .unit = {second, second, parameter[MACHINE_LINK].value}};
    machine->note = NULL;
    if (!machine->held[MACHINE_OVERHEAD] && !machine->held[MACHINE_HOP] && same_hops(cases, points)) {
        machine->held[MACHINE_HOP] = true;
        machine->note = one_ring_size;
    }
    if (!machine->held[MACHINE_LINK])
        parameter[MACHINE_LINK].value = start_Bps(cases, time_s, points, parameter[MACHINE_LINK].value);
    do {
        gather_free(&problem, machine);
        code = solve(&problem, time_s, points, machine, scratch, scratch + points, st);
    } while (code == 0 && hold_impossible(machine, hop_start_s));
    if (code == 0 && !(parameter[MACHINE_LINK].value > 0))
        code = status_fail(st, STATUS_INPUT,
                           "times fall with size, which no link does; check the columns and units");
    for (int i = 0; residual_s && code == 0 && i < points; i++)
        residual_s[i] = scratch[i];
    free(scratch);
    return code;
}
