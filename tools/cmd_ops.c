/* SPDX-License-Identifier: MIT
 *
 * leat ops: lists the ops that `map` can run. */
#include <string.h>

#include "help/help.h"
#include "print/json.h"
#include "print/terminal.h"

struct ops_options {
    const char *json;
};

static const leat_option options[] = { LEAT_ROW_JSON(struct ops_options), LEAT_OPTION_END };

static void add_options(json_t *op, const leat_option *table)
{
    char type[256];
    json_t *list = leat_json_list(op, "options");
    for (const leat_option *row = table; row && row->name; row++) {
        json_t *one = leat_json_row(list);
        leat_json_text(one, "name", row->name);
        leat_json_text(one, "type", leat_option_type_text(row, type, sizeof type));
        leat_json_text(one, "default", row->initial);
        leat_json_text(one, "help", row->help);
    }
}

/* An op of samples, or of batches. */
struct entry {
    leat_kind kind;
    bool random, of_batches;
};

/* False past the end. */
static bool entry_at(size_t i, struct entry *out)
{
    size_t n = 0;
    while (leat_ops()[n])
        n++;
    if (i < n) {
        const leat_op *const op = leat_ops()[i];
        *out = (struct entry){ { op->name, op->help, op->options },
                               op->flags & LEAT_OP_RANDOM,
                               false };
        return true;
    }
    if (!leat_batch_op_kind(i - n))
        return false;
    *out = (struct entry){ *leat_batch_op_kind(i - n), true, true };
    return true;
}

static void add_op(json_t *list, const struct entry *op)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "name", op->kind.name);
    leat_json_text(one, "help", op->kind.help);
    leat_json_bool(one, "random", op->random);
    leat_json_bool(one, "after_batch", op->of_batches);
    add_options(one, op->kind.options);
}

static void print_line(const struct entry *op)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s", op->of_batches ? "after batch: " : "", op->kind.help);
    leat_terminal_entry(stdout, op->kind.name, 24, text);
}

static void print_op(const struct entry *op)
{
    printf("%s: %s%s\n", op->kind.name, op->kind.help,
           op->of_batches ? " (random; in a map after batch)"
           : op->random   ? " (random)"
                          : "");
    leat_help_options(op->kind.options);
}

static int fail_unknown(const char *name)
{
    const char *names[256];
    struct entry op;
    size_t n = 0;
    while (n < 256 && entry_at(n, &op))
        names[n++] = op.kind.name;
    const char *near = leat_nearest(name, names, n);
    return leat_command_misuse("ops", "no op '%s'%s%s%s; `leat ops` lists them", name,
                               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int run(const leat_call *call, leat_error *err)
{
    const struct ops_options *o = call->options;
    const char *name = call->n_arguments ? call->arguments[0] : NULL;
    struct entry op;
    bool found = false;
    for (size_t i = 0; name && entry_at(i, &op); i++)
        found |= !strcmp(op.kind.name, name);
    if (name && !found)
        return fail_unknown(name);
    json_t *json = leat_json_open("ops"), *list = leat_json_list(json, "ops");
    for (size_t i = 0; entry_at(i, &op); i++) {
        if (name && strcmp(op.kind.name, name) != 0)
            continue;
        add_op(list, &op);
        if (leat_json_to_stdout(o->json))
            continue;
        if (name)
            print_op(&op);
        else
            print_line(&op);
    }
    return leat_json_write(json, o->json, err);
}

const leat_command leat_command_ops = {
    .name = "ops",
    .summary = "list the ops, or the options of one",
    .arguments = "[NAME]",
    .text = "Lists the ops that a `map` stage can run, or explains one with its options.",
    .example = "  leat ops random_crop",
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct ops_options),
    .run = run,
};
