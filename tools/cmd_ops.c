/* SPDX-License-Identifier: MIT
 *
 * leat ops: the ops that `map` can run. */
#include <string.h>

#include "help.h"
#include "json.h"

struct ops_options {
    const char *json;
};

static const leat_option options[] = { LEAT_ROW_JSON(struct ops_options), LEAT_OPTION_END };

static json_t *options_json(const leat_option *table)
{
    char type[256];
    json_t *list = json_array();
    for (const leat_option *row = table; row && row->name; row++) {
        json_t *one = json_object();
        leat_json_text(one, "name", row->name);
        leat_json_text(one, "type", leat_option_type_text(row, type, sizeof type));
        leat_json_add(one, "default", row->initial ? json_string(row->initial) : json_null());
        leat_json_text(one, "help", row->help);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *op_json(const leat_op *op)
{
    json_t *one = json_object();
    leat_json_text(one, "name", op->name);
    leat_json_text(one, "help", op->help);
    leat_json_bool(one, "random", op->flags & LEAT_OP_RANDOM);
    leat_json_add(one, "options", options_json(op->options));
    return one;
}

static void print_op(const leat_op *op)
{
    printf("%s: %s%s\n", op->name, op->help, op->flags & LEAT_OP_RANDOM ? " (random)" : "");
    leat_help_options(stdout, op->options);
}

static int fail_unknown(const char *name)
{
    const char *names[256];
    size_t n = 0;
    for (const leat_op *const *op = leat_ops(); *op && n < 256; op++)
        names[n++] = (*op)->name;
    const char *near = leat_nearest(name, names, n);
    return leat_command_misuse("ops", "no op '%s'%s%s%s", name, near ? "; did you mean '" : "",
                               near ? near : "", near ? "'?" : "");
}

static int run(const leat_call *call)
{
    const struct ops_options *o = call->options;
    const char *name = call->n_arguments ? call->arguments[0] : NULL;
    leat_error err = { 0 };
    if (name && !leat_op_find(name))
        return fail_unknown(name);
    json_t *json = leat_json_open("ops"), *list = json_array();
    for (const leat_op *const *op = leat_ops(); *op; op++) {
        if (name && strcmp((*op)->name, name) != 0)
            continue;
        json_array_append_new(list, op_json(*op));
        if (leat_json_to_stdout(o->json))
            continue;
        if (name)
            print_op(*op);
        else
            printf("%-22s %s\n", (*op)->name, (*op)->help);
    }
    leat_json_add(json, "ops", list);
    return leat_json_write(json, o->json, &err) < 0 ? leat_command_fail("ops", &err) : LEAT_EXIT_OK;
}

const leat_command leat_command_ops = {
    .name = "ops",
    .summary = "list the ops, or the options of one",
    .arguments = "[NAME]",
    .text = "Lists the ops that a `map` stage can run, or explains one with its options.",
    .example = "  leat ops random_crop",
    .n_max = 1,
    .options_size = sizeof(struct ops_options),
    .options = options,
    .run = run,
};
