/* SPDX-License-Identifier: MIT
 *
 * test_feature_scan.c: reads a feature of all records at open: with any number of threads every position
 * is read once, and the sets and the error are the same. */
#include "fixtures/engine_fixture.h"

#include <stdatomic.h>
#include <unistd.h>

#include "fixtures/record_file.h"
#include "pipeline/build/feature_scan.h"
#include "pipeline/order/bucket.h"
#include "pipeline/plan/plan_impl.h"

#define N_RECORDS 20000 /* pieces of several sizes */

static const int64_t threads[] = { 0, 1, 2, 3, 8, -1 };
#define N_THREADS (sizeof threads / sizeof *threads)

static int open_plan(int64_t n_threads, const char *stages, leat_plan **plan, leat_error *err)
{
    char text[1200];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {id: {shape: []}, blob: {type: bytes}}}}\n"
             "engine: {threads: %s}\npipeline: [%s]\n",
             path,
             n_threads < 0    ? "auto"
             : n_threads == 0 ? "0"
             : n_threads == 1 ? "1"
             : n_threads == 2 ? "2"
             : n_threads == 3 ? "3"
                              : "8",
             stages);
    return open_text(text, plan, err);
}

/* --- the scan itself ------------------------------------------------------------------------------- */

static _Atomic int visits[N_RECORDS];
static uint64_t bad_from, bad_step; /* positions that fail; step 0: none */

static int visit(void *arg, uint64_t position, const leat_view *feature, leat_error *err)
{
    const uint64_t *const first = arg;
    visits[position]++;
    if (*(const int64_t *)feature->data != (int64_t)(*first + position))
        return leat_fail(err, LEAT_E_DATA, "%llu is another record", (unsigned long long)position);
    if (position % 512 == 7) /* no piece takes as long as the next */
        pause_ns((long)(position % 2311) * 100);
    if (bad_step && position >= bad_from && (position - bad_from) % bad_step == 0)
        return leat_fail(err, LEAT_E_DEVICE, "planted at %llu", (unsigned long long)position);
    return LEAT_OK;
}

static int scan(const leat_plan *plan, uint64_t skip, uint64_t n, int64_t n_threads,
                leat_error *err)
{
    leat_order order;
    leat_order_init(&order, plan->source->n_records);
    check(leat_order_add(&order, LEAT_ORDER_SKIP, skip, 0, err), err);
    check(leat_order_add(&order, LEAT_ORDER_TAKE, n, 0, err), err);
    memset(visits, 0, sizeof visits);
    const int rc = leat_feature_scan(plan->source, &order, 0, n_threads, visit, &skip, err);
    leat_order_fini(&order);
    return rc;
}

TEST(every_position_once)
{
    static const uint64_t counts[] = { 1, 511, 512, 513, 4096, 4097, 10000, N_RECORDS - 3 };
    leat_plan *plan;
    leat_error err;
    check(open_plan(0, "{padded_batch: 8}", &plan, &err), &err);
    bad_step = 0;
    for (size_t t = 0; t < N_THREADS; t++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            check(scan(plan, 3, counts[c], threads[t], &err), &err);
            for (uint64_t p = 0; p < N_RECORDS; p++)
                assert_int_equal(visits[p], p < counts[c]);
        }
    leat_plan_close(&plan);
}

TEST(the_lowest_error_is_the_one)
{
    leat_plan *plan;
    char want[40];
    leat_error err;
    check(open_plan(0, "{padded_batch: 8}", &plan, &err), &err);
    for (size_t t = 0; t < N_THREADS; t++)
        for (bad_from = 0; bad_from < N_RECORDS; bad_from = bad_from * 3 + 511) {
            bad_step = 1 + bad_from / 3;
            assert_int_equal(scan(plan, 0, N_RECORDS, threads[t], &err), LEAT_E_DEVICE);
            snprintf(want, sizeof want, "planted at %llu", (unsigned long long)bad_from);
            assert_string_equal(err.message, want);
            assert_int_equal(err.code, LEAT_E_DEVICE);
            for (uint64_t p = 0; p <= bad_from; p++)
                assert_int_equal(visits[p], 1);
        }
    bad_step = 0;
    leat_plan_close(&plan);
}

/* --- the stages that use it ------------------------------------------------------------------------ */

TEST(sets_are_the_same)
{
    leat_error err;
    leat_bitset *want[4] = { NULL };
    for (size_t t = 0; t < N_THREADS; t++) {
        leat_plan *plan;
        check(open_plan(threads[t],
                        "{filter: {feature: blob, min_length: 50}}, {bucket_by_length: {feature: "
                        "blob, boundaries: [90, 200, 300], sizes: 8}}",
                        &plan, &err),
              &err);
        leat_bitset *const got[4] = { plan->order.before[0].passing,
                                      plan->order.buckets->list[0].members,
                                      plan->order.buckets->list[1].members,
                                      plan->order.buckets->list[2].members };
        for (int i = 0; i < 4; i++) {
            if (!t) { /* copied, to outlive its plan */
                check(leat_bitset_open(&want[i], got[i]->n, &err), &err);
                for (uint64_t m = 0; m < got[i]->n_members; m++)
                    leat_bitset_add(want[i], leat_bitset_member(got[i], m));
                check(leat_bitset_finish(want[i], &err), &err);
            }
            assert_int_equal(got[i]->n, want[i]->n);
            assert_int_equal(got[i]->n_members, want[i]->n_members);
            assert_memory_equal(got[i]->words, want[i]->words, (got[i]->n + 7) / 8);
            assert_true(got[i]->n_members > 0);
        }
        leat_plan_close(&plan);
    }
    for (int i = 0; i < 4; i++)
        leat_bitset_close(&want[i]);
}

static uint64_t content_of(const char *boundaries, const char *options, const char *behind)
{
    char stages[300];
    leat_plan *plan;
    leat_error err;
    snprintf(stages, sizeof stages,
             "{bucket_by_length: {feature: blob, boundaries: %s, %s}}, {repeat: 2}%s", boundaries,
             options, behind);
    check(open_plan(-1, stages, &plan, &err), &err);
    const uint64_t content = leat_plan_content(plan);
    leat_plan_close(&plan);
    return content;
}

/* The sizes of batches do not count, unless they decide which samples come. */
TEST(the_content_of_buckets)
{
    static const char *const same[] = { "sizes: 8", "sizes: [16, 8, 4]",
                                        "sizes: 1, drop_remainder: true" },
                             *const other[] = { "sizes: 999, drop_remainder: true",
                                                "sizes: [999, 1, 1], drop_remainder: true",
                                                "sizes: [1, 1, 999], drop_remainder: true",
                                                "sizes: 8, truncate: true" };
    static const char limits[] = "[90, 200, 300]", cut[] = ", {take: 3}";
    const uint64_t want = content_of(limits, same[0], ""),
                   want_cut = content_of(limits, same[0], cut);
    assert_true(content_of("[90, 210, 300]", same[0], "") != want);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_true(content_of(limits, same[i], "") == want);
        assert_int_equal(content_of(limits, same[i], cut) == want_cut, !i);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        const uint64_t content = content_of(limits, other[i], "");
        assert_true(content != want);
        for (size_t k = 0; k < i; k++)
            assert_true(content_of(limits, other[k], "") != content);
    }
}

/* Lists of up to 611 numbers, and one of 700. */
static void write_lists(const char *name)
{
    leat_format_error err;
    const int64_t zeros[700] = { 0 };
    record_writer to = open_records(name);
    for (size_t r = 0; r < 9000; r++) {
        const size_t n = r == 4321 ? 700 : 1 + r * 37 % 611;
        assert_int_equal(leat_example_add_int64s(to.builder, "list", zeros, n, &err), 0);
        put_record(&to);
    }
    close_records(&to);
}

/* Alone, and as a part of others. */
TEST(the_room_for_the_largest_is_the_same)
{
    write_lists(path);
    for (size_t t = 0; t < N_THREADS; t++)
        for (int s = 0; s < 2; s++) {
            char source[300], whole[400];
            snprintf(source, sizeof source,
                     "{tfrecord: {files: '%s', features: {list: {shape: [-1]}}}}", path);
            snprintf(whole, sizeof whole, s ? "{concat: [%s]}" : "%s", source);
            leat_plan *plan =
                plan_format("source: %s\nengine: {threads: %lld}\npipeline: [{padded_batch: 8}]\n",
                            whole, (long long)(threads[t] < 0 ? 4 : threads[t]));
            assert_int_equal(leat_plan_tensor(plan, 0)->shape.dims[0], 700);
            leat_plan_close(&plan);
        }
}

SUITE_RECORD_FILE(N_RECORDS, 300)
