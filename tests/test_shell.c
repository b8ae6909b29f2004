/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of a command line: what is printed is read back, by us and by bash. */
#include <stdlib.h>
#include <string.h>

#include "base/shell.h"
#include "suite.h"

static char *printed(const char *word)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    shell_print(word, out);
    fclose(out);
    return text;
}

static void words_are_printed(void)
{
    static const char *const cases[][2] = {
        {"--ring=uni,bidi", "--ring=uni,bidi"}, {"", "''"},
        {"A[4@X] . B", "'A[4@X] . B'"},         {"it's", "'it'\\''s'"},
        {"two\nlines", "$'two\\x0alines'"},     {"it's\t\\ two", "$'it\\'s\\x09\\\\ two'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = printed(cases[i][0]);
        CU_ASSERT_STRING_EQUAL(text, cases[i][1]);
        free(text);
    }
}

static void words_are_read(void)
{
    static const char *const want[] = {"run",       "a b", "c\"d\\e", "x'y", "tab\tnew\nbell\a!",
                                       "joined up", "",    "\\"};
    const char *at = "  run 'a b'\t\"c\\\"d\\e\" x\\'y $'tab\\tnew\\nbell\\x7!' joined' 'up '' \\\\  ";
    struct status st = {0};
    char *word;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        OKAY(shell_next(&at, &word, &st), st);
        CU_ASSERT_PTR_NOT_NULL_FATAL(word);
        CU_ASSERT_STRING_EQUAL(word, want[i]);
        free(word);
    }
    OKAY(shell_next(&at, &word, &st), st);
    CU_ASSERT_PTR_NULL(word);
}

static void open_quotes_are_refused(void)
{
    static const char *const cases[] = {"'a", "b\"c", "$'\\'", "a '"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct status st = {0};
        const char *at = cases[i];
        char *word = NULL;
        int code = 0;
        do
            free(word);
        while ((code = shell_next(&at, &word, &st)) == 0 && word);
        CU_ASSERT_EQUAL(code, STATUS_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(st.text, "a quote is not closed: "));
    }
}

static void what_is_printed_is_read_back(void)
{
    static const char letters[] = "a1 '\"\\$`x\n\t\x7f{}[]*~#\xc3\xa9";
    struct suite_random random = {20251122};
    for (int i = 0; i < 5000; i++) {
        char word[12] = "";
        for (unsigned n = suite_random(&random, sizeof word), k = 0; k < n; k++)
            word[k] = letters[suite_random(&random, sizeof letters - 1)];
        struct status st = {0};
        char *text = printed(word), *back = NULL;
        const char *at = text;
        CU_ASSERT_PTR_NULL(strchr(text, '\n'));
        OKAY(shell_next(&at, &back, &st), st);
        CU_ASSERT_PTR_NOT_NULL_FATAL(back);
        CU_ASSERT_STRING_EQUAL(back, word);
        CU_ASSERT_EQUAL(*at, '\0');
        free(back);
        free(text);
    }
}

SUITE("shell", TEST(words_are_printed), TEST(words_are_read), TEST(open_quotes_are_refused),
      TEST(what_is_printed_is_read_back))
