/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * naive_engine: the definition of time, written down as plainly as possible, for small programs.
 *
 * It looks at everything at every instant: no heap, no groups, no folding, no cleverness to be wrong. A third
 * engine, so that where two disagree there is a witness.
 */
#ifndef NAIVE_ENGINE_H
#define NAIVE_ENGINE_H

#include "engine/engine.h"

extern const struct engine engine_naive;

#endif
