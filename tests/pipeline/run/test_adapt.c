/* SPDX-License-Identifier: MIT
 *
 * test_adapt.c: what a loader decides by the times of tasks and reads, which the test reports. A few records that are
 * not in the page cache do not change how the rest is read; many do. Of short batches more are prepared ahead, and each
 * is one task. */
#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"

#include "pipeline/run/engine.h"

enum { N_RECORDS = 64, LONGEST = 60000, ROWS = 8, ROW_NS = 1000, MISS_NS = 100000, MOST = 1000 };

static leat_plan *plan;
static leat_loader *loader;

/* Nothing runs in a loader without threads but what the test calls. */
static int open_with(const char *engine, const char *stages)
{
    plan = plan_format("engine: {threads: 0%s}\n"
                       "source: {tfrecord: {files: '%s', features: {x: {}}}}\n"
                       "pipeline: [%s]\n",
                       engine, path, stages);
    loader = open_loader(plan, NULL);
    return 0;
}

static int open_one(void **state)
{
    return open_with(", run: 8", "{batch: 8}, {prefetch: 2}");
}

/* It counts as one of two threads and decides for itself. */
static int open_free(void **state)
{
    open_with("", "{batch: 32}, prefetch");
    loader->n_threads = 2;
    loader->prefetch_most = 64;
    return 0;
}

static int close_free(void **state)
{
    loader->n_threads = 0;
    close_loader_and_plan(&loader, &plan);
    return 0;
}

static int close_one(void **state)
{
    close_loader_and_plan(&loader, &plan);
    return 0;
}

/* Reports n tasks whose records were in the page cache. */
static void tasks(int n)
{
    for (int i = 0; i < n; i++)
        leat_adapt_rows_locked(loader, ROWS, ROWS * ROW_NS);
}

static void task_with_a_miss(void)
{
    const int64_t ns = ROWS * ROW_NS + MISS_NS;
    leat_adapt_rows_locked(loader, ROWS, ns);
    leat_adapt_cache_miss_locked(loader, 0, ROWS, ns);
}

/* Reports tasks whose reads were done at once, until the workers read. Returns how many. */
static int reads(void)
{
    int n = 0;
    for (; n < MOST && !loader->readahead.in_worker; n++) {
        leat_adapt_read_locked(loader, 0);
        tasks(1);
        leat_adapt_batch_locked(loader);
    }
    assert_true(loader->readahead.in_worker);
    return n;
}

/* Reports misses in task after task, until reading is ahead. Returns how many. */
static int misses(void)
{
    int n = 0;
    for (; n < MOST && loader->readahead.in_worker; n++)
        task_with_a_miss();
    assert_false(loader->readahead.in_worker);
    return n;
}

static bool begin(void)
{
    tasks(50); /* the usual cost of a row is known */
    if (loader->readahead.reader)
        return reads() > 0;
    print_message("no io_uring: not tested here\n");
    return false;
}

TEST_WITH(rare_misses_change_nothing, open_one, close_one)
{
    if (!begin())
        skip();
    for (int i = 0; i < MOST; i++) {
        task_with_a_miss();
        assert_true(loader->readahead.in_worker);
        tasks(64);
    }
}

TEST_WITH(misses_in_a_row_hand_reading_over, open_one, close_one)
{
    if (!begin())
        skip();
    assert_true(misses() > 1);
}

/* Each time soon after the last one, reading stays ahead for longer. After a long time without misses it is as in the
 * beginning. */
TEST_WITH(reading_comes_back_sooner_after_a_quiet_time, open_one, close_one)
{
    int n[4];
    if (!begin())
        skip();
    for (int i = 0; i < 4; i++) {
        misses();
        n[i] = reads();
        assert_true(i == 0 || n[i] > n[i - 1]);
    }
    tasks(100 * n[3]);
    misses();
    assert_int_equal(reads(), LEAT_SETTLE);
}

/* Reports batches whose rows take so long; what is decided then stays. */
static void batches_of(int64_t row_ns)
{
    int64_t prefetch = 0;
    uint64_t task_rows = 0;
    for (int i = 0; i < 2 * MOST; i++) {
        leat_adapt_rows_locked(loader, 32, 32 * row_ns);
        leat_adapt_batch_locked(loader);
        prefetch = i == MOST ? loader->prefetch : prefetch;
        task_rows = i == MOST ? loader->task_rows : task_rows;
    }
    assert_int_equal(loader->prefetch, prefetch);
    assert_int_equal(loader->task_rows, task_rows);
}

/* The reason of the last change of the window names what decided it. */
static void expect_reason(const char *part)
{
    leat_decision log[LEAT_DECISIONS];
    const size_t n = leat_loader_decisions(loader, log, LEAT_DECISIONS);
    const char *last = "none";
    for (size_t i = 0; i < n && i < LEAT_DECISIONS; i++)
        last = strcmp(log[i].name, "prefetch") ? last : log[i].reason;
    if (!strstr(last, part))
        fail_msg("'%s', not '%s'", last, part);
}

TEST_WITH(short_batches_are_one_task_and_more_are_ahead, open_free, close_free)
{
    batches_of(1000);
    assert_int_equal(loader->task_rows, 16); /* two threads share a batch */
    assert_int_equal(loader->prefetch, LEAT_PREFETCH_FIRST);
    batches_of(100);
    assert_int_equal(loader->task_rows, 32);
    assert_true(loader->prefetch * 32 * 100 >= 50000 * 2 / 3);
    assert_true(loader->prefetch * 32 * 100 <= 50000 * 2);
    expect_reason("us, a thread should have 25 us of work");
    batches_of(10000);
    assert_in_range(loader->prefetch, LEAT_PREFETCH_FIRST, 2 * LEAT_PREFETCH_FIRST - 1);
    expect_reason("the slowest recent sample took");
}

/* Of `prefetch: auto` alone; from 2 to what memory was planned for. */
TEST(batches_ahead_at_first)
{
    static const struct {
        const char *stage;
        int64_t asked, begins;
    } cases[] = { { "auto", 0, 2 },          { "auto", 1, 2 }, { "auto", 3, 3 },
                  { "auto", INT64_MAX, 64 }, { "3", 5, 3 },    { "0", 5, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_loader_options options = { .prefetch = -1 };
        char stages[64];
        leat_error err;
        snprintf(stages, sizeof stages, "{batch: 1}, {prefetch: %s}", cases[i].stage);
        open_with("", stages);
        assert_int_equal(leat_loader_open(plan, &options, &(leat_loader *){ NULL }, &err),
                         LEAT_E_ARGUMENT);
        assert_string_equal(err.message, "loader: prefetch is 0 or more; got -1");
        leat_loader_close(&loader);
        options.prefetch = cases[i].asked;
        loader = open_loader(plan, &options);
        assert_int_equal(loader->prefetch, cases[i].begins);
        close_loader_and_plan(&loader, &plan);
    }
}

SUITE_RECORD_FILE(N_RECORDS, LONGEST)
