/* SPDX-License-Identifier: MIT
 *
 * leat help: explains a command, or a word of a config or a report; also prints all help as
 * a man page, a reference page or shell completion. DESIGN: one walk visits everything that has a name: commands,
 * kinds of a config, their options, words of reports. Finding, searching and "did you mean" are visitors. */
#include <ctype.h>
#include <string.h>

#include "cli.h"
#include "files.h"
#include "help/help.h"
#include "print/terminal.h"

/* A named thing; fields that do not apply are NULL. */
typedef struct thing {
    const char *name, *text;
    const leat_command *command;  /* the command, or the command of an option */
    const leat_help_group *group; /* group of the kind, or of the option's kind */
    const leat_kind *kind;
    const leat_option *option;
} thing;

/* Called for each thing; true ends the walk. */
typedef bool (*visitor)(void *user, const thing *it);

static bool walk_options(const thing *owner, const leat_option *table, visitor visit, void *user)
{
    thing it = *owner;
    for (const leat_option *row = table; row && row->name; row++) {
        it.option = row;
        it.name = row->name;
        it.text = row->help;
        if (visit(user, &it))
            return true;
    }
    return false;
}

static bool walk_commands(visitor visit, void *user)
{
    for (const leat_command *const *c = leat_commands(); *c; c++) {
        const thing it = { (*c)->name, (*c)->text, *c, NULL, NULL, NULL };
        if (visit(user, &it) || walk_options(&it, (*c)->options, visit, user))
            return true;
    }
    return false;
}

static bool walk_kinds(visitor visit, void *user)
{
    for (const leat_help_group *group = leat_help_groups; group->title; group++) {
        const leat_kind *kind;
        for (size_t i = 0; (kind = group->kind(i)); i++) {
            const thing it = { kind->name, kind->help, NULL, group, kind, NULL };
            if (visit(user, &it) || walk_options(&it, kind->options, visit, user))
                return true;
        }
    }
    return false;
}

static void walk(visitor visit, void *user)
{
    if (walk_kinds(visit, user))
        return;
    for (const leat_help_word *word = leat_help_words; word->word; word++)
        if (visit(user, &(thing){ word->word, word->text, NULL, NULL, NULL, NULL }))
            return;
    walk_commands(visit, user);
}

static char plain(char c)
{
    return c == '_' || c == '-' ? ' ' : (char)tolower((unsigned char)c);
}

static bool begins(const char *text, const char *with)
{
    while (*with && plain(*text) == plain(*with))
        text++, with++;
    return !*with;
}

static bool is_same(const char *a, const char *b)
{
    return strlen(a) == strlen(b) && begins(a, b);
}

static bool contains(const char *text, const char *part)
{
    for (; *text; text++)
        if (begins(text, part))
            return true;
    return false;
}

/* --- finding ---------------------------------------------------------------------------------------*/

static void print_example(const thing *it)
{
    const char *const example = it->group->example, *const place = strstr(example, "%s");
    const int before = place ? (int)(place - example) : (int)strlen(example);
    char part[32]; /* of a config: the first key of the example */
    snprintf(part, sizeof part, "%.*s", (int)strcspn(example, ":"), example);
    printf("example:\n%.*s%s%s", before, example,
           place ? leat_help_example(part, it->kind->name) : "", place ? place + 2 : "");
}

static void print_kind(const thing *it)
{
    leat_terminal_say(2, "%s: %s", it->name, it->text);
    printf("%s\n", it->group->where);
    leat_help_options(it->kind->options);
    print_example(it);
}

/* "leat train --save", "normalize.mean", "input wait". */
static const char *name_of(const thing *it, char text[200])
{
    char spelling[64];
    if (it->command && it->option)
        snprintf(text, 200, "leat %s --%s", it->command->name,
                 leat_cli_spelling(it->option, spelling));
    else if (it->command)
        snprintf(text, 200, "leat %s", it->name);
    else if (it->option)
        snprintf(text, 200, "%s.%s", it->kind->name, it->name);
    else
        snprintf(text, 200, "%s", it->name);
    return text;
}

static void print_option(const thing *it)
{
    char text[768], name[200];
    if (it->command) {
        leat_terminal_say(2, "%s: %s", name_of(it, name), it->text);
        return;
    }
    leat_terminal_say(2, "%s, an option of %s: %s", it->name, it->kind->name,
                      leat_help_option_text(it->option, text));
    printf("%s\n", it->group->where);
    if (strcmp(it->name, it->kind->name) != 0)
        print_example(it);
}

struct finding {
    const char *word;
    bool found;
};

static bool find(void *user, const thing *it)
{
    struct finding *const f = user;
    if (!is_same(it->name, f->word))
        return false;
    if (f->found)
        printf("\n");
    f->found = true;
    if (it->option)
        print_option(it);
    else if (it->kind)
        print_kind(it);
    else if (it->command)
        leat_help_command(it->command);
    else
        leat_terminal_say(2, "%s: %s", it->name, it->text);
    return false;
}

/* Prints everything with that name; '_', '-' and ' ' are the same, as are upper and lower case. False: none has. */
static bool find_all(const char *word)
{
    struct finding f = { word, false };
    walk(find, &f);
    return f.found;
}

/* --- searching -------------------------------------------------------------------------------------*/

static bool search(void *user, const thing *it)
{
    struct finding *const f = user;
    char name[200];
    if (!contains(name_of(it, name), f->word) && !contains(it->text, f->word))
        return false;
    f->found = true;
    leat_terminal_entry(stdout, name, 28,
                        it->command && !it->option ? it->command->summary : it->text);
    return false;
}

/* Prints a line for each thing that has this text in its name or its explanation. False: none has. */
static bool search_all(const char *text)
{
    struct finding f = { text, false };
    walk(search, &f);
    return f.found;
}

/* --- the nearest -----------------------------------------------------------------------------------*/

struct names {
    const char *list[1024];
    size_t n;
};

static bool collect(void *user, const thing *it)
{
    struct names *const names = user;
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->list[i], it->name))
            return false;
    names->list[names->n++] = it->name;
    return names->n == sizeof names->list / sizeof *names->list;
}

/* A name near to this word; NULL: none is near. */
static const char *near_to(const char *word)
{
    struct names names = { .n = 0 };
    walk(collect, &names);
    return leat_nearest(word, names.list, names.n);
}

void leat_help_names(void)
{
    struct names names = { .n = 0 };
    walk(collect, &names);
    for (size_t i = 0; i < names.n; i++)
        if (!strpbrk(names.list[i], " \"$`\\"))
            printf("%s ", names.list[i]);
}

/* --- the command ---------------------------------------------------------------------------------*/

struct help_options {
    const char *search;
    int32_t man, completion, reference;
};

static const leat_option options[] = {
    LEAT_OPTION_STRING(struct help_options, search, NULL,
                       "list everything with this text in its name or explanation"),
    LEAT_OPTION_BOOL(struct help_options, man, "false",
                     "print the man page (roff) of a command, or of leat"),
    LEAT_OPTION_BOOL(struct help_options, completion, "false", "print completion for bash"),
    LEAT_OPTION_BOOL(struct help_options, reference, "false",
                     "print the reference of all config keys and commands (Markdown)"),
    LEAT_OPTION_END
};

static int explain(const char *word)
{
    if (find_all(word))
        return LEAT_EXIT_OK;
    const char *const near = near_to(word);
    return leat_command_misuse("help",
                               "there is no '%s'%s%s%s leat help --search %s searches all texts",
                               word, near ? "; did you mean '" : "", near ? near : "",
                               near ? "'?" : ";", strchr(word, ' ') ? "TEXT" : word);
}

static int print_man(const char *name)
{
    const leat_command *const command = name ? leat_command_find(name) : NULL;
    if (name && !command)
        return leat_command_misuse("help", "--man: there is no command '%s'", name);
    if (command)
        leat_help_man_of(command);
    else
        leat_help_man();
    return LEAT_EXIT_OK;
}

/* Joins the words, so that "input wait" needs no quotes. */
static const char *join(const leat_call *call, char *text, size_t size)
{
    text[0] = 0;
    for (int i = 0; i < call->n_arguments; i++)
        leat_files_append(text, size, "%s%s", i ? " " : "", call->arguments[i]);
    return text;
}

static int run(const leat_call *call, leat_error *err)
{
    const struct help_options *o = call->options;
    char word[200];
    (void)err;
    join(call, word, sizeof word);
    if (o->search && !search_all(o->search))
        return leat_command_misuse("help", "nothing has '%s' in it", o->search);
    if (o->search)
        return LEAT_EXIT_OK;
    if (o->man)
        return print_man(*word ? word : NULL);
    if (*word)
        return explain(word);
    if (o->completion)
        leat_help_completion();
    else if (o->reference)
        leat_help_reference();
    else
        leat_help_all(stdout);
    return LEAT_EXIT_OK;
}

const leat_command leat_command_help = {
    .name = "help",
    .summary = "explain a command, or a word of a config or a report",
    .arguments = "[WORD]",
    .text = "Explains a command (`leat help train`), any key of a config (`leat help random_crop`, "
            "`leat help learning_rate`, `leat help sim`) with an example, or a word of a report "
            "(`leat help input wait`). Without a word it lists the commands.",
    .example = "  leat help --search shuffle\n"
               "  leat help --completion > ~/.local/share/bash-completion/completions/leat",
    .n_max = -1,
    LEAT_COMMAND_OPTIONS(struct help_options),
    .run = run,
};
