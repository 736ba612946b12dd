/* SPDX-License-Identifier: MIT
 *
 * test_ranks.c: several ranks share every batch: their rows in order are the batch that one would make,
 * for any number of ranks, reader, threads and device, also after a resume with another number. */
#include "fixtures/engine_fixture.h"

#include <unistd.h>

#include "fixtures/record_file.h"
#include "pipeline/plan/plan_impl.h"

#define N_RECORDS 115 /* batches of 16: the last one has 3 rows */
#define BATCH     16

TEST(parts_are_all_of_it_in_order)
{
    static leat_order_cache cache;
    for (uint64_t m = 1; m <= 40; m++)
        for (uint64_t ranks = 1; ranks <= 45; ranks++) {
            leat_order order;
            uint64_t next = 0, most = 0;
            leat_order_init(&order, m);
            leat_order_batch(&order, 40, false);
            order.ranks = ranks;
            for (order.rank = 0; order.rank < ranks; order.rank++) {
                const leat_order_place place = leat_order_find(&order, &cache, 0);
                assert_int_equal(place.global_rows, m);
                assert_int_equal(place.first_row, next);
                assert_in_range(place.rows, 0, leat_order_most_rows(&order));
                most = place.rows > most ? place.rows : most;
                for (uint64_t j = 0; j < place.rows; j++) {
                    uint64_t record, epoch;
                    leat_order_row(&order, &cache, &place, j, &record, &epoch);
                    assert_int_equal(record, next++);
                }
            }
            assert_int_equal(next, m);
            assert_int_equal(most, (m + ranks - 1) / ranks);
            assert_int_equal(most, leat_order_most_rows(&order));
        }
}

static const char *before_batch = "shuffle, {skip: 2}";

static leat_plan *open_plan(const char *engine, int rank, int ranks, int prefetch)
{
    return plan_format("seed: 5\n"
                       "source: {tfrecord: {files: '%s', features: {x: {}, id: {shape: []}}}}\n"
                       "engine: {%s, digest: true, rank: %d, ranks: %d}\n"
                       "pipeline: [%s, {batch: %d}, {prefetch: %d}]\n",
                       path, engine, rank, ranks, before_batch, BATCH, prefetch);
}

/* What all batches hold, as one process would make them. */
typedef struct batches {
    int64_t n;
    uint64_t digests[32];
    int64_t rows[32];
    float x[32][BATCH][ROW_FLOATS];
    int64_t ids[32][BATCH];
} batches;

/* Adds what one rank's loader gives, from batch `first` on. */
static void collect(leat_plan *plan, const leat_loader_options *options, batches *out)
{
    leat_loader *loader = open_loader(plan, options);
    leat_batch *batch;
    leat_error err;
    int64_t n = 0;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        const leat_batch_info *const info = leat_batch_get_info(batch);
        const leat_view x = leat_batch_tensor(batch, 0), id = leat_batch_tensor(batch, 1);
        const int64_t b = info->number;
        assert_int_equal(x.shape.dims[0], info->rows);
        assert_int_equal(out->rows[b], info->first_row); /* ranks come in order */
        out->rows[b] += info->rows;
        out->digests[b] += info->digest;
        assert_in_range(info->first_row + info->rows, 0, info->global_rows);
        memcpy(out->x[b][info->first_row], x.data, (size_t)leat_shape_bytes(&x.shape));
        memcpy(&out->ids[b][info->first_row], id.data, (size_t)leat_shape_bytes(&id.shape));
        out->n = b + 1;
        n += info->rows;
        leat_batch_release(batch);
    }
    if (rc != LEAT_E_END)
        check(rc, &err);
    leat_loader_stats_info stats;
    leat_loader_stats(loader, &stats);
    assert_int_equal(stats.samples, n);
    leat_loader_close(&loader);
}

TEST(the_union_is_the_batch)
{
    static const char *const engines[] = { "threads: 0, reader: pread", "threads: 2, run: 3",
                                           "threads: 3" };
    static const int counts[] = { 1, 2, 3, 4, 7, 16, 40 };
    batches *const all = calloc(2, sizeof *all);
    for (size_t e = 0; e < 3; e++)
        for (int prefetch = 0; prefetch < 3; prefetch++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                batches *const got = &all[c > 0];
                memset(got, 0, sizeof *got);
                for (int rank = 0; rank < counts[c]; rank++) {
                    leat_plan *plan = open_plan(engines[e], rank, counts[c], prefetch);
                    collect(plan, &(leat_loader_options){ .epochs = 2 }, got);
                    leat_plan_close(&plan);
                }
                assert_int_equal(got->n, 16);
                assert_int_equal(got->rows[0], BATCH);
                assert_int_equal(got->rows[7], 1); /* 113 samples */
                assert_memory_equal(got, &all[0], sizeof *got);
            }
    free(all);
}

TEST(a_run_goes_on_with_other_ranks)
{
    batches *const all = calloc(2, sizeof *all);
    leat_loader_state at[4];
    leat_batch *batch;
    leat_error err;
    leat_plan *whole = open_plan("threads: 1", 0, 1, 1);
    collect(whole, &(leat_loader_options){ .epochs = 3 }, &all[0]);
    /* 1 rank takes 5 batches, 2 go on for 6, 4 take the rest */
    leat_loader *loader = open_loader(whole, &(leat_loader_options){ .epochs = 3 });
    for (int i = 0; i < 5; i++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
    }
    leat_loader_get_state(loader, &at[0]);
    leat_loader_close(&loader);
    for (int rank = 0; rank < 2; rank++) {
        leat_plan *plan = open_plan("threads: 2", rank, 2, 2);
        loader = open_loader(plan, &(leat_loader_options){ .epochs = 3, .state = &at[0] });
        for (int i = 0; i < 6; i++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            assert_int_equal(leat_batch_get_info(batch)->number, 5 + i);
            leat_batch_release(batch);
        }
        leat_loader_get_state(loader, &at[1 + rank]);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    assert_memory_equal(&at[1], &at[2], sizeof at[1]); /* it knows nothing of ranks */
    for (int rank = 0; rank < 4; rank++) {
        leat_plan *plan = open_plan("threads: 0", rank, 4, 0);
        collect(plan, &(leat_loader_options){ .epochs = 3, .state = &at[1] }, &all[1]);
        leat_plan_close(&plan);
    }
    assert_int_equal(all[1].n, 24);
    for (int64_t b = 11; b < 24; b++) {
        assert_int_equal(all[0].digests[b], all[1].digests[b]);
        assert_memory_equal(all[0].ids[b], all[1].ids[b], sizeof all[0].ids[b]);
        assert_memory_equal(all[0].x[b], all[1].x[b], sizeof all[0].x[b]);
    }
    leat_plan_close(&whole);
    free(all);
}

/* Streams: every batch is the same for any number of ranks, and so is what comes after a stop at any of them. */
TEST(streams_know_nothing_of_ranks)
{
    static const int counts[] = { 1, 2, 3, 4, 8, 16 };
    batches *const all = calloc(2, sizeof *all);
    before_batch = "{shuffle: {block: 4, window: 8, streams: 8}}";
    for (int64_t from = 0; from < 16; from++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            batches *const got = &all[from || c];
            memset(got, 0, sizeof *got);
            for (int rank = 0; rank < counts[c]; rank++) {
                leat_plan *plan =
                    open_plan(c % 2 ? "threads: 2" : "threads: 0", rank, counts[c], 1);
                collect(plan, &(leat_loader_options){ .epochs = 2, .first_batch = from }, got);
                leat_plan_close(&plan);
            }
            assert_int_equal(got->n, 16);
            for (int64_t b = from; b < 16; b++)
                assert_int_equal(got->rows[b], b % 8 == 7 ? 3 : BATCH);
            assert_memory_equal(&got->digests[from], &all[0].digests[from],
                                (size_t)(16 - from) * sizeof *got->digests);
            assert_memory_equal(got->x[from], all[0].x[from], (size_t)(16 - from) * sizeof *got->x);
        }
    before_batch = "shuffle, {skip: 2}";
    free(all);
}

/* The memory of a slot is what this rank needs of it. */
TEST(a_rank_takes_its_share_of_memory)
{
    static const size_t bytes[] = { 0, BATCH * (ROW_FLOATS * 4 + 8), 0, 0,
                                    BATCH / 4 * ROW_FLOATS * 4 + 64 };
    for (int ranks = 1; ranks <= 4; ranks += 3) {
        leat_plan *plan = open_plan("threads: 0", ranks - 1, ranks, 0);
        assert_int_equal(plan->slot_bytes, bytes[ranks]);
        assert_int_equal(leat_plan_get_info(plan)->batch_size, BATCH);
        assert_int_equal(leat_plan_get_info(plan)->n_samples, N_RECORDS - 2);
        assert_int_equal(leat_plan_get_info(plan)->rank, ranks - 1);
        assert_int_equal(leat_plan_get_info(plan)->ranks, ranks);
        leat_plan_close(&plan);
    }
}

/* On a device, empty parts are copied like all others. */
TEST(empty_parts_are_copied)
{
    leat_device *device;
    leat_error err;
    check(leat_device_open("sim", &device, &err), &err);
    for (int prefetch = 0; prefetch < 2; prefetch++) {
        leat_plan *plan = open_plan("threads: 2", 0, 40, prefetch);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .device = device });
        leat_batch *batch;
        int rc, n = 0;
        while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
            assert_int_equal(leat_batch_get_info(batch)->rows, 0);
            leat_batch_release(batch);
            n++;
        }
        assert_int_equal(rc, LEAT_E_END);
        assert_int_equal(n, 8);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    leat_device_close(&device);
}

/* --- the trainer ----------------------------------------------------------------------------------- */

static int open_trainer(int ranks, int rank, leat_config **config, leat_plan **plan,
                        leat_device **device, leat_trainer **trainer, leat_error *err)
{
    char text[900];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}, id: {shape: []}}}}\n"
             "engine: {threads: 1, rank: %d, ranks: %d}\n"
             "pipeline: [{batch: %d}]\n"
             "train: {input: x, target: id, model: [{dense: {units: %d}}], "
             "loss: softmax_cross_entropy}\n",
             path, rank, ranks, BATCH, N_RECORDS);
    check(leat_config_parse(text, "ranks.yaml", config, err), err);
    check(leat_plan_open(*config, NULL, plan, err), err);
    check(leat_device_open("cpu", device, err), err);
    return leat_trainer_open(*config, *plan, *device, trainer, err);
}

TEST(the_trainer_refuses_ranks_but_takes_empty_batches)
{
    leat_config *configs[2];
    leat_plan *plans[2];
    leat_device *devices[2];
    leat_trainer *trainer, *none;
    leat_metrics metrics;
    leat_batch *batch;
    leat_error err;
    check(open_trainer(1, 0, &configs[0], &plans[0], &devices[0], &trainer, &err), &err);
    assert_int_equal(open_trainer(2, 1, &configs[1], &plans[1], &devices[1], &none, &err),
                     LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "leave out engine.ranks"));
    leat_plan_close(&plans[1]);
    plans[1] = open_plan("threads: 1", 0, 40, 1);
    leat_loader *loader = open_loader(plans[1], NULL);
    check(leat_loader_next(loader, &batch, &err), &err);
    check(leat_trainer_step(trainer, batch, &err), &err);
    assert_int_equal(leat_trainer_evaluate(trainer, loader, &metrics, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "an evaluation needs whole batches"));
    check(leat_trainer_metrics(trainer, &metrics, &err), &err);
    assert_int_equal(metrics.samples, 0);
    leat_loader_close(&loader);
    leat_trainer_close(&trainer);
    for (int i = 0; i < 2; i++) {
        leat_device_close(&devices[i]);
        leat_plan_close(&plans[i]);
        leat_config_close(&configs[i]);
    }
}

TEST(wrong_ranks_are_refused)
{
    static const char *const rows[][2] = {
        { "ranks: 4, rank: 4", "rank must be below ranks 4, got 4" },
        { "ranks: 4", "rank is not given: with ranks 4 it is 0 to 3" },
        { "ranks: 1", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        leat_config *config;
        leat_plan *plan;
        leat_error err;
        char text[400];
        snprintf(text, sizeof text,
                 "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
                 "engine: {%s}\npipeline: [{batch: 4}]\n",
                 path, rows[i][0]);
        check(leat_config_parse(text, "ranks.yaml", &config, &err), &err);
        const int rc = leat_plan_open(config, NULL, &plan, &err);
        assert_int_equal(rc, rows[i][1] ? LEAT_E_CONFIG : LEAT_OK);
        if (rows[i][1]) {
            snprintf(text, sizeof text, "ranks.yaml:2:9: engine: %s", rows[i][1]);
            assert_string_equal(err.message, text);
        }
        leat_plan_close(&plan);
        leat_config_close(&config);
    }
}

SUITE_RECORD_FILE(N_RECORDS, 300)
