/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of manual pages. */
#include <stdarg.h>
#include <string.h>

#include "collective/collective.h"
#include "faces/command.h"
#include "faces/manual.h"
#include "formula/formula.h"
#include "machine/chip.h"
#include "study/result.h"

/* Writes a literal text: no line starts with a control character, and a typed - stays a -. */
static void put_text(const char *text, FILE *out)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", out);
        else
            fprintf(out, "%s%c", *text == '-' ? "\\" : "", *text);
}

/* Writes roff in which each %s is replaced by a literal text. */
static void put(FILE *out, const char *roff, ...)
{
    va_list texts;
    va_start(texts, roff);
    for (; *roff; roff++)
        if (roff[0] == '%' && roff[1] == 's') {
            put_text(va_arg(texts, const char *), out);
            roff++;
        } else {
            fputc(*roff, out);
        }
    va_end(texts);
}

/* Writes an entry: a heading in bold, something in italics after it, and its meaning. */
static void entry(const char *heading, const char *more, const char *text, FILE *out)
{
    put(out, *more ? ".TP\n\\fB%s\\fR \\fI%s\\fR\n" : ".TP\n\\fB%s\\fR%s\n", heading, more);
    put(out, "%s\n", text);
}

static void write_commands(FILE *out)
{
    for (const struct command *const *command = command_list; *command; command++)
        entry((*command)->name, (*command)->arguments, (*command)->what, out);
}

/* Writes the notes of each command, which follow its options on further pages. */
static void write_notes(FILE *out)
{
    for (const struct command *const *command = command_list; *command; command++)
        if ((*command)->more)
            entry((*command)->name, "", (*command)->more, out);
}

/* Writes words as in a sentence: "run, compare and sweep". */
static void put_list(const char *const words[], int count, FILE *out)
{
    for (int i = 0; i < count; i++) {
        fputs(i == 0 ? "" : i < count - 1 ? ", " : " and ", out);
        put_text(words[i], out);
    }
}

static void put_commands(const struct option_row *option, FILE *out)
{
    const char *words[16];
    int count = 0;
    for (const struct command *const *command = command_list; *command; command++)
        if (option->commands & (*command)->bit)
            words[count++] = (*command)->name;
    fputs(" (", out);
    put_list(words, count, out);
    fputc(')', out);
}

/* Writes which ops an option applies to, unless it applies to all. */
static void put_ops(const struct option_row *option, FILE *out)
{
    static const struct {
        unsigned op;
        const char *name;
    } others[] = {
        {ON_MATMUL, "matmuls"}, {ON_TEXT, "HLO modules"}, {ON_MODEL, "models"}, {ON_PARTS, "parts"}};
    const char *words[16];
    int count = 0;
    if (option->ops == ON_ONE_MESH)
        fputs(" Does not apply to parts.", out);
    if (option->ops == 0 || option->ops == ON_ANY || option->ops == ON_ONE_MESH ||
        option->ops == ON_COLLECTIVES)
        return;
    for (const struct collective *c = collectives; c->name; c++)
        if (option->ops & (1u << c->id))
            words[count++] = c->name;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (option->ops & others[i].op)
            words[count++] = others[i].name;
    fputs(" Applies to ", out);
    put_list(words, count, out);
    fputc('.', out);
}

static const char *list_note(const struct option_row *option)
{
    bool names = option->kind == OPTION_TEXT || option->kind == OPTION_CHOICE;
    if (!option->of_point || option->kind == OPTION_FLAG || option->list == LIST_LAST)
        return "";
    return option->list == LIST_REPEAT ? " May be repeated for several values."
           : option->list == LIST_JOIN ? " May be repeated; all of it is one value."
           : names                     ? " Takes a list."
                                       : " Takes a list or a range.";
}

/* Writes an option of the command line, or a key of a workload file. */
static void put_option(const struct option_row *option, bool key, FILE *out)
{
    fputs(".TP\n\\fB", out);
    if (option->letter && !key)
        fprintf(out, "\\-%c\\fR, \\fB", option->letter);
    put(out, key ? "%s:\\fR" : option->positional ? "%s\\fR" : "\\-\\-%s\\fR", option->name);
    if (option->argument || key)
        put(out, " \\fI%s\\fR", option->argument ? option->argument : "on|off");
    put(out, "\n%s.", option->doc);
    if (option->fallback && !strstr(option->doc, "default"))
        put(out, " Default: %s.", option->fallback);
    put_ops(option, out);
    fputs(list_note(option), out);
    if (!key)
        put_commands(option, out);
    fputc('\n', out);
}

static void write_rows(bool keys, FILE *out)
{
    for (int group = GROUP_WORK; group <= GROUP_OUTPUT; group++) {
        bool titled = false;
        for (int i = 0; i < option_count; i++) {
            if ((int)option_table[i].group != group || (keys && !option_table[i].of_point))
                continue;
            if (!titled)
                fprintf(out, ".SS %s\n", option_group_titles[group]);
            titled = true;
            put_option(&option_table[i], keys, out);
        }
    }
}

static void write_options(FILE *out)
{
    write_rows(false, out);
}

static void write_keys(FILE *out)
{
    write_rows(true, out);
}

static void write_collectives(FILE *out)
{
    for (const struct collective *c = collectives; c->name; c++)
        put(out, ".TP\n\\fB%s\\fR, %s\n%s; size: %s.\n", c->name, c->aliases, c->what, c->size);
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
        put(out, " (%s)\n", f->range);
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
