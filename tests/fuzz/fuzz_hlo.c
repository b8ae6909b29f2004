/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of HLO text: whatever it accepts is a module that is right, can be printed, and reads back as the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/pass.h"
#include "fuzz.h"
#include "hlo/cost.h"
#include "hlo/hlo_print.h"
#include "hlo/hlo_read.h"
#include "hlo/module_check.h"

static char *print(const struct module *module, size_t *bytes)
{
    struct status st = {0};
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    fuzz_promise(out && hlo_print(module, out, &st) == 0, "a module is printed", &st);
    fclose(out);
    return text;
}

static void come_back(const struct module *module)
{
    struct module again;
    struct status st = {0};
    size_t bytes, more;
    char *text = print(module, &bytes);
    fuzz_promise(hlo_read(&again, "printed", text, bytes, NULL, &st) == 0, "what is printed is read", &st);
    char *twice = print(&again, &more);
    fuzz_promise(bytes == more && memcmp(text, twice, bytes) == 0, "what is read prints the same", &st);
    module_free(&again);
    free(text);
    free(twice);
}

static void look(const struct module *module)
{
    struct module found;
    struct status st = {0};
    int scatters;
    double *runs = malloc(((size_t)module->computations + 1) * sizeof *runs);
    fuzz_promise(runs && module_executions(module, runs, &st) == 0, "how often loops run is known", &st);
    for (int32_t i = 0; i < module->instructions; i++) {
        struct cost cost = module_cost(module, i);
        fuzz_promise(cost.flops >= 0 && cost.hbm_bytes >= 0, "costs are no less than nothing", &st);
    }
    fuzz_promise(pass_reduce_scatters(module, &found, &scatters, &st) == 0, "a pass ends", &st);
    fuzz_promise(scatters == 0 || module_check(&found, NULL, &st) == 0, "what a pass writes is right", &st);
    module_free(&found);
    free(runs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct module module;
    struct status st = {0};
    char *text = fuzz_text(data, bytes);
    if (!text)
        return 0;
    if (hlo_read(&module, "input", text, bytes, NULL, &st) == 0) {
        come_back(&module);
        look(&module);
    } else {
        fuzz_refused(&st);
    }
    module_free(&module);
    free(text);
    return 0;
}
