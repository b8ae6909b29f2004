/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kind: what kind of workload the text of --op stands for.
 *
 * A text is the path of a workload file or of HLO text, a matmul in sharding notation, or the name of a collective. Only this
 * room asks the readers of all four; options and settings are handed the function (settings.h).
 *
 * Units: none. Errors: none. Ownership: none.
 */
#ifndef ICISIM_KIND_H
#define ICISIM_KIND_H

/* A bit of enum op_set (option.h): ON_ANY where the text is nothing that is known. */
unsigned workload_kind(const char *op);

#endif
