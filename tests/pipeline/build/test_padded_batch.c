/* SPDX-License-Identifier: MIT
 *
 * test_padded_batch.c: samples of different sizes in rows of one size, against plain loops. */
#include "fixtures/engine_fixture.h"

#include <math.h>
#include <unistd.h>

#include "fixtures/record_file.h"
#include "ops/image/cast_value.h"
#include "pipeline/plan/plan_impl.h"

#define N_RECORDS 500
#define MOST      23 /* tokens of a record */

/* Record 0 has none, as an empty list. */
static int n_tokens(int r)
{
    return r == 77 ? MOST : r * 7 % MOST;
}
static int64_t token(int r, int i)
{
    return r * 1000 + i;
}
static int n_boxes(int r)
{
    return r * 5 % 4;
}
static float corner(int r, int i)
{
    return (float)r + (float)i / 16;
}
static int blob_size(int r)
{
    return r * 13 % 31;
}

static int make_file(void **state)
{
    leat_format_error err;
    if (!make_path())
        return -1;
    record_writer to = open_records(path);
    for (int r = 0; r < N_RECORDS; r++) {
        int64_t tokens[MOST];
        float boxes[16];
        uint8_t blob[32];
        const int64_t id = r;
        for (int i = 0; i < n_tokens(r); i++)
            tokens[i] = token(r, i);
        for (int i = 0; i < 4 * n_boxes(r); i++)
            boxes[i] = corner(r, i);
        memset(blob, r & 0xff, sizeof blob);
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &id, 1, &err), 0);
        assert_int_equal(
            leat_example_add_int64s(to.builder, "tokens", tokens, (size_t)n_tokens(r), &err), 0);
        if (r % 8) /* boxes are missing where there are none, and 8 times as an empty list */
            assert_int_equal(
                leat_example_add_floats(to.builder, "boxes", boxes, (size_t)(4 * n_boxes(r)), &err),
                0);
        assert_int_equal(
            leat_example_add_bytes(to.builder, "blob", blob, (size_t)blob_size(r), &err), 0);
        put_record(&to);
    }
    close_records(&to);
    return 0;
}

#define FEATURES                                                                                   \
    "id: {shape: []}, tokens: {type: int64, shape: [-1]}, boxes: {type: float, shape: [-1, 4]}, "  \
    "blob: {}"

static int open_plan(const char *features, const char *stages, const char *engine, leat_plan **plan,
                     leat_error *err)
{
    char text[2000];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {%s}}}\nengine: {%s}\npipeline: [%s]\n",
             path, features, engine, stages);
    return open_text(text, plan, err);
}

/* --- batches ---------------------------------------------------------------------------------------- */

/* Every row of a run against what was written. Values: tokens -7, boxes 0.5, blob 0. */
static void check_batches(const leat_plan *plan, int64_t n_tok, int64_t n_box, int64_t n_blob,
                          bool whole)
{
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    leat_error err;
    int64_t n = 0;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        const int64_t rows = leat_batch_get_info(batch)->rows;
        leat_view v[7];
        static const char *const names[] = { "id",         "tokens",        "boxes",
                                             "blob",       "tokens_length", "boxes_length",
                                             "blob_length" };
        for (int i = 0; i < 7; i++) {
            assert_int_equal(leat_plan_tensor_index(plan, names[i]), i);
            v[i] = leat_batch_tensor(batch, i);
            assert_int_equal(v[i].shape.dims[0], rows);
        }
        assert_int_equal(v[1].shape.dims[1], n_tok);
        assert_int_equal(v[2].shape.dims[1], n_box);
        assert_int_equal(v[2].shape.dims[2], 4);
        assert_int_equal(v[3].shape.dims[1], n_blob);
        for (int i = 4; i < 7; i++)
            assert_true(v[i].shape.rank == 1 && v[i].shape.dtype == LEAT_I64);
        for (int64_t j = 0; j < rows; j++) {
            const int r = (int)((const int64_t *)v[0].data)[j];
            const int64_t n1 = ((const int64_t *)v[4].data)[j],
                          n2 = ((const int64_t *)v[5].data)[j],
                          n3 = ((const int64_t *)v[6].data)[j];
            const int64_t boxes = r % 8 ? n_boxes(r) : 0;
            assert_int_equal(n1, n_tokens(r) < n_tok ? n_tokens(r) : n_tok);
            assert_int_equal(n2, boxes < n_box ? boxes : n_box);
            assert_int_equal(n3, blob_size(r) < n_blob ? blob_size(r) : n_blob);
            for (int64_t i = 0; i < n_tok; i++)
                assert_int_equal(((const int64_t *)v[1].data)[j * n_tok + i],
                                 i < n1 ? token(r, (int)i) : -7);
            for (int64_t i = 0; i < 4 * n_box; i++)
                assert_true(((const float *)v[2].data)[j * 4 * n_box + i] ==
                            (i < 4 * n2 ? corner(r, (int)i) : 0.5f));
            for (int64_t i = 0; i < n_blob; i++)
                assert_int_equal(((const uint8_t *)v[3].data)[j * n_blob + i],
                                 i < n3 ? r & 0xff : 0);
        }
        n += rows;
        leat_batch_release(batch);
    }
    if (rc != LEAT_E_END)
        check(rc, &err);
    assert_int_equal(n, whole ? N_RECORDS : N_RECORDS / 32 * 32);
    leat_loader_close(&loader);
}

#define VALUES "values: {tokens: -7, boxes: 0.5}"

TEST(samples_are_filled_up)
{
    leat_plan *plan;
    leat_error err;
    check(open_plan(FEATURES,
                    "shuffle, {padded_batch: {size: 32, shapes: {tokens: [23], boxes: [6, 4], "
                    "blob: 40}, " VALUES "}}",
                    "threads: 2", &plan, &err),
          &err);
    check_batches(plan, 23, 6, 40, true);
    assert_int_equal(leat_plan_get_info(plan)->n_tensors, 7);
    assert_null(leat_plan_tensor(plan, 7));
    assert_string_equal(leat_plan_tensor(plan, 5)->name, "boxes_length");
    assert_int_equal(leat_plan_tensor(plan, 5)->shape.rank, 0);
    leat_plan_close(&plan);
    check(open_plan(FEATURES,
                    "{padded_batch: {size: 32, drop_remainder: true, truncate: true, shapes: "
                    "{tokens: 10, boxes: [1, 4], blob: [8]}, " VALUES "}}",
                    "threads: 0, reader: pread", &plan, &err),
          &err);
    check_batches(plan, 10, 1, 8, false);
    leat_plan_close(&plan);
}

/* Without shapes: of numbers the longest list, which is read; of bytes the largest record. */
TEST(the_largest_is_found)
{
    leat_plan *plan;
    leat_error err;
    int64_t largest = 0;
    check(open_plan(FEATURES,
                    "shuffle, {padded_batch: {size: 32, shapes: {boxes: [-1, 4]}, " VALUES "}}",
                    "threads: 1", &plan, &err),
          &err);
    for (uint64_t r = 0; r < N_RECORDS; r++) {
        leat_extent at;
        check(plan->source->table->locate(plan->source, r, &at, &err), &err);
        largest = (int64_t)at.size > largest ? (int64_t)at.size : largest;
    }
    check_batches(plan, MOST, 3, largest, true);
    assert_non_null(
        strstr(leat_plan_note(plan, 0), "'tokens': rows hold 23 values, the longest record"));
    assert_non_null(strstr(leat_plan_note(plan, 2), "the size of the largest record"));
    leat_plan_close(&plan);
}

TEST(digests_know_no_threads)
{
    static const char *const engines[] = { "threads: 0, reader: pread, digest: true",
                                           "threads: 3, run: 3, digest: true" };
    static const char *const shapes[] = { "23", "24" };
    uint64_t digests[3];
    leat_error err;
    for (int i = 0; i < 3; i++) {
        char stages[300];
        leat_plan *plan;
        snprintf(
            stages, sizeof stages,
            "shuffle, {padded_batch: {size: 32, shapes: {tokens: %s, boxes: [6, 4], blob: 40}}}",
            shapes[i / 2]);
        check(open_plan(FEATURES, stages, engines[i % 2], &plan, &err), &err);
        digests[i] = digest_and_close(plan, 0, NULL);
    }
    assert_int_equal(digests[0], digests[1]);
    assert_true(digests[0] != digests[2]);
    /* and ranks share what is padded, too */
    uint64_t sum[2] = { 0 };
    for (int ranks = 1; ranks <= 3; ranks += 2)
        for (int rank = 0; rank < ranks; rank++) {
            char engine[100];
            leat_plan *plan;
            leat_batch *batch;
            snprintf(engine, sizeof engine, "digest: true, rank: %d, ranks: %d", rank, ranks);
            check(open_plan(
                      FEATURES,
                      "{padded_batch: {size: 32, shapes: {tokens: 23, boxes: [6, 4], blob: 40}}}",
                      engine, &plan, &err),
                  &err);
            leat_loader *loader = open_loader(plan, NULL);
            check(leat_loader_next(loader, &batch, &err), &err);
            sum[ranks > 1] += leat_batch_get_info(batch)->digest;
            leat_batch_release(batch);
            close_loader_and_plan(&loader, &plan);
        }
    assert_true(sum[0] == sum[1]);
}

/* A feature of one size can be given larger rows as well, and ops may stand before. */
TEST(fixed_features_and_ops)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    check(open_plan(
              "tokens: {type: int64, shape: [-1]}, id: {shape: [1]}",
              "{skip: 1}, {map: {tensor: tokens, ops: [{cast: {dtype: float32}}]}}, {padded_batch: "
              "{size: 4, shapes: {tokens: 32, id: 3}, values: {id: 9, tokens: -Infinity}}}",
              "threads: 1", &plan, &err),
          &err);
    leat_loader *loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &err), &err);
    const leat_view tokens = leat_batch_tensor(batch, 0), id = leat_batch_tensor(batch, 1);
    assert_int_equal(tokens.shape.dtype, LEAT_F32);
    for (int64_t j = 0; j < 4; j++) {
        const int64_t *const ids = (const int64_t *)id.data + 3 * j;
        assert_true(ids[0] == j + 1 && ids[1] == 9 && ids[2] == 9);
        for (int i = 0; i < 32; i++)
            assert_true(((const float *)tokens.data)[j * 32 + i] ==
                        (i < n_tokens((int)j + 1) ? (float)token((int)j + 1, i) : -INFINITY));
        assert_int_equal(((const int64_t *)leat_batch_tensor(batch, 2).data)[j],
                         n_tokens((int)j + 1));
        assert_int_equal(((const int64_t *)leat_batch_tensor(batch, 3).data)[j], 1);
    }
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

/* Every float type has them, and its NaN stays one. */
TEST(values_that_are_no_numbers)
{
    static const char *const values[] = { "nan", "NaN", "inf", "-inf" };
    static const leat_dtype types[] = { LEAT_F32, LEAT_F16, LEAT_BF16 };
    for (size_t i = 0; i < 12; i++) {
        const leat_dtype type = types[i / 4];
        char stages[300];
        leat_plan *plan;
        leat_batch *batch;
        leat_error err;
        snprintf(stages, sizeof stages,
                 "{map: {tensor: tokens, ops: [{cast: %s}]}}, {padded_batch: {size: 4, shapes: "
                 "{tokens: 32}, values: {tokens: %s}}}",
                 leat_dtype_name(type), values[i % 4]);
        check(open_plan("tokens: {type: int64, shape: [-1]}", stages, "threads: 1", &plan, &err),
              &err);
        leat_loader *loader = open_loader(plan, NULL);
        check(leat_loader_next(loader, &batch, &err), &err);
        const leat_view tokens = leat_batch_tensor(batch, 0);
        const float last = leat_cast_load_f32(tokens.data, (int32_t)type, 31);
        assert_true(i % 4 < 2 ? isnan(last) : last == (i % 4 == 2 ? INFINITY : -INFINITY));
        leat_batch_release(batch);
        close_loader_and_plan(&loader, &plan);
    }
}

TEST(too_long_is_an_error_with_its_place)
{
    char want[200];
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    leat_extent at;
    int rc;
    check(open_plan(FEATURES,
                    "{padded_batch: {size: 32, shapes: {tokens: 22, boxes: [6, 4], blob: 40}}}",
                    "threads: 2", &plan, &err),
          &err);
    check(plan->source->table->locate(plan->source, 77, &at, &err), &err);
    leat_loader *loader = open_loader(plan, NULL);
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        assert_in_range(leat_batch_get_info(batch)->number, 0, 1); /* record 77 is in batch 2 */
        leat_batch_release(batch);
    }
    assert_int_equal(rc, LEAT_E_DATA);
    snprintf(want, sizeof want,
             "%s, record 77 (byte %llu): 'tokens' is int64[23] where rows have room for int64[22]: "
             "raise the stage's shapes, or write truncate: true",
             path, (unsigned long long)at.offset);
    assert_string_equal(err.message, want);
    close_loader_and_plan(&loader, &plan);
}

/* --- wrong configs ------------------------------------------------------------------------------------ */

static const struct {
    const char *features, *stages, *part;
} wrong[] = {
    { FEATURES, "{batch: 4}", "tensor 'tokens' has no fixed shape" },
    { FEATURES, "{padded_batch: {size: 4, shapes: {token: 4}}}",
      "has no tensor 'token'; did you mean 'tokens'?" },
    { FEATURES, "{padded_batch: {size: 4, shapes: [4]}}", "shapes is a mapping from tensor names" },
    { FEATURES, "{padded_batch: {size: 4, shapes: {tokens: [4, 4]}}}",
      "'tokens' is int64[?], so its row has 1 dimensions, not 2" },
    { FEATURES, "{padded_batch: {size: 4, shapes: {boxes: [4, 3]}}}",
      "'boxes' is float32[?, 4]: its row cannot be smaller, unless truncate is true" },
    { FEATURES, "{padded_batch: {size: 4, values: {tokens: 1.5}}}", "must be one int64" },
    { FEATURES, "{padded_batch: {size: 4, values: {blob: 256}}}", "must be one uint8" },
    { FEATURES, "{padded_batch: {size: 4, values: {boxes: 1e39}}}", "must be one float32" },
    { FEATURES, "{padded_batch: {size: 4, values: {boxes: 010}}}", "must be one float32" },
    { FEATURES, "{padded_batch: {size: 4, values: {tokens: nan}}}", "must be one int64" },
    { FEATURES,
      "{map: {tensor: boxes, ops: [{cast: float16}]}}, {padded_batch: {size: 4, shapes: {boxes: "
      "[9, "
      "4]}, values: {boxes: 65520}}}",
      "must be one float16" },
    { FEATURES, "{padded_batch: {size: 4, values: {id: 1}}}", "no padding is needed" },
    { FEATURES, "{batch: 4}, {padded_batch: 4}", "a second batch stage" },
    { FEATURES, "{padded_batch: {batch_size: 4}}", "has no option 'batch_size': write size" },
    { FEATURES, "{padded_batch: {size: 501, drop_remainder: true}}", "no batch would be full" },
    { "boxes: {shape: [-1, 4]}", "{padded_batch: 4}", "if it is an empty list, give its type" },
    { "tokens: {type: int64, shape: [-1]}, tokens_length: {key: id}", "{padded_batch: 4}",
      "the tensor tokens_length, which the source has already" },
    { "boxes: {type: float, shape: [-1, -1]}", "{padded_batch: 4}", "only the first can be -1" },
    { "id: {shape: [0]}", "{padded_batch: 4}", "a dimension is at least 1" },
    { "boxes: {type: float, shape: [-1, 1000000000, 1000000000, 1000000000]}", "{padded_batch: 4}",
      "these dimensions are too large" },
    { "blob: {shape: [-1]}", "{padded_batch: 4}", "a bytes feature has no shape" },
    { "tokens: {type: int64, shape: [-1]}",
      "{map: {ops: [{cast: {dtype: float32}}]}}, {padded_batch: 4}",
      "give `shapes: {tokens: […]}`" },
};

TEST(wrong_configs_say_what_is_right)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        leat_plan *plan;
        leat_error err = { 0 };
        const int rc = open_plan(wrong[i].features, wrong[i].stages, "", &plan, &err);
        leat_plan_close(&plan);
        if (rc != LEAT_E_CONFIG || !strstr(err.message, wrong[i].part))
            fail_msg("%s: %s: '%s' lacks '%s'", wrong[i].stages, leat_code_name(rc), err.message,
                     wrong[i].part);
    }
}

/* Boxes come in fours: a list that does not is the record's fault. */
TEST(values_come_in_whole_steps)
{
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    int rc;
    check(open_plan("id: {shape: []}, tokens: {type: int64, shape: [-1, 2]}",
                    "{padded_batch: {size: 1, shapes: {tokens: [50, 2]}}}", "", &plan, &err),
          &err);
    leat_loader *loader = open_loader(plan, NULL);
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
        leat_batch_release(batch);
    assert_int_equal(rc, LEAT_E_DATA);
    assert_non_null(strstr(err.message, "feature 'tokens' has 7 values where a multiple of 2"));
    close_loader_and_plan(&loader, &plan);
}

SUITE_FIXTURE(make_file, remove_file)
