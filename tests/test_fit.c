/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits against certified data of NIST, against data without noise, and, for the intervals, against what they
 * promise: that 95 of 100 hold the truth. */
#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

#include "study/fit.h"
#include "suite.h"

/* NIST Statistical Reference Datasets, Norris: calibration of ozone monitors, 36 observations, lower level of
 * difficulty, y = B0 + B1 x. https://www.itl.nist.gov/div898/strd/lls/data/Norris.shtml */
static const double norris[][2] = {
    /* y, x */
    {0.1, 0.2},     {338.8, 337.4}, {118.1, 118.2}, {888.0, 884.6}, {9.2, 10.1},    {228.1, 226.5},
    {668.5, 666.3}, {998.5, 996.3}, {449.1, 448.6}, {778.9, 777.0}, {559.2, 558.2}, {0.3, 0.4},
    {0.1, 0.6},     {778.1, 775.5}, {668.8, 666.9}, {339.3, 338.0}, {448.9, 447.5}, {10.8, 11.6},
    {557.7, 556.0}, {228.3, 228.1}, {998.0, 995.8}, {888.8, 887.6}, {119.6, 120.2}, {0.3, 0.3},
    {0.6, 0.3},     {557.6, 556.8}, {339.3, 339.1}, {888.0, 887.2}, {998.5, 999.0}, {778.9, 779.0},
    {10.2, 11.1},   {117.6, 118.3}, {228.9, 229.2}, {668.4, 669.1}, {449.2, 448.9}, {0.2, 0.5},
};
enum { NORRIS = sizeof norris / sizeof *norris };

static void test_norris(void)
{
    double x[2 * NORRIS], y[NORRIS], weight[NORRIS], residual[NORRIS];
    for (int i = 0; i < NORRIS; i++) {
        y[i] = norris[i][0];
        x[2 * i] = 1;
        x[2 * i + 1] = norris[i][1];
        weight[i] = 1;
    }
    struct fit fit;
    struct status st = {0};
    OKAY(fit_linear(&(struct fit_data){NORRIS, 2, false, x, y, weight, residual}, &fit, &st), st);
    NEAR(fit.parameter[0].value, -0.262323073774029, 1e-9);
    NEAR(fit.parameter[0].error, 0.232818234301152, 1e-9);
    NEAR(fit.parameter[1].value, 1.00211681802045, 1e-9);
    NEAR(fit.parameter[1].error, 0.429796848199937e-3, 1e-9);
    NEAR(fit.spread, 0.884796396144373, 1e-9);
    NEAR(fit.r2, 0.999993745883712, 1e-12);
    NEAR(residual[0], 0.1 + 0.262323073774029 - 0.2 * 1.00211681802045, 1e-9);
}

static void test_robust(void)
{
    /* y = 3 + 7x, with tiny scatter and one point far off: the plain fit follows it, the robust one does not
     */
    enum { N = 9 };
    double x[2 * N], y[N], weight[N], residual[N];
    for (int i = 0; i < N; i++) {
        x[2 * i] = 1;
        x[2 * i + 1] = i;
        y[i] = 3 + 7 * i + (i % 3 - 1) * 1e-3;
        weight[i] = 1;
    }
    y[6] += 50;
    struct fit fit;
    struct status st = {0};
    struct fit_data data = {N, 2, false, x, y, weight, residual};
    OKAY(fit_linear(&data, &fit, &st), st);
    CU_ASSERT_TRUE(fabs(fit.parameter[1].value - 7) > 1);
    data.robust = true;
    OKAY(fit_linear(&data, &fit, &st), st);
    NEAR(fit.parameter[1].value, 7, 1e-3);
    NEAR(fit.parameter[0].value, 3, 1e-3);
    double limit = fit_outlier_limit(residual, N, &st);
    for (int i = 0; i < N; i++)
        CU_ASSERT_EQUAL(fabs(residual[i]) > limit, i == 6);
}

/* alpha 13.7 us, 42.3 GB/s one way of two, sizes from 64 KiB to 1 GiB. */
enum { SIZES = 15 };
static const double true_alpha_s = 13.7e-6, true_beta = 1 / 90.24e9;

static void sizes(double bytes[SIZES])
{
    for (int i = 0; i < SIZES; i++)
        bytes[i] = 65536.0 * (1 << i);
}

static void test_line(void)
{
    double bytes[SIZES], time_s[SIZES];
    sizes(bytes);
    for (int i = 0; i < SIZES; i++)
        time_s[i] = true_alpha_s + true_beta * bytes[i];
    struct status st = {0};
    struct fit_line line;
    OKAY(fit_line(bytes, time_s, SIZES, false, &line, &st), st);
    NEAR(line.fit.parameter[0].value, true_alpha_s, 1e-11);
    NEAR(line.bandwidth_Bps.value, 90.24e9, 1e-11);
    NEAR(line.crossover_bytes, 13.7e-6 * 90.24e9, 1e-11);
    NEAR(line.fit.r2, 1, 1e-12);
    time_s[4] *= 1.4;
    OKAY(fit_line(bytes, time_s, SIZES, true, &line, &st), st);
    NEAR(line.fit.parameter[0].value, true_alpha_s, 1e-6);
    NEAR(fit_line_predict(&line, 3e6).value, true_alpha_s + 3e6 * true_beta, 1e-6);
}

static void refused(const double bytes[], const double time_s[], int points, const char *reason)
{
    struct status st = {0};
    struct fit_line line;
    CU_ASSERT_EQUAL(fit_line(bytes, time_s, points, false, &line, &st), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, reason));
}

static void test_refusals(void)
{
    refused((double[]){1e6}, (double[]){1e-3}, 1, "1 point");
    refused((double[]){1e6, 1e6, 1e6}, (double[]){1e-3, 1.1e-3, 1.2e-3}, 3, "all sizes are 1000000 bytes");
    refused((double[]){1e6, 2e6, 3e6}, (double[]){3e-3, 2e-3, 1e-3}, 3, "falls with size");
    refused((double[]){1e6, 2e6}, (double[]){3e-3, 0}, 2, "point 2");
    /* two points are a line without any error to judge it by */
    struct status st = {0};
    struct fit_line line;
    OKAY(fit_line((double[]){1e6, 3e6}, (double[]){2e-3, 4e-3}, 2, false, &line, &st), st);
    NEAR(line.fit.parameter[0].value, 1e-3, 1e-11);
    CU_ASSERT_TRUE(isnan(line.fit.parameter[0].high));
    CU_ASSERT_TRUE(fit_line((double[]){1e6, 3e6}, (double[]){2e-3, 4e-3}, 2, true, &line, &st) < 0);
}

static int times_handled;
static void handle(const char *reason, const char *file, int line, int code)
{
    (void)reason, (void)file, (void)line, (void)code;
    times_handled++;
}

/* A program that uses GSL keeps its handler of errors, and does not see those of a fit. */
static void test_handler_of_errors(void)
{
    gsl_error_handler_t *before = gsl_set_error_handler(handle);
    refused((double[]){1e6, 1e6}, (double[]){1e-3, 1.1e-3}, 2, "all sizes are 1000000 bytes");
    struct status st = {0};
    struct fit_line line;
    OKAY(fit_line((double[]){1e6, 3e6}, (double[]){2e-3, 4e-3}, 2, false, &line, &st), st);
    CU_ASSERT_PTR_EQUAL(gsl_set_error_handler(before), handle);
    CU_ASSERT_EQUAL(times_handled, 0);
}

static double normal(struct suite_random *r)
{
    double u = 1 - suite_random_unit(r), v = suite_random_unit(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* The promise of the intervals, over 10,000 sweeps with 2 % noise each. */
static void test_coverage(void)
{
    enum { DRAWS = 10000 };
    struct suite_random r = {20240229};
    double bytes[SIZES], time_s[SIZES];
    int alpha_in = 0, beta_in = 0, predicted_in = 0;
    sizes(bytes);
    for (int draw = 0; draw < DRAWS; draw++) {
        for (int i = 0; i < SIZES; i++)
            time_s[i] = (true_alpha_s + true_beta * bytes[i]) * (1 + 0.02 * normal(&r));
        struct status st = {0};
        struct fit_line line;
        OKAY(fit_line(bytes, time_s, SIZES, false, &line, &st), st);
        const struct fit_parameter *alpha = &line.fit.parameter[0], *beta = &line.fit.parameter[1];
        alpha_in += alpha->low <= true_alpha_s && true_alpha_s <= alpha->high;
        beta_in += beta->low <= true_beta && true_beta <= beta->high;
        double size_bytes = 3.7e6, next_s = (true_alpha_s + true_beta * size_bytes) * (1 + 0.02 * normal(&r));
        struct fit_parameter predicted = fit_line_predict(&line, size_bytes);
        predicted_in += predicted.low <= next_s && next_s <= predicted.high;
    }
    CU_ASSERT_TRUE(alpha_in >= 0.93 * DRAWS && alpha_in <= 0.97 * DRAWS);
    CU_ASSERT_TRUE(beta_in >= 0.93 * DRAWS && beta_in <= 0.97 * DRAWS);
    CU_ASSERT_TRUE(predicted_in >= 0.93 * DRAWS && predicted_in <= 0.97 * DRAWS);
}

static struct formula_case ring_case(int n, int64_t bytes)
{
    return (struct formula_case){.op = COLLECTIVE_ALL_GATHER,
                                 .kind = RING_BIDI_HALF,
                                 .rings = 1,
                                 .n = {n},
                                 .closed = {true},
                                 .one_link = true,
                                 .elements = bytes,
                                 .elem_bytes = 1,
                                 .hop_latency_s = 1e-6,
                                 .link_Bps = 45e9};
}

/* Cases of rings of 4 and 16 (or of 16 alone) on a machine of 2.3 us overhead, 0.7 us a hop, 42.3 GB/s. */
static int machine_cases(bool two_sizes, double overhead_s, struct formula_case cases[], double time_s[])
{
    int points = 0;
    for (int n = two_sizes ? 4 : 16; n <= 16; n *= 4)
        for (int i = 0; i < 5; i++, points++) {
            cases[points] = ring_case(n, (int64_t)96 << (10 + 3 * i));
            struct formula_case truth = cases[points];
            truth.setup_s = overhead_s;
            truth.hop_latency_s = 0.7e-6;
            truth.link_Bps = 42.3e9;
            time_s[points] = formula_exact_s(&truth);
        }
    return points;
}

static void test_machine(void)
{
    struct formula_case cases[10];
    double time_s[10];
    struct status st = {0};
    struct fit_machine machine;
    int points = machine_cases(true, 2.3e-6, cases, time_s);
    fit_machine_init(&machine, &cases[0]);
    OKAY(fit_machine(cases, time_s, points, &machine, &st), st);
    CU_ASSERT_PTR_NULL(machine.note);
    NEAR(machine.fit.parameter[MACHINE_OVERHEAD].value, 2.3e-6, 1e-9);
    NEAR(machine.fit.parameter[MACHINE_HOP].value, 0.7e-6, 1e-9);
    NEAR(machine.fit.parameter[MACHINE_LINK].value, 42.3e9, 1e-9);
    NEAR(fit_machine_time_s(&machine, &cases[3]), time_s[3], 1e-9);
}

/* One ring size: 15 hops and overhead are one number, and the fit says so. */
static void test_machine_one_size(void)
{
    struct formula_case cases[5];
    double time_s[5];
    struct status st = {0};
    struct fit_machine machine;
    /* 9.2 + 15 * 0.7 = 19.7 us, of which 15 go to hops at the 1 us of the spec */
    int points = machine_cases(false, 9.2e-6, cases, time_s);
    fit_machine_init(&machine, &cases[0]);
    OKAY(fit_machine(cases, time_s, points, &machine, &st), st);
    CU_ASSERT_TRUE(machine.held[MACHINE_HOP] && !machine.held[MACHINE_OVERHEAD] && machine.note);
    NEAR(machine.fit.parameter[MACHINE_OVERHEAD].value, 4.7e-6, 1e-9);
    NEAR(machine.fit.parameter[MACHINE_LINK].value, 42.3e9, 1e-9);
    /* 2.3 + 15 * 0.7 = 12.8 us are less than 15 hops of 1 us: no overhead, 12.8/15 us a hop */
    machine_cases(false, 2.3e-6, cases, time_s);
    fit_machine_init(&machine, &cases[0]);
    OKAY(fit_machine(cases, time_s, points, &machine, &st), st);
    CU_ASSERT_TRUE(!machine.held[MACHINE_HOP] && machine.held[MACHINE_OVERHEAD] && machine.note);
    NEAR(machine.fit.parameter[MACHINE_OVERHEAD].value, 0, 1e-9);
    NEAR(machine.fit.parameter[MACHINE_HOP].value, 12.8e-6 / 15, 1e-9);
    /* with all else held one point gives one number */
    fit_machine_init(&machine, &cases[0]);
    machine.held[MACHINE_HOP] = machine.held[MACHINE_LINK] = true;
    time_s[0] = formula_exact_s(&cases[0]) + 3.1e-6;
    OKAY(fit_machine(cases, time_s, 1, &machine, &st), st);
    NEAR(machine.fit.parameter[MACHINE_OVERHEAD].value, 3.1e-6, 1e-9);
    /* fewer points than unknowns */
    fit_machine_init(&machine, &cases[0]);
    CU_ASSERT_EQUAL(fit_machine(cases, time_s, 1, &machine, &st), STATUS_INPUT);
}

SUITE("fit", TEST(test_norris), TEST(test_robust), TEST(test_line), TEST(test_refusals),
      TEST(test_handler_of_errors), TEST(test_coverage), TEST(test_machine), TEST(test_machine_one_size))
