/* SPDX-License-Identifier: MIT */
#include "nn_kind.h"

#include <stdlib.h>
#include <string.h>

static int unknown(const leat_node *node, const char *what, const char *name, leat_nn_kind_fn *kind,
                   leat_error *err)
{
    leat_nearest_word near = leat_nearest_init(name);
    for (size_t i = 0; kind(i); i++)
        leat_nearest_offer(&near, kind(i)->name);
    for (size_t i = 0; kind(i); i++)
        if (leat_option_find(kind(i)->options, name))
            return leat_node_fail(node, err, LEAT_E_CONFIG,
                                  "'%s' is an option, and the name of the %s is missing: write "
                                  "`%s: {%s: …}` (there are: %s)",
                                  name, what, kind(i)->name, name, near.known.text);
    return leat_node_fail(node, err, LEAT_E_CONFIG, "no %s '%s'%s%s%s (there are: %s)", what, name,
                          near.best ? "; did you mean '" : "", near.best ? near.best : "",
                          near.best ? "'" : "", near.known.text);
}

int leat_nn_kind_find(const leat_node *node, const char *what, leat_nn_kind_fn *kind, size_t *at,
                      const leat_node **options, leat_error *err)
{
    const char *name;
    const int rc = leat_node_named(node, what, &name, options, err);
    if (rc < 0)
        return rc;
    for (*at = 0; kind(*at); ++*at)
        if (!strcmp(kind(*at)->name, name))
            return LEAT_OK;
    return unknown(node, what, name, kind, err);
}

int leat_nn_kind_options(const leat_node *node, const leat_node *owner, const char *what,
                         const leat_kind *kind, size_t size, void **out, leat_error *err)
{
    char whole[96];
    *out = calloc(1, size ? size : 1);
    if (!*out)
        return leat_fail(err, LEAT_E_NOMEM, "%s '%s': %zu bytes", what, kind->name, size);
    snprintf(whole, sizeof whole, "%s '%s'", what, kind->name);
    return leat_node_options(node, owner, whole, kind->options, *out, err);
}
