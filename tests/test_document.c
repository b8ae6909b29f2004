/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/document.h"
#include "base/embedded.h"
#include "base/node.h"
#include "suite.h"

#define IN(part, st) CU_ASSERT_PTR_NOT_NULL(strstr((st).text, part))

static int parse(struct document *d, const char *text, struct status *st)
{
    return document_parse(d, "f.yaml", text, strlen(text), st);
}

/* The text of a path of names, "" if it is not there. */
static const char *at(const struct node *node, const char *a, const char *b)
{
    const char *text = "";
    node = node_get(node, a);
    if (node && b)
        node = node_get(node, b);
    if (!node || node_text(node, a, &text, NULL) < 0)
        return "";
    return text;
}

static void places(const struct node *node, int line, int column)
{
    CU_ASSERT_EQUAL(node->line, line);
    CU_ASSERT_EQUAL(node->column, column);
}

static void the_tree_has_places(void)
{
    struct document d;
    struct status st = {0};
    OKAY(parse(&d,
               "# a comment\n"
               "slice: 4x4\n"
               "list: [1, \"two\", {three: 3}]\n"
               "block:\n"
               "  - a\n"
               "  - 'b'\n"
               "text: |\n"
               "  two\n"
               "  lines\n"
               "empty:\n",
               &st),
         st);
    const struct node *root = d.root, *list = node_get(root, "list");
    CU_ASSERT_EQUAL(root->kind, NODE_MAPPING);
    CU_ASSERT_EQUAL(root->count, 5);
    CU_ASSERT_STRING_EQUAL(root->name[1], "list");
    CU_ASSERT_STRING_EQUAL(at(root, "slice", NULL), "4x4");
    CU_ASSERT_STRING_EQUAL(at(root, "text", NULL), "two\nlines\n");
    places(node_get(root, "slice"), 2, 8);
    places(list, 3, 7);
    CU_ASSERT_EQUAL(list->kind, NODE_SEQUENCE);
    CU_ASSERT_EQUAL(list->count, 3);
    places(list->child[0], 3, 8);
    places(list->child[1], 3, 11); /* at its quote */
    places(list->child[2], 3, 18);
    places(node_get(list->child[2], "three"), 3, 26);
    places(node_get(root, "block")->child[1], 6, 5);
    CU_ASSERT_TRUE(node_is_empty(node_get(root, "empty")));
    places(node_get(root, "empty"), 10, 1); /* at its name: it has no place of its own */
    CU_ASSERT_FALSE(node_is_empty(list));
    CU_ASSERT_PTR_NULL(node_get(root, "nothing"));
    CU_ASSERT_PTR_NULL(node_get(list, "list"));
    document_free(&d);
}

static void scalars_are_read(void)
{
    struct document d;
    struct status st = {0};
    OKAY(parse(&d, "{i: -47, r: 2.385e-6, yes: true, no: false, t: '12', n: null, big: 99999999999999999999}",
               &st),
         st);
    int64_t i = 0;
    double r = 0;
    bool b = false;
    const char *t = NULL;
    OKAY(node_integer(node_get(d.root, "i"), "i", &i, &st), st);
    OKAY(node_real(node_get(d.root, "r"), "r", &r, &st), st);
    OKAY(node_text(node_get(d.root, "t"), "t", &t, &st), st);
    CU_ASSERT_EQUAL(i, -47);
    CU_ASSERT(r == 2.385e-6);
    CU_ASSERT_STRING_EQUAL(t, "12");
    OKAY(node_bool(node_get(d.root, "yes"), "yes", &b, &st), st);
    CU_ASSERT_TRUE(b);
    OKAY(node_bool(node_get(d.root, "no"), "no", &b, &st), st);
    CU_ASSERT_FALSE(b);

    struct status bad[6] = {0};
    CU_ASSERT(node_integer(node_get(d.root, "t"), "count", &i, &bad[0]) < 0); /* quotes say text */
    CU_ASSERT_STRING_EQUAL(bad[0].text, "f.yaml:1:48: count must be a whole number, without quotes");
    CU_ASSERT(node_integer(node_get(d.root, "r"), "count", &i, &bad[1]) < 0);
    IN("f.yaml:1:13: count '2.385e-6' must be a whole number", bad[1]);
    CU_ASSERT_EQUAL(node_integer(node_get(d.root, "big"), "count", &i, &bad[2]), STATUS_LIMIT);
    CU_ASSERT(node_bool(node_get(d.root, "i"), "flag", &b, &bad[3]) < 0);
    IN("flag '-47' must be true or false", bad[3]);
    CU_ASSERT(node_text(node_get(d.root, "n"), "name", &t, &bad[4]) < 0);
    IN("name has no value", bad[4]);
    CU_ASSERT(node_real(d.root, "rate", &r, &bad[5]) < 0);
    IN("f.yaml:1:1: rate must be one value, not a mapping", bad[5]);
    CU_ASSERT_EQUAL(i, -47);
    document_free(&d);
}

static void anchors_and_merges_resolve(void)
{
    struct document d;
    struct status st = {0};
    OKAY(parse(&d,
               "base: &b {x: 1, y: 2}\n"
               "more: &m {z: 3, x: 9}\n"
               "same: *b\n"
               "one: {y: 5, <<: *b}\n"
               "two:\n"
               "  <<: [*b, *m]\n"
               "  w: 4\n"
               "again: &b 7\n"
               "last: *b\n"
               "quoted: {'<<': 1}\n",
               &st),
         st);
    CU_ASSERT_PTR_EQUAL(node_get(d.root, "same"), node_get(d.root, "base"));
    CU_ASSERT_STRING_EQUAL(at(d.root, "one", "x"), "1");
    CU_ASSERT_STRING_EQUAL(at(d.root, "one", "y"), "5"); /* its own value goes first */
    CU_ASSERT_STRING_EQUAL(at(d.root, "two", "x"), "1"); /* of several the first */
    CU_ASSERT_STRING_EQUAL(at(d.root, "two", "z"), "3");
    CU_ASSERT_STRING_EQUAL(at(d.root, "two", "w"), "4");
    CU_ASSERT_EQUAL(node_get(d.root, "two")->count, 4);
    CU_ASSERT_STRING_EQUAL(at(d.root, "last", NULL), "7"); /* an anchor may be set anew */
    CU_ASSERT_STRING_EQUAL(at(d.root, "quoted", "<<"), "1");
    places(node_get(node_get(d.root, "one"), "x"), 1, 14);
    document_free(&d);
}

/* Nine levels of nine aliases each would be 9^9 nodes if aliases were copies. */
static void aliases_share(void)
{
    char text[1024] = "a0: &a0 1\n";
    for (int level = 1; level <= 9; level++) {
        char line[96];
        int n = snprintf(line, sizeof line, "a%d: &a%d [", level, level);
        for (int i = 0; i < 9; i++)
            n += snprintf(line + n, sizeof line - (size_t)n, "%s*a%d", i ? ", " : "", level - 1);
        snprintf(line + n, sizeof line - (size_t)n, "]\n");
        strcat(text, line);
    }
    struct document d;
    struct status st = {0};
    OKAY(parse(&d, text, &st), st);
    const struct node *node = node_get(d.root, "a9");
    for (int level = 9; level > 0; level--)
        node = node->child[8];
    CU_ASSERT_PTR_EQUAL(node, node_get(d.root, "a0"));
    document_free(&d);
}

static void faults_say_where(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"a: 1\nb: 2\na: 3\n", "f.yaml:3:4: 'a' appears twice (first in line 1); keep one"},
        {"a: [1, 2\nb: 3\n", "f.yaml:"},
        {"a: b: c\n", "f.yaml:1:5: "},
        {"\ta: 1\n", "f.yaml:1:1: "},
        {"a: \"x\n",
         "f.yaml:2:1: found unexpected end of stream while scanning a quoted scalar that starts in line 1"},
        {"a: *nope\n", "f.yaml:1:4: *nope stands for nothing; define &nope before it"},
        {"a: &a [*a]\n", "f.yaml:1:8: *a stands for nothing"},
        {"a: !int 3\n", "tags (!...) are not used here"},
        {"? [a]\n: 2\n", "f.yaml:1:3: a name must be plain text"},
        {"a: {<<: 3}\n", "f.yaml:1:9: << takes a mapping"},
        {"a: {<<: [3]}\n", "f.yaml:1:10: << takes a mapping"},
        {"---\na: 1\n---\nb: 2\n", "a second document"},
        {"", "f.yaml:1:1: the file is empty"},
        {"# nothing\n", "the file is empty"},
        {"a: \"\\0\"\n", "f.yaml:1:4: a text with a NUL character"},
        {"\xff\xfe\xff: 1\n", "f.yaml:1:1: invalid leading UTF-8 octet"},
        {"%\xff", "f.yaml:1:2: invalid leading UTF-8 octet"},
        {"a: 1\nb: \xe2\x82", "f.yaml:2:4: incomplete UTF-8 octet sequence"},
        {"a: \x01\n", "f.yaml:1:4: control characters are not allowed"},
        {"? *a\n", "f.yaml:1:3: a name must be plain text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct document d;
        struct status st = {0};
        CU_ASSERT_EQUAL(parse(&d, cases[i].text, &st), STATUS_INPUT);
        CU_ASSERT_PTR_NULL(d.blocks);
        if (strncmp(st.text, "f.yaml:", 7) != 0 || !strstr(st.text, cases[i].says))
            fprintf(stderr, "'%s' says: %s\n", cases[i].text, st.text);
        IN(cases[i].says, st);
        document_free(&d);
    }
}

static void nesting_has_an_end(void)
{
    char text[2 * DOCUMENT_DEPTH + 8];
    for (int extra = 0; extra < 2; extra++) {
        size_t n = (size_t)(DOCUMENT_DEPTH + extra);
        memset(text, '[', n);
        memset(text + n, ']', n);
        text[2 * n] = '\0';
        struct document d;
        struct status st = {0};
        CU_ASSERT_EQUAL(parse(&d, text, &st), extra ? STATUS_INPUT : 0);
        CU_ASSERT_EQUAL(extra && strstr(st.text, "nested too deeply"), extra);
        document_free(&d);
    }
}

static void names_are_checked(void)
{
    static const char *const known[] = {"slice", "size", "chip", NULL};
    struct document d;
    struct status st = {0}, bad = {0}, missing = {0};
    const struct node *value = NULL;
    OKAY(parse(&d, "slice: 4\nchip: v4\n", &st), st);
    OKAY(node_only(d.root, known, &st), st);
    OKAY(node_need(d.root, "chip", &value, &st), st);
    CU_ASSERT_EQUAL(node_need(d.root, "size", &value, &missing), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(missing.text, "f.yaml:1:1: 'size' is missing");
    CU_ASSERT(node_is_sequence(d.root, "axes", NULL) < 0);
    document_free(&d);
    OKAY(parse(&d, "chip: v4\nslize: 4\n", &st), st);
    CU_ASSERT_EQUAL(node_only(d.root, known, &bad), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(bad.text, "f.yaml:2:8: unknown name 'slize'; the nearest are slice, size");
    document_free(&d);
}

static void json_is_yaml(void)
{
    static const char text[] = "{\"a\":\t[1,2],\n\t\"b\": \"\\u00e9\\/\",\"c\":-1,\"d\":{}}";
    struct document d;
    struct status st = {0};
    OKAY(document_parse(&d, "f.json", text, sizeof text - 1, &st), st);
    CU_ASSERT_STRING_EQUAL(at(d.root, "b", NULL), "\xc3\xa9/"); /* U+00E9 */
    CU_ASSERT_STRING_EQUAL(at(d.root, "c", NULL), "-1");
    CU_ASSERT_EQUAL(node_get(d.root, "a")->count, 2);
    CU_ASSERT_EQUAL(node_get(d.root, "d")->kind, NODE_MAPPING);
    document_free(&d);
}

/* With escapes, blanks and brackets before it. */
static void json_has_places(void)
{
    static const char text[] =
        "{\"a\\\"\\\\\":\n [1.5, -2e3 ,\"\\u00e9\\\\\",\ttrue,null,[], {\"b\":\"c\"}]}";
    static const int column[] = {3, 8, 14, 26, 31, 36, 40};
    struct document d;
    struct status st = {0};
    OKAY(document_parse(&d, "f.json", text, sizeof text - 1, &st), st);
    const struct node *list = node_get(d.root, "a\"\\");
    CU_ASSERT_PTR_NOT_NULL_FATAL(list);
    places(d.root, 1, 1);
    places(list, 2, 2);
    CU_ASSERT_EQUAL_FATAL(list->count, 7);
    for (int i = 0; i < 7; i++)
        places(list->child[i], 2, column[i]);
    places(node_get(list->child[6], "b"), 2, 45);
    CU_ASSERT_TRUE(node_is_empty(list->child[4]));
    document_free(&d);
}

static void faults_of_json_say_where(void)
{
    static const char *const cases[][2] = {
        {"", "f.json:1:1: the file is empty"},
        {"[1,\n 2,,3]", "f.json:2:4: "},
        {"{\"a\":1,\"a\":2}", "f.json:1:12: 'a' appears twice (first in line 1); keep one"},
        {"[1] [2]", "f.json:1:5: "},
        {"[\"\xff\"]", "f.json:1:3: "},
        {"[1", "f.json:2:1: "},
        {"[\"\\u0000\"]", "f.json:1:2: a text with a NUL character"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct document d;
        struct status st = {0};
        CU_ASSERT_EQUAL(document_parse(&d, "f.json", cases[i][0], strlen(cases[i][0]), &st), STATUS_INPUT);
        CU_ASSERT_PTR_NULL(d.blocks);
        if (!strstr(st.text, cases[i][1]))
            fprintf(stderr, "'%s' says: %s\n", cases[i][0], st.text);
        IN(cases[i][1], st);
    }
}

/* A text that is one piece again and again, between a beginning and an end. */
static char *repeat(const char *begin, const char *piece, int times, const char *end)
{
    size_t n = strlen(begin), each = strlen(piece);
    char *text = malloc(n + each * (size_t)times + strlen(end) + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memcpy(text, begin, n);
    for (int i = 0; i < times; i++, n += each)
        memcpy(text + n, piece, each);
    strcpy(text + n, end);
    return text;
}

/* As many values as fit, and one more; by one merge key after the other, too; and bytes. */
static void sizes_have_an_end(void)
{
    static const char *const names[] = {"f.json", "f.yaml"};
    struct document d;
    for (int extra = 0; extra < 2; extra++)
        for (int i = 0; i < 2; i++) {
            struct status st = {0};
            char *text = repeat("[", "1,", DOCUMENT_VALUES - 2 + extra, "1]"); /* the list is a value, too */
            CU_ASSERT_EQUAL(document_parse(&d, names[i], text, strlen(text), &st), extra ? STATUS_LIMIT : 0);
            CU_ASSERT_EQUAL(extra && strstr(st.text, "more than 1048576 values"), extra);
            CU_ASSERT_EQUAL(extra && strstr(st.text, "1:2097152: "), extra);
            document_free(&d);
            free(text);
        }
    struct status merged = {0}, large = {0};
    char *names_of_one = repeat("- &a {k: 0", "", 0, "");
    for (int i = 0; i < 2000; i++) {
        char name[32], *longer;
        snprintf(name, sizeof name, ", k%d: 1", i);
        longer = repeat(names_of_one, name, 1, "");
        free(names_of_one);
        names_of_one = longer;
    }
    char *text = repeat(names_of_one, "}\n- {<<: *a}\n- {k: 1", 5000, "}\n");
    CU_ASSERT_EQUAL(parse(&d, text, &merged), STATUS_LIMIT);
    IN("merged ones included", merged);
    CU_ASSERT_EQUAL(document_parse(&d, "f.yaml", text, (size_t)DOCUMENT_BYTES + 1, &large), STATUS_LIMIT);
    IN("f.yaml: 67108865 bytes are more than the 67108864 of a document", large);
    free(names_of_one);
    free(text);
}

static void files_are_read(void)
{
    char path[] = "/tmp/icisim-document-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT(fd >= 0 && write(fd, "a: 1\n", 5) == 5);
    close(fd);
    struct document d;
    struct status st = {0}, bad = {0};
    OKAY(document_load(&d, path, &st), st);
    CU_ASSERT_STRING_EQUAL(at(d.root, "a", NULL), "1");
    document_free(&d);
    unlink(path);
    CU_ASSERT_EQUAL(document_load(&d, path, &bad), STATUS_IO);
    IN("No such file", bad);
    document_free(&d);
}

SUITE("document", TEST(the_tree_has_places), TEST(scalars_are_read), TEST(anchors_and_merges_resolve),
      TEST(aliases_share), TEST(faults_say_where), TEST(nesting_has_an_end), TEST(names_are_checked),
      TEST(json_is_yaml), TEST(json_has_places), TEST(faults_of_json_say_where), TEST(sizes_have_an_end),
      TEST(files_are_read))
