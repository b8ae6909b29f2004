/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hlo/hlo_read.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/text.h"
#include "hlo/hlo_reader.h"
#include "hlo/source.h"

int hlo_push(struct hlo_reader *r, int64_t number)
{
    if (!GROW(r->number, r->numbers, r->number_room))
        return status_nomem(r->lexer.st);
    r->number[r->numbers++] = number;
    return 0;
}

/* If the text is not HLO, says what it is instead. */
static int check_kind(struct hlo_lexer *lexer)
{
    size_t start = (size_t)(lexer->end - lexer->text);
    start = start < 4096 ? start : 4096;
    for (const char *at = lexer->text; at < lexer->text + start; at++)
        if ((unsigned char)*at < ' ' && !strchr("\n\t\r\f", *at))
            return status_fail(
                lexer->st, STATUS_INPUT,
                "%s: not a text, but a proto or the like; write HLO as text: compiled.as_text(), or "
                "XLA_FLAGS=--xla_dump_hlo_as_text",
                lexer->file);
    hlo_peek(lexer);
    const char *first = lexer->at;
    if (span_is(hlo_word(lexer), "HloModule"))
        return 0;
    lexer->at = first;
    if (!*first)
        return status_fail(lexer->st, STATUS_INPUT,
                           "%s: there is nothing in it; it should start with HloModule", lexer->file);
    if (strncmp(first, "module", 6) == 0 || *first == '#' || strstr(first, "stablehlo.") ||
        strstr(first, "mhlo."))
        return hlo_fail(
            lexer, first,
            "this is StableHLO, which says nothing of devices; compile it and take compiled.as_text()");
    if (strncmp(first, "hlo_module", 10) == 0 || strncmp(first, "name:", 5) == 0)
        return hlo_fail(lexer, first, "this is a proto as text; take compiled.as_text() instead");
    return hlo_fail(lexer, first, "expected HloModule at the start of HLO text");
}

/* "key=value" of the header: unknown keys go to `rest`, as written. */
static int read_header_attribute(struct hlo_reader *r, FILE *rest)
{
    struct hlo_lexer *lexer = &r->lexer;
    struct span key = hlo_word(lexer), value;
    int64_t count = 0;
    if (key.length == 0)
        return hlo_fail(lexer, key.at, "expected an attribute of the module after ','");
    int code = hlo_expect(lexer, '=', "after the name of an attribute");
    bool partitions = span_is(key, "num_partitions");
    if (code == 0 && (partitions || span_is(key, "replica_count"))) {
        code = hlo_integer(lexer, partitions ? "num_partitions" : "replica_count", 1, GROUPS_DEVICES_MAX,
                           &count);
        *(partitions ? &r->module->partitions : &r->module->replicas) = (int)count;
        if (code == 0 && (int64_t)r->module->partitions * r->module->replicas > GROUPS_DEVICES_MAX)
            return hlo_fail(lexer, key.at,
                            "num_partitions x replica_count is %lld devices; it must be %d or less",
                            (long long)r->module->partitions * r->module->replicas, GROUPS_DEVICES_MAX);
        return code;
    }
    if (code < 0 || (code = hlo_value(lexer, &value)) < 0)
        return code;
    if (span_is(key, "is_scheduled"))
        r->module->scheduled = span_is(value, "true");
    else
        fprintf(rest, "%s%.*s=%.*s", ftell(rest) > 0 ? ", " : "", key.length, key.at, value.length, value.at);
    return 0;
}

static int read_header(struct hlo_reader *r)
{
    struct span name;
    char *text = NULL;
    size_t bytes = 0;
    int code = hlo_name(&r->lexer, "the module", &name);
    FILE *rest = code == 0 ? open_memstream(&text, &bytes) : NULL;
    if (code == 0 && !rest)
        code = status_nomem(r->lexer.st);
    if (code == 0)
        r->module->name = module_text(r->module, name.at, name.length);
    while (code == 0 && hlo_accept(&r->lexer, ','))
        code = read_header_attribute(r, rest);
    if (rest && !text_end(rest, &text) && code == 0)
        code = status_nomem(r->lexer.st);
    if (code == 0)
        r->module->header = module_text(r->module, text, (int)bytes);
    free(text);
    return code;
}

/* Skips "(p: f32[8]) -> f32[8]", which is not needed. */
static int skip_signature(struct hlo_lexer *lexer)
{
    struct span span;
    int code;
    if (hlo_peek(lexer) != '(')
        return 0;
    if ((code = hlo_bracketed(lexer, &span)) < 0 || (code = hlo_expect(lexer, '-', "in '->'")) < 0 ||
        (code = hlo_expect(lexer, '>', "in '->'")) < 0)
        return code;
    if (hlo_peek(lexer) != '(')
        hlo_word(lexer);
    if (*lexer->at != '(' && *lexer->at != '[')
        return hlo_fail(lexer, lexer->at, "expected the shape of the result after '->'");
    if ((code = hlo_bracketed(lexer, &span)) < 0)
        return code;
    /* a layout, and not the instructions */
    return *lexer->at == '{' && strchr("0123456789:}", lexer->at[1]) ? hlo_bracketed(lexer, &span) : 0;
}

static int begin_computation(struct hlo_reader *r, struct span *name)
{
    struct hlo_lexer *lexer = &r->lexer;
    struct module *module = r->module;
    bool bare = hlo_peek(lexer) != '%';
    const char *at = lexer->at;
    int code = hlo_name(lexer, "a computation", name);
    bool entry = code == 0 && bare && span_is(*name, "ENTRY") && hlo_peek(lexer) != '{';
    if (entry && module->entry >= 0)
        return hlo_fail(lexer, at, "a second ENTRY; a module has one");
    if (entry)
        code = hlo_name(lexer, "a computation", name);
    if (code < 0 || (code = skip_signature(lexer)) < 0 ||
        (code = hlo_expect(lexer, '{', "before the instructions of a computation")) < 0)
        return code;
    if (hlo_find_computation(r, *name) >= 0)
        return hlo_fail(lexer, name->at, "a second computation '%.*s'; rename one", name->length, name->at);
    char *word = strndup(name->at, (size_t)name->length);
    if (!word)
        return status_nomem(lexer->st);
    int32_t computation = module_begin(module, word);
    free(word);
    if (module->error < 0)
        return module->error;
    if (entry) {
        module->entry = computation;
        lexer->cut = "ENTRY is cut";
    }
    return 0;
}

/* A computation gets its name only after its last instruction, so it cannot call itself. */
static int read_computation(struct hlo_reader *r)
{
    struct hlo_lexer *lexer = &r->lexer;
    struct span name, value;
    int code = begin_computation(r, &name);
    r->root = -1;
    while (code == 0 && hlo_peek(lexer) != '}')
        code = hlo_read_instruction(r);
    if (code < 0)
        return code;
    struct computation *computation = &r->module->computation[r->module->computations - 1];
    if (computation->count == 0)
        return hlo_fail(lexer, lexer->at, "a computation without instructions");
    computation->root = r->root >= 0 ? r->root : computation->root;
    lexer->at++;
    code = hlo_name_computation(r, name, r->module->computations - 1);
    while (code == 0 && hlo_accept(lexer, ',')) { /* execution_thread="..." */
        hlo_word(lexer);
        if ((code = hlo_expect(lexer, '=', "after the name of an attribute")) == 0)
            code = hlo_value(lexer, &value);
    }
    return code;
}

/* Tables of source lines that XLA prints after the header (source.h): a word, then numbered lines. */
static bool read_table(struct hlo_lexer *lexer)
{
    hlo_peek(lexer);
    const char *start = lexer->at;
    struct span word = hlo_word(lexer);
    if (source_table_of(word.at, word.length) == SOURCE_TABLES) {
        lexer->at = start;
        return false;
    }
    while (hlo_peek(lexer) >= '0' && *lexer->at <= '9')
        lexer->at += strcspn(lexer->at, "\n");
    return true;
}

static void read_tables(struct hlo_reader *r)
{
    hlo_peek(&r->lexer);
    const char *start = r->lexer.at;
    while (read_table(&r->lexer))
        continue;
    struct span tables = span_trim((struct span){start, (int)(r->lexer.at - start)});
    r->module->sources = module_text(r->module, tables.at, tables.length);
}

/* Reads the header, computations, and the text around them. */
static int read_module(struct hlo_reader *r)
{
    struct hlo_lexer *lexer = &r->lexer;
    int code = check_kind(lexer);
    if (code == 0)
        code = read_header(r);
    if (code == 0)
        read_tables(r);
    while (code == 0 && hlo_peek(lexer))
        code = read_computation(r);
    if (code == 0 && r->module->entry < 0)
        code = hlo_fail(lexer, lexer->end, "no ENTRY");
    return code;
}

int hlo_read(struct module *module, const char *file, const char *text, size_t bytes, const char *trips,
             struct status *st)
{
    struct hlo_reader r = {
        .lexer = {.file = file, .text = text, .at = text, .end = text + bytes, .cut = "no ENTRY", .st = st},
        .module = module,
        .trips = trips,
    };
    module_init(module, "", 0);
    module->replicas = 0;       /* not given */
    int code = hlo_push(&r, 0); /* allocates the stack even if it stays empty */
    r.numbers = 0;
    if (code == 0)
        code = read_module(&r);
    /* a fault while building takes precedence */
    if (module->error < 0 || code == 0)
        code = module_close(module, st);
    if (code == 0)
        code = hlo_read_end(&r);
    lookup_free(&r.instruction_names);
    lookup_free(&r.computation_names);
    free(r.number);
    free(r.place);
    return code;
}
