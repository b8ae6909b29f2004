/* SPDX-License-Identifier: GPL-3.0-or-later */
/* icisim rerun: what a manifest says, once more, if all is as it was. */
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/grow.h"
#include "base/version.h"
#include "faces/command.h"
#include "faces/manifest.h"

/* A command line that a manifest has made. Its words are the document's, or the caller's. */
struct line {
    char **word;
    int count, room;
};

static int add_word(struct line *line, const char *word, struct status *st)
{
    if (!GROW(line->word, line->count, line->room))
        return status_nomem(st);
    line->word[line->count++] = (char *)word; /* argp, which takes it, does not change it */
    return 0;
}

static int check_version(const struct node *versions, const struct version_part *part, struct status *st)
{
    const struct node *version;
    const char *text;
    int code = node_need(versions, part->name, &version, st);
    if (code == 0)
        code = node_text(version, part->name, &text, st);
    if (code == 0 && strcmp(text, part->version) != 0)
        code = node_fail(version, st, STATUS_INPUT, "made with %s %s, this is %s; take the same", part->name,
                         text, part->version);
    return code;
}

/* Compilers may differ: they make the same bytes. */
static int check_versions(const struct node *root, struct status *st)
{
    const struct node *libraries = NULL;
    const struct version_part *part = version_parts;
    int code = check_version(root, part, st);
    if (code == 0)
        code = node_need(root, "libraries", &libraries, st);
    if (code == 0)
        code = node_is_mapping(libraries, "libraries", st);
    for (part++; part->name && code == 0; part++)
        if (strcmp(part->name, "compiler") != 0)
            code = check_version(libraries, part, st);
    return code;
}

static int check_input(const struct node *node, const struct manifest_input *input, struct status *st)
{
    const struct node *file, *sha256;
    const char *was, *digest;
    int code = node_need(node, "file", &file, st);
    if (code == 0)
        code = node_text(file, "file", &was, st);
    if (code == 0)
        code = node_need(node, "sha256", &sha256, st);
    if (code == 0)
        code = node_text(sha256, "sha256", &digest, st);
    if (code == 0 && strcmp(was, input->file) != 0)
        return node_fail(file, st, STATUS_INPUT, "'%s' was read, it would be '%s' now", was, input->file);
    if (code == 0 && strcmp(digest, input->sha256) != 0)
        return node_fail(sha256, st, STATUS_INPUT,
                         "'%s' is not what it was: its SHA-256 is %s; bring the old file back", was,
                         input->sha256);
    return code;
}

static int check_inputs(const struct node *root, const struct settings *settings, struct status *st)
{
    const struct node *inputs;
    struct manifest now = {0};
    int code = node_need(root, "inputs", &inputs, st);
    if (code == 0)
        code = node_is_sequence(inputs, "inputs", st);
    if (code == 0)
        code = manifest_hash(&now, settings, st);
    if (code == 0 && node_count(inputs) != now.inputs)
        code = node_fail(inputs, st, STATUS_INPUT, "%d files were read, it would be %d now",
                         node_count(inputs), now.inputs);
    for (int i = 0; i < now.inputs && code == 0; i++)
        code = check_input(node_child(inputs, i), &now.input[i], st);
    manifest_abandon(&now);
    return code;
}

/* The command of a manifest, and its words. */
static int read_line(const struct node *root, struct line *line, const struct command **command,
                     struct status *st)
{
    const struct node *words;
    const char *word;
    int code = node_need(root, "arguments", &words, st);
    if (code == 0)
        code = node_is_sequence(words, "arguments", st);
    if (code == 0 && node_count(words) == 0)
        code = node_fail(words, st, STATUS_INPUT, "arguments is empty; a command comes first");
    for (int i = 0; code == 0 && i < node_count(words); i++) {
        code = node_text(node_child(words, i), "arguments", &word, st);
        if (code == 0)
            code = add_word(line, word, st);
    }
    if (code < 0)
        return code;
    *command = command_by_name(line->word[0], st);
    if (*command && !(option_by_name("manifest")->commands & (*command)->bit))
        status_fail(st, STATUS_INPUT, "'%s' writes no manifest", line->word[0]);
    return st->code < 0 ? node_prefix(node_child(words, 0), st, st->code) : add_word(line, NULL, st);
}

/* Runs it from the beginning: rows that are there may be of another time. */
static int run_line(const struct node *root, struct line *line, const struct command *command,
                    const char *csv, struct status *st)
{
    struct settings settings;
    settings_init(&settings);
    int code = command_parse(command, line->count - 1, line->word, &settings, st);
    if (code == 0)
        code = check_inputs(root, &settings, st);
    settings_drop(&settings, "resume");
    if (code == 0 && csv)
        code = settings_add(&settings, option_by_name("csv"), csv, st);
    if (code == 0)
        code = command->run(&settings, st);
    settings_locate(&settings, st);
    settings_free(&settings);
    return code == COMMAND_HELPED ? 0 : code;
}

static int rerun(struct settings *settings, struct status *st)
{
    struct document document = {0};
    struct line line = {0};
    const struct command *command = NULL;
    const char *path = settings_text(settings, "record");
    int code = path ? document_load(&document, path, st)
                    : status_fail(st, STATUS_INPUT, "which manifest? write icisim rerun MANIFEST.json");
    if (code == 0)
        code = node_is_mapping(document.root, "a manifest", st);
    if (code == 0 && !node_get(document.root, "arguments") && !node_get(document.root, "icisim"))
        code = node_fail(document.root, st, STATUS_INPUT,
                         "this is no manifest; run writes one with --manifest FILE");
    if (code == 0)
        code = check_versions(document.root, st);
    if (code == 0)
        code = read_line(document.root, &line, &command, st);
    if (code == 0)
        code = run_line(document.root, &line, command, settings_text(settings, "csv"), st);
    free(line.word);
    document_free(&document);
    return code;
}

const struct command command_rerun = {
    .name = "rerun",
    .arguments = "MANIFEST.json",
    .what = "runs again what --manifest has recorded, and writes the same bytes",
    .more = "Refused where the version of the program or of a library, or a file that is read, is not what "
            "it was.",
    .bit = FOR_RERUN,
    .run = rerun,
};
