/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * page: an answer as one HTML file that opens from disk and asks no network.
 *
 * It is the embedded page (analysis/page/page.html: what it looks like, and the script that draws) with the data in its middle:
 * blocks of text, packed by gzip, that have the names and the form of what the program writes elsewhere: `rows`, the CSV
 * of the points; of single points, by their number, `trace-0` (Chrome trace events), `links-0` and `instructions-0`. And charts
 * (charts.h): `torus-0` of a point; a template `charts` has those of all rows.
 *
 * Units: as in these. Errors: out of memory, and those of the embedded outputs. Ownership: the file stays the
 * caller's.
 */
#pragma once

#include <stdio.h>

#include "study/job.h"

/* The number of points that a page shows in detail, and of events for each (a third of them spans), at most,
 * so that a browser draws its first picture within 2 s. */
enum { PAGE_POINTS = 16, PAGE_EVENTS = 300000 };

void page_begin(FILE *page);
/* Writes the blocks of a run whose single times were recorded. */
int page_run(FILE *page, const struct job *job, const struct run *run, int64_t index, struct status *st);
/* The last: the CSV of all points. */
int page_end(FILE *page, const char *rows, size_t bytes, struct status *st);
