/* SPDX-License-Identifier: MIT
 *
 * cache_fixture.h: what the tests of caches share: a small TFRecord file, pipelines over it with
 * samples of differing sizes at the cache, and the digests of their runs. */
#ifndef CACHE_FIXTURE_H
#define CACHE_FIXTURE_H

#include <stdatomic.h>

#include "engine_fixture.h"
#include "own_folder.h"
#include "pipeline/cache/cache.h"

#define N_RECORDS 150

/* --- ops --------------------------------------------------------------------------------------- */

static _Atomic uint64_t n_counted;
static long count_pause_ns; /* every sample takes so long */

/* Counts how often it ran. */
static inline int count_apply(const void *o, const leat_plan64 *p, const leat_view *in,
                              const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    atomic_fetch_add(&n_counted, 1);
    if (count_pause_ns)
        pause_ns(count_pause_ns);
    return stall_apply(o, p, in, out, scratch, err);
}

static const leat_op count_op = { .name = "count",
                                  .help = "counts, and sleeps now and then",
                                  .options = no_options,
                                  .flags = LEAT_OP_IN_PLACE,
                                  .shape = same_shape,
                                  .apply = count_apply };

/* Leaves the first values of a row: how many depends on the row. */
static inline int shrink_shape(const void *o, const leat_shape *in, leat_shape *out,
                               leat_error *err)
{
    const int64_t n = LEAT_UNKNOWN_DIM;
    (void)o;
    (void)in;
    (void)err;
    *out = leat_shape_make(LEAT_F32, 1, &n);
    return LEAT_OK;
}

static inline int shrink_measure(const void *o, const leat_view *in, leat_shape *out,
                                 leat_scratch *scratch, leat_error *err)
{
    const int64_t n = (int64_t) * (const float *)in->data % (ROW_FLOATS + 1);
    (void)o;
    (void)scratch;
    (void)err;
    *out = leat_shape_make(LEAT_F32, 1, &n);
    return LEAT_OK;
}

static inline int resize_apply(const void *o, const leat_plan64 *p, const leat_view *in,
                               const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const size_t from = (size_t)leat_shape_bytes(&in->shape);
    const size_t to = (size_t)leat_shape_bytes(&out->shape);
    (void)o;
    (void)p;
    (void)scratch;
    (void)err;
    memset(out->data, 0, to);
    memcpy(out->data, in->data, from < to ? from : to);
    return LEAT_OK;
}

static const leat_op shrink_op = { .name = "shrink",
                                   .help = "rows of differing lengths",
                                   .options = no_options,
                                   .shape = shrink_shape,
                                   .measure = shrink_measure,
                                   .apply = resize_apply };

static inline int widen_shape(const void *o, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const int64_t n = ROW_FLOATS;
    (void)o;
    (void)in;
    (void)err;
    *out = leat_shape_make(LEAT_F32, 1, &n);
    return LEAT_OK;
}

static const leat_op widen_op = { .name = "widen",
                                  .help = "rows of one length again",
                                  .options = no_options,
                                  .shape = widen_shape,
                                  .apply = resize_apply };

/* --- files and plans --------------------------------------------------------------------------- */

static char data_path[64], cache_path[64];

static inline int make_data(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    snprintf(data_path, sizeof data_path, "%s/data.tfrecord", test_folder);
    snprintf(cache_path, sizeof cache_path, "%s/samples.cache", test_folder);
    write_records(data_path, 0, N_RECORDS, 300);
    return 0;
}

/* A pipeline; NULL parts are left out. */
typedef struct pipe_parts {
    const char *before, *cache, *after, *engine; /* maps' op lists, the cache's options */
    bool is_combined;                            /* the source is two parts of the file */
    int prefetch;
    int64_t seed;
} pipe_parts;

static inline int try_plan(const pipe_parts *parts, leat_plan **plan, leat_error *err)
{
    char text[300];
    leat_builder *b = leat_builder_open();
    snprintf(text, sizeof text, "{files: '%s', features: {x: {}, id: {shape: []}}}", data_path);
    if (!parts->is_combined) {
        leat_builder_source(b, "tfrecord", text);
    } else {
        char both[800];
        snprintf(both, sizeof both,
                 "{sources: [{tfrecord: %s, pipeline: [{take: 70}]}, {tfrecord: %s, pipeline: "
                 "[{skip: 70}]}]}",
                 text, text);
        leat_builder_source(b, "concat", both);
    }
    leat_builder_seed(b, parts->seed);
    leat_builder_op(b, &count_op);
    leat_builder_op(b, &shrink_op);
    leat_builder_op(b, &widen_op);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &fail_op);
    leat_builder_engine(b, parts->engine ? parts->engine : "{threads: 2, digest: true}");
    leat_builder_stage(b, "shuffle", NULL);
    if (parts->before)
        leat_builder_stage(b, "map", parts->before);
    if (parts->cache)
        leat_builder_stage(b, "cache", parts->cache);
    if (parts->after)
        leat_builder_stage(b, "map", parts->after);
    leat_builder_stage(b, "batch", "16");
    snprintf(text, sizeof text, "%d", parts->prefetch);
    leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, plan, err);
    leat_builder_close(&b);
    return rc;
}

static inline leat_plan *plan_of(const pipe_parts *parts)
{
    leat_plan *plan;
    leat_error err;
    check(try_plan(parts, &plan, &err), &err);
    return plan;
}

/* Runs epochs [0, n) with a loader, and says what its cache did. */
static inline uint64_t digest_of(const leat_plan *plan, int64_t n_epochs, leat_cache_stats *cache)
{
    const leat_loader_options options = { .epochs = n_epochs };
    leat_loader *loader = open_loader(plan, &options);
    leat_loader_stats_info stats;
    int64_t n_batches;
    const uint64_t digest = take_digest(loader, &n_batches);
    leat_loader_stats(loader, &stats);
    if (cache)
        *cache = stats.cache;
    leat_loader_close(&loader);
    return digest;
}

/* The same, plan and all. */
static inline uint64_t digest_of_parts(const pipe_parts *parts, int64_t n_epochs,
                                       leat_cache_stats *cache)
{
    leat_plan *plan = plan_of(parts);
    const uint64_t digest = digest_of(plan, n_epochs, cache);
    leat_plan_close(&plan);
    return digest;
}

#endif
