/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of commands; the command line, read through argp by the rows of the option table. */
#include "faces/command.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "collective/collective.h"
#include "study/job.h"

const struct command *const command_list[] = {
    &command_run,
    &command_compare,
    &command_sweep,
    &command_merge,
    &command_eval,
    &command_topology,
    &command_validate,
    &command_fit,
    &command_lower,
    &command_model,
    &command_compare_measured,
    NULL,
};

const struct command *command_by_name(const char *name, struct status *st)
{
    const char *names[sizeof command_list / sizeof *command_list];
    int n = 0;
    for (const struct command *const *command = command_list; *command; command++) {
        if (strcmp((*command)->name, name) == 0)
            return *command;
        names[n++] = (*command)->name;
    }
    names[n] = NULL;
    if (name[0] == '-')
        status_fail(st, STATUS_INPUT, "'%s': the command comes first: icisim run OP %s ...", name, name);
    else if (workload_kind(name) != (unsigned)ON_ANY)
        status_fail(st, STATUS_INPUT, "'%s': the command comes first: icisim run '%s' ...", name, name);
    else
        text_unknown("command", name, names, st);
    return NULL;
}

enum { FILES = 65 };
enum { KEY = 0x100, HELP = 'h' }; /* an option's key is KEY + its index, unless it has a letter */

struct parsing {
    const struct command *command;
    struct settings *settings;
    struct status *st;
    bool help;
    const char *file[FILES]; /* workload files */
    int files;
};

static bool takes(const struct command *command, const struct option_row *option)
{
    return option->commands & command->bit;
}

static const struct option_row *option_by_key(int key)
{
    for (int i = 0; i < option_count; i++)
        if (!option_table[i].positional && (key == KEY + i || (key && key == option_table[i].letter)))
            return &option_table[i];
    return NULL;
}

/* Converts the option rows of a command for argp, each group under its title. */
static void fill_options(const struct command *command, struct argp_option list[])
{
    int n = 0;
    for (int group = GROUP_WORK; group <= GROUP_OUTPUT; group++) {
        bool titled = false;
        for (int i = 0; i < option_count; i++) {
            const struct option_row *option = &option_table[i];
            if (!takes(command, option) || option->positional || (int)option->group != group)
                continue;
            if (!titled)
                list[n++] = (struct argp_option){.doc = option_group_titles[group], .group = group};
            titled = true;
            list[n++] = (struct argp_option){.name = option->name,
                                             .key = option->letter ? option->letter : KEY + i,
                                             .arg = option->argument,
                                             .flags = option->alone ? OPTION_ARG_OPTIONAL : 0,
                                             .doc = option->doc,
                                             .group = group};
        }
    }
    list[n++] =
        (struct argp_option){.name = "help", .key = HELP, .doc = "print this and do nothing", .group = -1};
    list[n] = (struct argp_option){0};
}

static const struct option_row *positional_of(const struct command *command)
{
    for (int i = 0; i < option_count; i++)
        if (option_table[i].positional && takes(command, &option_table[i]))
            return &option_table[i];
    return NULL;
}

/* Is the argument the unit of a size, as in --size 1 MiB? Then fails, and says how to write it. */
static int check_unit(const struct parsing *parsing, const char *text)
{
    const struct settings *settings = parsing->settings;
    for (int i = 0; i < settings->arguments; i++) {
        const struct option_row *option = settings->argument[i].option;
        struct status unknown = {0};
        char size[64];
        if (option->kind != OPTION_BYTES || isdigit((unsigned char)*text))
            continue;
        int n = snprintf(size, sizeof size, "%s%s", settings->argument[i].text, text);
        if (n > 0 && (size_t)n < sizeof size && option_set(option, size, NULL, &unknown) == 0)
            return status_fail(parsing->st, STATUS_INPUT, "'%s' stands apart from its number; write --%s %s",
                               text, option->name, size);
    }
    return 0;
}

static int add_option(struct parsing *parsing, const struct option_row *option, const char *text)
{
    int code = settings_add_argument(parsing->settings, option, text, parsing->st);
    return code < 0 ? code : settings_add(parsing->settings, option, text, parsing->st);
}

static int add_argument(struct parsing *parsing, const char *text)
{
    const struct option_row *option = positional_of(parsing->command);
    if (check_unit(parsing, text) < 0)
        return parsing->st->code;
    if (!option)
        return status_fail(parsing->st, STATUS_INPUT, "'%s': %s takes options only", text,
                           parsing->command->name);
    if (strcmp(option->name, "op") != 0 || !document_is_path(text))
        return add_option(parsing, option, text);
    if (parsing->files == FILES)
        return status_fail(parsing->st, STATUS_INPUT, "'%s': more than %d workload files", text, FILES);
    parsing->file[parsing->files++] = text;
    return settings_add_argument(parsing->settings, option, text, parsing->st);
}

/* Finds an option of any command by its spelling on the command line: "--size", "--size=3" or "-j". */
static const struct option_row *option_by_argument(const char *argument)
{
    size_t dashes = strspn(argument, "-");
    char name[OPTION_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + dashes, "="), argument + dashes);
    return dashes == 1 ? option_by_key(name[0]) : option_by_name(name);
}

/* Fails, and names the commands that have the option. */
static int option_of_others(const struct parsing *parsing, const char *argument,
                            const struct option_row *option)
{
    char list[96] = "";
    size_t n = 0;
    for (const struct command *const *other = command_list; *other && n < sizeof list; other++)
        if (takes(*other, option))
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", (*other)->name);
    return status_fail(parsing->st, STATUS_INPUT, "%s has no option '%s'; it is one of %s",
                       parsing->command->name, argument, list);
}

/* Fails, and names the nearest options of the command. */
static int unknown_option(const struct parsing *parsing, const char *argument)
{
    char spelled[OPTIONS_MAX][OPTION_NAME], nearest[TEXT_NEAREST];
    const char *names[OPTIONS_MAX + 1];
    int n = 0;
    for (int i = 0; i < option_count; i++) {
        if (!takes(parsing->command, &option_table[i]) || option_table[i].positional)
            continue;
        snprintf(spelled[n], OPTION_NAME, "--%s", option_table[i].name);
        names[n] = spelled[n];
        n++;
    }
    names[n] = NULL;
    return status_fail(parsing->st, STATUS_INPUT, "%s has no option '%s'; %s", parsing->command->name,
                       argument, text_nearest(argument, names, nearest));
}

/* Finds out why an argument is wrong: argp only reports that it is. */
static int explain(const struct parsing *parsing, const struct argp_state *state)
{
    int at = state->next > 1 ? state->next - 1 : state->next;
    const char *argument = at < state->argc ? state->argv[at] : "";
    const struct option_row *option = option_by_argument(argument);
    if (!option)
        return unknown_option(parsing, argument);
    if (!takes(parsing->command, option))
        return option_of_others(parsing, argument, option);
    if (!option->argument)
        return status_fail(parsing->st, STATUS_INPUT, "--%s takes no value; write it alone", option->name);
    return status_fail(parsing->st, STATUS_INPUT, "--%s has no value; write --%s %s", option->name,
                       option->name, option->argument);
}

/* The next word of the command line, which argp leaves alone after an option with an optional value. */
static const char *value_behind(const struct option_row *option, struct argp_state *state)
{
    bool is_there = state->next < state->argc && state->argv[state->next][0] != '-';
    return is_there ? state->argv[state->next++] : option->alone;
}

static error_t parse_one(int key, char *argument, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    const struct option_row *option = option_by_key(key);
    int code = 0;
    const char *value = option && option->alone && !argument ? value_behind(option, state) : argument;
    if (key == ARGP_KEY_ARG)
        code = add_argument(parsing, argument);
    else if (key == HELP)
        parsing->help = true;
    else if (key == ARGP_KEY_ERROR)
        code = explain(parsing, state); /* the first fault is kept */
    else if (option)
        code = add_option(parsing, option, option->argument ? value : "on");
    else
        return ARGP_ERR_UNKNOWN;
    return code < 0 ? EINVAL : 0;
}

/* Adds the default to the help of an option. argp frees a text that is returned in place of `text`. */
static char *filter_help(int key, const char *text, void *input)
{
    (void)input;
    const struct option_row *option = option_by_key(key);
    char *longer = NULL;
    if (option && option->fallback && option->argument && !strstr(text, "default"))
        return asprintf(&longer, "%s; default: %s", text, option->fallback) < 0 ? (char *)text : longer;
    return (char *)text;
}

/* Prints the command's summary and, after a vertical tab, the text below the options of --help: for commands
 * that run collectives, the names of collectives and the meaning of --size for each. */
static int print_help(struct argp *argp, const struct command *command, char *title, struct status *st)
{
    char *doc = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&doc, &bytes);
    if (!out)
        return status_nomem(st);
    fprintf(out, "%s\v%s", command->what, command->more ? command->more : "");
    if (command->bit & FOR_POINTS) {
        fputs("\n\nCollectives (by JAX's names too) and what --size counts:\n", out);
        for (const struct collective *c = collectives; c->name; c++)
            fprintf(out, "  %-20s %s\n", c->name, c->size);
    }
    if (!text_end(out, &doc))
        return status_nomem(st);
    argp->doc = doc;
    argp_help(argp, stdout, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, title);
    free(doc);
    return 0;
}

int command_parse(const struct command *command, int argc, char **argv, struct settings *settings,
                  struct status *st)
{
    struct argp_option list[OPTIONS_MAX + GROUP_OUTPUT + 2];
    char title[32];
    struct parsing parsing = {.command = command, .settings = settings, .st = st};
    char *name = argv[0];
    settings->kind = workload_kind;
    fill_options(command, list);
    snprintf(title, sizeof title, "icisim %s", command->name);
    argv[0] = title;
    struct argp argp = {list, parse_one, command->arguments, NULL, NULL, filter_help, NULL};
    /* argp's help does not go where its errors go */
    error_t error = argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &parsing);
    argv[0] = name;
    if (parsing.help && print_help(&argp, command, title, st) < 0)
        return st->code;
    if (error && st->code == 0)
        status_fail(st, STATUS_INPUT, "%s: %s", command->name, strerror(error));
    if (parsing.help && st->code == 0)
        return COMMAND_HELPED;
    for (int i = 0; i < parsing.files && st->code == 0; i++)
        (i == 0 ? settings_read : settings_add_model)(settings, parsing.file[i], st);
    return st->code;
}
