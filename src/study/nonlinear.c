/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nonlinear least squares by Levenberg and Marquardt's method. */
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>

#include "study/squares.h"

struct problem {
    const struct fit_model *model;
    const void *data;
    const double *y;
};

static int residuals_of(const gsl_vector *x, void *context, gsl_vector *f)
{
    const struct problem *p = context;
    double parameter[FIT_PARAMETERS_MAX];
    for (size_t j = 0; j < x->size; j++)
        parameter[j] = gsl_vector_get(x, j);
    for (size_t i = 0; i < f->size; i++) {
        double value = p->model->value(parameter, p->data, (int)i);
        if (!isfinite(value))
            return GSL_EDOM;
        gsl_vector_set(f, i, value - p->y[i]);
    }
    return GSL_SUCCESS;
}

/* Iterates to the last digits. That no step makes progress means that they were reached before the tests
 * could tell; a start at the solution has none to make either (GSL's own driver takes that for a failure). */
static int iterate(gsl_multifit_nlinear_workspace *work)
{
    enum { MOST_ITERATIONS = 500 };
    const double relative_step = 1e-12, gradient = 1e-14;
    for (int i = 0; i < MOST_ITERATIONS; i++) {
        int code = gsl_multifit_nlinear_iterate(work), info = 0;
        if (code == GSL_ENOPROG)
            return GSL_SUCCESS;
        if (code != GSL_SUCCESS)
            return code;
        if (gsl_multifit_nlinear_test(relative_step, gradient, 0, &info, work) == GSL_SUCCESS)
            return GSL_SUCCESS;
    }
    return GSL_EMAXITER;
}

/* Iterates, then copies out the solution. */
static int solve(gsl_multifit_nlinear_workspace *work, struct fit *fit, const double y[],
                 const double weight[], double residual[], gsl_matrix *covariance, double scratch[])
{
    int code = iterate(work);
    if (code != GSL_SUCCESS)
        return code;
    const gsl_vector *x = gsl_multifit_nlinear_position(work);
    for (int j = 0; j < fit->parameters; j++)
        fit->parameter[j].value = gsl_vector_get(x, (size_t)j);
    code = gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 0, covariance);
    if (code != GSL_SUCCESS)
        return code;
    const gsl_vector *f = gsl_multifit_nlinear_residual(work);
    for (int i = 0; i < fit->points; i++) {
        double root = sqrt(squares_weight(weight, i));
        scratch[i] = root > 0 ? -gsl_vector_get(f, (size_t)i) / root : 0;
        if (residual)
            residual[i] = scratch[i];
    }
    squares_finish(fit, y, weight, scratch, covariance, false);
    return isfinite(gsl_matrix_max(covariance)) ? GSL_SUCCESS : GSL_ESING;
}

/* GSL's status of the fit. */
static int run(const struct fit_model *model, const void *data, const double y[], const double weight[],
               struct fit *fit, double residual[], gsl_vector *start, gsl_vector *w, gsl_vector *scratch,
               gsl_matrix *covariance)
{
    struct problem problem = {model, data, y};
    gsl_multifit_nlinear_fdf function = {
        .f = residuals_of, .n = (size_t)fit->points, .p = (size_t)fit->parameters, .params = &problem};
    gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    options.fdtype = GSL_MULTIFIT_NLINEAR_CTRDIFF;
    options.solver = gsl_multifit_nlinear_solver_qr;
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, function.n, function.p);
    if (!work)
        return GSL_ENOMEM;
    for (int i = 0; i < fit->points; i++)
        gsl_vector_set(w, (size_t)i, squares_weight(weight, i));
    for (int j = 0; j < fit->parameters; j++)
        gsl_vector_set(start, (size_t)j, fit->parameter[j].value);
    int code = gsl_multifit_nlinear_winit(start, w, &function, work);
    if (code == GSL_SUCCESS)
        code = solve(work, fit, y, weight, residual, covariance, scratch->data);
    gsl_multifit_nlinear_free(work);
    return code;
}

int fit_nonlinear(const struct fit_model *model, const void *data, const double y[], const double weight[],
                  int points, struct fit *fit, double residual[], struct status *st)
{
    int code = squares_check(y, weight, points, model->parameters, st);
    if (code)
        return code;
    fit->points = points;
    fit->parameters = model->parameters;
    size_t n = (size_t)points, m = (size_t)model->parameters;
    gsl_vector *start = gsl_vector_alloc(m), *w = gsl_vector_alloc(n), *scratch = gsl_vector_alloc(n);
    gsl_matrix *covariance = gsl_matrix_alloc(m, m);
    int solved = GSL_ENOMEM;
    if (start && w && scratch && covariance) {
        gsl_error_handler_t *before = squares_begin();
        solved = run(model, data, y, weight, fit, residual, start, w, scratch, covariance);
        squares_end(before);
    }
    gsl_vector_free(start);
    gsl_vector_free(w);
    gsl_vector_free(scratch);
    gsl_matrix_free(covariance);
    if (solved == GSL_ENOMEM)
        return status_nomem(st);
    if (solved != GSL_SUCCESS)
        return status_fail(st, STATUS_INPUT, "the fit of %d unknowns to %d points found no end (%s)",
                           model->parameters, points, gsl_strerror(solved));
    return 0;
}
