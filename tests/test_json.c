/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/json.h"
#include "suite.h"

#define IN(part, st) CU_ASSERT_PTR_NOT_NULL(strstr((st).text, part))

/* Text written so far, in memory. */
struct memory {
    char *text;
    size_t bytes;
    FILE *file;
};

static void open_memory(struct memory *m, struct json *json, int lines)
{
    struct status st = {0};
    m->file = open_memstream(&m->text, &m->bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m->file);
    OKAY(json_open(json, m->file, lines, &st), st);
}

static void ends_as(struct memory *m, struct json *json, const char *want)
{
    struct status st = {0};
    OKAY(json_close(json, &st), st);
    fclose(m->file);
    CU_ASSERT_STRING_EQUAL(m->text, want);
    free(m->text);
}

static void fails_as(struct memory *m, struct json *json, const char *want)
{
    struct status st = {0};
    CU_ASSERT_EQUAL(json_close(json, &st), STATUS_IO);
    IN(want, st);
    fclose(m->file);
    free(m->text);
}

static void values_are_written(void)
{
    struct memory m;
    struct json j;
    open_memory(&m, &j, 0);
    json_object(&j);
    json_key(&j, "text");
    json_string(&j, "a \"b\"\n\\ \xc3\xa9,");
    json_key(&j, "list");
    json_array(&j);
    json_int(&j, -9223372036854775807);
    json_number(&j, "%.9g", (double)NAN);
    json_number(&j, "%.6f", 2.385);
    json_number(&j, "%.9g", 1e-30);
    json_number(&j, "%.9g", (double)NAN);
    json_number(&j, "%.9g", -(double)INFINITY);
    json_object(&j);
    json_end(&j);
    json_end(&j);
    json_end(&j);
    ends_as(&m, &j,
            "{\"text\":\"a \\\"b\\\"\\n\\\\ "
            "\xc3\xa9,\",\"list\":[-9223372036854775807,null,2.385000,1e-30,null,"
            "null,{}]}\n");
}

/* A comma inside a text is no end of a value: "," there starts no line. */
static void events_have_lines(void)
{
    struct memory m;
    struct json j;
    open_memory(&m, &j, 2);
    json_object(&j);
    json_key(&j, "unit");
    json_string(&j, ",");
    json_key(&j, "events");
    json_array(&j);
    for (int i = 0; i < 2; i++) {
        json_object(&j);
        json_key(&j, "ts");
        json_int(&j, i);
        json_key(&j, "name");
        json_string(&j, ",");
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    ends_as(
        &m, &j,
        "{\n\"unit\":\",\",\n\"events\":[\n{\"ts\":0,\"name\":\",\"},\n{\"ts\":1,\"name\":\",\"}\n]\n}\n");
}

/* What is written is JSON to another reader, whatever the texts. */
static void written_is_read_back(void)
{
    static const char letters[] = "ab,\"\n\r\t\\/ {}[]:\x01";
    struct suite_random random = {20240607};
    for (int round = 0; round < 200; round++) {
        struct memory m;
        struct json j;
        struct status st = {0};
        struct document d;
        char text[8][9] = {{0}};
        open_memory(&m, &j, (int)suite_random(&random, 3));
        json_array(&j);
        for (int i = 0; i < 8; i++) {
            for (int k = 0; k < 8; k++)
                text[i][k] = letters[suite_random(&random, sizeof letters - 1)];
            json_string(&j, text[i]);
        }
        json_end(&j);
        OKAY(json_close(&j, &st), st);
        fclose(m.file);
        OKAY(document_parse(&d, "f.json", m.text, m.bytes, &st), st);
        CU_ASSERT_EQUAL_FATAL(d.root->count, 8);
        for (int i = 0; i < 8; i++) {
            const char *back = NULL;
            OKAY(node_text(d.root->child[i], "text", &back, &st), st);
            CU_ASSERT_STRING_EQUAL(back, text[i]);
        }
        document_free(&d);
        free(m.text);
    }
}

static void faults_stick(void)
{
    struct memory m;
    struct json j;
    open_memory(&m, &j, 0);
    json_string(&j, "\xff\xfe");
    fails_as(&m, &j, "not UTF-8");

    open_memory(&m, &j, 0);
    json_array(&j);
    fails_as(&m, &j, "still open");

    open_memory(&m, &j, 0);
    json_int(&j, 1);
    json_int(&j, 2);
    fails_as(&m, &j, "a value where none can be");
}

static void a_full_disk_is_noticed(void)
{
    FILE *full = fopen("/dev/full", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(full);
    setvbuf(full, NULL, _IONBF, 0);
    struct json j;
    struct status st = {0}, bad = {0};
    OKAY(json_open(&j, full, 0, &st), st);
    json_string(&j, "x");
    CU_ASSERT_EQUAL(json_close(&j, &bad), STATUS_IO);
    IN("cannot be written", bad);
    fclose(full);
}

SUITE("json", TEST(values_are_written), TEST(events_have_lines), TEST(written_is_read_back),
      TEST(faults_stick), TEST(a_full_disk_is_noticed))
