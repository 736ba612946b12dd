/* SPDX-License-Identifier: MIT
 *
 * yaml_words.c: turns an error of libyaml into a message for the author of a config. The message names the line to change,
 * as libyaml often notices an error one line late.
 *
 * DESIGN. libyaml gives a problem and its place, and usually a context and the place where that began. Both
 * are constant texts. Each common problem has a function here. Others keep libyaml's text. */
#include "yaml_read.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A line of the text, without the spaces before it. */
typedef struct line {
    const char *text;
    size_t n, indent;
} line;

typedef struct fault {
    const yaml_parser_t *parser;
    const char *text;
    size_t n;
    leat_yaml_fault *out;
} fault;

static line line_at(const fault *f, size_t number)
{
    const char *p = f->text, *const end = f->text + f->n;
    line found = { "", 0, 0 };
    for (; number > 0 && p < end; p++)
        number -= *p == '\n';
    while (p < end && *p == ' ')
        p++, found.indent++;
    found.text = p;
    while (p < end && *p != '\n' && *p != '\r')
        p++;
    found.n = (size_t)(p - found.text);
    return found;
}

static bool is_blank(const line *l)
{
    return l->n == 0 || l->text[0] == '#';
}

/* The number of the last line before this one that is not blank; this one if there is none. */
static size_t line_before(const fault *f, size_t number)
{
    for (size_t i = number; i > 0; i--) {
        const line l = line_at(f, i - 1);
        if (!is_blank(&l))
            return i - 1;
    }
    return number;
}

static void put_place(const fault *f, yaml_mark_t mark)
{
    f->out->line = mark.line + 1;
    f->out->column = mark.column + 1;
}

static bool has(const char *text, const char *part)
{
    return text && strstr(text, part);
}

/* "epochs 3": a word that should be a key. libyaml notices at the next key. */
static void say_colon(const fault *f)
{
    const yaml_mark_t mark = f->parser->context_mark;
    const line l = line_at(f, mark.line);
    const size_t key = strcspn(l.text, " :\r\n");
    const size_t n = key < l.n ? key : l.n;
    const bool has_value = n < l.n;
    put_place(f, mark);
    snprintf(f->out->text, sizeof f->out->text,
             "':' is missing after '%.*s': write `%.*s:%s` (with a space after the colon)", (int)n,
             l.text, (int)n, l.text, has_value ? " VALUE" : "");
}

/* The earlier line that probably should have the same indentation: among the lines of this block that are
 * indented further, the last with the least indentation. This one if there is none. */
static size_t line_beside(const fault *f, size_t number, size_t indent)
{
    size_t found = number, least = SIZE_MAX;
    for (size_t i = number; i > 0; i--) {
        const line l = line_at(f, i - 1);
        if (!is_blank(&l) && l.indent <= indent)
            break;
        if (!is_blank(&l) && l.indent > indent && l.indent < least)
            found = i - 1, least = l.indent;
    }
    return found;
}

/* A line between two levels of indentation, or text behind a value. */
static void say_indent(const fault *f)
{
    const yaml_mark_t mark = f->parser->problem_mark;
    const line here = line_at(f, mark.line);
    const size_t other = line_beside(f, mark.line, here.indent);
    put_place(f, mark);
    if (here.n > 1 && here.text[0] == '-' && here.text[1] != ' ')
        snprintf(f->out->text, sizeof f->out->text, "a space is missing after '-'");
    else if (here.n && here.text[0] == '-' && f->parser->context_mark.column == mark.column &&
             has(f->parser->context, "block mapping")) {
        put_place(f, f->parser->context_mark);
        snprintf(f->out->text, sizeof f->out->text,
                 "'- ' is missing: every entry of a list needs it, as in line %zu", mark.line + 1);
    } else if (mark.index < f->n && f->text[mark.index] == ':')
        snprintf(f->out->text, sizeof f->out->text, "a key is missing before ':'");
    else if (here.indent != mark.column)
        snprintf(f->out->text, sizeof f->out->text,
                 "text follows a complete value: put the whole value in quotes");
    else if (other != mark.line)
        snprintf(f->out->text, sizeof f->out->text,
                 "this line is indented by %zu space%s and line %zu by %zu: give both the same "
                 "indentation",
                 here.indent, here.indent == 1 ? "" : "s", other + 1, line_at(f, other).indent);
    else
        snprintf(f->out->text, sizeof f->out->text,
                 "this line does not fit the lines before it: entries of a list begin with '- ', "
                 "entries of a mapping are 'key: value', and the two cannot be mixed");
}

/* A second ": " in one entry: the line is indented too far, or has two ": " itself. */
static void say_second_colon(const fault *f)
{
    const yaml_mark_t mark = f->parser->problem_mark;
    const line here = line_at(f, mark.line);
    const size_t number = line_before(f, mark.line);
    const line before = line_at(f, number);
    const char *const colon = memchr(here.text, ':', here.n);
    const bool is_first = colon && (size_t)(colon - here.text) + here.indent == mark.column;
    const bool dash = here.n > 1 && here.text[0] == '-' && here.text[1] == ' ';
    put_place(f, mark);
    if (number != mark.line && (is_first || dash) && here.indent > before.indent) {
        f->out->column = here.indent + 1;
        snprintf(f->out->text, sizeof f->out->text,
                 "this line is indented by %zu spaces, further than line %zu (%zu), which has its "
                 "value already: give both the same indentation",
                 here.indent, number + 1, before.indent);
    } else {
        snprintf(f->out->text, sizeof f->out->text,
                 "a second ':' in one entry: begin a new line, write several options as {a: 1, "
                 "b: 2}, or put text that has ': ' in quotes");
    }
}

static void say_open_bracket(const fault *f)
{
    const bool is_map = has(f->parser->context, "mapping");
    const yaml_mark_t began = f->parser->context_mark;
    put_place(f, began);
    snprintf(f->out->text, sizeof f->out->text, "this '%c' is not closed: ',' or '%c' is missing",
             is_map ? '{' : '[', is_map ? '}' : ']');
}

static void say_character(const fault *f)
{
    const yaml_mark_t mark = f->parser->problem_mark;
    const char c = mark.index < f->n ? f->text[mark.index] : ' ';
    put_place(f, mark);
    if (c == '\t')
        snprintf(f->out->text, sizeof f->out->text, "a tab: indent with spaces, not tabs");
    else
        snprintf(f->out->text, sizeof f->out->text,
                 "text must not begin with '%c': put it in quotes", c);
}

static void say_as_it_is(const fault *f)
{
    const yaml_parser_t *const p = f->parser;
    put_place(f, p->problem_mark);
    snprintf(f->out->text, sizeof f->out->text, "%s%s%s%s", p->problem ? p->problem : "not YAML",
             p->context ? " (" : "", p->context ? p->context : "", p->context ? ")" : "");
}

/* Errors whose message does not depend on the text. */
static const struct {
    const char *problem, *context; /* parts of libyaml's words */
    bool where_it_began;           /* the message names the place of the context */
    const char *says;
} plain[] = {
    { "unexpected end of stream", "quoted", true, "this quote is not closed" },
    { "document separator", "quoted", true, "this quote is not closed" },
    { "block sequence entries are not allowed", "", false,
      "a list must begin on a line of its own: break the line before this '-'" },
    { "did not find expected node content", "flow node", false,
      "a value is missing here, or a '[' or '{' before it is not closed" },
    { "", "alias", true, "text that begins with '*' must stand in quotes" },
    { "", "anchor", true, "text that begins with '&' must stand in quotes" },
    { "<document start>", "", false,
      "text follows the end of the config: a config is one mapping" },
    { "unknown escape character", "", false,
      "in double quotes '\\' begins an escape: use single quotes, or write '\\\\'" },
};

static bool say_plain(const fault *f)
{
    const char *const context = f->parser->context ? f->parser->context : "";
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (!has(f->parser->problem, plain[i].problem) || !strstr(context, plain[i].context))
            continue;
        put_place(f, plain[i].where_it_began ? f->parser->context_mark : f->parser->problem_mark);
        snprintf(f->out->text, sizeof f->out->text, "%s", plain[i].says);
        return true;
    }
    return false;
}

leat_yaml_fault leat_yaml_words(const yaml_parser_t *parser, const char *text, size_t n)
{
    leat_yaml_fault out = { .line = 1, .column = 1 };
    const fault f = { parser, text, n, &out };
    const char *const what = parser->problem;
    if (has(what, "could not find expected ':'"))
        say_colon(&f);
    else if (has(what, "mapping values are not allowed"))
        say_second_colon(&f);
    else if (has(what, "did not find expected key") || has(what, "did not find expected '-'"))
        say_indent(&f);
    else if (has(what, "did not find expected ',' or"))
        say_open_bracket(&f);
    else if (has(what, "cannot start any token"))
        say_character(&f);
    else if (!say_plain(&f))
        say_as_it_is(&f);
    return out;
}
