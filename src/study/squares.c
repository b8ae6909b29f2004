/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/squares.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

int squares_check(const double y[], const double weight[], int points, int parameters, struct status *st)
{
    if (parameters < 1 || parameters > FIT_PARAMETERS_MAX)
        return status_fail(st, STATUS_INPUT, "a fit has 1 to %d parameters, not %d", FIT_PARAMETERS_MAX,
                           parameters);
    if (points < parameters)
        return status_fail(st, STATUS_INPUT, "%d unknowns cannot be fitted to %d point%s; give %d or more",
                           parameters, points, points == 1 ? "" : "s", parameters + 1);
    for (int i = 0; i < points; i++)
        if (!isfinite(y[i]) || !isfinite(squares_weight(weight, i)) || squares_weight(weight, i) < 0)
            return status_fail(st, STATUS_INPUT, "point %d of the fit is not a finite number", i + 1);
    return 0;
}

/* R^2 = 1 - sum w r^2 / sum w (y - mean)^2 with the weighted mean. */
static double determination(const double y[], const double weight[], const double residual[], int points)
{
    double sum_w = 0, sum_wy = 0, left = 0, total = 0;
    for (int i = 0; i < points; i++) {
        sum_w += squares_weight(weight, i);
        sum_wy += squares_weight(weight, i) * y[i];
    }
    for (int i = 0; i < points; i++) {
        double from_mean = y[i] - sum_wy / sum_w;
        left += squares_weight(weight, i) * residual[i] * residual[i];
        total += squares_weight(weight, i) * from_mean * from_mean;
    }
    return total > 0 ? 1 - left / total : NAN;
}

void squares_finish(struct fit *fit, const double y[], const double weight[], const double residual[],
                    const gsl_matrix *covariance, bool scaled)
{
    int freedom = fit->points - fit->parameters;
    double squares = 0;
    for (int i = 0; i < fit->points; i++)
        squares += squares_weight(weight, i) * residual[i] * residual[i];
    fit->spread = freedom > 0 ? sqrt(squares / freedom) : NAN;
    fit->r2 = determination(y, weight, residual, fit->points);
    double quantile = freedom > 0 ? gsl_cdf_tdist_Pinv(0.975, freedom) : NAN;
    double scale = freedom > 0 ? (scaled ? 1 : fit->spread * fit->spread) : NAN;
    for (int i = 0; i < fit->parameters; i++) {
        for (int j = 0; j < fit->parameters; j++)
            fit->covariance[i][j] = scale * gsl_matrix_get(covariance, (size_t)i, (size_t)j);
        struct fit_parameter *p = &fit->parameter[i];
        p->error = sqrt(fit->covariance[i][i]);
        p->low = p->value - quantile * p->error;
        p->high = p->value + quantile * p->error;
    }
}
