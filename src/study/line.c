/* SPDX-License-Identifier: GPL-3.0-or-later */
/* t = alpha + beta bytes, for measurements whose error grows with the time. */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "study/squares.h"

/* Rounds of weighting by the fitted time; two suffice, the weights change by the square of the noise. */
enum { ROUNDS = 4 };

static int check(const double bytes[], const double time_s[], int points, struct status *st)
{
    if (points < 2)
        return status_fail(st, STATUS_INPUT,
                           "alpha and beta cannot be fitted to %d point%s; give 3 or more sizes", points,
                           points == 1 ? "" : "s");
    double least = bytes[0], most = bytes[0];
    for (int i = 0; i < points; i++) {
        if (!(bytes[i] > 0) || !(time_s[i] > 0))
            return status_fail(st, STATUS_INPUT, "point %d: sizes and times must be above 0", i + 1);
        least = fmin(least, bytes[i]);
        most = fmax(most, bytes[i]);
    }
    if (!(most > least))
        return status_fail(
            st, STATUS_INPUT,
            "all sizes are %.0f bytes, so alpha and beta cannot be told apart; measure several sizes", least);
    return 0;
}

/* Sizes in units of the largest keep the design well conditioned; the slope is scaled back. */
static void rescale(struct fit *fit, double unit_bytes)
{
    struct fit_parameter *beta = &fit->parameter[1];
    *beta = (struct fit_parameter){beta->value / unit_bytes, beta->error / unit_bytes, beta->low / unit_bytes,
                                   beta->high / unit_bytes};
    fit->covariance[0][1] /= unit_bytes;
    fit->covariance[1][0] /= unit_bytes;
    fit->covariance[1][1] /= unit_bytes * unit_bytes;
}

static void conclude(struct fit_line *line)
{
    const struct fit_parameter *alpha = &line->fit.parameter[0], *beta = &line->fit.parameter[1];
    line->bandwidth_Bps = (struct fit_parameter){1 / beta->value, beta->error / (beta->value * beta->value),
                                                 1 / beta->high, beta->low > 0 ? 1 / beta->low : INFINITY};
    if (isnan(beta->low))
        line->bandwidth_Bps.high = NAN;
    line->crossover_bytes = alpha->value > 0 ? alpha->value / beta->value : 0;
}

int fit_line(const double bytes[], const double time_s[], int points, bool robust, struct fit_line *line,
             double residual_s[], struct status *st)
{
    int code = check(bytes, time_s, points, st);
    if (code)
        return code;
    double *x = malloc((size_t)points * 4 * sizeof *x);
    if (!x)
        return status_nomem(st);
    double *weight = x + 2 * points, *residual = weight + points, unit_bytes = 0;
    for (int i = 0; i < points; i++)
        unit_bytes = fmax(unit_bytes, bytes[i]);
    for (int i = 0; i < points; i++) {
        x[2 * i] = 1;
        x[2 * i + 1] = bytes[i] / unit_bytes;
        weight[i] = 1 / (time_s[i] * time_s[i]);
    }
    for (int round = 0; round < ROUNDS && code == 0; round++) {
        code = (robust ? fit_robust : fit_linear)(x, time_s, weight, points, 2, &line->fit, residual, st);
        /* a fitted time near 0 would get all the weight: no fitted time counts below half of the measured one
         */
        for (int i = 0; i < points && code == 0; i++) {
            double fitted_s = fmax(time_s[i] - residual[i], time_s[i] / 2);
            weight[i] = 1 / (fitted_s * fitted_s);
        }
    }
    if (code == 0 && !(line->fit.parameter[1].value > 0))
        code = status_fail(
            st, STATUS_INPUT,
            "time falls with size (slope %.3g s/byte), which no link does; check the columns and their "
            "units",
            line->fit.parameter[1].value / unit_bytes);
    if (code == 0) {
        rescale(&line->fit, unit_bytes);
        conclude(line);
        for (int i = 0; residual_s && i < points; i++)
            residual_s[i] = residual[i];
    }
    free(x);
    return code;
}

struct fit_parameter fit_line_predict(const struct fit_line *line, double bytes)
{
    const struct fit *fit = &line->fit;
    int freedom = fit->points - fit->parameters;
    double value = fit->parameter[0].value + fit->parameter[1].value * bytes;
    double scatter = fit->spread * value; /* weights are 1/t^2, so the spread is relative */
    double variance = fit->covariance[0][0] + 2 * bytes * fit->covariance[0][1] +
                      bytes * bytes * fit->covariance[1][1] + scatter * scatter;
    double error = sqrt(variance);
    double half = freedom > 0 ? gsl_cdf_tdist_Pinv(0.975, freedom) * error : NAN;
    return (struct fit_parameter){value, error, value - half, value + half};
}

int fit_outliers(const double residual[], const double weight[], int points, bool outlier[],
                 struct status *st)
{
    double *size = malloc(((size_t)points + 1) * sizeof *size),
           *sorted = malloc(((size_t)points + 1) * sizeof *sorted);
    int count = 0;
    if (size && sorted) {
        for (int i = 0; i < points; i++)
            sorted[i] = size[i] = fabs(residual[i]) * sqrt(squares_weight(weight, i));
        double deviation = points > 0 ? 1.4826 * gsl_stats_median(sorted, 1, (size_t)points) : 0;
        for (int i = 0; i < points; i++) {
            /* residuals of rounding alone are nobody's fault */
            outlier[i] = size[i] > FIT_OUTLIER * deviation && size[i] > 1e-9;
            count += outlier[i];
        }
    } else {
        count = status_nomem(st);
    }
    free(size);
    free(sorted);
    return count;
}
