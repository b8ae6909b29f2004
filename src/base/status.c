/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int status_fail(struct status *st, int code, const char *format, ...)
{
    if (st && st->code == STATUS_OK) {
        char text[sizeof st->text];
        TEXT_OF_REST(text, format);
        text_one_line(text, st->text, sizeof st->text);
        st->code = code;
    }
    return code;
}

int status_prefix(struct status *st, const char *format, ...)
{
    char text[sizeof st->text];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, "%s", st->text);
    text_one_line(text, st->text, sizeof st->text);
    return st->code;
}

int status_suffix(struct status *st, const char *format, ...)
{
    size_t n = strlen(st->text);
    va_list args;
    va_start(args, format);
    vsnprintf(st->text + n, sizeof st->text - n, format, args);
    va_end(args);
    return st->code;
}

int status_nomem(struct status *st)
{
    return status_fail(
        st, STATUS_NOMEM,
        "out of memory; try a smaller slice, fewer points at once, or a larger --memory-limit");
}

/* [-code] */
static const struct {
    int exit_status;
    const char *name;
} codes[] = {
#define STATUS_ROW(code, value, exit_status, name) [-(value)] = {exit_status, name},
    STATUS_CODES(STATUS_ROW)
#undef STATUS_ROW
};

static bool is_known(int code)
{
    return code <= 0 && code > -(int)(sizeof codes / sizeof *codes);
}

const char *status_name(int code)
{
    return is_known(code) ? codes[-code].name : "unknown";
}

bool status_is_refusal(int code)
{
    return code == STATUS_INPUT || code == STATUS_LIMIT || code == STATUS_MEMORY || code == STATUS_UNEVEN;
}

int status_exit(int code)
{
    return is_known(code) ? codes[-code].exit_status : 1;
}
