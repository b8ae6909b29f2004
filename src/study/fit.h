/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to study/. */
/*
 * fit: fits the parameters of a machine to measured times.
 *
 * Three layers. Linear least squares as such, ordinary or robust (bisquare), with standard errors and 95 % intervals
 * of Student's t. A line through the times of one collective on one ring, t = alpha + beta bytes. And the machine
 * behind the times of several: overhead of a collective, latency of a hop and effective bandwidth of a link, such that
 * the closed forms (formula.h) give these times.
 *
 * The error of a measured time grows with the time, so points are weighted by 1/t^2. The t of a weight is the
 * fitted one: the measured one would favour points that came out low. Parameters that the data do not
 * determine are not fitted: one ring size cannot separate hop latency from overhead, so one of them is held,
 * and the result says which.
 *
 * Units: bytes, seconds, bytes per second. Errors: STATUS_INPUT with the reason why something cannot be
 * fitted. Ownership: caller's arrays and structs, nothing is kept.
 */
#pragma once

#include <stdbool.h>

#include "formula/formula.h"

enum { FIT_PARAMETERS_MAX = 3 };

/* A number with its standard error and 95 % interval; the three are NaN if no degree of freedom is left, and
 * the interval is empty if the value was held. */
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

/* y[i] = sum over j of parameter[j] * x[i * parameters + j], for each of the points. */
struct fit_data {
    int points, parameters;
    bool robust; /* Tukey's bisquare: far points count less, very far ones nothing */
    const double *x, *y;
    double *weight;
    double *residual; /* out: y - fit, unweighted */
};
int fit_linear(const struct fit_data *data, struct fit *fit, struct status *st);

/* Relative residuals that are more than FIT_OUTLIER robust standard deviations off (1.4826 times the median
 * absolute one) are outliers: those above the returned limit; a negative result is a failure. */
#define FIT_OUTLIER 3.5
double fit_outlier_limit(const double relative[], int points, struct status *st);

/* t = alpha + beta bytes. */
struct fit_line {
    struct fit fit;                     /* parameter[0] is alpha (s), [1] is beta (s/byte) */
    struct fit_parameter bandwidth_Bps; /* 1 / beta */
    double crossover_bytes; /* alpha / beta: below it latency costs more than bandwidth; 0 if alpha < 0 */
};

/* Refused: fewer than two points, all sizes equal, a line that does not rise. */
int fit_line(const double bytes[], const double time_s[], int points, bool robust, struct fit_line *line,
             struct status *st);

/* Time for a size, with the interval in which a measurement falls with 95 % (its own scatter included). */
struct fit_parameter fit_line_predict(const struct fit_line *line, double bytes);

/* The machine behind times of collectives whose exact form is known: parameters in this order, in s, s and
 * bytes per second. */
enum fit_machine_parameter { MACHINE_OVERHEAD, MACHINE_HOP, MACHINE_LINK, MACHINE_PARAMETERS };
extern const char *const fit_machine_names[MACHINE_PARAMETERS + 1]; /* "overhead", "hop", "link" */

struct fit_machine {
    bool held[MACHINE_PARAMETERS]; /* in: not to be fitted; out: not fitted */
    struct fit fit;                /* in: parameter[].value is the start or held value */
    const char *note;              /* why more was held than requested, or NULL; constant text */
};

/* Nothing held, starting from the spec values of a case. */
void fit_machine_init(struct fit_machine *machine, const struct formula_case *c);

/* Fits the parameters that are not held. Exact forms must exist for all cases. If the data cannot separate
 * overhead from hops, hop latency is held at its start; if an overhead or a latency would be negative, it is
 * held at 0. Refused: fewer points than unknowns. */
int fit_machine(const struct formula_case cases[], const double time_s[], int points,
                struct fit_machine *machine, struct status *st);

/* The time of a case on the machine fitted. */
double fit_machine_time_s(const struct fit_machine *machine, const struct formula_case *c);

/* Used by the two fits above: weights points by the fitted times (measured times minus residuals), in several
 * rounds. */
int fit_relative(const struct fit_data *data, const double time_s[], int rounds, struct fit *fit,
                 struct status *st);
