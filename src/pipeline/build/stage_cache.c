/* SPDX-License-Identifier: MIT
 *
 * stage_cache.c: the stage `cache`: has its place in every chain. Ops before it run once per record, with
 * the random draws of epoch 0, and the cache stores their output. Ops after it run for every sample. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "ops/decode/decode.h"
#include "ops/op_list.h"
#include "pipeline/cache/cache.h"
#include "pipeline/sample/device_cache.h"
#include "stage.h"

static const char *const autos[] = { "auto", NULL };

static const leat_option table[] = {
    LEAT_OPTION_STRING(leat_cache_options, file, "memory",
                       "where samples are stored: memory, while the plan is open; device: all "
                       "samples in the memory of the loader's CUDA device, while the loader is "
                       "open; or the path of a file, for later runs too"),
    LEAT_OPTION_BYTES_OR(
        leat_cache_options, bytes, "auto", 0, 0x1p50, autos,
        "size limit; samples that do not fit are computed again in each epoch; auto: what the "
        "other stages leave of engine.memory, or half of the free disk space"),
    LEAT_OPTION_END
};

static const char *random_op(const leat_plan *plan)
{
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].cache_at; i++)
            if (plan->chains[c].ops[i].op->draw)
                return plan->chains[c].ops[i].op->name;
    return NULL;
}

/* cache: device: rows must have a known size here, and all later ops run on the device. */
static int keep_on_device(leat_build *build, const leat_cache_options *o, const leat_node *where,
                          leat_error *err)
{
    leat_plan *const plan = build->plan;
    char text[96];
    for (int32_t c = 0; c < plan->n_chains; c++)
        if (leat_shape_bytes(&plan->chains[c].shape) < 0)
            return leat_node_fail(where, err, LEAT_E_CONFIG,
                                  "cache: device keeps rows of one shape, but '%s' is %s here: "
                                  "resize or crop it before, or write cache: memory",
                                  plan->source->features[c].name,
                                  leat_shape_text(&plan->chains[c].shape, text, sizeof text));
    if (o->bytes != LEAT_OPTION_CHOICE(0))
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "cache: device keeps all samples or none: leave bytes out");
    plan->caches_on_device = plan->on_device = true;
    return LEAT_OK;
}

static int add_cache(leat_build *build, const void *options, const leat_node *where,
                     leat_error *err)
{
    leat_plan *const plan = build->plan;
    const leat_cache_options *const o = options;
    leat_error at;
    if (build->cache)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "a second cache stage: keep one of them");
    if (build->batch)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "cache keeps samples: put it before batch");
    if (build->unbatch)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "cache stores whole records: put it before unbatch");
    if (!o->file.text[0])
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "cache: the name of the file is empty; for memory leave it out");
    if (plan->on_device)
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "cache keeps samples as the CPU made them: put it before the map with device: gpu");
    build->cache = where;
    leat_node_fail(where, &at, LEAT_E_CONFIG, "cache: ");
    for (int32_t c = 0; c < plan->n_chains; c++) {
        plan->chains[c].cache_at = plan->chains[c].n_ops;
        plan->chains[c].cache_shape = plan->chains[c].shape;
    }
    const char *const random = random_op(plan);
    plan->is_cache_random = random != NULL;
    if (random)
        leat_note_add(build->plan,
                      "cache: '%s' before it is random: its result in the first epoch is stored "
                      "and stays the same in all later epochs",
                      random);
    if (!strcmp(o->file.text, "device"))
        return keep_on_device(build, o, where, err);
    return leat_cache_new(&plan->cache, o, at.message, err);
}

/* The text of the stages before the cache that decide the content of samples. Owned by the caller. NULL: out
 * of memory. */
static char *stages_text(const leat_build *build, const leat_node *pipeline)
{
    size_t size = 1;
    const leat_node *stage;
    for (stage = pipeline->first; stage != build->cache; stage = stage->next)
        size += leat_node_text(stage, NULL, 0) + 2;
    char *const text = calloc(1, size), *end = text;
    for (stage = pipeline->first; text && stage != build->cache; stage = stage->next) {
        if (leat_stage_flags(stage) & (LEAT_STAGE_ORDERS | LEAT_STAGE_NO_DIGEST))
            continue;
        if (end > text)
            end += snprintf(end, size - (size_t)(end - text), ", ");
        end += leat_node_text(stage, end, size - (size_t)(end - text));
    }
    return text;
}

/* decode_jpeg with scale: auto right before the cache depends on the resize behind it. */
static void add_scales(const leat_plan *plan, leat_cache_origin *out)
{
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const int32_t last = plan->chains[c].cache_at - 1;
        const leat_chain_op *const op = last < 0 ? NULL : &plan->chains[c].ops[last];
        if (!op || op->op != &leat_op_decode_jpeg)
            continue;
        const leat_decode_options *const o = op->options;
        const size_t n = strlen(out->text);
        char size[96];
        if (o->scale != LEAT_DECODE_SCALE_AUTO)
            continue;
        snprintf(size, sizeof size, " for a resize to %lld x %lld%s", (long long)o->resize_height,
                 (long long)o->resize_width, o->resize_keeps_aspect ? " (keep_aspect)" : "");
        out->stages = leat_digest_text(out->stages, size);
        snprintf(out->text + n, sizeof out->text - n, "%s", size);
    }
}

/* Describes where the samples come from, so that a file of another pipeline is refused. */
static int find_origin(const leat_build *build, const leat_config_sections *sections,
                       const leat_cache_layout *layout, leat_cache_origin *out, leat_error *err)
{
    const leat_plan *const plan = build->plan;
    char shape[96];
    char *const text = stages_text(build, sections->pipeline);
    const size_t size = sections->source ? leat_node_text(sections->source, NULL, 0) + 1 : 1;
    char *const source = calloc(1, size);
    int rc = LEAT_OK;
    memset(out, 0, sizeof *out);
    out->n_records = plan->source->n_records;
    if (text && source) {
        if (sections->source)
            leat_node_text(sections->source, source, size);
        out->source = leat_digest_text(plan->source->digest, source);
        out->stages = leat_digest_text(0, text);
        for (int32_t t = 0; t < layout->n; t++) {
            const char *const name = plan->source->features[plan->chains[t].feature].name;
            leat_shape_text(&layout->shapes[t], shape, sizeof shape);
            out->stages = leat_digest_text(out->stages, name);
            out->stages = leat_digest_text(out->stages, shape);
        }
        out->seed = plan->is_cache_random ? plan->seed : 0;
        snprintf(out->version, sizeof out->version, "%s", LEAT_VERSION);
        snprintf(out->text, sizeof out->text, "%s", *text ? text : "none");
        add_scales(plan, out);
    } else {
        rc = leat_fail(err, LEAT_E_NOMEM, "cache: %zu bytes", size);
    }
    free(source);
    free(text);
    return rc;
}

int leat_stage_cache_describe(const leat_build *build, const leat_config_sections *sections,
                              leat_error *err)
{
    const leat_plan *const plan = build->plan;
    leat_cache_origin *origin;
    leat_cache_layout layout = { .n = plan->n_chains };
    leat_file_watch_stamp stamp = leat_file_watch_stamp_of_content(plan->source->n_files);
    if (!plan->cache)
        return leat_device_cache_check(plan, build->cache, err);
    if (leat_cache_is_file(plan->cache)) {
        if (!plan->source->table->stamp)
            return leat_node_fail(build->cache, err, LEAT_E_UNSUPPORTED,
                                  "cache: this source cannot tell whether its records are still "
                                  "those in a cache file; use `cache: memory`");
        const int rc = plan->source->table->stamp(plan->source, &stamp, err);
        if (rc < 0)
            return rc;
    }
    for (int32_t c = 0; c < plan->n_chains; c++)
        layout.shapes[c] = plan->chains[c].cache_shape;
    origin = calloc(1, sizeof *origin);
    if (!origin)
        return leat_fail(err, LEAT_E_NOMEM, "cache: %zu bytes", sizeof *origin);
    const int rc = find_origin(build, sections, &layout, origin, err);
    origin->source = leat_digest_chain(origin->source, stamp.digest);
    if (rc >= 0)
        leat_cache_describe(plan->cache, &layout, origin);
    free(origin);
    return rc;
}

const leat_stage_table leat_stage_cache = {
    { "cache", "store samples at this point of the pipeline, for later epochs", table },
    sizeof(leat_cache_options),
    add_cache,
    LEAT_STAGE_NO_DIGEST
};
