/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the schedules that a compiled text states for its collectives, and the statements that are not
 * simulated. */
#include <stdio.h>
#include <string.h>

#include "report/module_print.h"

/* Emitter and strategy, as written, and how the array is split. */
static void describe(const struct collective_config *config, char name[static MODULE_ROW_TEXT],
                     char parts[static MODULE_ROW_TEXT])
{
    snprintf(name, MODULE_ROW_TEXT, "%.36s%s%.26s", config->emitter, config->strategy[0] ? " " : "",
             config->strategy);
    parts[0] = '\0';
    if (config->colours > 0)
        snprintf(parts, MODULE_ROW_TEXT, "colours %d, phases %d", config->colours, config->phases);
}

static const char *simulated_as(const struct module_row *row, const struct collective_config *config)
{
    if (!row->layout || config->rings == CONFIG_OPEN)
        return "simulated by our own schedule";
    if (!config_fits(config, row->layout->rings))
        return "simulated by our own schedule, as its groups lie otherwise";
    return strncmp(config->emitter, "Binomial", strlen("Binomial")) == 0 ? "simulated as single-phase" : "";
}

int module_print_schedules(const struct module_rows *rows, FILE *out, struct status *st)
{
    struct row_groups schedules = {0};
    for (const struct module_row *row = rows->row; row < rows->row + rows->rows; row++) {
        struct collective_config config;
        char name[MODULE_ROW_TEXT], parts[MODULE_ROW_TEXT];
        if (rows->job->options.algorithm != ALGORITHM_AS_COMPILED || row->collective < 0 ||
            !collective_config_of(&rows->job->module, row->collective, &config))
            continue;
        describe(&config, name, parts);
        row_groups_add(&schedules, (const char *[]){name, parts, simulated_as(row, &config)}, row, NULL);
    }
    for (int32_t s = 0; s < schedules.count; s++) {
        const struct row_group *of = &schedules.of[s];
        fprintf(out, "%s%.0f by %s", s ? "; " : "# collectives as compiled: ", of->all.sum.executions,
                of->key[0]);
        if (of->key[1][0] || of->key[2][0])
            fprintf(out, " (%s%s%s)", of->key[1], of->key[1][0] && of->key[2][0] ? "; " : "", of->key[2]);
    }
    if (schedules.count > 0)
        fputc('\n', out);
    return row_groups_end(&schedules, NULL, out, st);
}
