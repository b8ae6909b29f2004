/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faces/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/version.h"
#include "faces/rows.h"
#include "hlo/hlo_read.h"

static bool has_input(const struct manifest *manifest, const char *file)
{
    for (int i = 0; i < manifest->inputs; i++)
        if (strcmp(manifest->input[i].file, file) == 0)
            return true;
    return false;
}

/* Of a folder, what is read is one of its files. */
static int add_input(struct manifest *manifest, const char *option, const char *path, struct status *st)
{
    char file[HLO_PATH];
    if (strcmp(path, "-") == 0)
        return status_fail(st, STATUS_INPUT, "--manifest: stdin cannot be read again; name a file (%s)",
                           option);
    if (hlo_find(path, file, st) < 0)
        return st->code;
    if (has_input(manifest, file))
        return 0;
    struct manifest_input input = {0};
    if (digest_file(file, input.sha256, st) < 0)
        return st->code;
    input.file = GROW(manifest->input, manifest->inputs, manifest->room) ? strdup(file) : NULL;
    if (!input.file)
        return status_nomem(st);
    manifest->input[manifest->inputs++] = input;
    return 0;
}

int manifest_hash(struct manifest *manifest, const struct settings *settings, struct status *st)
{
    int code = settings->file ? add_input(manifest, "op", settings->file, st) : 0;
    for (int i = 0; i < option_count; i++)
        for (int v = 0; v < settings->of[i].count && option_table[i].is_input && code == 0; v++)
            if (option_table[i].is_input(settings->of[i].text[v]))
                code = add_input(manifest, option_table[i].name, settings->of[i].text[v], st);
    return code;
}

static void put_word(void *json, const char *word)
{
    json_string(json, word);
}

static int write_manifest(const struct manifest *manifest, const char *command,
                          const struct settings *settings, struct status *st)
{
    struct json json;
    const struct version_part *part = version_parts;
    int code = json_open(&json, manifest->output.file, 1, st);
    if (code < 0)
        return code;
    json_object(&json);
    json_key(&json, part->name);
    json_string(&json, part->version);
    json_key(&json, "libraries");
    json_object(&json);
    for (part++; part->name; part++) {
        json_key(&json, part->name);
        json_string(&json, part->version);
    }
    json_end(&json);
    json_key(&json, "arguments");
    json_array(&json);
    json_string(&json, command);
    typed_words(&settings->typed, "manifest", put_word, &json);
    json_end(&json);
    json_key(&json, "inputs");
    json_array(&json);
    for (int i = 0; i < manifest->inputs; i++) {
        json_object(&json);
        json_key(&json, "file");
        json_string(&json, manifest->input[i].file);
        json_key(&json, "sha256");
        json_string(&json, manifest->input[i].sha256);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    return json_close(&json, st);
}

int manifest_open(struct manifest *manifest, const char *command, const struct settings *settings,
                  struct status *st)
{
    struct status own = {0};
    if (rows_take_stdout(settings, "manifest"))
        return status_fail(st, STATUS_INPUT, "--manifest: stdout is for results; name a file");
    int code = rows_open(settings, "manifest", &manifest->output, st);
    if (code == 0)
        code = manifest_hash(manifest, settings, st);
    if (code == 0 && write_manifest(manifest, command, settings, &own) < 0)
        code = status_fail(st, own.code, "--manifest: %s", own.text);
    return code;
}

int manifest_commit(struct manifest *manifest, int code, struct status *st)
{
    struct status own = {0};
    if (output_commit(&manifest->output, &own) == 0)
        return code;
    return status_fail(st, own.code, "--manifest: %s", own.text);
}

void manifest_abandon(struct manifest *manifest)
{
    for (int i = 0; i < manifest->inputs; i++)
        free(manifest->input[i].file);
    free(manifest->input);
    output_abandon(&manifest->output);
    *manifest = (struct manifest){0};
}
