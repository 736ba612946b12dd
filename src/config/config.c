/* SPDX-License-Identifier: MIT
 *
 * config.c: a config from a file or a text. The root of an open config is always a map. */
#include "leat/config.h"

#include <stdlib.h>
#include <string.h>

#include "formats/whole_file.h"
#include "tree.h"
#include "yaml_read.h"

static int read_text(const char *path, char **text, size_t *n, leat_error *err)
{
    leat_format_error why;
    const int rc = leat_whole_file_read(path, LEAT_YAML_MAX_BYTES, text, n, &why);
    if (rc == LEAT_FORMAT_OK)
        return LEAT_OK;
    return leat_fail(err,
                     rc == LEAT_FORMAT_NOMEM ? LEAT_E_NOMEM
                     : rc == LEAT_FORMAT_IO  ? LEAT_E_IO
                                             : LEAT_E_CONFIG,
                     "%s", why.text);
}

static int parse(leat_config *config, const char *text, size_t n, const char *name, leat_error *err)
{
    const char *file = leat_tree_text(&config->tree, name, strlen(name));
    if (!file)
        return leat_fail(err, LEAT_E_NOMEM, "%s: no memory for the config", name);
    const int rc = leat_yaml_read(&config->tree, text, n, file, true, &config->root, err);
    if (rc)
        return rc;
    if (leat_node_is_null(config->root))
        return leat_fail(err, LEAT_E_CONFIG, "%s:1:1: the config is empty", name);
    if (config->root->kind != LEAT_NODE_MAP)
        return leat_node_fail(config->root, err, LEAT_E_CONFIG,
                              "a config must be a mapping with keys such as source and pipeline");
    return LEAT_OK;
}

static int open_config(const char *text, size_t n, const char *name, leat_config **out,
                       leat_error *err)
{
    *out = NULL;
    leat_config *config = calloc(1, sizeof *config);
    if (!config)
        return leat_fail(err, LEAT_E_NOMEM, "%s: no memory for the config", name);
    const int rc = parse(config, text, n, name, err);
    if (rc)
        leat_config_close(&config);
    *out = config;
    return rc;
}

int leat_config_parse(const char *text, const char *name, leat_config **out, leat_error *err)
{
    if (!text || !name || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_config_parse: text, name and out must be given");
    return open_config(text, strlen(text), name, out, err);
}

int leat_config_load(const char *path, leat_config **out, leat_error *err)
{
    if (!path || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_config_load: path and out must be given");
    char *text;
    size_t n;
    *out = NULL;
    int rc = read_text(path, &text, &n, err);
    if (rc)
        return rc;
    rc = open_config(text, n, path, out, err);
    free(text);
    return rc;
}

void leat_config_close(leat_config **config)
{
    if (!config || !*config)
        return;
    leat_tree_fini(&(*config)->tree);
    free(*config);
    *config = NULL;
}

const leat_node *leat_config_root(const leat_config *config)
{
    return config ? config->root : NULL;
}
