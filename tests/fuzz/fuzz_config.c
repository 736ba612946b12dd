/* SPDX-License-Identifier: MIT
 *
 * fuzz_config: a config, a line "%%", then assignments as of --set, one per line. Beyond memory
 * errors it finds texts that do not read back as the same node, failed sets that change something,
 * and messages that are missing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/node.h"
#include "fuzz_target.h"
#include "leat/config.h"

#define TEXT_BYTES (1 << 16)

typedef struct any_options {
    leat_i64s size;
    int64_t n, memory;
    float p;
    double rate;
    int32_t flag, mode;
    leat_string name;
    leat_f32s mean;
    leat_strings columns;
    const leat_node *ops;
} any_options;

static const char *const modes[] = { "zero", "edge", "auto", NULL };
static const leat_option table[] = { LEAT_OPTION_I64S(any_options, size, "[1, 2]", 1, 65536, ""),
                                     LEAT_OPTION_I64_OR(any_options, n, "auto", 0, 1e9, modes, ""),
                                     LEAT_OPTION_BYTES(any_options, memory, "1 MiB", 0, 1e12, ""),
                                     LEAT_OPTION_F32(any_options, p, "0.5", -1e30, 1e30, ""),
                                     LEAT_OPTION_F64(any_options, rate, "0.5", -1e300, 1e300, ""),
                                     LEAT_OPTION_BOOL(any_options, flag, "true", ""),
                                     LEAT_OPTION_ENUM(any_options, mode, "zero", modes, ""),
                                     LEAT_OPTION_STRING(any_options, name, "", ""),
                                     LEAT_OPTION_F32S(any_options, mean, "0", -1e30, 1e30, ""),
                                     LEAT_OPTION_STRINGS(any_options, columns, "[]", ""),
                                     LEAT_OPTION_NODE(any_options, ops, "", ""),
                                     LEAT_OPTION_END };

static void require_message(int rc, const leat_error *err)
{
    EXPECT(rc == LEAT_OK || (err->code == rc && *err->message));
}

static void use(const leat_node *node)
{
    static any_options options;
    const char *name;
    const leat_node *given;
    leat_error err = { .code = 0 };
    int rc = leat_node_named(node, "a stage", &name, &given, &err);
    require_message(rc, &err);
    if (rc == LEAT_OK)
        EXPECT(name && *name);
    rc = leat_node_options(node, node, "op 'any'", table, &options, &err);
    require_message(rc, &err);
    for (const leat_node *child = node->first; child; child = child->next)
        use(child);
}

/* A config's text reads back as the same config. */
static void read_back(const leat_config *config)
{
    static char text[TEXT_BYTES], again[TEXT_BYTES];
    leat_config *copy;
    if (leat_node_text(leat_config_root(config), text, sizeof text) >= sizeof text)
        return;
    EXPECT(leat_config_parse(text, "copy", &copy, NULL) == LEAT_OK);
    leat_node_text(leat_config_root(copy), again, sizeof again);
    EXPECT(!strcmp(text, again));
    leat_config_close(&copy);
}

/* So does its file. */
static void read_file_back(const leat_config *config)
{
    static char text[TEXT_BYTES], again[TEXT_BYTES], file[2 * TEXT_BYTES];
    leat_config *copy;
    size_t length;
    if (leat_node_text(leat_config_root(config), text, sizeof text) >= sizeof text ||
        leat_config_text(config, file, sizeof file, &length, NULL) < 0 || length >= sizeof file)
        return;
    EXPECT(leat_config_parse(file, "file", &copy, NULL) == LEAT_OK);
    leat_node_text(leat_config_root(copy), again, sizeof again);
    EXPECT(!strcmp(text, again));
    leat_config_close(&copy);
}

/* A text is edited so that it reads as the config, or the reason is said. */
static void edit(const leat_config *config, const char *before)
{
    static char text[TEXT_BYTES], again[TEXT_BYTES], file[2 * TEXT_BYTES];
    leat_config *copy;
    size_t length;
    leat_error err = { .code = 0 };
    const int rc = leat_config_edit(config, before, "file", file, sizeof file, &length, &err);
    require_message(rc, &err);
    if (rc < 0 || length >= sizeof file ||
        leat_node_text(leat_config_root(config), text, sizeof text) >= sizeof text)
        return;
    EXPECT(leat_config_parse(file, "file", &copy, NULL) == LEAT_OK);
    leat_node_text(leat_config_root(copy), again, sizeof again);
    EXPECT(!strcmp(text, again));
    leat_config_close(&copy);
}

static void assign(leat_config *config, char *assignment)
{
    static char before[TEXT_BYTES], after[TEXT_BYTES];
    leat_error err = { .code = 0 };
    char value[64];
    leat_node_text(leat_config_root(config), before, sizeof before);
    const int rc = leat_config_set(config, assignment, &err);
    require_message(rc, &err);
    leat_node_text(leat_config_root(config), after, sizeof after);
    if (rc) {
        EXPECT(!strcmp(before, after));
        return;
    }
    char *const equals = strchr(assignment, '=');
    if (!equals) /* it took an entry away */
        return;
    equals[equals > assignment && equals[-1] == '+' ? -1 : 0] =
        0; /* PATH+=VALUE: PATH is there still */
    const int get = leat_config_get(config, assignment, value, sizeof value, &err);
    require_message(get, &err);
    EXPECT(get == LEAT_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    char *sets = strstr(text, "\n%%\n");
    if (sets) {
        *sets = 0;
        sets += 4;
    }
    leat_config *config;
    leat_error err = { .code = 0 };
    const int rc = leat_config_parse(text, "fuzz.yaml", &config, &err);
    require_message(rc, &err);
    if (rc == LEAT_OK) {
        use(leat_config_root(config));
        read_back(config);
        read_file_back(config);
        for (char *next; sets; sets = next) {
            next = strchr(sets, '\n');
            if (next)
                *next++ = 0;
            assign(config, sets);
        }
        use(leat_config_root(config));
        edit(config, text);
    }
    leat_config_close(&config);
    free(text);
    return 0;
}
