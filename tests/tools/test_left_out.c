/* SPDX-License-Identifier: MIT
 *
 * test_left_out.c: the number of samples that are in no batch, compared with the records of all batches. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "setup.h"

enum { N = 60, COUNT = -2 };

/* The list `tokens` has 0 to 24 values. */
static int make_records(void **state)
{
    leat_format_error why;
    static const int64_t zeros[25];
    assert_int_equal(make_folder(state), 0);
    record_writer to = open_records(in_folder("a.tfrecord"));
    for (int64_t r = 0; r < N; r++) {
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &r, 1, &why), 0);
        assert_int_equal(
            leat_example_add_int64s(to.builder, "tokens", zeros, (size_t)(r % 25), &why), 0);
        put_record(&to);
    }
    close_records(&to);
    return 0;
}

#define DROP        "{batch: {size: 7, drop_remainder: true}}"
#define BUCKETS(of) "{bucket_by_length: {feature: tokens, boundaries: [8, 20, 25], " of "}}"

/* What is left out; -1: unknown; COUNT: the records that are in no batch. */
static const struct {
    const char *stages, *engine;
    int64_t left;
} cases[] = {
    { "{batch: 7}", "", 0 },
    { "{batch: 7}, {prefetch: 3}", "", 0 },
    { DROP, "", 4 },
    { "{batch: 7}, {skip: 1}", "", 7 },
    { "{batch: 7}, {skip: 8}", "", 56 },
    { "{batch: 7}, {take: 8}", "", 4 },
    { "{batch: 7}, {shard: {count: 2, index: 0}}", "", COUNT },
    { "{batch: 7}, {shuffle: {seed: 3}}, {take: 8}", "", COUNT },
    { DROP ", {skip: 2}, {take: 5}", "", 25 },
    { DROP ", {repeat: 2}", "", 4 },
    { DROP ", shuffle, {repeat: 2}, shuffle, {repeat: 3}", "", 4 },
    { "{batch: 7}, {repeat: 3}", "", 0 },
    { "{take: 50}, " DROP ", {repeat: 3}", "", 1 },
    { "{repeat: 2}, " DROP, "", 1 }, /* a sample for each time that a record comes */
    { BUCKETS("sizes: [9, 7, 5]"), "", 0 },
    { BUCKETS("sizes: [9, 7, 5], drop_remainder: true"), "", COUNT },
    { BUCKETS("sizes: [9, 7, 5]") ", {skip: 1}, {take: 4}", "", COUNT },
    { BUCKETS("sizes: [9, 7, 5], drop_remainder: true") ", {repeat: 2}", "", COUNT },
    { "{batch: 7}, {repeat: 2}, {take: 10}", "", -1 },
    { "{batch: 7}, {take: 4}, {repeat: 2}", "", -1 },
    { "{batch: 7}, {repeat: forever}", "", -1 },
    { "{repeat: forever}, {batch: 7}", "", -1 },
    { DROP, "rank: 0, ranks: 2", -1 },
};

/* Records of all batches of a pass. *rows: with those that come again. */
static int64_t records_of(const leat_plan *plan, int64_t *rows)
{
    bool seen[N] = { 0 };
    int64_t n = 0;
    *rows = 0;
    for (int64_t b = 0; b < leat_plan_get_info(plan)->n_batches; b++) {
        uint64_t records[N];
        const int64_t n_rows = leat_plan_records(plan, b, records, N);
        for (int64_t i = 0; i < n_rows; i++) {
            n += !seen[records[i]];
            seen[records[i]] = true;
        }
        *rows += n_rows;
    }
    return n;
}

TEST(samples_in_no_batch)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t rows;
        leat_plan *plan = plan_format(
            "source: {tfrecord: {files: '%s', features: {id: {shape: []}%s}}}\n"
            "pipeline: [%s]\nengine: {%s}\n",
            in_folder("a.tfrecord"),
            strstr(cases[i].stages, "tokens") ? ", tokens: {type: int64, shape: [-1]}" : "",
            cases[i].stages, cases[i].engine);
        const int64_t n = records_of(plan, &rows);
        const int64_t left = leat_setup_left_out(plan);
        if (left != (cases[i].left == COUNT ? N - n : cases[i].left))
            fail_msg("%s: %lld left out, and %lld records are in batches", cases[i].stages,
                     (long long)left, (long long)n);
        if (leat_plan_get_info(plan)->n_batches < 0)
            rows = -1;
        assert_int_equal(leat_setup_rows(plan), rows);
        leat_plan_close(&plan);
    }
}

SUITE_FIXTURE(make_records, remove_folder)
