/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of `icisim validate --formulas`. */
#ifndef ICISIM_VALIDATE_FORMULAS_H
#define ICISIM_VALIDATE_FORMULAS_H

#include "study/simulate.h"

int validate_exact(struct checks *checks, bool simgrid, struct status *st);
int validate_rules(struct checks *checks, struct status *st);
int validate_steps(struct checks *checks, struct status *st);

#endif
