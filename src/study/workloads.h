/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workloads, each in a file of its own. To add one: a line here, and one in job.c's list. */
#ifndef WORKLOADS_H
#define WORKLOADS_H

#include "study/job.h"

extern const struct workload workload_collective, workload_matmul, workload_module;

#endif
