/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * slurm: a sweep as a job array of the Slurm scheduler: a script that runs each shard as a task of the array, and, when
 * all of them are done, a job that merges their files.
 *
 * The script stands beside the CSV: out.csv is put together from out.part-0.csv and so on by out.slurm. `bash out.slurm`
 * submits both jobs and hands its arguments to sbatch. A task that is started again goes on with its rows (--resume).
 * The script has full paths of the program and the folder, as its tasks run elsewhere.
 *
 * Errors: STATUS_INPUT, STATUS_IO. Ownership: nothing is kept.
 */
#ifndef SLURM_H
#define SLURM_H

#include "settings/settings.h"

/* Writes the script of --slurm; says how to submit it, or with --submit becomes that command and does not return. */
int slurm_write(const struct grid *grid, struct status *st);

#endif
