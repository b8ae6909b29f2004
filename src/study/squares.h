/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the three least-squares fits share: GSL's copies of the data, and what follows from a solution. */
#ifndef ICISIM_FIT_SQUARES_H
#define ICISIM_FIT_SQUARES_H

#include <gsl/gsl_errno.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_vector.h>

#include "study/fit.h"

/* GSL's own handler aborts; inside a fit its functions return codes. */
static inline gsl_error_handler_t *squares_begin(void)
{
    return gsl_set_error_handler_off();
}
static inline void squares_end(gsl_error_handler_t *before)
{
    gsl_set_error_handler(before);
}

static inline double squares_weight(const double weight[], int i)
{
    return weight ? weight[i] : 1;
}

/* Refuses fewer points than unknowns, more parameters than there is room for, and values that are no numbers.
 */
int squares_check(const double y[], const double weight[], int points, int parameters, struct status *st);

/* Fills all of `fit` but the values from the residuals (y - fit) and the covariance. `scaled`: the covariance
 * is for the scatter found, else for errors of 1/sqrt(weight). */
void squares_finish(struct fit *fit, const double y[], const double weight[], const double residual[],
                    const gsl_matrix *covariance, bool scaled);

#endif
