/* SPDX-License-Identifier: MIT
 *
 * test_on_error.c: bad records fail, are masked or replaced, and which, how many, and where a limit
 * stops the run depends on nothing but the order. */
#include "engine_fixture.h"

#include <unistd.h>

#include "counting_malloc.h"
#include "reader.h"
#include "replace.h"
#include "stage.h"

#define N         300
#define SIZE      16
#define N_BATCHES 19 /* of one epoch */

/* --- an op that refuses some records ------------------------------------------------------------ */

typedef struct bad_options {
    int64_t every;
    int32_t code;
} bad_options;

static const char *const codes[] = { "data", "io", "nomem", NULL };

static const leat_option bad_table[] = {
    LEAT_OPTION_I64(bad_options, every, "7", 1, 1e9, "record r is bad where r % every is 3"),
    LEAT_OPTION_ENUM(bad_options, code, "data", codes, "how it fails"), LEAT_OPTION_END
};

static bool is_bad(int64_t record, int64_t every)
{
    return record % every == 3 % every;
}

static int bad_apply(const void *opts, const leat_plan64 *p, const leat_view *in,
                     const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    static const int of_code[] = { LEAT_E_DATA, LEAT_E_IO, LEAT_E_NOMEM };
    const bad_options *const o = opts;
    const int64_t id = (int64_t) * (const float *)in->data;
    (void)p;
    (void)scratch;
    memset(out->data, 0x55, (size_t)leat_shape_bytes(&in->shape)); /* a half-done row */
    if (is_bad(id, o->every))
        return leat_fail(err, of_code[o->code], "planted failure at %lld", (long long)id);
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op bad_op = { .name = "bad",
                                .help = "fails on some records",
                                .options_size = sizeof(bad_options),
                                .options = bad_table,
                                .shape = same_shape,
                                .apply = bad_apply };

/* --- plans --------------------------------------------------------------------------------------- */

typedef struct setup {
    const char *on_error; /* options, or NULL */
    const char *bad;      /* options, or NULL: no record is bad */
    const char *more;     /* NAME: one more stage before batch, or NULL */
    const char *more_options;
    const char *after; /* options of a repeat after batch, or NULL */
    int threads, prefetch;
} setup;

static int try_plan(const setup *s, const float *rows, leat_plan **plan, leat_error *err)
{
    leat_builder *b = leat_builder_open();
    char text[200];
    const int64_t dims[] = { ROW_FLOATS };
    static int64_t ids[1000];
    for (int64_t i = 0; i < 1000; i++)
        ids[i] = i + 1;
    const leat_rows tensors[] = { { "x", leat_shape_make(LEAT_F32, 1, dims), rows },
                                  { "id", leat_shape_make(LEAT_I64, 0, NULL), ids } };
    leat_builder_rows(b, N, tensors, 2);
    leat_builder_op(b, &jitter_op);
    leat_builder_op(b, &bad_op);
    leat_builder_seed(b, 5);
    snprintf(text, sizeof text, "{threads: %d, digest: true}", s->threads);
    leat_builder_engine(b, text);
    leat_builder_stage(b, "shuffle", NULL);
    if (s->more)
        leat_builder_stage(b, s->more, s->more_options);
    if (s->on_error)
        leat_builder_stage(b, "on_error", s->on_error);
    if (s->bad) {
        snprintf(text, sizeof text, "[bad: %s]", s->bad);
        leat_builder_stage(b, "map", text);
    }
    leat_builder_stage(b, "map", "[jitter]");
    snprintf(text, sizeof text, "%d", SIZE);
    leat_builder_stage(b, "batch", text);
    if (s->after)
        leat_builder_stage(b, "repeat", s->after);
    snprintf(text, sizeof text, "%d", s->prefetch);
    leat_builder_stage(b, "prefetch", text);
    const int rc = leat_builder_plan(b, plan, err);
    leat_builder_close(&b);
    return rc;
}

static leat_plan *plan_of(const setup *s, const float *rows)
{
    leat_plan *plan = NULL;
    leat_error err;
    check(try_plan(s, rows, &plan, &err), &err);
    return plan;
}

static int64_t record_of(const leat_batch *batch, int64_t row)
{
    return (int64_t) * ((const float *)leat_batch_tensor(batch, 0).data + row * ROW_FLOATS);
}

/* Rows of one epoch as they are when none is bad, by record. */
static float *good_rows(const float *rows)
{
    const setup s = { .threads = 2, .prefetch = 1 };
    float *const all = calloc(N * ROW_FLOATS, sizeof *all);
    leat_plan *plan = plan_of(&s, rows);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const float *const x = leat_batch_tensor(batch, 0).data;
        for (int64_t j = 0; j < leat_batch_get_info(batch)->rows; j++)
            memcpy(all + record_of(batch, j) * ROW_FLOATS, x + j * ROW_FLOATS,
                   ROW_FLOATS * sizeof *all);
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    leat_plan_close(&plan);
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

static void masked_rows_are_zeros_and_the_others_as_ever(void **state)
{
    float *const rows = make_rows(N), *const good = good_rows(rows);
    uint64_t want = 0;
    (void)state;
    for (int threads = 0; threads <= 6; threads += 3)
        for (int prefetch = 0; prefetch <= 2; prefetch += 2) {
            const setup s = { .on_error = "{policy: mask, max_errors: unlimited}",
                              .bad = "{}",
                              .threads = threads,
                              .prefetch = prefetch };
            leat_plan *plan = plan_of(&s, rows);
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
            leat_loader_close(&loader);
            leat_plan_close(&plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    free(good);
    free(rows);
}

/* Rows of zeros that are samples, and the same rows masked, are not the same batch. */
static void the_digest_knows_what_is_masked(void **state)
{
    static float zeros[20 * ROW_FLOATS];
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 1, (int64_t[]){ ROW_FLOATS }), zeros };
    uint64_t digests[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        leat_builder *b = leat_builder_open();
        leat_plan *plan;
        leat_error err;
        int64_t n;
        leat_builder_rows(b, 20, &x, 1);
        leat_builder_op(b, &bad_op);
        leat_builder_engine(b, "{threads: 1, digest: true}");
        leat_builder_stage(b, "on_error", "{policy: mask, max_errors: unlimited}");
        leat_builder_stage(b, "map", i == 1 ? "[bad: {every: 1}]" : "[bad: {every: 5}]");
        leat_builder_stage(b, "batch", "5");
        check(leat_builder_plan(b, &plan, &err), &err);
        leat_builder_close(&b);
        digests[i] = run_digest(plan, NULL, &n);
        leat_plan_close(&plan);
    }
    assert_true(digests[0] != digests[1] && digests[0] == digests[2]);
}

/* --- replaced ------------------------------------------------------------------------------------- */

static void replaced_rows_are_samples_of_the_same_epoch(void **state)
{
    float *const rows = make_rows(N), *const good = good_rows(rows);
    uint64_t want = 0;
    (void)state;
    for (int threads = 0; threads <= 6; threads += 3)
        for (int prefetch = 0; prefetch <= 2; prefetch += 2) {
            const setup s = { .on_error = "{policy: replace, max_errors: unlimited}",
                              .bad = "{every: 4}", /* so that replacements are bad as well */
                              .threads = threads,
                              .prefetch = prefetch };
            leat_plan *plan = plan_of(&s, rows);
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
            leat_loader_close(&loader);
            leat_plan_close(&plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    free(good);
    free(rows);
}

/* What take and shard leave out never comes in as a replacement. */
static void replacements_are_of_the_pipeline(void **state)
{
    static const struct {
        const char *name, *options;
    } stages[] = { { "take", "40" }, { "skip", "270" }, { "shard", "{count: 3, index: 2}" } };
    float *const rows = make_rows(N);
    (void)state;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        bool in[N] = { false };
        const setup s = { .on_error = "{policy: replace, max_errors: unlimited}",
                          .bad = "{every: 3}",
                          .more = stages[i].name,
                          .more_options = stages[i].options };
        leat_plan *plan = plan_of(&s, rows);
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
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    free(rows);
}

static void replacements_are_a_permutation_within_the_pass(void **state)
{
    leat_order order;
    leat_order_cache cache = { 0 };
    leat_error err;
    (void)state;
    for (int endless = 0; endless < 2; endless++)
        for (uint32_t attempt = 0; attempt < LEAT_REPLACE_ATTEMPTS; attempt++)
            for (uint64_t pass = 0; pass < 3; pass++) {
                uint8_t seen[100] = { 0 };
                int n_moved = 0;
                leat_order_init(&order, 100);
                check(leat_order_add(&order, LEAT_ORDER_SHUFFLE, 3, 1, &err), &err);
                if (endless)
                    check(leat_order_add(&order, LEAT_ORDER_REPEAT, LEAT_ENDLESS, 0, &err), &err);
                leat_order_batch(&order, 10, false);
                for (uint64_t p = 0; p < 100; p++) {
                    uint64_t record, epoch, was, was_epoch;
                    const leat_order_place place =
                        leat_order_find(&order, &cache, pass * 10 + p / 10);
                    leat_order_replace(&order, &cache, 9, &place, p % 10, attempt, &record, &epoch);
                    leat_order_row(&order, &cache, &place, p % 10, &was, &was_epoch);
                    assert_int_equal(seen[record]++, 0);
                    assert_int_equal(epoch, pass);
                    n_moved += record != was;
                }
                assert_in_range(n_moved, 90, 100);
            }
}

static void without_a_good_sample_the_first_error_stops_it(void **state)
{
    float *const rows = make_rows(N);
    (void)state;
    for (int threads = 0; threads <= 4; threads += 4) {
        const setup s = { .on_error = "{policy: replace, max_errors: unlimited}",
                          .bad = "{every: 1}",
                          .threads = threads,
                          .prefetch = 2 };
        leat_plan *plan = plan_of(&s, rows);
        leat_loader *loader = open_loader(plan, NULL);
        leat_batch *batch;
        leat_error err;
        leat_order_cache cache = { 0 };
        uint64_t record, epoch;
        char want[160];
        const leat_order_place place = leat_order_find(&plan->order, &cache, 0);
        leat_order_row(&plan->order, &cache, &place, 0, &record, &epoch);
        snprintf(want, sizeof want,
                 "8 samples to replace it failed too; the first error: row %llu in memory: 'x': "
                 "bad: planted failure at %llu",
                 (unsigned long long)record, (unsigned long long)record);
        assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_DATA);
        assert_string_equal(err.message, want);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    free(rows);
}

/* --- limits ----------------------------------------------------------------------------------------- */

/* Takes batches until an error, which it returns with their number. */
static int take_all(leat_loader *loader, int64_t *n, leat_error *err)
{
    leat_batch *batch;
    int rc;
    *n = 0;
    while ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK) {
        leat_batch_release(batch);
        ++*n;
    }
    return rc;
}

/* Bad rows that stand in batches before b, by the order alone. */
static int64_t bad_before(const leat_plan *plan, int64_t b, int64_t every)
{
    leat_order_cache cache = { 0 };
    int64_t n = 0;
    for (int64_t i = 0; i < b; i++) {
        const leat_order_place place = leat_order_find(&plan->order, &cache, (uint64_t)i);
        for (uint64_t j = 0; j < place.rows; j++) {
            uint64_t record, epoch;
            leat_order_row(&plan->order, &cache, &place, j, &record, &epoch);
            n += is_bad((int64_t)record, every);
        }
    }
    return n;
}

static void a_limit_stops_in_batch_order(void **state)
{
    static const char *const devices[] = { NULL, "sim" };
    float *const rows = make_rows(N);
    (void)state;
    for (int limit = 0; limit <= 30; limit += 5) {
        char message[1020] = "";
        for (int how = 0; how < 16; how++) {
            char text[80], want[80];
            const bool replaces = how & 8;
            snprintf(text, sizeof text, "{policy: %s, max_errors: %d}",
                     replaces ? "replace" : "mask", limit);
            const setup s = {
                .on_error = text, .bad = "{}", .threads = how % 2 * 5, .prefetch = how / 2 % 2 * 3
            };
            leat_plan *plan = plan_of(&s, rows);
            leat_device *device = NULL;
            leat_error err;
            int64_t n;
            if (devices[how / 4 % 2])
                check(leat_device_open(devices[how / 4 % 2], &device, &err), &err);
            leat_loader *loader = open_loader(plan, &(leat_loader_options){ .device = device });
            assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
            assert_true(bad_before(plan, n, 7) <= limit);
            assert_true(bad_before(plan, n + 1, 7) > limit);
            snprintf(want, sizeof want, "more than %d bad record", limit);
            assert_non_null(strstr(err.message, want));
            assert_non_null(strstr(err.message, "planted failure at "));
            if (message[0])
                assert_string_equal(err.message, message);
            snprintf(message, sizeof message, "%.*s", (int)sizeof message - 1, err.message);
            leat_loader_close(&loader);
            leat_device_close(&device);
            leat_plan_close(&plan);
        }
    }
    free(rows);
}

static void a_limit_counts_each_epoch_anew(void **state)
{
    static const char *const repeats[] = { NULL, "forever" };
    float *const rows = make_rows(N);
    (void)state;
    for (int i = 0; i < 2; i++) {
        const setup s = { .on_error = "{policy: mask, max_errors: 43}",
                          .bad = "{}", /* 43 of 300 */
                          .threads = 2,
                          .prefetch = 1,
                          .after = repeats[i] };
        leat_plan *plan = plan_of(&s, rows);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 4 });
        leat_batch *batch;
        leat_error err;
        for (int64_t b = 0; b < 4 * N_BATCHES; b++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    free(rows);
}

static void auto_allows_one_in_a_hundred_but_ten(void **state)
{
    float *const rows = make_rows(N);
    const setup s = { .on_error = "mask", .bad = "{}", .threads = 1 };
    const setup fail = { .on_error = "fail", .bad = "{}", .threads = 1 };
    leat_error err;
    int64_t n;
    (void)state;
    leat_plan *plan = plan_of(&s, rows);
    assert_int_equal(plan->max_errors, 10);
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "more than 10 bad records in epoch 0"));
    leat_loader_close(&loader);
    plan->order.n_batches = 10000; /* a large set */
    plan->max_errors = LEAT_ERRORS_AUTO;
    leat_on_error_settle(plan);
    assert_int_equal(plan->max_errors, 10000 * SIZE / 100);
    leat_plan_close(&plan);
    plan = plan_of(&fail, rows);
    loader = open_loader(plan, NULL);
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    assert_null(strstr(err.message, "bad records"));
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    free(rows);
}

static void a_raised_limit_goes_on_from_the_state(void **state)
{
    float *const rows = make_rows(N);
    setup s = { .on_error = "{policy: mask, max_errors: 12}", .bad = "{}", .threads = 2 };
    leat_plan *low = plan_of(&s, rows);
    s.on_error = "{policy: mask, max_errors: unlimited}";
    leat_plan *high = plan_of(&s, rows);
    s.on_error = "{policy: replace, max_errors: 12}";
    leat_plan *other = plan_of(&s, rows);
    leat_loader *loader = open_loader(low, NULL);
    leat_loader_state at;
    leat_error err;
    int64_t n, rest;
    (void)state;
    assert_int_equal(take_all(loader, &n, &err), LEAT_E_DATA);
    leat_loader_get_state(loader, &at);
    leat_loader_close(&loader);
    loader = open_loader(high, &(leat_loader_options){ .state = &at });
    assert_int_equal(take_all(loader, &rest, &err), LEAT_E_END);
    assert_int_equal(n + rest, N_BATCHES);
    leat_loader_close(&loader);
    assert_int_equal(leat_loader_open(other, &(leat_loader_options){ .state = &at }, &loader, &err),
                     LEAT_E_ARGUMENT);
    leat_plan_close(&low);
    leat_plan_close(&high);
    leat_plan_close(&other);
    free(rows);
}

/* --- what is no fault of a record -------------------------------------------------------------------- */

static void want_of_memory_is_never_masked(void **state)
{
    float *const rows = make_rows(N);
    static const char *const policies[] = { "mask", "replace" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        const setup s = { .on_error = policies[i], .bad = "{code: nomem}", .threads = i };
        leat_plan *plan = plan_of(&s, rows);
        leat_loader *loader = open_loader(plan, NULL);
        leat_error err;
        int64_t n;
        assert_int_equal(take_all(loader, &n, &err), LEAT_E_NOMEM);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    free(rows);
}

/* --- more than are listed, and the list of a run -------------------------------------------------------- */

static void the_first_of_many_are_listed(void **state)
{
    enum { BIG = 300 };
    float *const rows = make_rows(BIG);
    const int64_t dims[] = { ROW_FLOATS };
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 1, dims), rows };
    (void)state;
    for (int threads = 0; threads <= 4; threads += 2) {
        leat_builder *b = leat_builder_open();
        leat_plan *plan;
        leat_error err;
        leat_batch *batch;
        leat_row_error list[LEAT_BATCH_ERRORS + 1];
        char text[80];
        leat_builder_rows(b, BIG, &x, 1);
        leat_builder_op(b, &bad_op);
        snprintf(text, sizeof text, "{threads: %d, run: 3}", threads);
        leat_builder_engine(b, text);
        leat_builder_stage(b, "on_error", "{policy: mask, max_errors: unlimited}");
        leat_builder_stage(b, "map", "[bad: {every: 2}]");
        leat_builder_stage(b, "batch", "250");
        check(leat_builder_plan(b, &plan, &err), &err);
        leat_builder_close(&b);
        leat_loader *loader = open_loader(plan, NULL);
        assert_int_equal(leat_loader_errors(loader, list, 9), 0);
        check(leat_loader_next(loader, &batch, &err), &err);
        assert_int_equal(leat_batch_get_info(batch)->n_masked, 125);
        for (int32_t i = 0; i < LEAT_BATCH_ERRORS; i++)
            assert_int_equal(leat_batch_error(batch, i)->row, 2 * i + 1);
        assert_null(leat_batch_error(batch, LEAT_BATCH_ERRORS));
        assert_null(leat_batch_error(batch, -1));
        leat_batch_release(batch);
        check(leat_loader_next(loader, &batch, &err), &err);
        assert_int_equal(leat_batch_error(batch, 3)->row, 7);
        leat_batch_release(batch);
        assert_int_equal(leat_loader_errors(loader, list, LEAT_BATCH_ERRORS + 1),
                         LEAT_BATCH_ERRORS);
        assert_int_equal(leat_loader_errors(loader, list, 2), 2);
        assert_int_equal(list[1].record, 3);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    free(rows);
}

/* --- files and devices ------------------------------------------------------------------------------- */

static char path[] = "/tmp/leat-test-on-error-XXXXXX.tfrecord";
static uint64_t n_damaged;

/* Writes records and turns a byte in the payload of every ninth. */
static int make_file(void **state)
{
    uint64_t at = 0, size;
    (void)state;
    const int fd = mkstemps(path, 9);
    if (fd < 0 || close(fd) < 0)
        return -1;
    write_records(path, 0, N, 900);
    FILE *file = fopen(path, "r+b");
    if (!file)
        return -1;
    for (uint64_t r = 0; r < N; r++) { /* length, its CRC, payload, its CRC */
        if (fseek(file, (long)at, SEEK_SET) || fread(&size, 8, 1, file) != 1)
            return -1;
        if (r % 9 == 4) {
            fseek(file, (long)(at + 12 + size / 2), SEEK_SET);
            const int byte = fgetc(file);
            fseek(file, (long)(at + 12 + size / 2), SEEK_SET);
            fputc(byte ^ 0x20, file);
            n_damaged++;
        }
        at += 16 + size;
    }
    return fclose(file);
}

static int remove_file(void **state)
{
    char side[sizeof path + 8];
    (void)state;
    snprintf(side, sizeof side, "%s.idx", path);
    remove(side);
    return remove(path);
}

static leat_plan *file_plan(const char *engine, const char *policy, int prefetch)
{
    char text[600];
    leat_config *config;
    leat_plan *plan;
    leat_error err;
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: {}, id: {}}}}\n"
             "engine: %s\n"
             "pipeline: [shuffle, {on_error: {policy: %s, max_errors: 1000}}, {batch: 16},\n"
             "           {prefetch: %d}]\n",
             path, engine, policy, prefetch);
    check(leat_config_parse(text, "on_error.yaml", &config, &err), &err);
    check(leat_plan_open(config, NULL, &plan, &err), &err);
    leat_config_close(&config);
    return plan;
}

static void damaged_records_of_files(void **state)
{
    static const char *const policies[] = { "mask", "replace" };
    static const char *const engines[] = { "{threads: 0, reader: pread, digest: true}",
                                           "{threads: 4, reader: pread, digest: true}",
                                           "{threads: 3, digest: true}",
                                           "{threads: 3, read_bytes: 8 KiB, digest: true}" };
    (void)state;
    for (int p = 0; p < 2; p++) {
        uint64_t want = 0;
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
            leat_plan *plan = file_plan(engines[e], policies[p], (int)e % 3);
            leat_loader *loader = open_loader(plan, NULL);
            leat_loader_stats_info stats;
            leat_row_error first;
            leat_batch *batch;
            leat_error err;
            uint64_t digest = 0;
            int rc;
            while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
                digest = leat_digest_chain(digest, leat_batch_get_info(batch)->digest);
                leat_batch_release(batch);
            }
            assert_int_equal(rc, LEAT_E_END);
            leat_loader_stats(loader, &stats);
            assert_int_equal(p == 0 ? stats.n_masked : stats.n_replaced, n_damaged);
            assert_int_equal(leat_loader_errors(loader, &first, 1), 1);
            assert_int_equal(first.record % 9, 4);
            assert_non_null(strstr(first.message, path));
            leat_loader_close(&loader);
            leat_plan_close(&plan);
            want = want ? want : digest;
            assert_true(digest == want);
        }
    }
}

/* On a device the column lies behind the tensors and comes with them. */
static void the_column_comes_to_a_device(void **state)
{
    float *const rows = make_rows(N);
    (void)state;
    for (int prefetch = 0; prefetch <= 3; prefetch += 3) {
        const setup s = { .on_error = "{policy: mask, max_errors: unlimited}",
                          .bad = "{every: 20}",
                          .threads = 2,
                          .prefetch = prefetch };
        leat_plan *plan = plan_of(&s, rows);
        leat_device *device;
        leat_batch *batch;
        leat_error err;
        int64_t n = 0;
        check(leat_device_open("sim", &device, &err), &err);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .device = device });
        while (leat_loader_next(loader, &batch, &err) == LEAT_OK) {
            const leat_batch_info *info = leat_batch_get_info(batch);
            while (!leat_batch_get_info(batch)->copy_end_ns)
                pause_ns(20000);
            const uint8_t *const valid = leat_batch_valid(batch);
            assert_int_equal(valid != NULL, info->n_masked > 0);
            int64_t n_masked = 0;
            for (int64_t j = 0; valid && j < info->rows; j++)
                n_masked += !valid[j];
            assert_int_equal(n_masked, info->n_masked);
            assert_int_equal(leat_batch_error(batch, 0) != NULL, n_masked > 0);
            n += n_masked;
            leat_batch_release(batch);
        }
        assert_int_equal(err.code, LEAT_E_END);
        assert_int_equal(n, 15);
        leat_loader_close(&loader);
        leat_device_close(&device);
        leat_plan_close(&plan);
    }
    free(rows);
}

static void closing_with_bad_batches_held(void **state)
{
    float *const rows = make_rows(N);
    static const char *const devices[] = { "cpu", "sim" };
    (void)state;
    for (int i = 0; i < 24; i++) {
        const setup s = { .on_error = "{policy: mask, max_errors: unlimited}",
                          .bad = "{every: 2}",
                          .threads = i % 3,
                          .prefetch = i % 4 };
        leat_plan *plan = plan_of(&s, rows);
        leat_device *device;
        leat_batch *batch;
        leat_error err;
        check(leat_device_open(devices[i % 2], &device, &err), &err);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .device = device });
        for (int k = 0; k < i % 5; k++) {
            check(leat_loader_next(loader, &batch, &err), &err);
            leat_batch_release(batch);
        }
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_loader_close(&loader);
        assert_non_null(leat_batch_error(batch, 0));
        leat_batch_release(batch);
        leat_device_close(&device);
        leat_plan_close(&plan);
    }
    free(rows);
}

#ifdef COUNTING_MALLOC
static void errors_allocate_nothing(void **state)
{
    static const char *const policies[] = { "mask", "replace" };
    (void)state;
    for (int i = 0; i < 4; i++) {
        leat_plan *plan =
            file_plan(i / 2 ? "{threads: 2}" : "{threads: 2, reader: pread}", policies[i % 2], 2);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = -1 });
        leat_batch *batch;
        leat_error err;
        size_t n_calls = 1;
        for (int round = 0; round < 20 && n_calls; round++) {
            const size_t before = counting_malloc_n;
            for (int k = 0; k < 60; k++) {
                check(leat_loader_next(loader, &batch, &err), &err);
                leat_batch_release(batch);
            }
            n_calls = counting_malloc_n - before;
        }
        assert_int_equal(n_calls, 0);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
}
#endif

static void wrong_places_are_refused(void **state)
{
    static const struct {
        const char *stages, *message;
    } wrong[] = {
        { "{batch: 4}, {on_error: mask}", "on_error is about samples: put it before batch" },
        { "{on_error: mask}, {on_error: mask}, {batch: 4}", "a second on_error stage" },
        { "{on_error: skip}, {batch: 4}", "policy" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        leat_config *config;
        leat_plan *plan;
        leat_error err;
        snprintf(text, sizeof text,
                 "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
                 "pipeline: [%s]\n",
                 path, wrong[i].stages);
        check(leat_config_parse(text, "wrong.yaml", &config, &err), &err);
        assert_int_equal(leat_plan_open(config, NULL, &plan, &err), LEAT_E_CONFIG);
        if (!strstr(err.message, wrong[i].message))
            fail_msg("%s", err.message);
        leat_config_close(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masked_rows_are_zeros_and_the_others_as_ever),
        cmocka_unit_test(the_digest_knows_what_is_masked),
        cmocka_unit_test(replaced_rows_are_samples_of_the_same_epoch),
        cmocka_unit_test(replacements_are_of_the_pipeline),
        cmocka_unit_test(replacements_are_a_permutation_within_the_pass),
        cmocka_unit_test(without_a_good_sample_the_first_error_stops_it),
        cmocka_unit_test(a_limit_stops_in_batch_order),
        cmocka_unit_test(a_limit_counts_each_epoch_anew),
        cmocka_unit_test(auto_allows_one_in_a_hundred_but_ten),
        cmocka_unit_test(a_raised_limit_goes_on_from_the_state),
        cmocka_unit_test(want_of_memory_is_never_masked),
        cmocka_unit_test(the_first_of_many_are_listed),
        cmocka_unit_test(damaged_records_of_files),
        cmocka_unit_test(the_column_comes_to_a_device),
        cmocka_unit_test(closing_with_bad_batches_held),
#ifdef COUNTING_MALLOC
        cmocka_unit_test(errors_allocate_nothing),
#endif
        cmocka_unit_test(wrong_places_are_refused),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
