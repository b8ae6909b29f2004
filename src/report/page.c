/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/gzip.h"
#include "report/charts.h"
#include "study/module_job.h"

/* Where the data goes. */
static const char mark[] = "<!--data-->";

void page_begin(FILE *page)
{
    const char *text = embedded_page[0].text;
    fwrite(text, 1, (size_t)(strstr(text, mark) - text), page);
}

static int write_block(FILE *page, const char *name, const char *text, size_t bytes, struct status *st)
{
    fprintf(page, "<script type=\"application/gzip\" id=\"%s\">", name);
    int code = gzip_write_base64(text, bytes, page, st);
    fputs("</script>\n", page);
    return code;
}

int page_end(FILE *page, const char *text, size_t bytes, struct status *st)
{
    struct csv_table rows = {0};
    struct status too_many = {0}; /* to be drawn */
    int code = write_block(page, "rows", text, bytes, st);
    if (csv_table_parse(&rows, "--html", text, bytes, &too_many) == STATUS_NOMEM)
        code = status_nomem(st);
    fputs("<template id=\"charts\">", page);
    chart_scatters(&rows, page);
    chart_waterfalls(&rows, page);
    fprintf(page, "</template>\n%s", strstr(embedded_page[0].text, mark) + strlen(mark));
    csv_table_free(&rows);
    return code;
}

int page_run(FILE *page, const struct job *job, const struct run *run, int64_t index, struct status *st)
{
    const struct trace_part part = {.chips = 1, .most = PAGE_EVENTS};
    for (const struct run_writer *writer = run_writers; writer->name && st->code == 0; writer++) {
        char name[40], *text = NULL;
        size_t bytes;
        if (writer->of_module && !module_job_of(job))
            continue;
        FILE *out = open_memstream(&text, &bytes);
        if (!out)
            return status_nomem(st);
        snprintf(name, sizeof name, "%s-%" PRId64, writer->name, index);
        int code = writer->write(job, run, part, out, st);
        if (!text_end(out, &text))
            return status_nomem(st);
        if (code == 0)
            write_block(page, name, text, bytes, st);
        free(text);
    }
    return st->code;
}
