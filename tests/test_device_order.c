/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where devices are: what mesh_utils.create_device_mesh of jax 0.10.2 answers for absent slices, row by row. An id counts
 * chips x first, id = x + X (y + Y z), of chips of two devices 2 id + core; of slice s of a hybrid mesh 100000 (s + 1) + id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/file.h"
#include "base/node.h"
#include "machine/chip.h"
#include "machine/mesh.h"
#include "suite.h"

struct bench {
    struct chip chip;
    struct slice slice;
    struct mesh mesh;
};

static void close_bench(struct bench *b)
{
    mesh_free(&b->mesh);
    slice_free(&b->slice);
    chip_free(&b->chip);
}

/* A list of sizes as axes a, b, c and so on. */
static const char *axes_of(const struct node *sizes, char text[static AXES_TEXT])
{
    size_t used = 0;
    for (int a = 0; a < sizes->count; a++)
        used += (size_t)snprintf(text + used, AXES_TEXT - used, "%s%c=%s", a ? "," : "", 'a' + a,
                                 sizes->child[a]->text);
    return text;
}

static int open_bench(struct bench *b, const char *chip, const char *slice, const struct node *sizes,
                      bool split, struct status *st)
{
    char text[AXES_TEXT];
    *b = (struct bench){.slice = {0}};
    OKAY(chip_load(&b->chip, chip, CHIP_SPEC, st), *st);
    OKAY(chip_slice(&b->chip, slice, NULL, &b->slice, st), *st);
    struct mesh_rule rule = {.split = split, .cores = b->chip.cores};
    return mesh_init(&b->mesh, &b->slice, axes_of(sizes, text), &rule, st);
}

static int id_of(const struct mesh *mesh, int device)
{
    const struct slice *slice = mesh->slice;
    int chip = mesh_chip(mesh, device), x = slice_coord(slice, chip, 0);
    int y = slice->axes > 1 ? slice_coord(slice, chip, 1) : 0,
        z = slice->axes > 2 ? slice_coord(slice, chip, 2) : 0;
    int id = x + slice->len[0] * (y + slice->len[1] * z);
    int core = mesh->cores > 1 ? axes_coord(&mesh->axes, device, mesh->core_axis) % mesh->cores : 0;
    return id * mesh->cores + core;
}

static const char *text_at(const struct node *row, const char *name)
{
    const struct node *node = node_get(row, name);
    return node ? node->text : NULL;
}

/* Lists the ids that are wanted against those that we have: true if they are equal. */
static bool is_laid(const struct node *row, const struct mesh *mesh)
{
    const struct node *ids = node_get(row, "ids"), *dcn_sizes = node_get(row, "dcn");
    char text[AXES_TEXT];
    struct axes dcn = {0};
    if (dcn_sizes)
        CU_ASSERT_EQUAL(axes_parse(axes_of(dcn_sizes, text), &dcn, NULL), 0);
    bool equal = ids->count == mesh->devices * axes_devices(&dcn);
    for (int i = 0; i < ids->count && equal; i++) {
        int slice = -1, device = dcn_sizes ? mesh_hybrid_device(mesh, &dcn, i, &slice) : i;
        equal = atoi(ids->child[i]->text) == 100000 * (slice + 1) + id_of(mesh, device);
    }
    return equal;
}

/* "v5:4x4x4", as libtpu calls slices: our chip and the slice. */
static const char *chip_of(const char *name, char chip[static 8])
{
    size_t n = strcspn(name, ":");
    bool v5p = strncmp(name, "v5:", 3) == 0, v7x = strncmp(name, "tpu7x:", 6) == 0;
    snprintf(chip, 8, "%.*s", v5p || v7x ? 3 : (int)n, v5p ? "v5p" : v7x ? "v7x" : name);
    return name + n + 1;
}

static void check_row(const struct node *row, int number, int count[2])
{
    bool refused = text_at(row, "refused") != NULL,
         split = text_at(row, "split") && strcmp(text_at(row, "split"), "true") == 0;
    const struct node *mesh = node_get(row, node_get(row, "ici") ? "ici" : "mesh");
    char chip[8];
    const char *slice = refused ? chip_of(text_at(row, "name"), chip) : text_at(row, "slice");
    struct bench b;
    struct status st = {0};
    int code = open_bench(&b, refused ? chip : text_at(row, "chip"), slice, mesh, split, &st);
    bool as_jax =
        refused ? code == STATUS_INPUT && strstr(st.text, "JAX refuses") : code == 0 && is_laid(row, &b.mesh);
    CU_ASSERT_TRUE(as_jax);
    if (!as_jax)
        printf("device_order.jsonl:%d: %s\n", number, st.text);
    if (code == 0)
        OKAY(mesh_check(&b.mesh, &st), st);
    count[refused] += as_jax;
    close_bench(&b);
}

static void lays_as_jax_does(void)
{
    struct status st = {0};
    struct file file = {0};
    int count[2] = {0, 0}, number = 0;
    OKAY(file_read(&file, "tests/golden/device_order.jsonl", &st), st);
    for (const char *at = file.text, *end; *at && (end = strchr(at, '\n')); at = end + 1) {
        struct document row;
        OKAY(document_parse(&row, "device_order.json", at, (size_t)(end - at), &st), st);
        check_row(row.root, ++number, count);
        document_free(&row);
    }
    CU_ASSERT_EQUAL(count[0], 220 + 8);
    CU_ASSERT_EQUAL(count[1], 114);
    file_free(&file);
}

SUITE("device_order", TEST(lays_as_jax_does))
