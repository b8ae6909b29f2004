/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products in sharding notation: a line of mesh axes, one of sizes of dims, and the expression. What is read prints and reads
 * back as the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "notation/expr.h"

static void come_back(const struct expr *expr, const struct axes *axes)
{
    struct status st = {0};
    struct expr again;
    char text[EXPR_TEXT], twice[EXPR_TEXT];
    expr_print(expr, axes, text);
    if (strlen(text) + 1 >= sizeof text)
        return; /* it may have been cut */
    fuzz_promise(expr_parse(text, NULL, DTYPE_BF16, axes, &again, &st) == 0, "what is printed is read", &st);
    fuzz_promise(strcmp(text, expr_print(&again, axes, twice)) == 0, "what is read prints the same", &st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct status st = {0};
    struct axes axes = {0};
    struct expr expr;
    char *text = fuzz_text(data, bytes), *rest = text;
    if (!text)
        return 0;
    const char *mesh = fuzz_line(&rest), *dims = fuzz_line(&rest);
    int code = axes_parse(mesh, &axes, &st);
    if (code == 0)
        code = expr_parse(rest, *dims ? dims : NULL, DTYPE_BF16, &axes, &expr, &st);
    if (code < 0) {
        fuzz_refused(&st);
    } else {
        come_back(&expr, &axes);
        expr_scale(&expr, &axes, 64);
        come_back(&expr, &axes);
    }
    free(text);
    return 0;
}
