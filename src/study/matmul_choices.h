/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * matmul_choices: what could become of a product's partial sums, where the notation does not say: the outputs that could be
 * written, and what each costs, simulated, as the end of the message that refuses it.
 */
#ifndef WORKLOAD_MATMUL_CHOICES_H
#define WORKLOAD_MATMUL_CHOICES_H

#include "model/chain.h"
#include "study/job.h"

/* `chain` says which of so many products it is. Returns the status's code. */
int matmul_choices(const struct chain *chain, int products, const struct job *job, struct status *st);

#endif
