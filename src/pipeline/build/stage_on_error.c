/* SPDX-License-Identifier: MIT
 *
 * stage_on_error.c: the stage `on_error`: reads its policy and limit. The engine's bad_rows.c applies them. */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "stage.h"

#define LIMIT_SHARE 100   /* max_errors: auto allows one bad record in 100 samples */
#define LIMIT_LEAST 10    /* max_errors: auto always allows 10 */
#define BATCHES     65536 /* of an epoch, of which the rows are counted */

typedef struct on_error_options {
    int32_t policy;
    int64_t max_errors;
} on_error_options;

static const char *const policies[] = { "fail", "mask", "replace", NULL };
static const char *const limits[] = { "auto", "unlimited", NULL };

static const leat_option table[] = {
    LEAT_OPTION_ENUM(on_error_options, policy, "fail", policies,
                     "fail: stop with the error; mask: fill the row with zeros and mark it "
                     "invalid; replace: use another sample of the epoch"),
    LEAT_OPTION_I64_OR(on_error_options, max_errors, "auto", 0, 9e15, limits,
                       "bad records allowed per epoch, with all passes of a repeat, before the run "
                       "stops (each rank counts its own); auto: 1 in 100 samples, at least 10"),
    LEAT_OPTION_END
};

static int add_on_error(leat_build *build, const void *options, const leat_node *where,
                        leat_error *err)
{
    const on_error_options *const o = options;
    if (build->on_error)
        return leat_stage_fail_second(build->on_error, where, "on_error", err);
    if (build->batch)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "on_error is about samples: put it before batch");
    build->on_error = where;
    build->plan->on_error = (leat_on_error)o->policy;
    build->plan->max_errors = o->max_errors;
    if (o->policy == LEAT_ON_ERROR_FAIL && o->max_errors != LEAT_ERRORS_AUTO)
        leat_note_add(build->plan,
                      "on_error: max_errors has no effect with policy: fail, which stops at the "
                      "first bad record; write policy: mask or replace");
    return LEAT_OK;
}

bool leat_stage_on_error_skips_damage(const leat_node *pipeline)
{
    const bool is_list = pipeline->kind == LEAT_NODE_LIST;
    for (const leat_node *entry = is_list ? pipeline->first : NULL; entry; entry = entry->next) {
        const leat_node *given = NULL;
        const char *name = NULL;
        on_error_options o;
        if (leat_node_named(entry, "stage", &name, &given, NULL) >= 0 &&
            !strcmp(name, "on_error") &&
            leat_node_options(given, entry, "stage 'on_error'", table, &o, NULL) >= 0)
            return o.policy != LEAT_ON_ERROR_FAIL;
    }
    return false;
}

/* Samples of an epoch: the rows of its batches, of which some are short. Of very many, some that are spread evenly count for
 * all: batches of one bucket may come one after the other. */
static double count_samples(const leat_order *order, leat_order_cache *cache)
{
    const uint64_t n = leat_order_epoch_batches(order), n_seen = n < BATCHES ? n : BATCHES;
    uint64_t rows = 0;
    for (uint64_t b = 0; b < n_seen; b++)
        rows += leat_order_find(order, cache, leat_digest_place(n, 1, b, n_seen)).global_rows;
    return (double)rows * ((double)n / (double)n_seen);
}

int leat_stage_on_error_set_limit(leat_plan *plan, leat_error *err)
{
    if (plan->max_errors == LEAT_ERRORS_ANY)
        plan->max_errors = INT64_MAX;
    if (plan->max_errors != LEAT_ERRORS_AUTO)
        return LEAT_OK;
    leat_order_cache *const cache = calloc(1, sizeof *cache);
    if (!cache)
        return leat_fail(err, LEAT_E_NOMEM, "on_error: %zu bytes", sizeof *cache);
    const double samples = count_samples(&plan->order, cache) / LIMIT_SHARE;
    free(cache);
    plan->max_errors = samples < LIMIT_LEAST ? LIMIT_LEAST
                       : samples < 9e15      ? (int64_t)samples
                                             : INT64_MAX;
    return LEAT_OK;
}

const leat_stage_table leat_stage_on_error = {
    { "on_error", "what to do with a record that cannot be read, parsed, decoded or mapped",
      table },
    sizeof(on_error_options),
    add_on_error,
    LEAT_STAGE_NO_DIGEST
};
