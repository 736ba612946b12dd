/* SPDX-License-Identifier: MIT
 *
 * build.c: makes a checked plan from a config: leat_plan_open(), and leat_build_plan() for builder.c.
 *
 * DESIGN. Stages are added in their order; each changes the plan that those before it have made. What needs all stages
 * follows: the layout of a slot, the cache, the limit of bad records, sizes (probe.c), and last the placement on a GPU. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/cpu.h"
#include "base/float_mode.h"
#include "ops/jpeg/huffman/jpeg_loop.h"
#include "stage.h"

typedef struct top_options {
    const leat_node *source, *pipeline, *engine, *train, *eval, *whiten;
    int64_t seed;
} top_options;

#define SOURCE_ROW   LEAT_OPTION_NODE(top_options, source, "", "where records come from")
#define PIPELINE_ROW LEAT_OPTION_NODE(top_options, pipeline, "", "list of stages, in order")
#define ENGINE_ROW   LEAT_OPTION_NODE(top_options, engine, "", "how it runs; see the engine options")

static const leat_option top_table[] = {
    SOURCE_ROW,
    PIPELINE_ROW,
    ENGINE_ROW,
    LEAT_OPTION_NODE(top_options, train, "", "model and training"),
    LEAT_OPTION_NODE(top_options, eval, "", "source and pipeline of the evaluation data"),
    LEAT_OPTION_NODE(top_options, whiten, "",
                     "source and pipeline of the images that decide the weights of layers with "
                     "`init: whiten`; default: the first batch"),
    LEAT_OPTION_I64(top_options, seed, "0", 0, LEAT_OPTION_I64_MAX, "seed of all random decisions"),
    LEAT_OPTION_END
};
static const leat_option section_table[] = { SOURCE_ROW, PIPELINE_ROW, ENGINE_ROW,
                                             LEAT_OPTION_END };

const leat_kind *leat_engine_kind(size_t i)
{
    static const leat_kind kinds[] = {
        { "engine",
          "how a pipeline runs; never changes the contents of a batch (exception: fuse, with "
          "damaged JPEG files)",
          leat_engine_option_table },
        { "config", "the keys at the top of a config file", top_table },
    };
    return i < sizeof kinds / sizeof *kinds ? &kinds[i] : NULL;
}

/* Every feature starts as a chain without ops. */
static void begin_chains(leat_plan *plan)
{
    plan->n_chains = plan->source->n_features;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        plan->chains[c].feature = c;
        plan->chains[c].shape = plan->chains[c].host_shape = plan->source->features[c].shape;
    }
}

static int fill_info(const leat_build *build, const leat_config_sections *sections, leat_error *err)
{
    leat_plan *const plan = build->plan;
    plan->info = (leat_plan_info){
        .n_records = plan->source->n_records,
        .n_samples = plan->order.n_samples > INT64_MAX ? -1 : (int64_t)plan->order.n_samples,
        .n_batches = plan->order.n_batches > INT64_MAX ? -1 : (int64_t)plan->order.n_batches,
        .batch_size = (int64_t)plan->order.batch_size,
        .rank = (int32_t)plan->engine.rank,
        .ranks = (int32_t)plan->engine.ranks,
        .prefetch = plan->prefetch,
        .n_tensors = plan->n_tensors,
        .n_classes = plan->source->n_classes,
        .seed = plan->seed,
    };
    return leat_build_digests(build, sections, err);
}

static int add_stages(leat_build *build, const leat_node *pipeline, leat_error *err)
{
    int rc = LEAT_OK;
    if (pipeline->kind != LEAT_NODE_LIST)
        return leat_node_fail(
            pipeline, err, LEAT_E_CONFIG,
            "pipeline must be a list of stages, each behind a dash: `- batch: 32`");
    for (const leat_node *entry = pipeline->first; entry; entry = entry->next)
        build->has_batch |= (leat_stage_flags(entry) & LEAT_STAGE_BATCHES) != 0;
    for (const leat_node *entry = pipeline->first; entry && rc >= 0; entry = entry->next)
        rc = leat_stage_add(build, entry, err);
    if (rc >= 0 && !build->batch)
        rc = leat_node_fail(pipeline, err, LEAT_E_CONFIG,
                            "the pipeline has no batch stage: add `- batch: 32`");
    return rc;
}

/* An index of JPEG files that does not fit is a note or an error, as engine.jpeg_index says. */
static int check_jpeg_index(leat_build *build, const leat_node *where, leat_error *err)
{
    const leat_source *const source = build->plan->source;
    const int32_t choice = build->plan->engine.jpeg_index;
    if (choice == LEAT_JPEG_INDEX_AUTO && source->seek_note[0])
        leat_note_add(
            build->plan,
            "the index of JPEG files is not used: %s; rebuild it with `leat index --jpeg`",
            source->seek_note);
    if (choice != LEAT_JPEG_INDEX_REQUIRE || source->seek_complete)
        return LEAT_OK;
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "engine.jpeg_index is require, but %s; make it with `leat index --jpeg`",
                          source->seek_note[0] ? source->seek_note
                                               : "not every file of the source has one");
}

/* Without a rank every process would make the first part of each batch. */
static int read_engine(leat_plan *plan, const leat_node *engine, leat_error *err)
{
    int rc =
        leat_node_options(engine, engine, "engine", leat_engine_option_table, &plan->engine, err);
    const long long rank = plan->engine.rank, ranks = plan->engine.ranks;
    if (rc == LEAT_OK && ranks > 1 && !leat_node_find(engine, "rank"))
        rc = leat_node_fail(engine, err, LEAT_E_CONFIG,
                            "engine: rank is not given: with ranks %lld it is 0 to %lld", ranks,
                            ranks - 1);
    else if (rc == LEAT_OK && rank >= ranks)
        rc = leat_node_fail(engine, err, LEAT_E_CONFIG,
                            "engine: rank must be below ranks %lld, got %lld", ranks, rank);
    return rc;
}

int leat_build_plan(leat_build *build, const leat_config_sections *sections, leat_error *err)
{
    LEAT_FLOAT_MODE; /* samples are computed to learn their sizes */
    leat_plan *const plan = build->plan;
    if (leat_cpu_misnamed())
        return leat_fail(err, LEAT_E_CONFIG,
                         "LEAT_CPU is '%s'; it is c, avx2 or avx512, or not set",
                         leat_cpu_misnamed());
    if (leat_jpeg_loop_misnamed())
        return leat_fail(err, LEAT_E_CONFIG,
                         "LEAT_JPEG_LOOP is '%s'; it is shifts or loads, or not set",
                         leat_jpeg_loop_misnamed());
    plan->seed = (uint64_t)sections->seed;
    int rc = read_engine(plan, sections->engine, err);
    if (rc < 0)
        return rc;
    const leat_source_setting setting = { .seed = plan->seed,
                                          .threads = plan->engine.threads,
                                          .memory = plan->engine.memory,
                                          .verifies_always =
                                              plan->engine.verify == LEAT_VERIFY_ALWAYS,
                                          .skips_damage =
                                              leat_stage_on_error_skips_damage(sections->pipeline),
                                          .apply_pipeline = leat_stage_add_nested };
    if (!plan->source &&
        (rc = leat_source_open(sections->source, &setting, &plan->source, err)) < 0)
        return rc;
    if (plan->source->n_records == 0)
        return leat_node_fail(sections->source, err, LEAT_E_DATA, "the source has no records");
    if ((rc = check_jpeg_index(build, sections->source, err)) < 0)
        return rc;
    leat_source_order(plan->source, &plan->order);
    leat_stage_note_source(plan);
    plan->order.rank = (uint64_t)plan->engine.rank;
    plan->order.ranks = (uint64_t)plan->engine.ranks;
    begin_chains(plan);
    if ((rc = add_stages(build, sections->pipeline, err)) < 0 ||
        (rc = leat_plan_layout_make(plan, build->batch, err)) < 0 ||
        (rc = leat_stage_cache_describe(build, sections, err)) < 0 ||
        (rc = leat_stage_on_error_set_limit(plan, err)) < 0)
        return rc;
    leat_probe_run(plan, &plan->probe);
    rc = fill_info(build, sections, err);
    return rc < 0 ? rc : leat_gpu_placement_make(plan, err);
}

/* --- public -------------------------------------------------------------------------------------- */

/* The section of an option that a user put at the top by mistake; NULL: unknown. */
static const char *home_of(const char *key)
{
    static const char *const of_train[] = { "device", "epochs", "model",    "loss",
                                            "input",  "target", "optimizer" };
    if (leat_option_find(leat_engine_option_table, key))
        return "engine";
    for (size_t i = 0; i < sizeof of_train / sizeof *of_train; i++)
        if (!strcmp(of_train[i], key))
            return "train";
    return NULL;
}

/* Refuses keys at the top that belong elsewhere: a stage, or an option of engine or train. */
static int check_top(const leat_node *root, leat_error *err)
{
    if (!root || root->kind != LEAT_NODE_MAP)
        return LEAT_OK;
    for (const leat_node *child = root->first; child; child = child->next) {
        const char *const home = home_of(child->key);
        leat_nearest_word near = leat_nearest_init(child->key);
        if (leat_option_find(top_table, child->key) || child->elsewhere)
            continue;
        for (size_t i = 0; leat_stage_kind(i); i++)
            if (!strcmp(leat_stage_kind(i)->name, child->key))
                return leat_node_fail(child, err, LEAT_E_CONFIG,
                                      "'%s' is a stage: write `- %s: ...` in the list `pipeline`",
                                      child->key, child->key);
        if (!home)
            continue;
        char path[128];
        snprintf(path, sizeof path, "%s.%.60s", home, child->key);
        near.best = path;
        return leat_node_fail_key(child, err, "config", "option", &near);
    }
    return LEAT_OK;
}

static int read_sections(const leat_config *config, const char *section,
                         leat_config_sections *sections, leat_error *err)
{
    const leat_node *const root = leat_config_root(config);
    const leat_node *owner = root;
    top_options top, inner;
    int rc;
    if ((rc = check_top(root, err)) < 0 ||
        (rc = leat_node_options(root, root, "config", top_table, &top, err)) < 0)
        return rc;
    *sections = (leat_config_sections){ top.seed, top.source, top.pipeline, top.engine };
    if (section) {
        owner = leat_node_find(root, section);
        if (!owner)
            return leat_node_fail(root, err, LEAT_E_CONFIG, "the config has no '%s'", section);
        rc = leat_node_options(owner, owner, section, section_table, &inner, err);
        if (rc < 0)
            return rc;
        *sections = (leat_config_sections){ top.seed, inner.source, inner.pipeline,
                                            inner.engine ? inner.engine : top.engine };
    }
    if (!sections->source || !sections->pipeline)
        return leat_node_fail(owner, err, LEAT_E_CONFIG, "%s has no '%s'",
                              section ? section : "the config",
                              sections->source ? "pipeline" : "source");
    return LEAT_OK;
}

int leat_plan_open(const leat_config *config, const char *section, leat_plan **out, leat_error *err)
{
    if (!config || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_plan_open: config and out must be given");
    leat_config_sections sections;
    *out = NULL;
    int rc = read_sections(config, section, &sections, err);
    if (rc < 0)
        return rc;
    leat_build build = { .plan = calloc(1, sizeof *build.plan) };
    if (!build.plan)
        return leat_fail(err, LEAT_E_NOMEM, "plan: %zu bytes", sizeof *build.plan);
    rc = leat_build_plan(&build, &sections, err);
    if (rc < 0)
        leat_plan_close(&build.plan);
    *out = build.plan;
    return rc;
}

int leat_plan_load(const char *path, leat_plan **out, leat_error *err)
{
    if (!path || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_plan_load: path and out must be given");
    leat_config *config;
    *out = NULL;
    int rc = leat_config_load(path, &config, err);
    if (rc >= 0)
        rc = leat_plan_open(config, NULL, out, err);
    leat_config_close(&config);
    return rc;
}

void leat_plan_close(leat_plan **out)
{
    leat_plan *const plan = out ? *out : NULL;
    if (!plan)
        return;
    for (int32_t c = 0; c < plan->n_chains; c++)
        leat_stage_map_free_chain(&plan->chains[c]);
    for (int32_t i = 0; i < plan->n_batch_ops; i++)
        free(plan->batch_ops[i].options);
    free(plan->gpu);
    leat_note_clear(plan);
    leat_order_fini(&plan->order);
    leat_cache_close(&plan->cache);
    leat_source_close(&plan->source);
    free(plan);
    *out = NULL;
}
