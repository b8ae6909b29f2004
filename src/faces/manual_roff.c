/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of manual pages. */
#include <string.h>

#include "collective/collective.h"
#include "faces/command.h"
#include "faces/manual.h"
#include "formula/formula.h"
#include "machine/chip.h"
#include "study/result.h"

/* A text as it is: no line starts with a control character, and what is typed with - is copied with -. */
static void put(const char *text, FILE *out)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

/* An entry: a heading in bold, something in italics after it, and what it means. */
static void entry(const char *heading, const char *more, const char *text, FILE *out)
{
    fputs(".TP\n\\fB", out);
    put(heading, out);
    fputs("\\fR", out);
    if (*more) {
        fputs(" \\fI", out);
        put(more, out);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(text, out);
    fputc('\n', out);
}

static void write_commands(FILE *out)
{
    for (const struct command *const *command = command_list; *command; command++)
        if (!(*command)->hidden)
            entry((*command)->name, (*command)->arguments, (*command)->what, out);
}

/* What further pages say of each command, after its options. */
static void write_notes(FILE *out)
{
    for (const struct command *const *command = command_list; *command; command++) {
        if ((*command)->hidden || !(*command)->more)
            continue;
        entry((*command)->name, "", (*command)->more, out);
    }
}

/* ", of which" the option is, as words: "run, compare and sweep". */
static void put_list(const char *const words[], int count, FILE *out)
{
    for (int i = 0; i < count; i++) {
        fputs(i == 0 ? "" : i < count - 1 ? ", " : " and ", out);
        put(words[i], out);
    }
}

static void put_commands(const struct option_row *option, FILE *out)
{
    const char *words[16];
    int count = 0;
    for (const struct command *const *command = command_list; *command; command++)
        if (option->commands & (*command)->bit && !(*command)->hidden)
            words[count++] = (*command)->name;
    put_list(words, count, out);
}

/* What it applies to, unless that is anything. */
static void put_ops(const struct option_row *option, FILE *out)
{
    const char *words[16];
    int count = 0;
    if (option->ops == ON_ONE_MESH)
        fputs(" Does not apply to two meshes.", out);
    if (option->ops == 0 || option->ops == ON_ANY || option->ops == ON_ONE_MESH ||
        option->ops == ON_COLLECTIVES)
        return;
    for (const struct collective *c = collectives; c->name; c++)
        if (option->ops & (1u << c->id))
            words[count++] = c->name;
    if (option->ops & ON_MATMUL)
        words[count++] = "matmuls";
    if (option->ops & ON_TEXT)
        words[count++] = "HLO modules";
    if (option->ops & ON_MODEL)
        words[count++] = "models";
    if (option->ops & ON_STATIONS)
        words[count++] = "two meshes";
    fputs(" Applies to ", out);
    put_list(words, count, out);
    fputc('.', out);
}

static const char *list_note(const struct option_row *option)
{
    if (!option->of_point || option->kind == OPTION_FLAG)
        return "";
    switch (option->list) {
    case LIST_COMMA:
        return option->kind == OPTION_TEXT || option->kind == OPTION_CHOICE ? " Takes a list."
                                                                            : " Takes a list or a range.";
    case LIST_REPEAT:
        return " May be repeated for several values.";
    case LIST_JOIN:
        return " May be repeated; all of it is one value.";
    case LIST_LAST:
        return "";
    }
    return "";
}

static void put_option(const struct option_row *option, bool key, FILE *out)
{
    fputs(".TP\n\\fB", out);
    if (option->letter && !key)
        fprintf(out, "\\-%c\\fR, \\fB", option->letter);
    if (!option->positional && !key)
        fputs("\\-\\-", out);
    put(option->name, out);
    fputs(key ? ":\\fR" : "\\fR", out);
    if (option->argument || key) {
        fputs(" \\fI", out);
        put(option->argument ? option->argument : "on|off", out);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(option->doc, out);
    fputc('.', out);
    if (option->fallback && !strstr(option->doc, "default")) {
        fputs(" Default: ", out);
        put(option->fallback, out);
        fputc('.', out);
    }
    put_ops(option, out);
    fputs(list_note(option), out);
    if (!key) {
        fputs(" (", out);
        put_commands(option, out);
        fputc(')', out);
    }
    fputc('\n', out);
}

static bool is_hidden(const struct option_row *option)
{
    return option->commands == FOR_MANUAL;
}

static void write_options(FILE *out)
{
    for (int group = GROUP_WORK; group <= GROUP_OUTPUT; group++) {
        fprintf(out, ".SS %s\n", option_group_titles[group]);
        for (int i = 0; i < option_count; i++)
            if ((int)option_table[i].group == group && !is_hidden(&option_table[i]))
                put_option(&option_table[i], false, out);
    }
}

static void write_keys(FILE *out)
{
    for (int group = GROUP_WORK; group <= GROUP_OUTPUT; group++) {
        bool titled = false;
        for (int i = 0; i < option_count; i++) {
            if ((int)option_table[i].group != group || !option_table[i].of_point)
                continue;
            if (!titled)
                fprintf(out, ".SS %s\n", option_group_titles[group]);
            titled = true;
            put_option(&option_table[i], true, out);
        }
    }
}

static void write_collectives(FILE *out)
{
    for (const struct collective *c = collectives; c->name; c++) {
        fputs(".TP\n\\fB", out);
        put(c->name, out);
        fputs("\\fR, ", out);
        put(c->aliases, out);
        fputc('\n', out);
        put(c->what, out);
        fputs("; size: ", out);
        put(c->size, out);
        fputs(".\n", out);
    }
}

static void write_columns(FILE *out)
{
    for (int c = 0; c < column_count; c++)
        if (columns[c].name)
            entry(columns[c].name, "", columns[c].meaning, out);
}

static void write_forms(const struct formula *list, FILE *out)
{
    for (const struct formula *f = list; f->id; f++) {
        entry(f->id, f->of, f->equation, out);
        fputs(" (", out);
        put(f->range, out);
        fputs(")\n", out);
    }
}

static void write_exact(FILE *out)
{
    write_forms(formula_exact, out);
}

static void write_rules(FILE *out)
{
    write_forms(formula_rules, out);
}

static void write_chips(FILE *out)
{
    const char *names[CHIP_BUILT_IN_MAX];
    int count = 0;
    chip_names(names);
    while (names[count])
        count++;
    put_list(names, count, out);
    fputc('\n', out);
}

const struct manual_part manual_roff[] = {
    {"commands", write_commands},
    {"notes", write_notes},
    {"options", write_options},
    {"keys", write_keys},
    {"collectives", write_collectives},
    {"columns", write_columns},
    {"exact", write_exact},
    {"rules", write_rules},
    {"chips", write_chips},
    {NULL, NULL},
};
