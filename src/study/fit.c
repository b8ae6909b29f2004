/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear least squares with GSL, and a line through times whose error grows with them. */
#include "study/fit.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

static int check_data(const struct fit_data *d, struct status *st)
{
    if (d->robust && d->points <= d->parameters)
        return status_fail(st, STATUS_INPUT, "a robust fit of %d unknowns needs %d points or more, not %d",
                           d->parameters, d->parameters + 1, d->points);
    if (d->points < d->parameters)
        return status_fail(st, STATUS_INPUT, "%d unknowns cannot be fitted to %d point%s; give %d or more",
                           d->parameters, d->points, d->points == 1 ? "" : "s", d->parameters + 1);
    for (int i = 0; i < d->points; i++)
        if (!isfinite(d->y[i]) || !isfinite(d->weight[i]) || d->weight[i] < 0)
            return status_fail(st, STATUS_INPUT, "point %d of the fit is not a finite number", i + 1);
    return 0;
}

/* GSL does not check all of its allocations: makes sure before it begins that their memory, a few times the
 * matrix, is available. */
static bool has_room(const gsl_matrix *x)
{
    void *volatile room = malloc((1 << 16) + 16 * sizeof(double) * x->size1 * (x->size2 + 2));
    free(room);
    return room;
}

/* GSL's solution of x c = y, with a covariance that is scaled by the residuals. */
static int solve(bool robust, const gsl_matrix *x, const gsl_vector *y, gsl_vector *c, gsl_matrix *covariance)
{
    if (!has_room(x))
        return GSL_ENOMEM;
    if (robust) {
        gsl_multifit_robust_workspace *work =
            gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, x->size1, x->size2);
        int code = work ? gsl_multifit_robust(x, y, c, covariance, work) : GSL_ENOMEM;
        if (work) /* unlike similar functions it does not take NULL */
            gsl_multifit_robust_free(work);
        return code;
    }
    gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(x->size1, x->size2);
    double squares;
    size_t rank = 0;
    int code = work ? gsl_multifit_linear_tsvd(x, y, GSL_DBL_EPSILON, c, covariance, &squares, &rank, work)
                    : GSL_ENOMEM;
    gsl_multifit_linear_free(work);
    return code == GSL_SUCCESS && rank < x->size2 ? GSL_ESING : code;
}

/* Residuals of the points as given, and what follows from them: spread, and R^2 = 1 - sum w r^2 / sum w (y - mean)^2
 * with the weighted mean. Of a robust fit both are those of all points, the far ones too. */
static void judge(const struct fit_data *d, struct fit *fit)
{
    double sum_w = 0, sum_wy = 0, left = 0, total = 0;
    for (int i = 0; i < d->points; i++) {
        double fitted = 0;
        for (int j = 0; j < d->parameters; j++)
            fitted += fit->parameter[j].value * d->x[i * d->parameters + j];
        d->residual[i] = d->y[i] - fitted;
        left += d->weight[i] * d->residual[i] * d->residual[i];
        sum_w += d->weight[i];
        sum_wy += d->weight[i] * d->y[i];
    }
    for (int i = 0; i < d->points; i++)
        total += d->weight[i] * (d->y[i] - sum_wy / sum_w) * (d->y[i] - sum_wy / sum_w);
    fit->r2 = total > 0 ? 1 - left / total : NAN;
    fit->spread = d->points > d->parameters ? sqrt(left / (d->points - d->parameters)) : NAN;
}

int fit_linear(const struct fit_data *d, struct fit *fit, struct status *st)
{
    size_t n = (size_t)d->points, m = (size_t)d->parameters;
    double c[FIT_PARAMETERS_MAX], covariance[FIT_PARAMETERS_MAX * FIT_PARAMETERS_MAX];
    int code = check_data(d, st);
    if (code)
        return code;
    double *rows = malloc(n * (m + 1) * sizeof *rows), *y = rows + n * m;
    if (!rows)
        return status_nomem(st);
    for (size_t i = 0; i < n; i++) { /* a row times sqrt(weight), which is what weighting means */
        for (size_t j = 0; j < m; j++)
            rows[i * m + j] = sqrt(d->weight[i]) * d->x[i * m + j];
        y[i] = sqrt(d->weight[i]) * d->y[i];
    }
    gsl_matrix_view x_view = gsl_matrix_view_array(rows, n, m);
    gsl_matrix_view covariance_view = gsl_matrix_view_array(covariance, m, m);
    gsl_vector_view y_view = gsl_vector_view_array(y, n), c_view = gsl_vector_view_array(c, m);
    gsl_error_handler_t *before = gsl_set_error_handler_off(); /* the default handler aborts */
    int solved = solve(d->robust, &x_view.matrix, &y_view.vector, &c_view.vector, &covariance_view.matrix);
    gsl_set_error_handler(before);
    free(rows);
    if (solved == GSL_ENOMEM)
        return status_nomem(st);
    if (solved != GSL_SUCCESS)
        return status_fail(st, STATUS_INPUT,
                           "the points do not determine %d unknowns (%s); vary the sizes more", d->parameters,
                           gsl_strerror(solved));
    *fit = (struct fit){.points = d->points, .parameters = d->parameters};
    double quantile = n > m ? gsl_cdf_tdist_Pinv(0.975, (double)(n - m)) : NAN;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++)
            fit->covariance[i][j] = n > m ? covariance[i * m + j] : NAN;
        double error = sqrt(fit->covariance[i][i]);
        fit->parameter[i] =
            (struct fit_parameter){c[i], error, c[i] - quantile * error, c[i] + quantile * error};
    }
    judge(d, fit);
    return 0;
}

int fit_relative(const struct fit_data *d, const double time_s[], int rounds, struct fit *fit,
                 struct status *st)
{
    int code = 0;
    for (int i = 0; i < d->points; i++)
        d->weight[i] = 1 / (time_s[i] * time_s[i]);
    for (int round = 0; round < rounds && code == 0; round++) {
        code = fit_linear(d, fit, st);
        /* a fitted time near 0 would get all the weight: fitted times count as at least half of the measured
         * one */
        for (int i = 0; i < d->points && code == 0; i++) {
            double fitted_s = fmax(time_s[i] - d->residual[i], time_s[i] / 2);
            d->weight[i] = 1 / (fitted_s * fitted_s);
        }
    }
    return code;
}

static int check_line(const double bytes[], const double time_s[], int points, struct status *st)
{
    if (points < 2)
        return status_fail(st, STATUS_INPUT,
                           "alpha and beta cannot be fitted to %d point%s; give 3 or more sizes", points,
                           points == 1 ? "" : "s");
    bool vary = false;
    for (int i = 0; i < points; i++) {
        if (!(bytes[i] > 0) || !(time_s[i] > 0))
            return status_fail(st, STATUS_INPUT, "point %d: sizes and times must be above 0", i + 1);
        vary |= bytes[i] != bytes[0];
    }
    if (!vary)
        return status_fail(
            st, STATUS_INPUT,
            "all sizes are %.0f bytes, so alpha and beta cannot be told apart; measure several sizes",
            bytes[0]);
    return 0;
}

/* The line of a fit to sizes in units of the largest, which keep the design well conditioned. */
static void conclude(struct fit_line *line, double unit_bytes)
{
    struct fit *fit = &line->fit;
    struct fit_parameter *beta = &fit->parameter[1];
    *beta = (struct fit_parameter){beta->value / unit_bytes, beta->error / unit_bytes, beta->low / unit_bytes,
                                   beta->high / unit_bytes};
    fit->covariance[0][1] /= unit_bytes;
    fit->covariance[1][0] /= unit_bytes;
    fit->covariance[1][1] /= unit_bytes * unit_bytes;
    line->bandwidth_Bps = (struct fit_parameter){1 / beta->value, beta->error / (beta->value * beta->value),
                                                 1 / beta->high, beta->low <= 0 ? INFINITY : 1 / beta->low};
    line->crossover_bytes = fmax(fit->parameter[0].value / beta->value, 0);
}

/* Rounds of weighting; two suffice, as weights change by the square of the noise. */
int fit_line(const double bytes[], const double time_s[], int points, bool robust, struct fit_line *line,
             struct status *st)
{
    enum { ROUNDS = 4 };
    int code = check_line(bytes, time_s, points, st);
    if (code)
        return code;
    double *x = malloc((size_t)points * 4 * sizeof *x), unit_bytes = 0;
    if (!x)
        return status_nomem(st);
    struct fit_data data = {points, 2, robust, x, time_s, x + 2 * points, x + 3 * points};
    for (int i = 0; i < points; i++)
        unit_bytes = fmax(unit_bytes, bytes[i]);
    for (int i = 0; i < points; i++) {
        x[2 * i] = 1;
        x[2 * i + 1] = bytes[i] / unit_bytes;
    }
    code = fit_relative(&data, time_s, ROUNDS, &line->fit, st);
    if (code == 0 && !(line->fit.parameter[1].value > 0))
        code = status_fail(st, STATUS_INPUT,
                           "time falls with size (slope %.3g s/byte), which no link does; check the columns "
                           "and their units",
                           line->fit.parameter[1].value / unit_bytes);
    if (code == 0)
        conclude(line, unit_bytes);
    free(x);
    return code;
}

struct fit_parameter fit_line_predict(const struct fit_line *line, double bytes)
{
    const struct fit *fit = &line->fit;
    int freedom = fit->points - fit->parameters;
    double value = fit->parameter[0].value + fit->parameter[1].value * bytes;
    double scatter = fit->spread * value; /* relative, as weights are 1/t^2 */
    double error = sqrt(fit->covariance[0][0] + 2 * bytes * fit->covariance[0][1] +
                        bytes * bytes * fit->covariance[1][1] + scatter * scatter);
    double half = freedom > 0 ? gsl_cdf_tdist_Pinv(0.975, freedom) * error : NAN;
    return (struct fit_parameter){value, error, value - half, value + half};
}

double fit_outlier_limit(const double relative[], int points, struct status *st)
{
    double *size = malloc(((size_t)points + 1) * sizeof *size);
    if (!size)
        return status_nomem(st);
    for (int i = 0; i < points; i++)
        size[i] = fabs(relative[i]);
    double deviation = points > 0 ? 1.4826 * gsl_stats_median(size, 1, (size_t)points) : 0;
    free(size);
    return fmax(FIT_OUTLIER * deviation, 1e-9); /* rounding residuals are no outliers */
}
