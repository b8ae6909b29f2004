/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities: what is read is plausible, is printed, and reads back as the same. */
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "fuzz.h"

static void check_bytes(const char *text)
{
    struct status st = {0};
    uint64_t bytes, again;
    char printed[UNITS_TEXT];
    if (units_parse_bytes("x", text, &bytes, &st) < 0) {
        fuzz_refused(&st);
        return;
    }
    fuzz_promise(units_parse_bytes("x", units_print_bytes(bytes, printed), &again, &st) == 0 &&
                     again == bytes,
                 "bytes read back", &st);
}

typedef int parser(const char *what, const char *text, double *value, struct status *st);
typedef char *printer(double value, char text[static UNITS_TEXT]);

static void check_real(const char *text, parser *parse, printer *print)
{
    struct status st = {0};
    double value, again;
    char printed[UNITS_TEXT];
    if (parse("x", text, &value, &st) < 0) {
        fuzz_refused(&st);
        return;
    }
    fuzz_promise(isfinite(value) && value >= 0, "a quantity is a number of 0 or more", &st);
    if (!print)
        return;
    fuzz_promise(parse("x", print(value, printed), &again, &st) == 0, "what is printed is read", &st);
    fuzz_promise(fabs(again - value) <= 1e-2 * value, "about the same is read back", &st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = fuzz_text(data, bytes);
    if (!text)
        return 0;
    check_bytes(text);
    check_real(text, units_parse_bandwidth, units_print_bandwidth);
    check_real(text, units_parse_time, units_print_time);
    check_real(text, units_parse_rate, NULL);
    check_real(text, units_parse_work, NULL);
    free(text);
    return 0;
}
