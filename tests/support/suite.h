/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every test suite needs: a main from a list of tests, and comparisons that print both sides. */
#ifndef SUITE_H
#define SUITE_H

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stdint.h>

struct suite_test {
    const char *name;
    void (*run)(void);
};

/* Runs the tests as one CUnit suite and prints the ones that fail; returns the exit status. An argument is a
 * part of a test's name and picks the tests to run. A suite that needs a file which is not there runs nothing and
 * exits with 77, which ctest calls "Skipped"; `needs` is NULL for all others. */
int suite_main(const char *suite, const char *needs, const struct suite_test tests[], int argc, char **argv);
#define SUITE_NEEDS(name, file, ...)                                                                         \
    int main(int argc, char **argv)                                                                          \
    {                                                                                                        \
        static const struct suite_test tests[] = {__VA_ARGS__, {0}};                                         \
        return suite_main(name, file, tests, argc, argv);                                                    \
    }
#define SUITE(name, ...) SUITE_NEEDS(name, NULL, __VA_ARGS__)
#define TEST(function)                                                                                       \
    {                                                                                                        \
#function, function                                                                                  \
    }

/* |got - want| <= tolerance * |want|, or the message says both. */
bool suite_near(double got, double want, double tolerance, const char *file, int line, const char *what);
#define NEAR(got, want, tolerance)                                                                           \
    CU_assertImplementation(suite_near((got), (want), (tolerance), __FILE__, __LINE__, #got), __LINE__,      \
                            #got " near " #want, __FILE__, "", CU_FALSE)

/* code == 0, or the status's text is printed. */
#define OKAY(call, st)                                                                                       \
    CU_assertImplementation(suite_okay((call), (st).text, __FILE__, __LINE__), __LINE__, #call, __FILE__,    \
                            "", CU_FALSE)
bool suite_okay(int code, const char *text, const char *file, int line);

/* Random numbers for tests: the same everywhere, from a seed that a failing test prints. */
struct suite_random {
    uint64_t state;
};
unsigned suite_random(struct suite_random *r, unsigned below); /* 0 .. below-1 */
double suite_random_unit(struct suite_random *r);              /* [0, 1) */

#endif
