/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Array expressions: what is read is printed. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "numbers/array.h"

static void check(const struct array *array)
{
    char shape[ARRAY_TEXT], *text = NULL;
    size_t bytes = 0;
    if (array_elements(array) > 1 << 16)
        return;
    FILE *out = open_memstream(&text, &bytes);
    array_print(array, out);
    array_print_shape(array, shape);
    fclose(out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct status st = {0};
    struct array array = {0};
    char *text = fuzz_text(data, bytes);
    if (!text)
        return 0;
    if (array_parse(text, &array, &st) < 0)
        fuzz_refused(&st);
    else
        check(&array);
    array_free(&array);
    free(text);
    return 0;
}
