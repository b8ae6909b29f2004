/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays: reading, printing as NumPy, and what changes shapes. Expected prints are NumPy 1.24's own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numbers/array.h"
#include "suite.h"

static struct array parse(const char *text)
{
    struct status st = {0};
    struct array array;
    OKAY(array_parse(text, &array, &st), st);
    return array;
}

/* Reads an array and says whether it prints as `want`. */
static void prints(const char *text, const char *want)
{
    struct array array = parse(text);
    char *got = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&got, &bytes);
    array_print(&array, out);
    fclose(out);
    if (strcmp(got, want) != 0)
        fprintf(stderr, "%s prints\n%snot\n%s", text, got, want);
    CU_ASSERT_STRING_EQUAL(got, want);
    free(got);
    array_free(&array);
}

/* Is the text refused with a message that holds `why`. */
static void refused(const char *text, const char *why)
{
    struct status st = {0};
    struct array array;
    CU_ASSERT_EQUAL(array_parse(text, &array, &st), STATUS_INPUT);
    if (!strstr(st.text, why))
        fprintf(stderr, "%s is refused with: %s\n", text, st.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, why));
    CU_ASSERT_PTR_NULL(strchr(st.text, '\n'));
    CU_ASSERT_PTR_NULL(array.data);
}

static void reads_and_prints(void)
{
    prints("arange(8).reshape(2,4)", "[[0 1 2 3]\n [4 5 6 7]]\n");
    prints("jnp.arange(2, 8, 3)", "[2 5]\n");
    prints("np.arange(6).reshape(-1, 3)", "[[0 1 2]\n [3 4 5]]\n");
    prints("[[1, -2], [30, 4]]", "[[ 1 -2]\n [30  4]]\n");
    prints("[1.5, 2.25, -3]", "[ 1.5   2.25 -3.  ]\n");
    prints("[1e-5, 1]", "[1.e-05 1.e+00]\n");
    prints("[224.0, 225.0]", "[224. 225.]\n");
    prints("[0.1, 1000.5]", "[1.0000e-01 1.0005e+03]\n");
    prints("arange(8).reshape(2, 2, 2)", "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n");
    prints("5", "5\n");
    prints("2.0", "2.0\n");
    prints("[]", "[]\n");
    prints("arange(1001)", "[   0    1    2 ...  998  999 1000]\n");
    prints("arange(30)", "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
                         " 24 25 26 27 28 29]\n");
}

static void refuses_with_place(void)
{
    refused("arange(8", "column 9: expected ')'");
    refused("[[1,2],[3]]", "a list of 1 after lists of 2");
    refused("[1,[2]]", "deeper");
    refused("[[1],2]", "a number at depth 1 after numbers at depth 2");
    refused("foo(3)", "expected a list or arange");
    refused("arange(999999999)", "more than");
    refused("arange(8) 1", "nothing may follow");
    refused("arange(8).reshape(3,3)", "its new shape asks for 9");
    refused("arange(8).reshape(3,-1)", "do not divide by 3");
    refused("arange(8).reshape(-1,-1)", "only one dim can be -1");
    refused("arange(0,1,0)", "must not be 0");
    refused("[[[[[[[[[1]]]]]]]]]", "deeper than 8");
    refused("", "expected");
    struct status st = {0};
    struct array array;
    const int64_t large[] = {9999, 9999};
    CU_ASSERT_EQUAL(array_init(&array, 2, large, DTYPE_F32, &st), STATUS_LIMIT);
}

static void near_needs_shape_and_value(void)
{
    struct array a = parse("[1.0, 2.0]"), b = parse("[[1.0, 2.0]]"), c = parse("[1.0, 2.002]");
    int64_t at = 0;
    CU_ASSERT_FALSE(array_near(&a, &b, 1, &at));
    CU_ASSERT_EQUAL(at, -1);
    CU_ASSERT_FALSE(array_near(&a, &c, 0, &at));
    CU_ASSERT_EQUAL(at, 1);
    CU_ASSERT_TRUE(array_near(&a, &c, 1e-2, &at));
    c.data[1] = NAN;
    CU_ASSERT_FALSE(array_near(&c, &c, 1, &at));
    array_free(&a);
    array_free(&b);
    array_free(&c);
}

/* Cutting along any dim and joining gives the array back. */
static void cut_and_join(void)
{
    struct status st = {0};
    struct array whole = parse("arange(210).reshape(3, 5, 2, 7)");
    for (int dim = 0; dim < 4; dim++)
        for (int64_t cut = 0; cut <= whole.shape[dim]; cut++) {
            struct array part[2], back;
            int64_t at;
            OKAY(array_slice(&whole, dim, 0, cut, &part[0], &st), st);
            OKAY(array_slice(&whole, dim, cut, whole.shape[dim], &part[1], &st), st);
            OKAY(array_concat(2, part, dim, &back, &st), st);
            CU_ASSERT_TRUE(array_near(&whole, &back, 0, &at));
            array_free(&part[0]);
            array_free(&part[1]);
            array_free(&back);
        }
    struct array bad;
    CU_ASSERT_EQUAL(array_slice(&whole, 4, 0, 1, &bad, &st), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "the dims are 0 to 3"));
    array_free(&whole);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void reads_files(void)
{
    char json[] = "/tmp/icisim-array-XXXXXX.json", csv[] = "/tmp/icisim-array-XXXXXX.csv";
    CU_ASSERT_FATAL(mkstemps(json, 5) >= 0 && mkstemps(csv, 4) >= 0);
    struct status st = {0};
    struct array a, b, want = parse("[[1, 2.5], [3, 4]]");
    int64_t at;
    write_file(json, "[[1, 2.5],\n [3, 4]]\n");
    write_file(csv, "a,b\n1,2.5\n3,4\n");
    OKAY(array_read(json, &a, &st), st);
    OKAY(array_read(csv, &b, &st), st);
    CU_ASSERT_TRUE(array_near(&a, &want, 0, &at));
    CU_ASSERT_TRUE(array_near(&b, &want, 0, &at));
    CU_ASSERT_FALSE(array_is_whole(&a));
    array_free(&a);
    array_free(&b);
    /* without a header, names that are alike among its numbers */
    struct array ones = parse("[[1, 1], [3, 4]]");
    write_file(csv, "1,1\n3,4\n");
    OKAY(array_read(csv, &b, &st), st);
    CU_ASSERT_TRUE(array_is_whole(&b) && array_near(&b, &ones, 0, &at));
    array_free(&b);
    array_free(&ones);
    write_file(json, "[[1, 2],\n [3]]\n");
    CU_ASSERT_EQUAL(array_read(json, &a, &st), STATUS_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(st.text, ".json:2:2: a list of 1"));
    remove(json);
    remove(csv);
    array_free(&want);
}

SUITE("array", TEST(reads_and_prints), TEST(refuses_with_place), TEST(near_needs_shape_and_value),
      TEST(cut_and_join), TEST(reads_files))
