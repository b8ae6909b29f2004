/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Both ends of a case with the definition between them: what the example's result is. */
#ifndef CASE_DEFINE_H
#define CASE_DEFINE_H

#include "numbers/cases.h"

int case_define(const struct example *example, struct array *result, struct status *st);

#endif
