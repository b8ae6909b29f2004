/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV tables: what is read is written, and reads back cell by cell; and files of measurements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "fuzz.h"

static void write(const struct csv_table *table, struct csv_writer *csv)
{
    for (int c = 0; c < table->columns; c++)
        csv_text(csv, table->name[c]);
    csv_end_row(csv);
    for (int row = 0; row < table->rows; row++) {
        for (int c = 0; c < table->columns; c++)
            csv_text(csv, csv_table_cell(table, row, c));
        csv_end_row(csv);
    }
}

static void come_back(const struct csv_table *table)
{
    struct status st = {0};
    struct csv_table again = {0};
    char *text = NULL;
    size_t bytes = 0;
    struct csv_writer csv = {.output.file = open_memstream(&text, &bytes)};
    write(table, &csv);
    fclose(csv.output.file);
    fuzz_promise(csv_table_parse(&again, "written", text, bytes, &st) == 0, "what is written is read", &st);
    fuzz_promise(again.rows == table->rows && again.columns == table->columns, "as many cells", &st);
    for (int row = 0; row < table->rows; row++)
        for (int c = 0; c < table->columns; c++)
            fuzz_promise(strcmp(csv_table_cell(table, row, c), csv_table_cell(&again, row, c)) == 0,
                         "the same cells", &st);
    csv_table_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct status st = {0}, own = {0};
    struct csv_table table = {0};
    double value;
    if (csv_table_parse(&table, "input", (const char *)data, bytes, &st) < 0) {
        fuzz_refused(&st);
    } else {
        if (table.columns > 1) /* a row of one empty cell is an empty line */
            come_back(&table);
        for (int c = 0; table.rows > 0 && c < table.columns; c++)
            if (csv_table_number(&table, 0, c, &value, &own) < 0)
                fuzz_refused(&own);
    }
    csv_table_free(&table);
    return 0;
}
