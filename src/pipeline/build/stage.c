/* SPDX-License-Identifier: MIT
 *
 * stage.c: finds stages, and leat_stage_add(), which build.c calls for each entry of `pipeline`. Names
 * and meanings are those of tf.data. */
#include "stage_list.h"

#include "stage.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/order/combine.h"

static const leat_stage_table *const stages[] = {
#define LEAT_STAGE_ROW(name) &leat_stage_##name,
    LEAT_STAGE_LIST(LEAT_STAGE_ROW)
#undef LEAT_STAGE_ROW
};

static const leat_stage_table *stage_at(size_t i)
{
    return i < sizeof stages / sizeof *stages ? stages[i] : NULL;
}

static const leat_stage_table *find(const char *name)
{
    for (size_t i = 0; stage_at(i); i++)
        if (!strcmp(stage_at(i)->kind.name, name))
            return stage_at(i);
    return NULL;
}

unsigned leat_stage_flags(const leat_node *entry)
{
    const char *name;
    const leat_node *given;
    const leat_stage_table *const stage =
        leat_node_named(entry, "stage", &name, &given, NULL) < 0 ? NULL : find(name);
    return stage ? stage->flags : 0;
}

int leat_stage_fail_second(const leat_node *first, const leat_node *where, const char *name,
                           leat_error *err)
{
    if (first->line == 0)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "a second %s stage: keep one", name);
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "a second %s stage; the first one is in line %d: keep one of them", name,
                          first->line);
}

const leat_kind *leat_stage_kind(size_t i)
{
    return stage_at(i) ? &stage_at(i)->kind : NULL;
}

int32_t leat_stage_feature(const leat_source *source, const char *name)
{
    for (int32_t i = 0; i < source->n_features; i++)
        if (!strcmp(source->features[i].name, name))
            return i;
    return -1;
}

int leat_stage_fail_feature(const leat_source *source, const char *stage, const char *noun,
                            const char *name, const leat_node *where, leat_error *err)
{
    leat_nearest_word near = leat_nearest_init(name);
    for (int32_t i = 0; i < source->n_features; i++)
        leat_nearest_offer(&near, source->features[i].name);
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "%s: the source has no %s '%.80s'%s It has: %s", stage, noun, name,
                          leat_nearest_text(&near), near.known.text);
}

static bool is_op(const leat_build *build, const char *name)
{
    for (size_t i = 0; i < build->n_user_ops; i++)
        if (!strcmp(build->user_ops[i]->name, name))
            return true;
    return leat_op_find(name);
}

static int unknown(const leat_build *build, const leat_node *entry, const char *name,
                   leat_error *err)
{
    leat_nearest_word near = leat_nearest_init(name);
    if (is_op(build, name))
        return leat_node_fail(entry, err, LEAT_E_CONFIG,
                              "'%s' is an op, not a stage: put it in `map: {ops: [%s]}`", name,
                              name);
    for (size_t i = 0; stage_at(i); i++)
        leat_nearest_offer(&near, stage_at(i)->kind.name);
    return leat_node_fail(entry, err, LEAT_E_CONFIG, "there is no stage '%.80s'%s There are: %s",
                          name, leat_nearest_text(&near), near.known.text);
}

/* Options of other libraries, and what to write here. */
static const struct {
    const char *stage, *option, *instead;
} elsewhere[] = {
    { "shuffle", "buffer_size",
      "the shuffle is global and needs no buffer: leave it out, or write window: N to keep samples "
      "near their position" },
    { "shuffle", "reshuffle_each_iteration", "write reshuffle" },
    { "batch", "batch_size", "write size" },
    { "padded_batch", "batch_size", "write size" },
    { "padded_batch", "padded_shapes", "write shapes" },
    { "padded_batch", "padding_values", "write values" },
    { "bucket_by_length", "bucket_boundaries", "write boundaries" },
    { "bucket_by_length", "bucket_batch_sizes", "write sizes" },
    { "shard", "num_shards", "write count" },
    { "prefetch", "buffer_size", "write batches" },
};

static int check_other_names(const leat_stage_table *stage, const leat_node *given, leat_error *err)
{
    const bool map = given && given->kind == LEAT_NODE_MAP;
    for (const leat_node *entry = map ? given->first : NULL; entry; entry = entry->next)
        for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
            leat_node key = *entry;
            if (strcmp(stage->kind.name, elsewhere[i].stage) ||
                strcmp(entry->key, elsewhere[i].option))
                continue;
            key.line = entry->key_line;
            key.column = entry->key_column;
            return leat_node_fail(&key, err, LEAT_E_CONFIG, "stage '%s' has no option '%s': %s",
                                  stage->kind.name, entry->key, elsewhere[i].instead);
        }
    return LEAT_OK;
}

/* The number of elements: samples before batch, batches after it. */
static uint64_t count_of(const leat_order *order)
{
    return order->batch_size ? order->n_batches : order->n_samples;
}

static int fail_empty(const leat_build *build, const char *name, uint64_t n, const leat_node *where,
                      leat_error *err)
{
    const char *const unit = build->batch ? "batches" : "samples";
    if (n == LEAT_ENDLESS)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "%s removes all %s", name, unit);
    return leat_node_fail(where, err, LEAT_E_CONFIG, "%s removes all %llu %s", name,
                          (unsigned long long)n, unit);
}

/* Notes the stage and its counts for leat_plan_stage(). */
static void note_stage(leat_build *build, const char *name, const leat_node *given, uint64_t before)
{
    leat_plan *const plan = build->plan;
    if (plan->n_stages == LEAT_MAX_STAGE_INFOS)
        return;
    leat_stage_info *const info = &plan->stages[plan->n_stages++];
    *info = (leat_stage_info){ .n_in = before,
                               .n_out = count_of(&plan->order),
                               .batches = plan->order.batch_size != 0 };
    snprintf(info->name, sizeof info->name, "%s", name);
    if (given)
        leat_node_text(given, info->options, sizeof info->options);
}

static int fail_inside(const leat_node *entry, const char *name, leat_error *err)
{
    leat_words known = { .length = 0 };
    for (size_t i = 0; stage_at(i); i++)
        if (stage_at(i)->flags & LEAT_STAGE_ORDERS)
            leat_nearest_add_word(&known, stage_at(i)->kind.name);
    return leat_node_fail(entry, err, LEAT_E_CONFIG,
                          "%s is not allowed in the pipeline of one of several sources: move it to "
                          "the pipeline after them. Allowed here: %s",
                          name, known.text);
}

int leat_stage_add(leat_build *build, const leat_node *entry, leat_error *err)
{
    const char *name;
    const leat_node *given;
    const leat_stage_table *stage;
    char what[80];
    int rc = leat_node_named(entry, "stage", &name, &given, err);
    if (rc < 0)
        return rc;
    if (!(stage = find(name)))
        return unknown(build, entry, name, err);
    if (build->is_nested && !(stage->flags & LEAT_STAGE_ORDERS))
        return fail_inside(entry, name, err);
    if ((rc = check_other_names(stage, given, err)) < 0)
        return rc;
    void *options = calloc(1, stage->options_size);
    if (!options)
        return leat_fail(err, LEAT_E_NOMEM, "stage '%s': %zu bytes", name, stage->options_size);
    const uint64_t before = count_of(&build->plan->order);
    snprintf(what, sizeof what, "stage '%s'", stage->kind.name);
    if ((rc = leat_node_options(given, entry, what, stage->kind.options, options, err)) < 0 ||
        (rc = stage->add(build, options, entry, err)) < 0)
        goto end;
    note_stage(build, name, given, before);
    if (before && count_of(&build->plan->order) == 0)
        rc = fail_empty(build, name, before, entry, err);
end:
    free(options);
    return rc;
}

/* --- the pipeline of a source inside another source; build.c gives it to the sources --------- */

static int add_stages(leat_build *build, const leat_node *pipeline, leat_error *err)
{
    int rc = LEAT_OK;
    if (pipeline->kind != LEAT_NODE_LIST)
        return leat_node_fail(pipeline, err, LEAT_E_CONFIG,
                              "pipeline must be a list of stages: `pipeline: [shuffle, {repeat: "
                              "2}]`");
    for (const leat_node *entry = pipeline->first; entry && rc >= 0; entry = entry->next)
        rc = leat_stage_add(build, entry, err);
    return rc;
}

int leat_stage_add_nested(leat_source *source, const leat_node *pipeline,
                          const leat_source_setting *setting, leat_order *order, char **notes,
                          leat_error *err)
{
    leat_build build = { .plan = calloc(1, sizeof *build.plan), .is_nested = true };
    if (!build.plan)
        return leat_fail(err, LEAT_E_NOMEM, "plan: %zu bytes", sizeof *build.plan);
    build.plan->source = source; /* borrowed */
    build.plan->seed = setting->seed;
    build.plan->engine.threads = setting->threads;
    build.plan->order = *order;
    int rc = add_stages(&build, pipeline, err);
    *order = build.plan->order;
    for (int32_t i = 0; i < build.plan->n_notes && rc >= 0; i++)
        rc = leat_source_add_note(notes, err, "%s", build.plan->notes[i]);
    leat_note_clear(build.plan);
    free(build.plan);
    return rc;
}

/* --- the source ---------------------------------------------------------------------------------- */

/* Whether the engine reads records: the first one, or that of a part of a combined source. Unknown: true. */
static bool is_read_by_engine(const leat_source *source)
{
    const leat_combine *const combine = source->combine;
    const size_t n = combine ? combine->n_children : 1;
    bool is = false;
    for (size_t i = 0; i < n && !is && source->table->locate && !source->table->read; i++) {
        leat_extent at = { .fd = -1 };
        const uint64_t record = combine ? combine->children[i].first : 0;
        is = source->table->locate(source, record, &at, NULL) < 0 || at.fd >= 0;
    }
    return is;
}

/* Sources that read records themselves, or have them in memory, go through the page cache or need no file. */
static void note_direct(leat_plan *plan)
{
    const leat_source *const source = plan->source;
    if (plan->engine.io != LEAT_IO_DIRECT || is_read_by_engine(source))
        return;
    leat_note_add(plan,
                  "engine.io: direct has no effect: source '%s' does not read its records by "
                  "io_uring",
                  source->table->kind.name);
}

void leat_stage_note_source(leat_plan *plan)
{
    for (const char *at = plan->source->notes; at && *at; at = strchr(at, '\n') + 1)
        leat_note_add(plan, "%.*s", (int)strcspn(at, "\n"), at);
    note_direct(plan);
}
