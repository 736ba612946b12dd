/* SPDX-License-Identifier: MIT
 *
 * test_stage_unbatch.c: a record of m rows gives m samples. The batches are the same as if each row were a
 * record, for any order, engine options and first batch. Stages before unbatch run once per record. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "fixtures/steady_fixture.h"

#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#define N       50 /* records */
#define M       6  /* rows of each */
#define W       5  /* values of a row */
#define SAMPLES (N * M)

/* Value w of row p of record r is r * M + p + w / 8; the label of the row is r * M + p. */
static float values[N][M][W];
static int64_t labels[N][M];

static int make_data(void **state)
{
    for (int r = 0; r < N; r++)
        for (int p = 0; p < M; p++) {
            labels[r][p] = r * M + p;
            for (int w = 0; w < W; w++)
                values[r][p][w] = (float)(r * M + p) + (float)w / 8;
        }
    return 0;
}

/* --- ops: counts its calls; refuses some records -------------------------------------------------- */

static atomic_int n_counted;

static int count_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                       leat_scratch *scratch, leat_error *err)
{
    n_counted++;
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op count_op = { .name = "count",
                                  .help = "counts",
                                  .options = no_options,
                                  .shape = same_shape,
                                  .apply = count_apply };

static bool is_bad(int record)
{
    return record % 7 == 3;
}

static int bad_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                     leat_scratch *scratch, leat_error *err)
{
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return is_bad((int)*(const float *)in->data / M) ? leat_fail(err, LEAT_E_DATA, "planted")
                                                     : LEAT_OK;
}

static const leat_op bad_op = { .name = "bad",
                                .help = "fails on some records",
                                .options = no_options,
                                .shape = same_shape,
                                .apply = bad_apply };

/* --- plans ------------------------------------------------------------------------------------------ */

typedef struct stage {
    const char *name, *options;
} stage;

typedef struct setup {
    bool flat; /* each row is a record; no unbatch */
    stage before[4], after[4];
    int threads, prefetch, size; /* size 0: 8 */
} setup;

static int try_plan(const setup *s, leat_plan **plan, leat_error *err)
{
    leat_builder *b = leat_builder_open();
    char text[120];
    const int64_t whole[] = { M, W }, row[] = { W }, rows[] = { M };
    const leat_rows of_records[] = { { "x", leat_shape_make(LEAT_F32, 2, whole), values },
                                     { "label", leat_shape_make(LEAT_I64, 1, rows), labels } };
    const leat_rows of_rows[] = { { "x", leat_shape_make(LEAT_F32, 1, row), values },
                                  { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder_rows(b, s->flat ? SAMPLES : N, s->flat ? of_rows : of_records, 2);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &stall_op);
    leat_builder_op(b, &count_op);
    leat_builder_op(b, &bad_op);
    leat_builder_seed(b, 11);
    snprintf(text, sizeof text, "{threads: %d, digest: true}", s->threads);
    leat_builder_engine(b, text);
    for (int i = 0; i < 4 && s->before[i].name; i++)
        leat_builder_stage(b, s->before[i].name, s->before[i].options);
    if (!s->flat)
        leat_builder_stage(b, "unbatch", NULL);
    for (int i = 0; i < 4 && s->after[i].name; i++)
        leat_builder_stage(b, s->after[i].name, s->after[i].options);
    snprintf(text, sizeof text, "%d", s->size ? s->size : 8);
    leat_builder_stage(b, "batch", text);
    snprintf(text, sizeof text, "%d", s->prefetch);
    leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, plan, err);
    leat_builder_close(&b);
    return rc;
}

static leat_plan *plan_of(const setup *s)
{
    leat_plan *plan = NULL;
    leat_error err;
    check(try_plan(s, &plan, &err), &err);
    return plan;
}

static uint64_t digest_of(const setup *s, int64_t epochs, int64_t first)
{
    leat_plan *plan = plan_of(s);
    int64_t n;
    const leat_loader_options options = { .epochs = epochs, .first_batch = first };
    const uint64_t digest = run_digest(plan, &options, &n);
    leat_plan_close(&plan);
    return digest;
}

/* --- the same as rows that are records ------------------------------------------------------------------ */

TEST(each_row_is_a_sample)
{
    const setup s = { .threads = 2, .prefetch = 1, .size = 7 };
    leat_plan *plan = plan_of(&s);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    int64_t at = 0;
    assert_int_equal(leat_plan_get_info(plan)->n_records, N);
    assert_int_equal(leat_plan_get_info(plan)->n_batches, (SAMPLES + 6) / 7);
    assert_int_equal(leat_plan_tensor(plan, 0)->shape.rank, 1);
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const int64_t rows = leat_batch_get_info(batch)->rows;
        assert_memory_equal(leat_batch_tensor(batch, 0).data, &values[0][0][0] + at * W,
                            (size_t)rows * W * sizeof(float));
        assert_memory_equal(leat_batch_tensor(batch, 1).data, &labels[0][0] + at,
                            (size_t)rows * sizeof(int64_t));
        at += rows;
        leat_batch_release(batch);
    }
    assert_int_equal(at, SAMPLES);
    close_loader_and_plan(&loader, &plan);
}

/* Orders and random ops after unbatch know only samples, so they cannot tell. */
TEST(rows_as_records_give_the_same_batches)
{
    static const stage afters[][4] = {
        { { "map", "[jitter]" } },
        { { "shuffle", NULL }, { "map", "[jitter, stall]" } },
        { { "take", "101" }, { "map", "[stall, jitter]" } },
        { { "skip", "17" }, { "shuffle", "{window: 20}" } },
        { { "shard", "{count: 4, index: 3}" }, { "map", "[jitter]" } },
        { { "repeat", "2" }, { "map", "[jitter]" } },
        { { "map", "[jitter]" }, { "repeat", "forever" }, { "take", "1000" } },
    };
    for (size_t i = 0; i < sizeof afters / sizeof *afters; i++)
        for (int threads = 0; threads <= 4; threads += 2)
            for (int size = 1; size <= 40; size += 13) {
                setup s = { .threads = threads, .prefetch = threads / 2, .size = size };
                memcpy(s.after, afters[i], sizeof s.after);
                setup flat = s;
                flat.flat = true;
                assert_true(digest_of(&s, 2, 0) == digest_of(&flat, 2, 0));
            }
}

/* Random ops before unbatch draw once for a record, so its rows get the same. */
TEST(records_draw_once)
{
    const setup s = { .before = { { "shuffle", NULL }, { "map", "[jitter]" } },
                      .threads = 3,
                      .prefetch = 2,
                      .size = 10 };
    leat_plan *plan = plan_of(&s);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
    leat_batch *batch;
    float drawn[2][N];
    int n[2][N] = { 0 };
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const int e = (int)leat_batch_get_info(batch)->epoch;
        for (int64_t j = 0; j < leat_batch_get_info(batch)->rows; j++) {
            const float *const x = (const float *)leat_batch_tensor(batch, 0).data + j * W;
            const int64_t sample = ((const int64_t *)leat_batch_tensor(batch, 1).data)[j];
            const float add = x[0] - (float)sample;
            if (n[e][sample / M]++)
                assert_true(drawn[e][sample / M] - add < 1e-4f &&
                            add - drawn[e][sample / M] < 1e-4f);
            drawn[e][sample / M] = add;
        }
        leat_batch_release(batch);
    }
    int n_same = 0;
    for (int r = 0; r < N; r++) {
        assert_true(n[0][r] == M && n[1][r] == M);
        n_same += drawn[0][r] - drawn[1][r] < 1e-4f && drawn[1][r] - drawn[0][r] < 1e-4f;
    }
    assert_in_range(n_same, 0, 3); /* each epoch draws anew */
    close_loader_and_plan(&loader, &plan);
}

/* A record of one row is that row. */
TEST(records_of_one_row)
{
    float *const rows = make_rows(40);
    const leat_rows wide = { "x", leat_shape_make(LEAT_F32, 2, (int64_t[]){ 1, ROW_FLOATS }),
                             rows };
    const leat_rows flat = { "x", leat_shape_make(LEAT_F32, 1, (int64_t[]){ ROW_FLOATS }), rows };
    uint64_t digests[2];
    for (int i = 0; i < 2; i++) {
        leat_builder *b = leat_builder_open();
        leat_builder_rows(b, 40, i ? &wide : &flat, 1);
        leat_builder_op(b, &jitter_op);
        leat_builder_engine(b, "{threads: 2, digest: true}");
        leat_builder_stage(b, "skip", "3");
        leat_builder_stage(b, "shuffle", NULL);
        if (i)
            leat_builder_stage(b, "unbatch", NULL);
        leat_builder_stage(b, "take", "30");
        leat_builder_stage(b, "map", "[jitter]");
        leat_builder_stage(b, "batch", "7");
        leat_plan *plan = plan_of_builder(b);
        digests[i] = digest_and_close(plan, 2, NULL);
    }
    assert_true(digests[0] == digests[1]);
    free(rows);
}

/* --- once per record ---------------------------------------------------------------------------------------- */

static int count_calls(const setup *s)
{
    n_counted = 0;
    digest_of(s, 1, 0);
    return n_counted;
}

TEST(what_stands_before_runs_once_per_record)
{
    setup s = { .before = { { "shuffle", NULL }, { "map", "[count]" } }, .size = 12 };
    assert_int_equal(count_calls(&s), N); /* batches of whole records */
    s.size = 8; /* every third batch begins with a new record: the others cut one */
    assert_in_range(count_calls(&s), N, N + SAMPLES / 8);
    s.size = SAMPLES;
    s.threads = 4;
    s.prefetch = 1;
    assert_int_equal(count_calls(&s), N); /* runs end where records do */
    s.before[0].name = NULL;
    s = (setup){ .before = { { "map", "[count]" } }, .after = { { "shuffle", NULL } } };
    assert_in_range(count_calls(&s), SAMPLES - 60, SAMPLES); /* neighbours are rare */
    leat_plan *plan = plan_of(&s);
    assert_non_null(leat_plan_note(plan, 0));
    assert_non_null(strstr(leat_plan_note(plan, 0), "unbatch"));
    assert_non_null(strstr(leat_plan_note(plan, 0), "up to 6 times"));
    leat_plan_close(&plan);
    s.before[0] = (stage){ "map", "[count]" };
    s.before[1] = (stage){ "cache", NULL };
    assert_int_equal(count_calls(&s), N);
}

/* --- nothing else matters ------------------------------------------------------------------------------------ */

TEST(any_way_of_running_gives_the_same)
{
    static const stage befores[][4] = {
        { { "shuffle", NULL }, { "map", "[jitter, stall]" } },
        { { "map", "[jitter]" }, { "cache", NULL }, { "map", "[jitter]" } },
        { { "on_error", "{policy: replace, max_errors: unlimited}" }, { "map", "[bad, jitter]" } },
        { { "on_error", "{policy: mask, max_errors: unlimited}" }, { "map", "[bad]" } },
    };
    static const stage afters[][4] = { { { "map", "[jitter]" } },
                                       { { "shuffle", NULL }, { "map", "[jitter]" } } };
    for (size_t b = 0; b < sizeof befores / sizeof *befores; b++)
        for (size_t a = 0; a < 2; a++) {
            uint64_t want[3] = { 0 };
            for (int threads = 0; threads <= 6; threads += 2)
                for (int prefetch = 0; prefetch <= 2; prefetch += 2)
                    for (int start = 0; start < 3; start++) {
                        setup s = { .threads = threads, .prefetch = prefetch, .size = 9 };
                        memcpy(s.before, befores[b], sizeof s.before);
                        memcpy(s.after, afters[a], sizeof s.after);
                        const uint64_t digest = digest_of(&s, 2, start * 5);
                        want[start] = want[start] ? want[start] : digest;
                        assert_true(digest == want[start]);
                    }
        }
}

/* A record that fails is masked in all its samples. */
TEST(a_bad_record_is_all_its_samples)
{
    const setup s = { .before = { { "on_error", "{policy: mask, max_errors: unlimited}" },
                                  { "map", "[bad]" } },
                      .threads = 2,
                      .size = 10 };
    leat_plan *plan = plan_of(&s);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    int64_t at = 0;
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const uint8_t *const valid = leat_batch_valid(batch);
        int32_t listed = 0;
        for (int64_t j = 0; j < leat_batch_get_info(batch)->rows; j++, at++) {
            const bool bad = is_bad((int)(at / M));
            assert_int_equal(valid ? valid[j] : 1, !bad);
            if (bad)
                assert_int_equal(leat_batch_error(batch, listed++)->record, at / M);
        }
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
}

/* --- what is refused ----------------------------------------------------------------------------- */

TEST(wrong_uses_are_refused)
{
    static const struct {
        stage before[4], after[4];
        bool flat;
        const char *message;
    } wrong[] = {
        { { { NULL, NULL } }, { { "unbatch", NULL } }, false, "a second unbatch" },
        { { { NULL, NULL } },
          { { "unbatch", NULL } },
          true,
          "unbatch needs tensors with a known first dimension, the same for all; 'label' is "
          "int64[]" },
        { { { "map", "[{reshape: {shape: [10, 3]}}]" } },
          { { NULL, NULL } },
          false,
          "the same for all; 'label' is int64[6], 'x' has 10" },
        { { { NULL, NULL } }, { { "cache", NULL } }, false, "put it before unbatch" },
        { { { NULL, NULL } },
          { { "batch", "3" }, { "unbatch", NULL } },
          true,
          "unbatch makes samples of records: put it before batch" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setup s = { .flat = wrong[i].flat };
        leat_plan *plan;
        leat_error err = { 0 };
        memcpy(s.before, wrong[i].before, sizeof s.before);
        memcpy(s.after, wrong[i].after, sizeof s.after);
        assert_int_equal(try_plan(&s, &plan, &err), LEAT_E_CONFIG);
        if (!strstr(err.message, wrong[i].message))
            fail_msg("%zu: %s", i, err.message);
    }
}

TEST(ops_behind_it_have_the_shape_of_a_sample)
{
    const setup s = { .before = { { "map", "[jitter]" } }, .after = { { "map", "[jitter]" } } };
    leat_plan *plan = plan_of(&s);
    leat_chain_op_info op;
    assert_int_equal(leat_plan_chain_op(plan, 0, 0, &op), LEAT_OK);
    assert_true(op.shape.rank == 2 && op.shape.dims[0] == M && op.shape.dims[1] == W);
    assert_int_equal(leat_plan_chain_op(plan, 0, 1, &op), LEAT_OK);
    assert_true(op.shape.rank == 1 && op.shape.dims[0] == W);
    leat_plan_close(&plan);
}

/* Buckets are made of what is stored, and after unbatch a sample is a part of that. */
TEST(buckets_of_parts_are_refused)
{
    const setup s = {
        .after = { { "bucket_by_length", "{feature: x, boundaries: [40], sizes: 4}" } },
    };
    leat_plan *plan;
    leat_error err = { 0 };
    assert_int_equal(try_plan(&s, &plan, &err), LEAT_E_UNSUPPORTED);
    assert_null(plan);
    assert_non_null(strstr(err.message, "cannot follow unbatch: use batch"));
}

/* `unbatch` of records in a file: the same batches in every way of running, each record is read
 * once for all its samples, and nothing is allocated in the steady state. */

#define N 50 /* records, of 24 values each */

static int make_data_and_file(void **state)
{
    if (make_data(state) < 0 || make_folder(state) < 0)
        return -1;
    write_records(in_folder("x.tfrecord"), 0, N, 0);
    return 0;
}

static leat_plan *file_plan(const char *engine, const char *rest)
{
    return plan_format("source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
                       "engine: %s\n"
                       "pipeline: [%s]\n",
                       in_folder("x.tfrecord"), engine, rest);
}

TEST(records_of_files)
{
    static const char *const engines[] = { "{threads: 0, reader: pread, digest: true}",
                                           "{threads: 3, reader: pread, digest: true}",
                                           "{threads: 0, digest: true}",
                                           "{threads: 3, digest: true}",
                                           "{threads: 2, read_bytes: 4 KiB, digest: true}",
                                           "{threads: 2, run: 3, digest: true}" };
    static const char *const rests[] = {
        "shuffle, {map: [{reshape: {shape: [4, 6]}}]}, unbatch, {batch: 9}, {prefetch: 2}",
        "shuffle, unbatch, {batch: 9}, {prefetch: 0}", /* the bytes as they were read */
        "{map: [{reshape: {shape: [4, 6]}}]}, unbatch, shuffle, {batch: 32}",
        "shuffle, {map: [{reshape: {shape: [2, 3, 4]}}, {scale: 2}]}, unbatch, {map: [{scale: "
        "3}]}, "
        "{batch: 9}, {map: [{mixup: {label: none}}]}",
    };
    for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
        uint64_t want = 0;
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
            const uint64_t digest = digest_and_close(file_plan(engines[e], rests[r]), 2, NULL);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    }
}

TEST(a_sample_has_its_part_of_the_bytes)
{
    leat_source_info source;
    leat_plan *plan = file_plan("{}", "unbatch, {batch: 9}");
    leat_plan_source(plan, &source);
    assert_true(source.sample_bytes > 0);
    assert_true(fabs(source.sample_bytes * ROW_FLOATS * N - (double)source.n_bytes) < 1e-6);
    assert_int_equal(source.mean_bytes, source.n_bytes / N);
    leat_plan_close(&plan);
}

/* The bytes of a record are read once for all its samples. */
static void read_once(const char *engine, bool in_memory)
{
    leat_plan *plan = file_plan(engine, "shuffle, unbatch, {batch: 24}, {prefetch: 1}");
    leat_loader *loader = open_loader(plan, NULL);
    leat_loader_stats_info stats;
    leat_batch *batch;
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK)
        leat_batch_release(batch);
    leat_loader_stats(loader, &stats);
    assert_string_equal(stats.stages[1].name, "parse");
    assert_int_equal(stats.stages[1].samples, in_memory ? 0 : N);
    assert_int_equal(stats.stages[0].samples, strcmp(stats.reader, "io_uring") ? N : 0);
    close_loader_and_plan(&loader, &plan);
}

TEST(a_record_is_read_once)
{
    read_once("{threads: 1, read_bytes: 4 MiB}", false);
    read_once("{threads: 1, reader: pread}", false);
    read_once("{threads: 1}", true); /* `read` is all the source does by itself */
}

#ifdef COUNTING_MALLOC
TEST(nothing_is_allocated)
{
    leat_plan *plan = file_plan("{threads: 2}", "shuffle, {map: [{reshape: {shape: [4, 6]}}]}, "
                                                "unbatch, {map: [{scale: 3}]}, {batch: 9}");
    expect_no_allocation(plan, 60);
}
#endif

SUITE_FIXTURE(make_data_and_file, remove_folder)
