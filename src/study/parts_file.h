/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two readers of a workload of parts share: parts_file.c and parts_transfers.c. */
#ifndef PARTS_FILE_H
#define PARTS_FILE_H

#include "study/parts.h"

/* The text of a key that has to be there; and a `time`, NaN where there is none. */
int parts_need_text(const struct node *node, const char *name, const char **text, struct status *st);
int parts_read_time(const struct node *node, double *time_s, struct status *st);

/* Reads `transfers`; the parts are read already. */
int parts_read_transfers(struct parts *parts, const struct node *root, struct status *st);

#endif
