/* SPDX-License-Identifier: MIT
 *
 * test_cache.c: a cache changes no byte of any batch, at any place, with any part of the data in it, filled by
 * any loader. Stages before it run once per record. */
#include "fixtures/cache_fixture.h"
#include "fixtures/steady_fixture.h"

#include <pthread.h>

#define EPOCHS 3

static const char *const engines[] = {
    "{threads: 0, digest: true, reader: pread}", "{threads: 1, digest: true}",
    "{threads: 2, digest: true, reader: pread}", "{threads: 4, digest: true, read_bytes: 4 KiB}",
    "{threads: 4, digest: true, run: 3}",        "{threads: 2, digest: true, io: direct}",
};
#define N_ENGINES (int)(sizeof engines / sizeof *engines)

/* $: the file of the cache. */
static const char *const caches[] = { "{}",         "memory",
                                      "{bytes: 0}", "{bytes: 3 KiB}",
                                      "$",          "{file: $, bytes: 3 KiB}" };
#define N_CACHES (int)(sizeof caches / sizeof *caches)

static const char *cache_text(int i)
{
    static char text[100];
    const char *const at = strchr(caches[i], '$');
    unlink(cache_path);
    if (!at)
        return caches[i];
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - caches[i]), caches[i], cache_path, at + 1);
    return text;
}

/* Where the cut lies, and whether an op before it is random: then the reference is a cache in which
 * nothing fits. */
static const struct {
    const char *before, *after;
    bool is_random;
} cuts[] = {
    { NULL, "[count, jitter]", false },
    { "[count]", "[jitter]", false },
    { "[count, shrink]", "[widen, jitter]", false },
    { "[count, shrink, widen]", NULL, false },
    { "[jitter, count, shrink]", "[widen, jitter]", true },
    { "[jitter, count]", NULL, true },
};
#define N_CUTS (int)(sizeof cuts / sizeof *cuts)

TEST(no_cache_changes_a_batch)
{
    for (int c = 0; c < N_CUTS; c++) {
        const pipe_parts plain = { .before = cuts[c].before,
                                   .after = cuts[c].after,
                                   .cache = cuts[c].is_random ? "{bytes: 0}" : NULL };
        const uint64_t want = digest_of_parts(&plain, EPOCHS, NULL);
        for (int i = 0; i < N_CACHES; i++)
            for (int e = 0; e < N_ENGINES; e++)
                for (int prefetch = 0; prefetch <= 4; prefetch += 2) {
                    const pipe_parts parts = { .before = cuts[c].before,
                                               .after = cuts[c].after,
                                               .cache = cache_text(i),
                                               .engine = engines[e],
                                               .prefetch = prefetch };
                    leat_plan *plan = cache_plan(&parts);
                    for (int again = 0; again < 2; again++)
                        if (digest_of(plan, EPOCHS, NULL) != want)
                            fail_msg("cut %d, cache %s, %s, prefetch %d, loader %d", c, parts.cache,
                                     engines[e], prefetch, again);
                    leat_plan_close(&plan);
                }
    }
}

TEST(a_random_prefix_keeps_the_first_draws)
{
    /* Epoch 0 is as without a cache; later epochs are not, as the same draws come again. */
    const pipe_parts plain = { .before = "[jitter]" };
    const pipe_parts kept = { .before = "[jitter]", .cache = "memory" };
    assert_true(digest_of_parts(&plain, 1, NULL) == digest_of_parts(&kept, 1, NULL));
    assert_true(digest_of_parts(&plain, 2, NULL) != digest_of_parts(&kept, 2, NULL));
    leat_plan *plan = cache_plan(&kept);
    assert_non_null(leat_plan_note(plan, 0));
    assert_non_null(strstr(leat_plan_note(plan, 0), "'jitter'"));
    leat_plan_close(&plan);
    const pipe_parts after = { .cache = "memory", .after = "[jitter]" };
    plan = cache_plan(&after);
    assert_null(leat_plan_note(plan, 0));
    leat_plan_close(&plan);
}

TEST(links_before_it_run_once_per_record)
{
    for (int i = 0; i < N_CACHES; i++)
        for (int e = 0; e < N_ENGINES; e++) {
            const pipe_parts parts = { .before = "[count, shrink]",
                                       .cache = cache_text(i),
                                       .after = "[widen]",
                                       .engine = engines[e],
                                       .prefetch = 2 };
            const bool all = !strstr(caches[i], "bytes"), none = strstr(caches[i], "bytes: 0");
            leat_cache_stats cache;
            leat_plan *plan = cache_plan(&parts);
            n_counted = 0;
            digest_of(plan, 1, &cache);
            assert_int_equal(n_counted, N_RECORDS);
            assert_int_equal(cache.misses, N_RECORDS);
            assert_int_equal(cache.hits, 0);
            assert_true(all ? cache.entries == N_RECORDS : cache.entries < N_RECORDS);
            assert_true(none ? cache.entries == 0 : cache.entries > 0);
            assert_true(cache.bytes <= cache.limit_bytes);
            const uint64_t n_kept = cache.entries;
            digest_of(plan, 2, &cache);
            assert_int_equal(cache.hits, 2 * n_kept);
            assert_int_equal(cache.misses, 2 * (N_RECORDS - n_kept));
            assert_int_equal(n_counted, N_RECORDS + 2 * (N_RECORDS - n_kept));
            assert_int_equal(cache.damaged, 0);
            leat_plan_close(&plan);
        }
}

/* Ops after batch are stages behind those of the cache. */
TEST(it_counts_beside_a_map_after_batch)
{
    float *const rows = make_rows(24);
    const leat_loader_options options = { .epochs = 3 };
    leat_loader_stats_info stats;
    leat_builder *b = build_rows(24, rows);
    leat_batch *batch;
    leat_error err;
    leat_builder_stage(b, "cache", NULL);
    leat_builder_stage(b, "batch", "8");
    leat_builder_stage(b, "map", "[mixup: {label: none}]");
    leat_plan *plan = plan_of_builder(b);
    leat_loader *loader = open_loader(plan, &options);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK)
        leat_batch_release(batch);
    leat_loader_stats(loader, &stats);
    assert_int_equal(stats.cache.misses, 24);
    assert_int_equal(stats.cache.hits, 2 * 24);
    close_loader_and_plan(&loader, &plan);
    free(rows);
}

TEST(cached_records_are_not_read)
{
    for (int e = 0; e < N_ENGINES; e++) {
        const pipe_parts parts = { .before = "[count]", .cache = "memory", .engine = engines[e] };
        const leat_loader_options options = { .epochs = 2 };
        leat_plan *plan = cache_plan(&parts);
        leat_loader_stats_info stats;
        leat_batch *batch;
        leat_error err;
        digest_of(plan, 1, NULL);
        leat_loader *loader = open_loader(plan, &options);
        while (leat_loader_next(loader, &batch, &err) == LEAT_OK)
            leat_batch_release(batch);
        leat_loader_stats(loader, &stats);
        assert_int_equal(stats.samples, 2 * N_RECORDS);
        assert_int_equal(stats.bytes_read, 0);
        for (int32_t i = 0; i < stats.n_stages; i++)
            if (!strcmp(stats.stages[i].name, "parse") || strstr(stats.stages[i].name, "count"))
                assert_int_equal(stats.stages[i].samples, 0);
        close_loader_and_plan(&loader, &plan);
    }
}

TEST(a_failing_record_fails_as_ever)
{
    static const char *const sides[][2] = { { "[{fail_at: 77}]", NULL },
                                            { NULL, "[{fail_at: 77}]" } };
    for (int s = 0; s < 2; s++) {
        char want[1020] = "";
        for (int i = -1; i < N_CACHES; i++) {
            const pipe_parts parts = { .before = sides[s][0],
                                       .cache = i < 0 ? NULL : cache_text(i),
                                       .after = sides[s][1] };
            leat_plan *plan = cache_plan(&parts);
            for (int again = 0; again < 2; again++) {
                leat_loader *loader = open_loader(plan, NULL);
                leat_batch *batch;
                leat_error err;
                int rc;
                while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
                    leat_batch_release(batch);
                assert_int_equal(rc, LEAT_E_DATA);
                if (!want[0])
                    snprintf(want, sizeof want, "%s", err.message);
                assert_string_equal(err.message, want);
                leat_loader_close(&loader);
            }
            leat_plan_close(&plan);
        }
    }
}

TEST(a_resumed_run_goes_on)
{
    const pipe_parts parts = {
        .before = "[count, shrink]", .cache = "memory", .after = "[widen, jitter]", .prefetch = 2
    };
    const pipe_parts plain = { .before = "[count, shrink]",
                               .after = "[widen, jitter]",
                               .prefetch = 1 };
    leat_plan *plan = cache_plan(&parts), *other = cache_plan(&plain);
    leat_batch *batch;
    leat_error err;
    for (int64_t at = 0; at < 25; at += 3) {
        const leat_loader_options options = { .epochs = EPOCHS };
        leat_loader *loader = open_loader(plan, &options);
        leat_loader_state position;
        for (int64_t b = 0; b < at; b++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        leat_loader_get_state(loader, &position);
        /* A cache without draws changes no batch, so a state is good with it and without. */
        const leat_loader_options on = { .epochs = EPOCHS, .state = &position };
        leat_loader *with = open_loader(plan, &on), *without = open_loader(other, &on);
        int rc;
        while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
            const uint64_t want = leat_batch_get_info(batch)->digest;
            leat_batch_release(batch);
            check(leat_loader_next(with, &batch, &err), &err);
            assert_true(leat_batch_get_info(batch)->digest == want);
            leat_batch_release(batch);
            check(leat_loader_next(without, &batch, &err), &err);
            assert_true(leat_batch_get_info(batch)->digest == want);
            leat_batch_release(batch);
        }
        assert_int_equal(rc, LEAT_E_END);
        leat_loader_close(&loader);
        leat_loader_close(&with);
        leat_loader_close(&without);
    }
    leat_plan_close(&plan);
    leat_plan_close(&other);
}

TEST(the_digest_of_a_plan_knows_random_prefixes)
{
    const pipe_parts parts[] = { { .before = "[count]", .cache = "memory" },
                                 { .before = "[count]", .cache = "{bytes: 1 MiB}" },
                                 { .before = "[count]" },
                                 { .before = "[jitter]", .cache = "memory" },
                                 { .before = "[jitter]" } };
    uint64_t digests[5];
    for (int i = 0; i < 5; i++) {
        leat_plan *plan = cache_plan(&parts[i]);
        digests[i] = leat_plan_get_info(plan)->digest;
        leat_plan_close(&plan);
    }
    assert_true(digests[0] == digests[1] && digests[1] == digests[2]);
    assert_true(digests[3] != digests[4]);
}

/* --- two loaders at once ------------------------------------------------------------------------ */

typedef struct consumer {
    const leat_plan *plan;
    uint64_t digest;
} consumer;

static void *consume(void *arg)
{
    consumer *const c = arg;
    c->digest = digest_of(c->plan, EPOCHS, NULL);
    return NULL;
}

TEST(loaders_share_it)
{
    for (int i = 0; i < N_CACHES; i++) {
        const pipe_parts plain = { .before = "[count, shrink]", .after = "[widen, jitter]" };
        const uint64_t want = digest_of_parts(&plain, EPOCHS, NULL);
        const pipe_parts parts = { .before = "[count, shrink]",
                                   .cache = cache_text(i),
                                   .after = "[widen, jitter]",
                                   .engine = "{threads: 3, digest: true}",
                                   .prefetch = 2 };
        leat_plan *plan = cache_plan(&parts);
        consumer consumers[3];
        pthread_t threads[3];
        for (int t = 0; t < 3; t++) {
            consumers[t] = (consumer){ .plan = plan };
            assert_int_equal(pthread_create(&threads[t], NULL, consume, &consumers[t]), 0);
        }
        for (int t = 0; t < 3; t++) {
            pthread_join(threads[t], NULL);
            assert_true(consumers[t].digest == want);
        }
        leat_plan_close(&plan);
    }
}

/* --- the stage ----------------------------------------------------------------------------------- */

TEST(wrong_configs_are_refused)
{
    static const struct {
        const char *stages, *message;
    } cases[] = {
        { "cache, cache, {batch: 2}", "second cache stage" },
        { "{batch: 2}, cache", "put it before batch" },
        { "{cache: ''}, {batch: 2}", "is empty" },
        { "{cache: {bytes: -1}}, {batch: 2}", "bytes" },
        { "{cache: {files: x}}, {batch: 2}", "did you mean 'file'" },
        { "{cache: /tmp/leat-never-made}, {batch: 2}", "cannot tell whether its records" },
    };
    float *rows = make_rows(4);
    const int64_t n = ROW_FLOATS;
    const leat_rows list[] = { { "x", leat_shape_make(LEAT_F32, 1, &n), rows } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char stages[200], *save = NULL;
        leat_builder *b = leat_builder_open();
        leat_plan *plan = NULL;
        leat_error err = { 0 };
        leat_builder_rows(b, 4, list, 1);
        snprintf(stages, sizeof stages, "%s", cases[i].stages);
        for (char *s = strtok_r(stages, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
            char name[40] = "", options[100] = "";
            if (sscanf(s, " {%39[a-z]: %99[^\n]", name, options) == 2)
                options[strlen(options) - 1] = 0;
            else
                sscanf(s, " %39s", name);
            leat_builder_stage(b, name, options[0] ? options : NULL);
        }
        const int rc = leat_builder_plan(b, &plan, &err);
        leat_builder_close(&b);
        if (rc >= 0 || !strstr(err.message, cases[i].message))
            fail_msg("%s: %s", cases[i].stages, rc < 0 ? err.message : "taken");
    }
    free(rows);
}

#ifdef COUNTING_MALLOC
TEST(nothing_is_allocated_once_warm)
{
    for (int i = 0; i < N_CACHES; i++) {
        const pipe_parts parts = {
            .before = "[shrink]", .cache = cache_text(i), .after = "[widen, jitter]", .prefetch = 2
        };
        leat_plan *plan = cache_plan(&parts);
        expect_no_allocation(plan, 40);
    }
}
#endif

SUITE_FIXTURE(make_data, remove_folder)
