/* SPDX-License-Identifier: MIT
 *
 * test_on_error.c: bad records are masked or replaced. Which ones, and by which records, depends only on the
 * order. */
#include "fixtures/on_error_fixture.h"

/* Rows of one epoch as they are when none is bad, by record. */
static float *good_rows(const float *rows)
{
    const setup s = { .threads = 2, .prefetch = 1 };
    float *const all = calloc(N * ROW_FLOATS, sizeof *all);
    leat_plan *plan = on_error_plan(&s, rows);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const float *const x = leat_batch_tensor(batch, 0).data;
        for (int64_t j = 0; j < leat_batch_get_info(batch)->rows; j++)
            memcpy(all + record_of(batch, j) * ROW_FLOATS, x + j * ROW_FLOATS,
                   ROW_FLOATS * sizeof *all);
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
    return all;
}

/* --- masked --------------------------------------------------------------------------------------- */

static void check_masked_row(leat_batch *batch, int64_t j, uint64_t record, int32_t listed)
{
    static const float zeros[ROW_FLOATS];
    const float *const x = (const float *)leat_batch_tensor(batch, 0).data + j * ROW_FLOATS;
    const leat_row_error *const e = leat_batch_error(batch, listed);
    char want[60];
    assert_memory_equal(x, zeros, sizeof zeros);
    assert_int_equal(((const int64_t *)leat_batch_tensor(batch, 1).data)[j], 0);
    assert_non_null(e);
    assert_int_equal(e->batch, leat_batch_get_info(batch)->number);
    assert_int_equal(e->row, j);
    assert_true(e->record == record && !e->replaced);
    assert_int_equal(e->code, LEAT_E_DATA);
    snprintf(want, sizeof want, "planted failure at %llu", (unsigned long long)record);
    assert_non_null(strstr(e->message, want));
    assert_non_null(strstr(e->message, "in memory: 'x': bad: "));
}

TEST(masked_rows_are_zeros_and_the_others_as_ever)
{
    float *const rows = make_rows(N), *const good = good_rows(rows);
    uint64_t want = 0;
    for (int threads = 0; threads <= 6; threads += 3)
        for (int prefetch = 0; prefetch <= 2; prefetch += 2) {
            const setup s = { .on_error = "{policy: mask, max_errors: unlimited}",
                              .bad = "{}",
                              .threads = threads,
                              .prefetch = prefetch };
            leat_plan *plan = on_error_plan(&s, rows);
            leat_loader *loader = open_loader(plan, NULL);
            leat_batch *batch;
            leat_loader_stats_info stats;
            uint64_t digest = 0, n_masked = 0;
            while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
                const leat_batch_info *const info = leat_batch_get_info(batch);
                const uint8_t *const valid = leat_batch_valid(batch);
                int32_t listed = 0;
                for (int64_t j = 0; j < info->rows; j++) {
                    leat_order_cache cache = { 0 };
                    uint64_t record, epoch;
                    const leat_order_place place =
                        leat_order_find(&plan->order, &cache, (uint64_t)info->number);
                    leat_order_row(&plan->order, &cache, &place, (uint64_t)j, &record, &epoch);
                    const bool bad = is_bad((int64_t)record, 7);
                    assert_int_equal(valid ? valid[j] : 1, !bad);
                    if (bad) {
                        check_masked_row(batch, j, record, listed++);
                        continue;
                    }
                    assert_memory_equal(good + record * ROW_FLOATS,
                                        (const float *)leat_batch_tensor(batch, 0).data +
                                            j * ROW_FLOATS,
                                        ROW_FLOATS * sizeof *good);
                }
                assert_null(leat_batch_error(batch, listed));
                assert_int_equal(info->n_masked, listed);
                assert_int_equal(info->n_replaced, 0);
                assert_int_equal(valid != NULL, listed > 0);
                n_masked += (uint64_t)listed;
                digest = leat_digest_chain(digest, info->digest);
                leat_batch_release(batch);
            }
            assert_int_equal(n_masked, (N - 4) / 7 + 1);
            leat_loader_stats(loader, &stats);
            assert_true(stats.n_masked == n_masked && stats.n_replaced == 0);
            close_loader_and_plan(&loader, &plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    free(good);
    free(rows);
}

/* Rows of zeros that are samples, and the same rows masked, are not the same batch. */
TEST(the_digest_knows_what_is_masked)
{
    static float zeros[20 * ROW_FLOATS];
    uint64_t digests[3];
    for (int i = 0; i < 3; i++) {
        leat_builder *b = build_rows(20, zeros);
        leat_builder_op(b, &bad_op);
        leat_builder_engine(b, "{threads: 1, digest: true}");
        leat_builder_stage(b, "on_error", "{policy: mask, max_errors: unlimited}");
        leat_builder_stage(b, "map", i == 1 ? "[bad: {every: 1}]" : "[bad: {every: 5}]");
        leat_builder_stage(b, "batch", "5");
        leat_plan *plan = plan_of_builder(b);
        digests[i] = digest_and_close(plan, 0, NULL);
    }
    assert_true(digests[0] != digests[1] && digests[0] == digests[2]);
}

/* --- replaced ------------------------------------------------------------------------------------- */

TEST(replaced_rows_are_samples_of_the_same_epoch)
{
    float *const rows = make_rows(N), *const good = good_rows(rows);
    uint64_t want = 0;
    for (int threads = 0; threads <= 6; threads += 3)
        for (int prefetch = 0; prefetch <= 2; prefetch += 2) {
            const setup s = { .on_error = "{policy: replace, max_errors: unlimited}",
                              .bad = "{every: 4}", /* so that replacements are bad as well */
                              .threads = threads,
                              .prefetch = prefetch };
            leat_plan *plan = on_error_plan(&s, rows);
            leat_loader *loader = open_loader(plan, NULL);
            leat_batch *batch;
            leat_error err;
            uint64_t digest = 0, n_replaced = 0;
            int rc;
            while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
                const leat_batch_info *const info = leat_batch_get_info(batch);
                int32_t listed = 0;
                assert_null(leat_batch_valid(batch));
                for (int64_t j = 0; j < info->rows; j++) {
                    const int64_t record = record_of(batch, j);
                    const leat_row_error *const e = leat_batch_error(batch, listed);
                    assert_false(is_bad(record, 4));
                    assert_memory_equal(good + record * ROW_FLOATS,
                                        (const float *)leat_batch_tensor(batch, 0).data +
                                            j * ROW_FLOATS,
                                        ROW_FLOATS * sizeof *good);
                    assert_int_equal(((const int64_t *)leat_batch_tensor(batch, 1).data)[j],
                                     record + 1);
                    if (e && e->row == j) {
                        assert_true(is_bad((int64_t)e->record, 4) && e->replaced);
                        assert_int_equal(e->replacement, record);
                        listed++;
                    }
                }
                assert_int_equal(info->n_replaced, listed);
                n_replaced += (uint64_t)listed;
                digest = leat_digest_chain(digest, info->digest);
                leat_batch_release(batch);
            }
            assert_int_equal(rc, LEAT_E_END);
            assert_int_equal(n_replaced, N / 4);
            close_loader_and_plan(&loader, &plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    free(good);
    free(rows);
}

/* What take and shard leave out never comes in as a replacement, before batch or behind it. */
TEST(replacements_are_of_the_pipeline)
{
    static const struct {
        const char *more, *more_options, *after, *behind, *behind_options;
    } stages[] = { { .more = "take", .more_options = "40" },
                   { .more = "skip", .more_options = "270" },
                   { .more = "shard", .more_options = "{count: 3, index: 2}" },
                   { .behind = "take", .behind_options = "5" },
                   { .behind = "skip", .behind_options = "15" },
                   { .behind = "shard", .behind_options = "{count: 4, index: 1}" },
                   { .after = "forever", .behind = "take", .behind_options = "7" } };
    float *const rows = make_rows(N);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        bool in[N] = { false };
        const setup s = { .on_error = "{policy: replace, max_errors: unlimited}",
                          .bad = "{every: 3}",
                          .more = stages[i].more,
                          .more_options = stages[i].more_options,
                          .after = stages[i].after,
                          .behind = stages[i].behind,
                          .behind_options = stages[i].behind_options,
                          .threads = (int)i % 3 };
        leat_plan *plan = on_error_plan(&s, rows);
        leat_loader *loader = open_loader(plan, NULL);
        leat_batch *batch;
        leat_order_cache cache = { 0 };
        uint64_t record, epoch;
        for (uint64_t b = 0; b < plan->order.n_batches; b++) {
            const leat_order_place place = leat_order_find(&plan->order, &cache, b);
            for (uint64_t j = 0; j < place.rows; j++) {
                leat_order_row(&plan->order, &cache, &place, j, &record, &epoch);
                in[record] = true;
            }
        }
        while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
            for (int64_t j = 0; j < leat_batch_get_info(batch)->rows; j++)
                assert_true(in[record_of(batch, j)]);
            leat_batch_release(batch);
        }
        close_loader_and_plan(&loader, &plan);
    }
    free(rows);
}

TEST(without_a_good_sample_the_first_error_stops_it)
{
    float *const rows = make_rows(N);
    for (int threads = 0; threads <= 4; threads += 4) {
        const setup s = { .on_error = "{policy: replace, max_errors: unlimited}",
                          .bad = "{every: 1}",
                          .threads = threads,
                          .prefetch = 2 };
        leat_plan *plan = on_error_plan(&s, rows);
        leat_loader *loader = open_loader(plan, NULL);
        leat_batch *batch;
        leat_error err;
        leat_order_cache cache = { 0 };
        uint64_t record, epoch;
        char want[160];
        const leat_order_place place = leat_order_find(&plan->order, &cache, 0);
        leat_order_row(&plan->order, &cache, &place, 0, &record, &epoch);
        snprintf(want, sizeof want,
                 "8 replacements failed too; the first error: row %llu in memory: 'x': "
                 "bad: planted failure at %llu",
                 (unsigned long long)record, (unsigned long long)record);
        assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
        assert_string_equal(err.message, want);
        close_loader_and_plan(&loader, &plan);
    }
    free(rows);
}

/* The parts of all ranks, one after the other, are the batch of one. */
TEST(ranks_mask_and_replace_the_same)
{
    static const char *const policies[] = { "{policy: mask, max_errors: unlimited}",
                                            "{policy: replace, max_errors: unlimited}" };
    enum { RANKS = 3 };
    float *const rows = make_rows(N);
    for (int i = 0; i < 2; i++) {
        setup s = { .on_error = policies[i], .bad = "{every: 4}", .threads = 2, .prefetch = 1 };
        leat_plan *plans[RANKS + 1];
        leat_loader *loaders[RANKS + 1];
        leat_batch *batches[RANKS + 1];
        for (int r = 0; r <= RANKS; r++) { /* the last one is alone */
            s.rank = r < RANKS ? r : 0;
            s.ranks = r < RANKS ? RANKS : 1;
            plans[r] = on_error_plan(&s, rows);
            loaders[r] = open_loader(plans[r], NULL);
        }
        for (int64_t b = 0; b < N_BATCHES; b++) {
            uint64_t digest = 0;
            int64_t n_bad = 0;
            for (int r = 0; r <= RANKS; r++)
                check(leat_loader_next(loaders[r], &batches[r], NULL), NULL);
            for (int r = 0; r < RANKS; r++) {
                const leat_batch_info *const info = leat_batch_get_info(batches[r]);
                digest += info->digest;
                n_bad += info->n_masked + info->n_replaced;
            }
            const leat_batch_info *const whole = leat_batch_get_info(batches[RANKS]);
            assert_true(digest == whole->digest);
            assert_int_equal(n_bad, whole->n_masked + whole->n_replaced);
            for (int r = 0; r <= RANKS; r++)
                leat_batch_release(batches[r]);
        }
        for (int r = 0; r <= RANKS; r++) {
            leat_loader_close(&loaders[r]);
            leat_plan_close(&plans[r]);
        }
    }
    free(rows);
}
