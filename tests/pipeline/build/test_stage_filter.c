/* SPDX-License-Identifier: MIT
 *
 * test_stage_filter.c: the stage `filter`, which reads features at open, against a plain loop over the
 * records. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#include <math.h>

#include "pipeline/build/feature_scan.h"
#include "pipeline/plan/plan_impl.h"

#define N_RECORDS 9000 /* more than are read at once */
#define N_SPLITS  3

static const char *const splits[N_SPLITS] = { "train", "val", "" };

static int label_of(int r)
{
    return (r * 7919 + r / 13) % 17 - 3;
}
static float score_of(int r)
{
    return (float)(r % 101) / 8;
}

/* record, label, score, split, and a blob to make records differ in size */
static void write_file(const char *name, int first, int n, size_t blob_most)
{
    leat_format_error err;
    uint8_t *blob = calloc(blob_most + 1, 1);
    record_writer to = open_records(in_folder(name));
    for (int r = first; r < first + n; r++) {
        const int64_t id = r, label = label_of(r);
        const float score = score_of(r);
        const char *const split = splits[r % N_SPLITS];
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &id, 1, &err), 0);
        assert_int_equal(leat_example_add_int64s(to.builder, "label", &label, 1, &err), 0);
        assert_int_equal(leat_example_add_floats(to.builder, "score", &score, 1, &err), 0);
        assert_int_equal(leat_example_add_bytes(to.builder, "split", split, strlen(split), &err),
                         0);
        assert_int_equal(leat_example_add_bytes(to.builder, "blob", blob,
                                                (size_t)(r % 977) * blob_most / 977, &err),
                         0);
        put_record(&to);
    }
    close_records(&to);
    free(blob);
}

static int make_files(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    write_file("a.tfrecord", 0, N_RECORDS / 2, 2000);
    write_file("b.tfrecord", N_RECORDS / 2, N_RECORDS / 2, 0);
    return 0;
}

/* --- the stage ------------------------------------------------------------------------------------- */

#define FEATURES                                                                                   \
    "features: {id: {shape: []}, label: {shape: []}, score: {shape: []}, split: {}, blob: {}}"

/* The pipeline ends in tensors of fixed shape: bytes features are cut off by a source that reads only the
 * numbers, when no condition needs them. */
static int open_stages(const char *stages, bool bytes, const char *engine, leat_plan **plan,
                       leat_error *err)
{
    char text[2000];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s/*.tfrecord', %s}}\nengine: %s\npipeline: [%s]\n",
             test_folder,
             bytes ? FEATURES
                   : "features: {id: {shape: []}, label: {shape: []}, score: {shape: []}}",
             engine, stages);
    return open_text(text, plan, err);
}

/* Ids of a run, in order. */
static int64_t *ids_of(const leat_plan *plan, int64_t *n, int64_t epochs)
{
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = epochs });
    leat_batch *batch;
    leat_error err;
    int64_t *const ids = calloc(4 * N_RECORDS, sizeof *ids);
    int rc;
    *n = 0;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        const leat_view id = leat_batch_tensor(batch, leat_plan_tensor_index(plan, "id"));
        memcpy(ids + *n, id.data, (size_t)leat_shape_bytes(&id.shape));
        *n += leat_batch_get_info(batch)->rows;
        leat_batch_release(batch);
    }
    if (rc != LEAT_E_END)
        check(rc, &err);
    leat_loader_close(&loader);
    return ids;
}

typedef bool keeps(int r);

static bool label_is_5(int r)
{
    return label_of(r) == 5;
}
static bool label_in_list(int r)
{
    return label_of(r) == -3 || label_of(r) == 0 || label_of(r) == 13;
}
static bool label_not_in_list(int r)
{
    return !label_in_list(r);
}
static bool label_from_2_to_4(int r)
{
    return label_of(r) >= 2 && label_of(r) <= 4;
}
static bool score_small(int r)
{
    return score_of(r) <= 0.375f;
}
static bool score_is(int r)
{
    return score_of(r) == 0.125f || score_of(r) == 12.5f;
}
static bool both(int r)
{
    return label_from_2_to_4(r) && score_small(r);
}
static bool within_part(int r)
{
    return r >= 100 && r < 8000 && (r - 100) % 3 == 1 && label_is_5(r);
}

static const struct {
    const char *stages;
    keeps *keeps;
} cases[] = {
    { "{filter: {feature: label, equals: 5}}", label_is_5 },
    { "{filter: {feature: label, equals: [13, -3, 0]}}", label_in_list },
    { "{filter: {feature: label, equals: [13, -3, 0], invert: true}}", label_not_in_list },
    { "{filter: {feature: label, min: 2, max: 4}}", label_from_2_to_4 },
    { "{filter: {feature: label, min: 1.5, max: 4.9}}", label_from_2_to_4 },
    { "{filter: {feature: score, max: 0.375}}", score_small },
    { "{filter: {feature: score, equals: [0.125, 12.5]}}", score_is },
    { "{filter: {feature: label, min: 2, max: 4}}, {filter: {feature: score, max: 0.375}}", both },
    { "{take: 8000}, {skip: 100}, {shard: {count: 3, index: 1}}, {filter: {feature: label, equals: "
      "5}}",
      within_part },
};

TEST(the_same_records_as_a_plain_loop)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char stages[400];
        leat_plan *plan;
        leat_error err;
        int64_t n, k = 0;
        snprintf(stages, sizeof stages, "%s, {batch: 64}", cases[c].stages);
        check(open_stages(stages, false, "{threads: 2}", &plan, &err), &err);
        int64_t *const ids = ids_of(plan, &n, 1);
        for (int r = 0; r < N_RECORDS; r++)
            if (cases[c].keeps(r))
                assert_int_equal(ids[k++], r);
        assert_true(k > 0 && k < N_RECORDS);
        assert_int_equal(n, k);
        assert_int_equal(leat_plan_get_info(plan)->n_samples, k);
        assert_int_equal(leat_plan_get_info(plan)->n_records, N_RECORDS);
        assert_int_equal(leat_plan_get_info(plan)->n_batches, (k + 63) / 64);
        assert_non_null(strstr(leat_plan_note(plan, 0), "filter: keeps "));
        free(ids);
        leat_plan_close(&plan);
    }
}

/* A label that is changed in place changes the samples, and maybe neither their number nor the size of the file. */
TEST(a_state_is_of_the_samples_that_were_kept)
{
    static const char *const pipelines[] = {
        "source: {csv: {files: kept.csv, features: {y: y}}}\n"
        "pipeline: [{filter: {feature: y, equals: 1}}, {batch: 1}]\n",
        "source: {concat: [{csv: {files: kept.csv, features: {y: y}}, pipeline: [{filter: "
        "{feature: "
        "y, equals: 1}}]}]}\npipeline: [{batch: 1}]\n",
        "source: {zip: [{csv: {files: kept.csv, features: {y: y}}, pipeline: [{filter: {feature: "
        "y, "
        "equals: 1}}]}]}\npipeline: [{batch: 1}]\n",
        "source: {csv: {files: kept.csv, features: {y: y}}}\npipeline: [{batch: 1}]\n",
    };
    static const struct {
        const char *text;
        bool is_same; /* of what the filter keeps */
    } changes[] = { { "y\n1\n0\n1\n0\n", true },
                    { "y\n1\n2\n1\n3\n", true },
                    { "y\n0\n1\n1\n0\n", false } };
    assert_int_equal(chdir(test_folder), 0);
    for (size_t p = 0; p < sizeof pipelines / sizeof *pipelines; p++)
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            leat_loader_state before;
            leat_error err;
            put_text("kept.csv", changes[0].text);
            leat_plan *plan = plan_of_text(pipelines[p]);
            leat_loader_state_at(plan, 1, &before);
            leat_plan_close(&plan);
            put_text("kept.csv", changes[i].text);
            plan = plan_of_text(pipelines[p]);
            leat_loader *loader = NULL;
            const bool fits = leat_loader_open(plan, &(leat_loader_options){ .state = &before },
                                               &loader, &err) == LEAT_OK;
            assert_int_equal(fits, changes[i].is_same || !strstr(pipelines[p], "filter"));
            if (!fits)
                assert_non_null(strstr(err.message, "what filters or buckets found"));
            close_loader_and_plan(&loader, &plan);
        }
}

TEST(shuffle_and_repeat_go_over_what_is_kept)
{
    leat_plan *plan;
    leat_error err;
    int64_t n;
    int seen[N_RECORDS] = { 0 };
    uint64_t digests[2];
    for (int i = 0; i < 2; i++) {
        check(open_stages(
                  "{filter: {feature: label, equals: 5}}, shuffle, {repeat: 2}, {batch: 50}", false,
                  i ? "{threads: 3, digest: true}" : "{threads: 0, digest: true}", &plan, &err),
              &err);
        digests[i] = run_digest(plan, NULL, &n);
        if (i)
            break;
        leat_plan_close(&plan);
    }
    assert_int_equal(digests[0], digests[1]);
    int64_t *const ids = ids_of(plan, &n, 2);
    for (int64_t i = 0; i < n; i++)
        seen[ids[i]]++;
    for (int r = 0; r < N_RECORDS; r++)
        assert_int_equal(seen[r], label_is_5(r) ? 4 : 0);
    free(ids);
    leat_plan_close(&plan);
}

/* --- bytes features ----------------------------------------------------------------------------------- */

/* Which positions an order keeps, without loading anything. */
static void expect_kept(const char *stages, bool (*keep)(int r))
{
    char text[1000];
    leat_plan *plan;
    leat_error err;
    uint64_t k = 0;
    snprintf(text, sizeof text,
             "%s, {map: {tensor: split, ops: [{decode_raw: {dtype: uint8, shape: [5]}}]}}, {map: "
             "{tensor: blob, ops: [{decode_raw: {dtype: uint8, shape: [5]}}]}}, {batch: 8}",
             stages);
    check(open_stages(text, true, "{threads: 0}", &plan, &err), &err);
    for (int r = 0; r < N_RECORDS; r++)
        if (keep(r)) {
            uint64_t record = k++, epoch = 0;
            leat_order_walk(&plan->order, NULL, NULL, 0, &record, &epoch);
            assert_int_equal(record, r);
        }
    assert_int_equal(plan->order.n_samples, k);
    leat_plan_close(&plan);
}

static bool split_is_train(int r)
{
    return r % N_SPLITS == 0;
}
static bool split_is_none(int r)
{
    return r % N_SPLITS == 2;
}
static bool split_is_not_val(int r)
{
    return r % N_SPLITS != 1;
}
static bool split_is_short(int r)
{
    return r % N_SPLITS != 0;
}
static bool blob_is_large(int r)
{
    return r < N_RECORDS / 2 && (r % 977) * 2000 / 977 >= 1500;
}

TEST(bytes_are_compared_as_texts_and_by_length)
{
    expect_kept("{filter: {feature: split, equals: train}}", split_is_train);
    expect_kept("{filter: {feature: split, equals: ''}}", split_is_none);
    expect_kept("{filter: {feature: split, equals: [train, '']}}", split_is_not_val);
    expect_kept("{filter: {feature: split, equals: [val], invert: true}}", split_is_not_val);
    expect_kept("{filter: {feature: split, max_length: 3}}", split_is_short);
    expect_kept("{filter: {feature: split, min_length: 5, max_length: 5}}", split_is_train);
    expect_kept("{filter: {feature: blob, min_length: 1500}}", blob_is_large);
}

/* --- other sources -------------------------------------------------------------------------------------- */

/* The files only begin as images do: a label is that of its folder, and nothing is read for it. */
TEST(labels_of_images_need_no_reading)
{
    char name[32];
    leat_plan *plan;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i <= c; i++) {
            snprintf(name, sizeof name, "images/%c/%d.jpg", 'a' + c, i);
            put_text(name, "P6 ");
        }
    for (int twice = 0; twice < 2; twice++) {
        char source[200];
        snprintf(source, sizeof source,
                 twice ? "concat: [{images: '%s/images'}, {images: '%s/images'}]"
                       : "images: '%s/images'",
                 test_folder, test_folder);
        plan = plan_format(
            "source: {%s}\npipeline: [{filter: {feature: label, min: 1}}, {map: [decode_jpeg, "
            "{resize: [8, 8]}]}, {batch: 2}]\n",
            source);
        assert_int_equal(leat_plan_get_info(plan)->n_samples, 5 * (1 + twice));
        leat_plan_close(&plan);
    }
}

/* Inside the pipeline of one of several sources, and after them where their order is fixed. */
TEST(in_one_of_several_sources)
{
    char one[300];
    leat_plan *plan;
    int64_t n, n_a = 0, n_b = 0;
    snprintf(one, sizeof one,
             "tfrecord: {files: '%s/a.tfrecord', features: {id: {shape: []}, label: {shape: []}}}",
             test_folder);
    plan = plan_format(
        "source: {concat: [{%s, pipeline: [{filter: {feature: label, equals: 5}}, shuffle]}, "
        "{%s, pipeline: [{filter: {feature: label, equals: 6}}]}]}\npipeline: [{batch: 16}]\n",
        one, one);
    int64_t *ids = ids_of(plan, &n, 1);
    for (int r = 0; r < N_RECORDS / 2; r++) {
        n_a += label_of(r) == 5;
        n_b += label_of(r) == 6;
    }
    assert_int_equal(n, n_a + n_b);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(label_of((int)ids[i]), i < n_a ? 5 : 6);
    free(ids);
    leat_plan_close(&plan);
    plan =
        plan_format("source: {concat: [{%s, pipeline: [{take: 1000}]}, {%s}]}\npipeline: [{filter: "
                    "{feature: label, equals: 5}}, {batch: 16}]\n",
                    one, one);
    ids = ids_of(plan, &n, 1);
    int64_t k = 0;
    for (int part = 0; part < 2; part++)
        for (int r = 0; r < (part ? N_RECORDS / 2 : 1000); r++)
            if (label_of(r) == 5)
                assert_int_equal(ids[k++], r);
    assert_int_equal(k, n);
    free(ids);
    leat_plan_close(&plan);
}

/* --- errors ------------------------------------------------------------------------------------------------ */

static void expect(int code, const char *stages, bool bytes, const char *part)
{
    leat_plan *plan;
    leat_error err = { 0 };
    assert_int_equal(open_stages(stages, bytes, "{}", &plan, &err), code);
    leat_plan_close(&plan);
    if (!strstr(err.message, part))
        fail_msg("'%s' lacks '%s'", err.message, part);
}

TEST(errors_say_what_to_do)
{
    expect(LEAT_E_CONFIG, "{filter: {feature: labl, equals: 1}}, {batch: 4}", false,
           "test.yaml:3:12: filter: the source has no feature 'labl'; did you mean 'label'? It "
           "has: id, label, score");
    expect(LEAT_E_CONFIG, "{filter: label}, {batch: 4}", false, "filter needs a condition: equals");
    expect(LEAT_E_CONFIG, "shuffle, {filter: {feature: label, equals: 1}}, {batch: 4}", false,
           "put it first, before shuffle and repeat");
    expect(LEAT_E_CONFIG, "repeat, {filter: {feature: label, equals: 1}}, {batch: 4}", false,
           "put it first, before shuffle and repeat");
    expect(LEAT_E_CONFIG, "{batch: 4}, {filter: {feature: label, equals: 1}}", false,
           "put it before batch");
    expect(LEAT_E_CONFIG,
           "{map: {tensor: score, ops: [{cast: {dtype: int32}}]}}, {filter: {feature: score, "
           "equals: 1}}, {batch: 4}",
           false, "put it before the map that changes it");
    expect(LEAT_E_CONFIG, "{filter: {feature: label, equals: 99}}, {batch: 4}", false,
           "filter keeps none of 9000 samples");
    expect(LEAT_E_CONFIG, "{filter: {feature: label, equals: 1.5}}, {batch: 4}", false,
           "equals must be integers, got 1.5");
    expect(LEAT_E_CONFIG, "{filter: {feature: label, equals: [[1]]}}, {batch: 4}", false,
           "equals must be integers, got a list");
    expect(LEAT_E_CONFIG, "{filter: {feature: split, equals: [train, null]}}, {batch: 4}", true,
           "equals must be texts, got null");
    expect(LEAT_E_CONFIG, "{filter: {feature: label, equals: []}}, {batch: 4}", false,
           "empty list");
    expect(LEAT_E_CONFIG, "{filter: {feature: label, max_length: 3}}, {batch: 4}", false,
           "every 'label' is int64[]");
    expect(LEAT_E_CONFIG, "{filter: {feature: blob, min: 3}}, {batch: 4}", true,
           "'blob' holds bytes: use equals, min_length or max_length");
}

/* A byte is changed in the middle of the first file: whoever opens the plan hears which record it is. */
TEST(a_bad_record_is_named)
{
    char path[128], want[200];
    leat_plan *plan;
    leat_error err;
    leat_extent at;
    uint8_t byte;
    check(open_stages("{batch: 4}", false, "{}", &plan, &err), &err);
    check(plan->source->table->locate(plan->source, 1234, &at, &err), &err);
    leat_plan_close(&plan);
    snprintf(path, sizeof path, "%s/a.tfrecord", test_folder);
    FILE *file = fopen(path, "r+b");
    fseek(file, (long)(at.offset + at.size / 2), SEEK_SET);
    byte = (uint8_t)fgetc(file);
    for (int back = 0; back < 2; back++) {
        fseek(file, (long)(at.offset + at.size / 2), SEEK_SET);
        fputc(back ? byte : byte ^ 0x40, file);
        fflush(file);
        const int rc = open_stages("{filter: {feature: label, equals: 5}}, {batch: 4}", false, "{}",
                                   &plan, &err);
        assert_int_equal(rc, back ? LEAT_OK : LEAT_E_DATA);
        leat_plan_close(&plan);
        snprintf(want, sizeof want, "filter: %s, record 1234 (byte %llu): ", path,
                 (unsigned long long)at.offset);
        if (!back && !strstr(err.message, want))
            fail_msg("'%s' lacks '%s'", err.message, want);
    }
    fclose(file);
}

/* The stage `filter` over rows in memory: the rows that stay, and limits of int64 values, which are
 * exact. */

TEST(rows_in_memory)
{
    const int64_t dim = ROW_FLOATS;
    int64_t labels[100];
    leat_error err;
    float *const x = make_rows(100);
    for (int i = 0; i < 100; i++)
        labels[i] = i % 4;
    const leat_rows rows[] = { { "x", leat_shape_make(LEAT_F32, 1, &dim), x },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, 100, rows, 2);
    leat_builder_stage(builder, "filter", "{feature: label, equals: [1, 2]}");
    leat_builder_stage(builder, "batch", "10");
    leat_plan *plan = plan_of_builder(builder);
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    for (int b = 0; b < 5; b++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        for (int j = 0; j < 10; j++)
            assert_int_equal(((const float *)leat_batch_tensor(batch, 0).data)[j * ROW_FLOATS],
                             (b * 10 + j) / 2 * 4 + 1 + (b * 10 + j) % 2);
        leat_batch_release(batch);
    }
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_END);
    close_loader_and_plan(&loader, &plan);
    free(x);
}

/* Rows of such values that a filter keeps: one bit each; -1 where the plan is refused. */
static int kept_of(const char *limits, leat_shape shape, const void *values, int n,
                   leat_error *error)
{
    char options[200];
    int64_t numbers[32];
    int kept = 0;
    for (int i = 0; i < n; i++)
        numbers[i] = i;
    leat_plan *plan;
    leat_batch *batch;
    const leat_rows rows[] = { { "number", leat_shape_make(LEAT_I64, 0, NULL), numbers },
                               { "id", shape, values } };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, (uint64_t)n, rows, 2);
    snprintf(options, sizeof options, "{feature: id, %s}", limits);
    leat_builder_stage(builder, "filter", options);
    leat_builder_stage(builder, "batch", "1");
    const int rc = leat_builder_plan(builder, &plan, error);
    leat_builder_close(&builder);
    if (rc < 0)
        return -1;
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, error) == LEAT_OK) {
        kept |= 1 << *(const int64_t *)leat_batch_tensor(batch, 0).data;
        leat_batch_release(batch);
    }
    close_loader_and_plan(&loader, &plan);
    return kept;
}

static int kept_rows(const char *limits, const int64_t *values, int n, leat_error *error)
{
    return kept_of(limits, leat_shape_make(LEAT_I64, 0, NULL), values, n, error);
}

/* One uint8 is a number, not a text: 51 is the character '3'. */
TEST(uint8_values_are_numbers)
{
    static const uint8_t v[] = { 3, 51, 69, 200 };
    static const struct {
        const char *options;
        int kept;
    } limits[] = {
        { "equals: 3", 1 },
        { "equals: [51, 200]", 2 | 8 },
        { "equals: [3, 69], invert: true", 2 | 8 },
        { "equals: [3, 69], min: 4", 4 },
        { "min: 52", 4 | 8 },
    };
    const int64_t one = 1, two = 2;
    leat_error err;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int rank = 0; rank < 2; rank++)
            assert_int_equal(
                kept_of(limits[i].options, leat_shape_make(LEAT_U8, rank, &one), v, 4, &err),
                limits[i].kept);
    assert_int_equal(kept_of("equals: cat", leat_shape_make(LEAT_U8, 0, NULL), v, 4, &err), -1);
    assert_non_null(strstr(err.message, "equals must be integers, got cat"));
    assert_int_equal(kept_of("equals: E3", leat_shape_make(LEAT_U8, 1, &two), v, 2, &err), -1);
    assert_non_null(strstr(err.message, "compare one value, but 'id' is uint8[2]"));
}

/* A double has no 2^53 + 1. */
TEST(limits_of_int64_are_exact)
{
    static const int64_t v[] = {
        INT64_MIN, INT64_MIN + 1,    -9007199254740993, -9007199254740992, -2,       -1, 0, 1,
        2,         9007199254740992, 9007199254740993,  INT64_MAX - 1,     INT64_MAX
    };
    enum { N = sizeof v / sizeof *v, ALL = (1 << N) - 1 };
    static const struct {
        const char *options;
        int kept;
    } limits[] = {
        { "min: 9007199254740993", ALL & ~0x3ff },
        { "max: 9007199254740992", 0x3ff },
        { "min: -9007199254740992", ALL & ~0x7 },
        { "max: -9007199254740993", 0x7 },
        { "min: 9223372036854775807", 1 << 12 },
        { "max: 9223372036854775806", ALL & ~(1 << 12) },
        { "max: -9223372036854775808", 1 },
        { "min: -9223372036854775807", ALL & ~1 },
        { "min: 9007199254740992.5", ALL & ~0x3ff },
        { "max: 9007199254740993.9", 0x7ff },
        { "min: -9007199254740992.1", ALL & ~0x7 },
        { "max: -9007199254740992.1", 0x7 },
        { "min: -1.5, max: 1.5", 0xe0 },
        { "min: -.5, max: .5", 0x40 },
        { "min: +1.0, max: 2e0", 0x180 },
        { "min: -inf, max: 0", 0x7f },
        { "max: .inf, min: 1e15", ALL & ~0x1ff },
    };
    static const char *const refused[][2] = {
        { "min: 9223372036854775807.5", "fits in 64 bits" },
        { "max: -9223372036854775808.5", "fits in 64 bits" },
        { "min: 9223372036854775808", "min must be a number that fits in 64 bits" },
        { "max: -9223372036854775809", "max must be a number that fits in 64 bits" },
        { "min: 1e17", "min must be written without an exponent, got 1e17" },
        { "max: 1.5e0", "max must be written without an exponent" },
        { "min: many", "min must be a number, got many" },
        { "min: inf", "min must be finite" },
    };
    leat_error err;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (kept_rows(limits[i].options, v, N, &err) != limits[i].kept)
            fail_msg("%s keeps %#x, not %#x", limits[i].options,
                     (unsigned)kept_rows(limits[i].options, v, N, &err), (unsigned)limits[i].kept);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(kept_rows(refused[i][0], v, N, &err), -1);
        if (!strstr(err.message, refused[i][1]))
            fail_msg("'%s' lacks '%s'", err.message, refused[i][1]);
    }
}

/* 0.1 and the next number of the type, 256 and 258, which has no number between them in bfloat16, infinities, NaN. */
TEST(floats_of_any_type)
{
    static const uint16_t f16[] = { 0x2e66, 0x2e67, 0x5c00, 0x5c08, 0x7c00, 0xfc00, 0x7e00 };
    static const uint16_t bf16[] = { 0x3dcd, 0x3dce, 0x4380, 0x4381, 0x7f80, 0xff80, 0x7fc0 };
    const float f32[] = { 0.1f, nextafterf(0.1f, 1), 256, 258, INFINITY, -INFINITY, NAN };
    enum { TENTH = 1, NEXT = 2, FIRST = 4, SECOND = 8, INF = 16, MINUS_INF = 32 };
    static const struct {
        const char *options;
        int kept;
    } limits[] = {
        { "equals: 0.1", TENTH },
        { "equals: [0.1, 258]", TENTH | SECOND },
        { "equals: 257", 0 },
        { "equals: 70000.5", 0 }, /* too large for float16 */
        { "min: 257", SECOND | INF },
        { "max: 257", TENTH | NEXT | FIRST | MINUS_INF },
        { "equals: inf", INF },
        { "equals: [1e300, 256]", FIRST },
        { "max: 1e39", TENTH | NEXT | FIRST | SECOND | MINUS_INF },
        { "min: -1e300", TENTH | NEXT | FIRST | SECOND | INF },
        { "min: 1e39", INF },
        { "min: -inf, max: 7e4", TENTH | NEXT | FIRST | SECOND | MINUS_INF },
    };
    static const leat_dtype types[] = { LEAT_F16, LEAT_BF16, LEAT_F32 };
    const void *const values[] = { f16, bf16, f32 };
    leat_error err;
    for (int t = 0; t < 3; t++)
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            const leat_shape shape = leat_shape_make(types[t], 0, NULL);
            const int kept = kept_of(limits[i].options, shape, values[t], 7, &err);
            if (kept != (limits[i].kept ? limits[i].kept : -1)) /* a plan of nothing is refused */
                fail_msg("type %d: %s keeps %#x, not %#x", t, limits[i].options, (unsigned)kept,
                         (unsigned)limits[i].kept);
        }
}

SUITE_FIXTURE(make_files, remove_folder)
