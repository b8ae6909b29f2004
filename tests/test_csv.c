/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "suite.h"

#define IN(part, st) CU_ASSERT_PTR_NOT_NULL(strstr((st).text, part))

static int parse(struct csv_table *t, const char *text, struct status *st)
{
    return csv_table_parse(t, "f.csv", text, strlen(text), st);
}

static void tables_are_read(void)
{
    struct csv_table t;
    struct status st = {0}, bad = {0}, no = {0};
    double v = 0;
    OKAY(parse(&t,
               "\xef\xbb\xbf# a comment, with a comma\r\n"
               "op,size_bytes,time_s\r\n"
               "all-gather,64,2.385e-06\r\n"
               "\r\n"
               "# in between\r\n"
               "\"two\r\nlines, \"\"quoted\"\"\",,1\r\n"
               "  # no comment ,x,inf",
               &st),
         st);
    CU_ASSERT_EQUAL(t.columns, 3);
    CU_ASSERT_EQUAL(t.rows, 3);
    CU_ASSERT_STRING_EQUAL(t.name[0], "op");
    CU_ASSERT_EQUAL(csv_table_column(&t, "time_s"), 2);
    CU_ASSERT_EQUAL(csv_table_column(&t, "time"), -1);
    CU_ASSERT_EQUAL(csv_table_need(&t, "size_bytes", &st), 1);
    CU_ASSERT_STRING_EQUAL(csv_table_cell(&t, 1, 0), "two\r\nlines, \"quoted\"");
    CU_ASSERT_STRING_EQUAL(csv_table_cell(&t, 2, 0), "# no comment"); /* comments start at the margin */
    CU_ASSERT_EQUAL(t.line[0], 3);
    CU_ASSERT_EQUAL(t.line[1], 6);
    CU_ASSERT_EQUAL(t.line[2], 8); /* the cell before took two lines */
    OKAY(csv_table_number(&t, 0, 2, &v, &st), st);
    CU_ASSERT(v == 2.385e-6);
    OKAY(csv_table_number(&t, 1, 1, &v, &st), st);
    CU_ASSERT(isnan(v));
    CU_ASSERT_EQUAL(csv_table_number(&t, 2, 1, &v, &bad), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(bad.text, "f.csv:8: column 'size_bytes': 'x' is not a number");
    CU_ASSERT_EQUAL(csv_table_number(&t, 2, 2, &v, NULL), STATUS_INPUT);
    CU_ASSERT_EQUAL(csv_table_need(&t, "size", &no), STATUS_INPUT);
    CU_ASSERT_STRING_EQUAL(no.text, "f.csv: no column 'size'; the nearest is size_bytes");
    csv_table_free(&t);
}

static void faults_say_the_line(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "f.csv: is empty"},
        {"# only a comment\n", "f.csv: is empty"},
        {"a,b\n1,2\n3\n", "f.csv:3: 1 cells where the header has 2"},
        {"a,b\n\n1,2,3\n", "f.csv:3: 3 cells where the header has 2"},
        {"a,b,a\n1,2,3\n", "f.csv:1: column 'a' appears twice"},
        {"a,b\n1,2\n\"x\n,2\n", "f.csv:3: a quote that is not closed"},
        {"a,b\n1,x\"y\n", "f.csv:2: a quote"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct csv_table t;
        struct status st = {0};
        CU_ASSERT_EQUAL(parse(&t, cases[i].text, &st), STATUS_INPUT);
        CU_ASSERT_PTR_NULL(t.cell);
        if (!strstr(st.text, cases[i].says))
            fprintf(stderr, "'%s' says: %s\n", cases[i].text, st.text);
        IN(cases[i].says, st);
        csv_table_free(&t);
    }
    struct csv_table t;
    struct status st = {0};
    CU_ASSERT_EQUAL(csv_table_parse(&t, "f.csv", "a\0b\n", 4, &st), STATUS_INPUT);
    CU_ASSERT_EQUAL(csv_table_read(&t, "/nowhere/f.csv", NULL), STATUS_IO);
    csv_table_free(&t);
}

/* A folder of its own, so that what is left behind is seen. */
struct folder {
    char path[64], file[96];
};

static void make_folder(struct folder *f)
{
    strcpy(f->path, "/tmp/icisim-csv-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->path));
    snprintf(f->file, sizeof f->file, "%s/out.csv", f->path);
}

static int count_files(const struct folder *f)
{
    int n = 0;
    DIR *dir = opendir(f->path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void remove_folder(const struct folder *f)
{
    unlink(f->file);
    CU_ASSERT_EQUAL(rmdir(f->path), 0);
}

static void file_holds(const char *path, const char *want)
{
    struct file file;
    struct status st = {0};
    OKAY(file_read(&file, path, &st), st);
    CU_ASSERT_STRING_EQUAL(file.text, want);
    file_free(&file);
}

static void tables_are_written(void)
{
    struct folder f;
    struct csv_writer csv = {0};
    struct status st = {0};
    make_folder(&f);
    OKAY(output_open(&csv.output, f.file, &st), st);
    csv_text(&csv, "plain");
    csv_text(&csv, "a,b");
    csv_text(&csv, "say \"x\"");
    csv_text(&csv, " blank");
    csv_text(&csv, "");
    csv_end_row(&csv);
    csv_real(&csv, 3.795253e-05);
    csv_real(&csv, NAN);
    csv_real(&csv, 1.0 / 3);
    csv_count(&csv, -5);
    csv_bytes(&csv, UINT64_MAX);
    csv_end_row(&csv);
    CU_ASSERT_NOT_EQUAL(access(f.file, F_OK), 0); /* not there before it is whole */
    OKAY(csv_commit(&csv, &st), st);
    file_holds(f.file, "plain,\"a,b\",\"say \"\"x\"\"\",\" blank\",\n"
                       "3.795253e-05,,0.333333333,-5,18446744073709551615\n");
    CU_ASSERT_EQUAL(count_files(&f), 1);
    struct stat at;
    CU_ASSERT_EQUAL(stat(f.file, &at), 0);
    mode_t mask = umask(0);
    umask(mask);
    CU_ASSERT_EQUAL(at.st_mode & 0777, 0666 & ~mask); /* others may read it, as any file */
    remove_folder(&f);
}

static void nothing_is_left_half_written(void)
{
    struct folder f;
    struct csv_writer csv = {0};
    struct status st = {0};
    make_folder(&f);
    OKAY(output_open(&csv.output, f.file, &st), st);
    csv_text(&csv, "first");
    csv_end_row(&csv);
    OKAY(csv_commit(&csv, &st), st);
    OKAY(output_open(&csv.output, f.file, &st), st);
    csv_text(&csv, "second");
    csv_abandon(&csv);
    csv_abandon(&csv); /* ending twice is safe */
    OKAY(csv_commit(&csv, &st), st);
    file_holds(f.file, "first\n");
    CU_ASSERT_EQUAL(count_files(&f), 1);

    /* Two writers of one file do not mix. */
    struct csv_writer other = {0};
    OKAY(output_open(&csv.output, f.file, &st), st);
    OKAY(output_open(&other.output, f.file, &st), st);
    csv_text(&csv, "one");
    csv_text(&other, "two");
    OKAY(csv_commit(&csv, &st), st);
    OKAY(csv_commit(&other, &st), st);
    file_holds(f.file, "two");
    CU_ASSERT_EQUAL(count_files(&f), 1);
    remove_folder(&f);
}

static void links_stay_links(void)
{
    struct folder f;
    struct csv_writer csv = {0};
    struct status st = {0};
    make_folder(&f);
    char link[112];
    snprintf(link, sizeof link, "%s/link.csv", f.path);
    OKAY(output_open(&csv.output, f.file, &st), st);
    OKAY(csv_commit(&csv, &st), st);
    CU_ASSERT_EQUAL(symlink("out.csv", link), 0);
    OKAY(output_open(&csv.output, link, &st), st);
    csv_text(&csv, "through");
    OKAY(csv_commit(&csv, &st), st);
    file_holds(f.file, "through");
    struct stat at;
    CU_ASSERT_EQUAL(lstat(link, &at), 0);
    CU_ASSERT_TRUE(S_ISLNK(at.st_mode));
    unlink(link);
    remove_folder(&f);
}

static void what_cannot_be_written_is_found_at_once(void)
{
    struct folder f;
    struct csv_writer csv = {0};
    struct status a = {0}, b = {0}, c = {0}, full = {0};
    make_folder(&f);
    CU_ASSERT_EQUAL(output_open(&csv.output, f.path, &a), STATUS_IO);
    IN("is a directory", a);
    CU_ASSERT_EQUAL(output_open(&csv.output, "/nowhere/out.csv", &b), STATUS_IO);
    CU_ASSERT_STRING_EQUAL(b.text, "cannot write '/nowhere/out.csv': No such file or directory");
    CU_ASSERT_EQUAL(output_open(&csv.output, "", &c), STATUS_IO);
    IN("the path is empty", c);
    /* /dev/full takes no bytes, which shows at the end at the latest. */
    CU_ASSERT_EQUAL(output_open(&csv.output, "/dev/full", &full), 0);
    csv_text(&csv, "x");
    CU_ASSERT_EQUAL(csv_commit(&csv, &full), STATUS_IO);
    IN("No space left", full);
    remove_folder(&f);
}

/* What the writer writes, the reader reads. */
static void written_is_read_back(void)
{
    static const char letters[] = "ab,\"\n\r #'é";
    enum { ROWS = 200, COLUMNS = 5, LENGTH = 6 };
    static char cell[ROWS][COLUMNS][LENGTH + 1];
    struct suite_random random = {4711};
    struct folder f;
    struct csv_writer csv = {0};
    struct csv_table t;
    struct status st = {0};
    make_folder(&f);
    OKAY(output_open(&csv.output, f.file, &st), st);
    for (int c = 0; c < COLUMNS; c++)
        csv_text(&csv, (char[]){(char)('a' + c), '\0'});
    csv_end_row(&csv);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++) {
            unsigned n = suite_random(&random, LENGTH + 1);
            for (unsigned i = 0; i < n; i++)
                cell[r][c][i] = letters[suite_random(&random, sizeof letters - 1)];
            csv_text(&csv, cell[r][c]);
        }
        csv_end_row(&csv);
    }
    OKAY(csv_commit(&csv, &st), st);
    OKAY(csv_table_read(&t, f.file, &st), st);
    CU_ASSERT_EQUAL(t.rows, ROWS);
    for (int r = 0; r < t.rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            CU_ASSERT_STRING_EQUAL(csv_table_cell(&t, r, c), cell[r][c]);
    csv_table_free(&t);
    remove_folder(&f);
}

/* A header of so many columns, or so many rows of two cells. */
static int parse_many(bool header, int times, struct status *st)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fputs(header ? "c" : "a,b\n", out);
    for (int i = 1; header && i < times; i++)
        fprintf(out, ",c%d", i);
    for (int i = 0; !header && i < times; i++)
        fputs("1,\n", out);
    fclose(out);
    struct csv_table table;
    int code = csv_table_parse(&table, "f.csv", text, bytes, st);
    csv_table_free(&table);
    free(text);
    return code;
}

static void sizes_have_an_end(void)
{
    struct status st = {0}, columns = {0}, cells = {0};
    OKAY(parse_many(true, CSV_COLUMNS, &st), st);
    OKAY(parse_many(false, CSV_CELLS / 2, &st), st);
    CU_ASSERT_EQUAL(parse_many(true, CSV_COLUMNS + 1, &columns), STATUS_LIMIT);
    CU_ASSERT_STRING_EQUAL(columns.text, "f.csv:1: more than 16384 columns; split the file");
    CU_ASSERT_EQUAL(parse_many(false, CSV_CELLS / 2 + 1, &cells), STATUS_LIMIT);
    CU_ASSERT_STRING_EQUAL(cells.text, "f.csv:2097154: more than 4194304 cells; split the file");
}

SUITE("csv", TEST(tables_are_read), TEST(faults_say_the_line), TEST(tables_are_written),
      TEST(nothing_is_left_half_written), TEST(links_stay_links),
      TEST(what_cannot_be_written_is_found_at_once), TEST(written_is_read_back), TEST(sizes_have_an_end))
