/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules for tests: from HLO text, as HLO text, and whether two are the same. */
#ifndef MODULES_H
#define MODULES_H

#include "compile/pass.h"
#include "hlo/module.h"
#include "suite.h"

/* Reads a text, which a test asserts to be right. */
void module_of(struct module *module, const char *text);
/* Reading "m.hlo" fails, in one line that has `why` in it. */
void text_is_refused(const char *text, const char *why);
/* HLO text of an entry computation around instructions, from its fifth line on, for 8 partitions; in memory of the caller's. */
char *entry_text(const char *instructions);
/* As HLO text, in memory of the caller's. */
char *text_of(const struct module *module);
/* The instruction of a name, in the computation of a name; NULL: in the entry. */
int32_t instruction_of(const struct module *module, const char *computation, const char *name);
/* Everything that is printed, field by field; prints the first difference. */
bool modules_equal(const struct module *a, const struct module *b);
/* print(read(print(m))) == print(m), and the module in between is m; of a module in a file, too. */
void module_comes_back(const struct module *module);
void module_file_comes_back(const char *path);
/* Executions of an opcode, the FLOPs of the matmuls, and executions of what has no known cost. */
double module_executed(const struct module *m, enum opcode opcode, double *flops, double *uncosted);
/* For overlap_options: all loops are written one way, that which `context` points to. */
enum overlap_way one_way(void *context, const struct module *module, int32_t collective, bool contracts);

#endif
