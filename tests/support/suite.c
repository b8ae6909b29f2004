/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "suite.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

enum { EXIT_SKIPPED = 77 }; /* as in sanitized.sh */

int suite_main(const char *suite, const char *needs, const struct suite_test tests[], int argc, char **argv)
{
    if (needs && access(needs, R_OK) < 0) {
        printf("%s: skipped: %s is not at hand\n", suite, needs);
        return EXIT_SKIPPED;
    }
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite s = CU_add_suite(suite, NULL, NULL);
    for (int i = 0; s && tests[i].run; i++) {
        if (argc > 1 && !strstr(tests[i].name, argv[1]))
            continue;
        if (!CU_add_test(s, tests[i].name, tests[i].run))
            return 2;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures(), ran = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    return failed > 0 || ran == 0;
}

bool suite_near(double got, double want, double tolerance, const char *file, int line, const char *what)
{
    if (fabs(got - want) <= tolerance * fabs(want))
        return true;
    fprintf(stderr, "%s:%d: %s is %.17g, not %.17g (relative difference %.3g, allowed %.3g)\n", file, line,
            what, got, want, fabs(got - want) / fabs(want), tolerance);
    return false;
}

bool suite_okay(int code, const char *text, const char *file, int line)
{
    if (code < 0)
        fprintf(stderr, "%s:%d: %s\n", file, line, text);
    return code >= 0;
}

unsigned suite_random(struct suite_random *r, unsigned below)
{
    return below ? (unsigned)random_below(&r->state, below) : 0;
}

double suite_random_unit(struct suite_random *r)
{
    return random_unit(&r->state);
}
