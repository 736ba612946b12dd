/* SPDX-License-Identifier: MIT
 *
 * source_concat.c: several sources, one after another. */
#include "combined.h"
#include "source_list.h"

typedef struct concat_options {
    const leat_node *sources;
} concat_options;

static const leat_option options[] = { LEAT_SOURCES_ROW(concat_options), LEAT_OPTION_END };

static int settle(leat_combine *combine, const void *opts, const leat_node **bad, size_t *culprit,
                  leat_error *err)
{
    (void)opts;
    (void)bad;
    return leat_combine_concat(combine, culprit, err);
}

static int open_concat(const void *opts, const leat_node *where, const leat_source_setting *setting,
                       leat_source **out, leat_error *err)
{
    const concat_options *const o = opts;
    return leat_combined_open(&leat_source_concat, o->sources, where, setting, settle, o, out, err);
}

const leat_source_table leat_source_concat = {
    .kind = { "concat", "several sources, one after another", options },
    .options_size = sizeof(concat_options),
    .open = open_concat,
};
