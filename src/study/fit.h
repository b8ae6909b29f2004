/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fit: from measured times to the numbers of a machine.
 *
 * Three layers. Least squares as such: linear, robust (bisquare) and nonlinear (Levenberg-Marquardt), with
 * standard errors and 95 % intervals of Student's t. A line through times of one collective on one ring,
 * t = alpha + beta bytes. And the machine behind times of several: overhead of a collective, latency of a
 * hop, effective bandwidth of a link, such that the closed forms (formula.h) give these times.
 *
 * Times are measured with an error that grows with them, so points are weighted by 1/t^2, with t as fitted
 * and not as measured, which would favour points that came out low. What the data cannot tell is not fitted:
 * one ring size cannot separate hop latency from overhead, so one of them is held, and the answer says which.
 *
 * Units: bytes, seconds, bytes per second. Errors: STATUS_INPUT with the reason why something cannot be
 * fitted. Ownership: caller's arrays and structs, nothing is kept.
 */
#ifndef ICISIM_FIT_H
#define ICISIM_FIT_H

#include <stdbool.h>

#include "base/status.h"
#include "formula/formula.h"

enum { FIT_PARAMETERS_MAX = 6 };

/* A number with its standard error and 95 % interval; the three are NaN where no point is left to judge by,
 * and 0 width where the value was held. */
struct fit_parameter {
    double value, error, low, high;
};

struct fit {
    int points, parameters;
    struct fit_parameter parameter[FIT_PARAMETERS_MAX];
    double covariance[FIT_PARAMETERS_MAX][FIT_PARAMETERS_MAX]; /* scaled by the residuals */
    double spread;                                             /* standard deviation of weighted residuals */
    double r2; /* 1 - residual / total sum of squares, weighted */
};

/* y = sum over j of parameter[j] * x[i * parameters + j]. `weight` NULL: all 1. `residual` (y - fit,
 * unweighted) may be NULL. */
int fit_linear(const double x[], const double y[], const double weight[], int points, int parameters,
               struct fit *fit, double residual[], struct status *st);

/* The same with Tukey's bisquare: far points count less, very far ones nothing. */
int fit_robust(const double x[], const double y[], const double weight[], int points, int parameters,
               struct fit *fit, double residual[], struct status *st);

/* y[i] = value(parameter, data, i), from a start given in fit->parameter[].value. */
struct fit_model {
    int parameters;
    double (*value)(const double parameter[], const void *data, int point);
};
int fit_nonlinear(const struct fit_model *model, const void *data, const double y[], const double weight[],
                  int points, struct fit *fit, double residual[], struct status *st);

/* Points whose weighted residual is more than FIT_OUTLIER robust standard deviations (1.4826 times the median
 * absolute one) off. Writes true or false for each; returns their number. */
#define FIT_OUTLIER 3.5
int fit_outliers(const double residual[], const double weight[], int points, bool outlier[],
                 struct status *st);

/* t = alpha + beta bytes. */
struct fit_line {
    struct fit fit;                     /* parameter[0] is alpha (s), [1] is beta (s/byte) */
    struct fit_parameter bandwidth_Bps; /* 1 / beta */
    double crossover_bytes; /* alpha / beta: below it latency costs more than bandwidth; 0 if alpha < 0 */
};

/* Refused: fewer than two points, all sizes equal, a line that does not rise. */
int fit_line(const double bytes[], const double time_s[], int points, bool robust, struct fit_line *line,
             double residual_s[], struct status *st);

/* Time for a size, with the interval in which a measurement falls with 95 % (its own scatter included). */
struct fit_parameter fit_line_predict(const struct fit_line *line, double bytes);

/* The machine behind times of collectives whose exact form is known: parameters in this order, in s, s and
 * bytes per second. */
enum fit_machine_parameter { MACHINE_OVERHEAD, MACHINE_HOP, MACHINE_LINK, MACHINE_PARAMETERS };
extern const char *const fit_machine_names[MACHINE_PARAMETERS + 1]; /* "overhead", "hop", "link" */

struct fit_machine {
    bool held[MACHINE_PARAMETERS]; /* in: not to be fitted; out: those that were not */
    struct fit fit;                /* in: parameter[].value is the start, and what a held one has */
    const char *note;              /* why more was held than asked for, or NULL; constant text */
};

/* Nothing held, starting from the spec values of a case. */
void fit_machine_init(struct fit_machine *machine, const struct formula_case *c);

/* Fits what is not held. Exact forms must exist for all cases. Where the data cannot tell overhead from hops,
 * hop latency is held at its start; where an overhead or a latency would come out below 0, it is held at 0.
 * Refused: fewer points than unknowns. */
int fit_machine(const struct formula_case cases[], const double time_s[], int points,
                struct fit_machine *machine, double residual_s[], struct status *st);

/* The time of a case on the machine fitted. */
double fit_machine_time_s(const struct fit_machine *machine, const struct formula_case *c);

#endif
