/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear least squares, ordinary and robust. */
#include <gsl/gsl_multifit.h>
#include <math.h>

#include "study/squares.h"

struct problem {
    gsl_matrix *x;
    gsl_vector *y, *w, *c, *r;
    gsl_matrix *covariance;
};

static void problem_free(struct problem *p)
{
    gsl_matrix_free(p->x);
    gsl_vector_free(p->y);
    gsl_vector_free(p->w);
    gsl_vector_free(p->c);
    gsl_vector_free(p->r);
    gsl_matrix_free(p->covariance);
}

static int problem_init(struct problem *p, int points, int parameters, struct status *st)
{
    size_t n = (size_t)points, m = (size_t)parameters;
    p->x = gsl_matrix_alloc(n, m);
    p->y = gsl_vector_alloc(n);
    p->w = gsl_vector_alloc(n);
    p->c = gsl_vector_alloc(m);
    p->r = gsl_vector_alloc(n);
    p->covariance = gsl_matrix_alloc(m, m);
    if (p->x && p->y && p->w && p->c && p->r && p->covariance)
        return 0;
    problem_free(p);
    return status_nomem(st);
}

/* Copies the data in; with `root` each row is multiplied by sqrt(weight), which is what weighting means. */
static void problem_fill(struct problem *p, const double x[], const double y[], const double weight[],
                         bool root)
{
    for (size_t i = 0; i < p->x->size1; i++) {
        double w = squares_weight(weight, (int)i), factor = root ? sqrt(w) : 1;
        for (size_t j = 0; j < p->x->size2; j++)
            gsl_matrix_set(p->x, i, j, factor * x[i * p->x->size2 + j]);
        gsl_vector_set(p->y, i, factor * y[i]);
        gsl_vector_set(p->w, i, w);
    }
}

/* The residuals of the data as given, from the solution. */
static void problem_residuals(struct problem *p, const double x[], const double y[])
{
    for (size_t i = 0; i < p->x->size1; i++) {
        double fitted = 0;
        for (size_t j = 0; j < p->x->size2; j++)
            fitted += gsl_vector_get(p->c, j) * x[i * p->x->size2 + j];
        gsl_vector_set(p->r, i, y[i] - fitted);
    }
}

static int solve_plain(struct problem *p)
{
    gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(p->x->size1, p->x->size2);
    if (!work)
        return GSL_ENOMEM;
    double squares;
    size_t rank = 0;
    int code = gsl_multifit_wlinear_tsvd(p->x, p->w, p->y, GSL_DBL_EPSILON, p->c, p->covariance, &squares,
                                         &rank, work);
    gsl_multifit_linear_free(work);
    return code == GSL_SUCCESS && rank < p->x->size2 ? GSL_ESING : code;
}

static int solve_robust(struct problem *p)
{
    gsl_multifit_robust_workspace *work =
        gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, p->x->size1, p->x->size2);
    if (!work)
        return GSL_ENOMEM;
    int code = gsl_multifit_robust(p->x, p->y, p->c, p->covariance, work);
    gsl_multifit_robust_free(work);
    return code;
}

static int fit_with(bool robust, const double x[], const double y[], const double weight[], int points,
                    int parameters, struct fit *fit, double residual[], struct status *st)
{
    struct problem problem = {0};
    int code = squares_check(y, weight, points, parameters, st);
    if (code == 0)
        code = problem_init(&problem, points, parameters, st);
    if (code)
        return code;
    problem_fill(&problem, x, y, weight, robust);
    gsl_error_handler_t *before = squares_begin();
    int solved = robust ? solve_robust(&problem) : solve_plain(&problem);
    squares_end(before);
    if (solved == GSL_ENOMEM) {
        code = status_nomem(st);
    } else if (solved != GSL_SUCCESS) {
        code =
            status_fail(st, STATUS_INPUT, "the points do not determine %d unknowns (%s); vary the sizes more",
                        parameters, gsl_strerror(solved));
    } else {
        problem_residuals(&problem, x, y);
        *fit = (struct fit){.points = points, .parameters = parameters};
        for (int j = 0; j < parameters; j++)
            fit->parameter[j].value = gsl_vector_get(problem.c, (size_t)j);
        /* a robust covariance comes scaled; its spread and R^2 are those of all points, far ones too */
        squares_finish(fit, y, weight, problem.r->data, problem.covariance, robust);
        for (int i = 0; residual && i < points; i++)
            residual[i] = gsl_vector_get(problem.r, (size_t)i);
    }
    problem_free(&problem);
    return code;
}

int fit_linear(const double x[], const double y[], const double weight[], int points, int parameters,
               struct fit *fit, double residual[], struct status *st)
{
    return fit_with(false, x, y, weight, points, parameters, fit, residual, st);
}

int fit_robust(const double x[], const double y[], const double weight[], int points, int parameters,
               struct fit *fit, double residual[], struct status *st)
{
    if (points <= parameters)
        return status_fail(st, STATUS_INPUT, "a robust fit of %d unknowns needs %d points or more, not %d",
                           parameters, parameters + 1, points);
    return fit_with(true, x, y, weight, points, parameters, fit, residual, st);
}
