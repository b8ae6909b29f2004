/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models from workload files, and small transformers with real numbers, for tests; comparisons of arrays. */
#ifndef MODELS_H
#define MODELS_H

#include "model/model.h"
#include "suite.h"

void arrays_free(struct array array[], int n);
/* The largest difference, of the largest element of b; infinite where shapes differ or b is all 0. */
double arrays_difference(const struct array *a, const struct array *b);

enum { MODEL_INPUTS = 128 };
void text_write(const char *path, const char *text);
/* A step with experts, in f32 with numbers, in so many chunks, of which one is on its way while another is multiplied. */
void experts_load(const char *path, const char *mesh, int chunks, struct model *model, struct module *module);

/* The keys of experts; a transformer on a mesh, without one on one device, like a model that was read. */
#define TRANSFORMER_MOE "moe: {experts: 4, top-k: 2, capacity-factor: 1, d-ff: 12, routing: {draw: even}"

struct transformer_case {
    struct model model;
    struct module module;
    struct point point;
};

void transformer_load_like(struct transformer_case *s, const char *text, const char *mesh,
                           const struct model *like, enum remat remat, int micro_batches);
void transformer_load(struct transformer_case *s, const char *text, const char *mesh, enum remat remat,
                      int micro_batches);
void transformer_unload(struct transformer_case *s);
/* Numbers by name, so that they are the same for each mesh; a run; a run whose weights are fetched ahead. */
void transformer_fill(const struct model *m, struct array in[]);
void transformer_run(struct transformer_case *s, struct array out[]);
void transformer_run_ahead(struct transformer_case *s, struct array out[]);
void transformer_run_early(struct transformer_case *s, struct array out[]);
void transformer_same_numbers(const struct model *model, const char *mesh, const struct array many[],
                              const struct array one[]);
void transformer_same_as(const char *text, const char *one_chip, const char *mesh, enum remat remat);
void transformer_same_as_one_chip(const char *text, const char *mesh, enum remat remat);
/* A small transformer with more keys. */
const char *transformer_with(const char *more);

/* Entries that were dropped: of a device, or of all (-1). */
int64_t routing_dropped(const struct routing *routing, int device);

#endif
