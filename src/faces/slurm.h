/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * slurm: a sweep as a job array of the Slurm scheduler: a script that runs each shard as a task of the array, and, when
 * all of them are done, a job that merges their files.
 *
 * The script stands beside the CSV: out.csv is put together from out.part-0.csv and so on by out.slurm. `bash
 * out.slurm` submits both jobs and passes its arguments to sbatch. A restarted task resumes with its rows
 * (--resume). The script contains absolute paths of the program and the folder, as its tasks run elsewhere.
 *
 * Errors: STATUS_INPUT, STATUS_IO. Ownership: nothing is kept.
 */
#pragma once

#include "settings/settings.h"

/* Writes the script of --slurm; prints how to submit it or, with --submit, executes that command and does not
 * return. */
int slurm_write(const struct grid *grid, struct status *st);
