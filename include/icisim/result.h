/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * result: the values that a simulation found, by the names of the CSV's columns.
 *
 * Columns are appended from version to version, and none changes its name or meaning. The column "speedup"
 * stays empty, as it compares with another point.
 *
 * Units: SI, the unit in every column's name. Errors: ICISIM_INPUT, naming the column. Ownership:
 * icisim_result_free().
 */
#ifndef ICISIM_API_RESULT_H
#define ICISIM_API_RESULT_H

#include <icisim/status.h>

ICISIM_BEGIN

struct icisim_result;

ICISIM_API void icisim_result_free(struct icisim_result *result);

/* The number in a column; NaN if the column does not apply to this simulation. */
ICISIM_API int icisim_result_real(const struct icisim_result *result, const char *column, double *value,
                                  struct icisim_status *st);

/* The text in a column, empty if the column does not apply; NULL if there is no such column, or if it holds
 * numbers. */
ICISIM_API const char *icisim_result_text(const struct icisim_result *result, const char *column,
                                          struct icisim_status *st);

/* All columns, from index 0, and one line on each; NULL beyond the last. */
ICISIM_API const char *icisim_column_name(int index);
ICISIM_API const char *icisim_column_meaning(int index);

/* Does a column hold text? If not, it holds numbers, whose unit is the end of the column's name: _s, _bytes,
 * _Bps, _frac, _flops. */
ICISIM_API int icisim_column_is_text(int index);

ICISIM_END

#endif
