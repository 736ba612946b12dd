/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "outputs.h"

static const leat_cli_word words[] = {
    { "output", "PATH", 'o' },     { "json", "FILE", 0 },        { "set", "PATH=VALUE", 0 },
    { "vary", "PATH=A,B,...", 0 }, { "device", "NAME", 0 },      { "save", "FILE", 0 },
    { "log", "DIR", 0 },           { "y", "KEY,...", 0 },        { "x", "WHAT", 0 },
    { "weights", "FILE", 0 },      { "onnx", "FILE", 0 },        { "labels", "FILE", 0 },
    { "sheet", "FILE", 0 },        { "section", "NAME", 0 },     { "checkpoint", "DIR", 0 },
    { "resume", "FILE", 0 },       { "restore", "FILE", 0 },     { "quiet", "", 'q' },
    { "seed", "SEED", 0 },         { "shuffle", "SEED", 0 },     { "size", "PIXELS", 0 },
    { "split", "SHARE", 0 },       { "feature", "NAME", 0 },     { "trace", "FILE", 0 },
    { "progress", "WHEN", 0 },     { "jpeg", "restart[=N]", 0 }, { "results", "DIR", 0 },
    { "data", "DIR", 0 },          { "svg", "DIR", 0 },          { "errors", "FILE", 0 },
    { "manifest", "FILE", 0 },     { "write", "FILE", 0 },       { "devices", "A,B", 0 },
    { "fail_if", "LIMIT", 0 },
};

leat_cli_word leat_cli_word_of(const leat_option *row)
{
    leat_cli_word word = { row->name, "TEXT", 0 };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].option, row->name) &&
            (row->type != LEAT_OPTION_TYPE_BOOL || !*words[i].value))
            return words[i];
    if (row->type == LEAT_OPTION_TYPE_BOOL)
        word.value = "";
    else if (row->type == LEAT_OPTION_TYPE_I64)
        word.value = "N";
    else if (row->type == LEAT_OPTION_TYPE_F32 || row->type == LEAT_OPTION_TYPE_F64)
        word.value = "X";
    else if (row->type == LEAT_OPTION_TYPE_ENUM)
        word.value = "WORD";
    return word;
}

bool leat_cli_word_is_optional(const leat_option *row)
{
    return !strcmp(row->name, "json") || !strcmp(row->name, "resume");
}

const char *leat_cli_spelling(const leat_option *row, char text[64])
{
    snprintf(text, 64, "%s", row->name);
    for (char *c = text; *c; c++)
        if (*c == '_')
            *c = '-';
    return text;
}

/* Text rows hold pointers here, so the library initialises only the other rows. */
static void init_options(const leat_option *table, void *options)
{
    for (const leat_option *row = table; row->name; row++) {
        char *field = (char *)options + row->offset;
        if (row->type == LEAT_OPTION_TYPE_STRING) {
            memcpy(field, &row->initial, sizeof row->initial);
        } else if (row->type != LEAT_OPTION_TYPE_STRINGS) {
            const leat_option one[] = { *row, LEAT_OPTION_END };
            leat_option_init(one, options);
        }
    }
}

static const leat_option *find_long(const leat_option *table, const char *name, size_t length)
{
    char spelling[64];
    for (const leat_option *row = table; row->name; row++) {
        leat_cli_spelling(row, spelling);
        if (strlen(spelling) == length && !strncmp(spelling, name, length))
            return row;
    }
    return NULL;
}

static const leat_option *find_letter(const leat_option *table, char letter)
{
    for (const leat_option *row = table; row->name; row++)
        if (leat_cli_word_of(row).letter == letter)
            return row;
    return NULL;
}

/* Hints for options that belong in the config, not on the command line. */
static const char *of_config(const char *word)
{
    static const struct {
        const char *word, *text;
    } known[] = {
        { "batch-size", "; write --set pipeline.batch.size=N" },
        { "batch", "; write --set pipeline.batch.size=N" },
        { "prefetch", "; write --set pipeline.prefetch.batches=N" },
        { "threads", "; write --set engine.threads=N" },
        { "workers", "; write --set engine.threads=N" },
        { "seed", "; write --set seed=N" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].word, word))
            return known[i].text;
    return "; change values of the config with --set PATH=VALUE";
}

static int fail_unknown(const leat_option *table, const char *name, size_t length, leat_error *err)
{
    char spellings[32][64], word[64];
    const char *known[33] = { "help" };
    size_t n = 0;
    for (const leat_option *row = table; row->name && n < 32; row++, n++)
        known[n + 1] = leat_cli_spelling(row, spellings[n]);
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    const char *near = leat_nearest(word, known, n + 1);
    const char *const hint = near || !find_long(table, "set", 3) ? "" : of_config(word);
    return leat_fail(err, LEAT_E_ARGUMENT, "unknown option --%s%s%s%s%s", word,
                     near ? "; did you mean --" : "", near ? near : "", near ? "?" : "", hint);
}

static int set_option(const leat_option *row, void *options, const char *value, leat_error *err)
{
    char *field = (char *)options + row->offset;
    char spelling[64];
    if (row->type == LEAT_OPTION_TYPE_STRING) {
        memcpy(field, &value, sizeof value);
        return LEAT_OK;
    }
    if (row->type == LEAT_OPTION_TYPE_STRINGS) {
        leat_texts *texts = (leat_texts *)(void *)field;
        if (texts->n == LEAT_TEXTS_MAX)
            return leat_fail(err, LEAT_E_ARGUMENT, "--%s: at most %d times",
                             leat_cli_spelling(row, spelling), LEAT_TEXTS_MAX);
        texts->values[texts->n++] = value;
        return LEAT_OK;
    }
    if (leat_option_set(row, options, value, err) < 0)
        return leat_fail_in(err, LEAT_E_ARGUMENT, "--%s: ", leat_cli_spelling(row, spelling));
    return LEAT_OK;
}

/* The value of an option written without '='; *used counts the words it takes. */
static const char *next_value(const leat_option *row, int argc, char **argv, int *used)
{
    if (row->type == LEAT_OPTION_TYPE_BOOL)
        return "true";
    if (!strcmp(row->name, "resume") &&
        (argc < 2 || !leat_files_ends_with(argv[1], ".safetensors")))
        return "";
    if (!strcmp(row->name, "json") &&
        (argc < 2 || (strcmp(argv[1], "-") != 0 && !leat_files_ends_with(argv[1], ".json"))))
        return "-";
    if (argc < 2)
        return NULL;
    *used = 2;
    return argv[1];
}

static bool names_file(const leat_option *row)
{
    static const char *const values[] = { "FILE", "DIR", "PATH" };
    bool does = false;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        does |= !strcmp(leat_cli_word_of(row).value, values[i]);
    return does;
}

/* One option at argv[0]; returns how many words it took, or an error. *found: its row. */
static int parse_option(const leat_call *call, int argc, char **argv, const leat_option **found,
                        leat_error *err)
{
    const leat_option *table = call->command->options, *row;
    const char *word = argv[0], *value = NULL;
    int used = 1;
    if (word[1] == '-') {
        const size_t length = strcspn(word + 2, "=");
        row = find_long(table, word + 2, length);
        if (!row)
            return fail_unknown(table, word + 2, length, err);
        if (word[2 + length] == '=')
            value = word + 2 + length + 1;
    } else {
        row = find_letter(table, word[1]);
        if (!row)
            return leat_fail(err, LEAT_E_ARGUMENT, "unknown option -%c", word[1]);
        if (word[2] && row->type == LEAT_OPTION_TYPE_BOOL)
            return leat_fail(err, LEAT_E_ARGUMENT, "%s: give one-letter options separately", word);
        if (word[2])
            value = word + 2 + (word[2] == '=');
    }
    const bool is_left_out = !value && (value = next_value(row, argc, argv, &used)) && used == 1;
    if (!value)
        return leat_fail(err, LEAT_E_ARGUMENT, "%s needs a value: %s", word,
                         leat_cli_word_of(row).value);
    if (!*value && !is_left_out && names_file(row)) /* DIR/name would be /name */
        return leat_fail(err, LEAT_E_ARGUMENT, "%s: the name is empty: give a %s", word,
                         leat_cli_word_of(row).value);
    const int rc = set_option(row, call->options, value, err);
    *found = row;
    return rc < 0 ? rc : used;
}

static int check_count(const leat_call *call, int argc, char **argv, leat_error *err)
{
    const leat_command *command = call->command;
    if (call->n_arguments < command->n_min)
        return leat_fail(err, LEAT_E_ARGUMENT, "needs %s", command->arguments);
    if (command->n_max >= 0 && call->n_arguments > command->n_max) {
        const char *const extra = call->arguments[command->n_max];
        bool json = false;
        for (int i = 1; i < argc; i++)
            json |= argv[i] == extra && !strcmp(argv[i - 1], "--json");
        if (command->n_max > 1)
            return leat_fail(err, LEAT_E_ARGUMENT, "takes at most %d arguments (%s), got %d",
                             command->n_max, command->arguments, call->n_arguments);
        return leat_fail(err, LEAT_E_ARGUMENT, "'%s' is one argument too many, it takes %s%s%s%s",
                         extra, *command->arguments ? command->arguments : "none",
                         json ? "; if it is the file for JSON, write --json=" : "",
                         json ? extra : "", json ? ", or a name that ends in .json" : "");
    }
    return LEAT_OK;
}

static bool is_one_of(const leat_option *row, const char *const *names)
{
    for (; row && *names; names++)
        if (!strcmp(row->name, *names))
            return true;
    return false;
}

int leat_cli_parse(const leat_command *command, int argc, char **argv, leat_call *call,
                   leat_error *err)
{
    bool options_ended = false;
    *call = (leat_call){ .command = command };
    call->options = calloc(1, command->options_size ? command->options_size : 1);
    call->arguments = calloc((size_t)argc + 1, sizeof *call->arguments);
    call->rows = calloc((size_t)argc + 1, sizeof *call->rows);
    call->words = argv;
    call->n_words = argc;
    if (!call->options || !call->arguments || !call->rows)
        return leat_files_no_memory(err);
    init_options(command->options, call->options);
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--"))
            break;
        else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return LEAT_E_END;
    for (int i = 0; i < argc;) {
        if (!options_ended && !strcmp(argv[i], "--")) {
            options_ended = true;
            i++;
        } else if (!options_ended && argv[i][0] == '-' && argv[i][1]) {
            const leat_option *row = NULL;
            const int used = parse_option(call, argc - i, argv + i, &row, err);
            if (used < 0)
                return used;
            for (const int end = i + used; i < end; i++)
                call->rows[i] = row;
        } else {
            call->arguments[call->n_arguments++] = argv[i++];
        }
    }
    const int rc = check_count(call, argc, argv, err);
    return rc < 0 ? rc : leat_outputs_differ(call, err);
}

bool leat_cli_has_any(const leat_call *call, const char *const *names)
{
    for (int i = 0; i < call->n_words; i++)
        if (is_one_of(call->rows[i], names))
            return true;
    return false;
}

void leat_cli_close(leat_call *call)
{
    free(call->options);
    free(call->arguments);
    free(call->rows);
    *call = (leat_call){ 0 };
}

/* Quotes a word for a shell if it has special characters. */
static void print_word(FILE *out, const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-+=./:,@%";
    if (*word && word[strspn(word, safe)] == 0) {
        fprintf(out, " %s", word);
        return;
    }
    fputs(" '", out);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){ *word, 0 }, out);
    fputc('\'', out);
}

char *leat_cli_again(const leat_call *call, const char *const *without, const char *const *more)
{
    char *text = NULL;
    size_t size;
    FILE *const out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "leat %s", call->command->name);
    for (int i = 0; i <= call->n_words; i++) {
        const bool options_end =
            i == call->n_words || (!call->rows[i] && !strcmp(call->words[i], "--"));
        for (; options_end && *more; more++)
            print_word(out, *more);
        if (i < call->n_words && !is_one_of(call->rows[i], without))
            print_word(out, call->words[i]);
    }
    return leat_files_close_text(out, &text);
}

/* --- lists in one word --------------------------------------------------------------------------*/

/* The end of the word at `at`: a comma outside all brackets, or the end of the text. */
static char *end_of(char *at)
{
    int depth = 0;
    for (; *at && (depth > 0 || *at != ','); at++)
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    return at;
}

static char *trimmed(char *word, char *end)
{
    while (*word == ' ')
        word++;
    while (end > word && end[-1] == ' ')
        end--;
    *end = 0;
    return word;
}

static bool has(const leat_cli_list *list, const char *word)
{
    for (int i = 0; i < list->n; i++)
        if (!strcmp(list->words[i], word))
            return true;
    return false;
}

int leat_cli_list_init(leat_cli_list *list, const char *what, const char *text, leat_error *err)
{
    *list = (leat_cli_list){ .text = strdup(text) };
    char *at = list->text;
    if (!at)
        return leat_files_no_memory(err);
    for (;;) {
        char *const end = end_of(at);
        const char last = *end;
        const char *word = trimmed(at, end);
        const char *const wrong = !*word                         ? "a value is empty"
                                  : list->n == LEAT_CLI_LIST_MAX ? "too many values"
                                  : has(list, word)              ? "a value is given twice"
                                                                 : NULL;
        if (wrong) {
            leat_cli_list_fini(list);
            return leat_fail(err, LEAT_E_ARGUMENT, "%s '%s': %s", what, text, wrong);
        }
        list->words[list->n++] = word;
        if (!last)
            return LEAT_OK;
        at = end + 1;
    }
}

void leat_cli_list_fini(leat_cli_list *list)
{
    free(list->text);
    *list = (leat_cli_list){ .n = 0 };
}

int leat_cli_list_numbers(const char *what, const char *text, int32_t low, int32_t high,
                          int32_t *out, int n, int *found, leat_error *err)
{
    leat_cli_list list;
    int rc = leat_cli_list_init(&list, what, text, err);
    if (rc == LEAT_OK && list.n > n)
        rc = leat_fail(err, LEAT_E_ARGUMENT, "%s '%s': at most %d values", what, text, n);
    *found = 0;
    for (int i = 0; rc == LEAT_OK && i < list.n; i++) {
        char *end;
        errno = 0;
        const long value = strtol(list.words[i], &end, 10);
        if (errno || *end || value < low || value > high)
            rc = leat_fail(err, LEAT_E_ARGUMENT,
                           "%s must be whole numbers from %d to %d with commas between, got '%s'",
                           what, low, high, list.words[i]);
        for (int k = 0; rc == LEAT_OK && k < *found; k++)
            if (out[k] == value)
                rc = leat_fail(err, LEAT_E_ARGUMENT, "%s '%s': %ld is given twice", what, text,
                               value);
        if (rc == LEAT_OK)
            out[(*found)++] = (int32_t)value;
    }
    leat_cli_list_fini(&list);
    return rc;
}
