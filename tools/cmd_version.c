/* SPDX-License-Identifier: MIT
 *
 * cmd_version.c: `leat --version`. main.c runs it. It is not in the list of subcommands, because it is written
 * as an option. */
#include "command.h"
#include "print/json.h"

struct version_options {
    const char *json;
};

static const leat_option options[] = { LEAT_ROW_JSON(struct version_options), LEAT_OPTION_END };

static int run(const leat_call *call, leat_error *err)
{
    const struct version_options *const o = call->options;
    if (!leat_json_to_stdout(o->json))
        printf("leat %s\n", leat_version());
    return leat_json_write(leat_json_open("version"), o->json, err);
}

const leat_command leat_command_version = {
    .name = "--version",
    .summary = "print the version of leat",
    .arguments = "",
    .text = "Prints the version of leat.",
    LEAT_COMMAND_OPTIONS(struct version_options),
    .run = run,
};
