/* SPDX-License-Identifier: MIT
 *
 * test_trace.c: a trace is well-formed JSON with a row per thread whose spans nest; it names only what
 * there is, is bounded, and can be written while the loader runs. */
#include "fixtures/array_files.h"
#include "fixtures/engine_fixture.h"

#include <jansson.h>
#include <pthread.h>

#include "base/trace.h"

#define N_RECORDS 600
#define BATCH     32

static int make_files(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    write_records(in_folder("all.tfrecord"), 0, N_RECORDS, 200);
    return 0;
}

static leat_plan *plan_of(const char *engine)
{
    return plan_format("source:\n  tfrecord: {files: '%s/*.tfrecord', features: {x: {}, id: {}}}\n"
                       "engine: %s\n"
                       "pipeline:\n  - shuffle\n  - map: {tensor: x, ops: [{scale: {factor: 2}}]}\n"
                       "  - batch: %d\n  - prefetch: 2\n",
                       test_folder, engine, BATCH);
}

/* Takes n batches; tells the trace of a step on each. */
static void take(leat_loader *loader, int n)
{
    leat_error err;
    for (int i = 0; i < n; i++) {
        leat_batch *batch;
        check(leat_loader_next(loader, &batch, &err), &err);
        const leat_batch_info info = *leat_batch_get_info(batch);
        leat_batch_release(batch);
        leat_loader_trace_step(loader, info.number, info.got_ns, info.got_ns + 50);
    }
}

static json_t *write_and_load(leat_loader *loader)
{
    leat_error err;
    json_error_t bad;
    const char *const path = in_folder("trace.json");
    check(leat_loader_trace_write(loader, path, &err), &err);
    json_t *json = json_load_file(path, 0, &bad);
    if (!json)
        fail_msg("line %d: %s", bad.line, bad.text);
    unlink(path);
    return json;
}

/* --- what a trace must be ---------------------------------------------------------------------- */

enum { ROWS_MAX = 40, DEEP = 16 };

typedef struct row {
    char name[64];
    double open[DEEP]; /* ends of the spans around the current one */
    int depth, n;
    double last;
} row;

static bool is_known(const char *name, const leat_loader_stats_info *stats)
{
    static const char *const engine[] = {
        "next",       "rows",      "sleep", "wait for reads", "start reads",
        "start copy", "batch ops", "read",  "copy",           "step"
    };
    for (size_t i = 0; i < sizeof engine / sizeof *engine; i++)
        if (!strcmp(name, engine[i]))
            return true;
    for (int32_t i = 0; i < stats->n_stages; i++)
        if (!strcmp(name, stats->stages[i].name))
            return true;
    return false;
}

static double number(const json_t *event, const char *key)
{
    const json_t *const value = json_object_get(event, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Spans of a row come by their start, and each lies within those around it. */
static void check_nests(row *r, const json_t *event)
{
    const double start = number(event, "ts"), end = start + number(event, "dur");
    const double slack = 0.0015; /* three decimals of a microsecond, twice rounded */
    assert_true(start >= r->last - slack);
    r->last = start;
    while (r->depth && r->open[r->depth - 1] <= start + slack)
        r->depth--;
    if (r->depth && end > r->open[r->depth - 1] + slack)
        fail_msg("row %s: a span ends at %.3f, the one around it at %.3f", r->name, end,
                 r->open[r->depth - 1]);
    assert_true(r->depth < DEEP);
    r->open[r->depth++] = end;
    r->n++;
}

/* Checks everything; counts events of a name. rows: as in the file. */
static int check_trace(json_t *json, const leat_loader_stats_info *stats, row rows[ROWS_MAX],
                       const char *counted)
{
    size_t i;
    json_t *event;
    int n_counted = 0, n_rows = 0, n_open = 0;
    double depth = 0;
    memset(rows, 0, ROWS_MAX * sizeof *rows);
    json_array_foreach(json_object_get(json, "traceEvents"), i, event)
    {
        const char *const phase = json_string_value(json_object_get(event, "ph"));
        const char *const name = json_string_value(json_object_get(event, "name"));
        const json_t *const args = json_object_get(event, "args");
        const int tid = (int)number(event, "tid");
        assert_true(tid >= 0 && tid < ROWS_MAX);
        if (*phase == 'M') {
            if (!strcmp(name, "thread_name")) {
                assert_string_equal(rows[tid].name, "");
                snprintf(rows[tid].name, sizeof rows[tid].name, "%s",
                         json_string_value(json_object_get(args, "name")));
                n_rows++;
            }
            continue;
        }
        n_counted += *phase != 'e' && !strcmp(name, counted);
        if (*phase == 'C') {
            depth = number(args, "tasks");
            assert_true(depth >= 0);
            continue;
        }
        if (!is_known(name, stats))
            fail_msg("an event is named '%s'", name);
        if (*phase == 'b' || *phase == 'e') {
            n_open += *phase == 'b' ? 1 : -1;
            assert_true(json_is_integer(json_object_get(event, "id")));
        } else {
            assert_string_equal(phase, "X");
            check_nests(&rows[tid], event);
        }
        if (json_object_get(args, "record"))
            assert_in_range(json_integer_value(json_object_get(args, "record")), 0, N_RECORDS - 1);
    }
    assert_int_equal(n_open, 0);
    assert_true(depth == 0);
    assert_true(n_rows >= 2);
    return n_counted;
}

static const row *find_row(const row rows[ROWS_MAX], const char *name)
{
    for (int i = 0; i < ROWS_MAX; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* --- tests ---------------------------------------------------------------------------------------- */

TEST(a_row_per_thread_and_spans_nest)
{
    static const char *const readers[] = { "pread", "auto, read_bytes: 4 MiB" };
    for (size_t k = 0; k < sizeof readers / sizeof *readers; k++)
        for (int threads = 0; threads <= 3; threads++) {
            char engine[100], name[32];
            row rows[ROWS_MAX];
            leat_loader_stats_info stats;
            snprintf(engine, sizeof engine, "{threads: %d, reader: %s, run: 4, spans: 65536}",
                     threads, readers[k]);
            leat_plan *plan = plan_of(engine);
            const leat_loader_options options = { .epochs = -1 };
            leat_loader *loader = open_loader(plan, &options);
            take(loader, 40);
            leat_loader_stats(loader, &stats);
            json_t *json = write_and_load(loader);
            assert_int_equal(check_trace(json, &stats, rows, "step"), 40);
            assert_int_equal(check_trace(json, &stats, rows, "next"), 40);
            /* all rows of the batches handed out, some of them worked on by the consumer */
            assert_true(check_trace(json, &stats, rows, "rows") >= (int)stats.samples / 4);
            assert_int_equal(find_row(rows, "consumer")->n >= 40, 1);
            for (int i = 0; i < threads; i++) {
                snprintf(name, sizeof name, "worker %d", i);
                assert_non_null(find_row(rows, name));
            }
            snprintf(name, sizeof name, "worker %d", threads);
            assert_null(find_row(rows, name));
            const bool ring = !strcmp(stats.reader, "io_uring");
            assert_int_equal(find_row(rows, "reader") != NULL, ring);
            assert_int_equal(check_trace(json, &stats, rows, "read") > 0, 1);
            assert_int_equal(json_integer_value(
                                 json_object_get(json_object_get(json, "otherData"), "spans_lost")),
                             0);
            json_decref(json);
            close_loader_and_plan(&loader, &plan);
        }
}

/* Spans name records, not samples: check_trace() refuses a number that no record has. */
TEST(after_unbatch_spans_name_records)
{
    static float values[N_RECORDS][3][20];
    const array_of array = { "x", "<f4", ", 3, 20", N_RECORDS, sizeof values[0], values };
    static const char *const readers[] = { "pread", "auto, read_bytes: 1 MiB" };
    put_npy("x.npy", &array);
    for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
        row rows[ROWS_MAX];
        leat_loader_stats_info stats;
        leat_plan *plan = plan_format("source: {npy: {files: '%s', name: x}}\n"
                                      "engine: {threads: 2, reader: %s, run: 4, spans: 65536}\n"
                                      "pipeline: [unbatch, {batch: %d}, {prefetch: 2}]\n",
                                      in_folder("x.npy"), readers[k], BATCH);
        leat_loader *loader = open_loader(plan, NULL);
        take(loader, 3 * N_RECORDS / BATCH);
        leat_loader_stats(loader, &stats);
        json_t *json = write_and_load(loader);
        assert_true(check_trace(json, &stats, rows, "rows") > 0);
        assert_true(check_trace(json, &stats, rows, "read") > 0);
        json_decref(json);
        close_loader_and_plan(&loader, &plan);
    }
}

TEST(copies_have_a_row)
{
    leat_device *device;
    leat_error err;
    row rows[ROWS_MAX];
    leat_loader_stats_info stats;
    check(leat_device_open("sim", &device, &err), &err);
    leat_plan *plan = plan_of("{threads: 1, spans: 65536, read_bytes: 4 MiB}");
    const leat_loader_options options = { .device = device, .epochs = -1 };
    leat_loader *loader = open_loader(plan, &options);
    take(loader, 100);
    int n_copies = 0;
    for (int i = 0; i < 2000 && n_copies < 102;
         i++) { /* those ready ahead, too, come a little later */
        pause_ns(10000000);
        leat_loader_stats(loader, &stats);
        json_t *json = write_and_load(loader);
        n_copies = check_trace(json, &stats, rows, "copy");
        if (n_copies == 102) {
            assert_int_equal(find_row(rows, "copy engine")->n, n_copies);
            assert_int_equal(check_trace(json, &stats, rows, "start copy"), n_copies);
        }
        json_decref(json);
    }
    assert_int_equal(n_copies, 102);
    close_loader_and_plan(&loader, &plan);
    leat_device_close(&device);
}

TEST(old_spans_are_forgotten_and_counted)
{
    row rows[ROWS_MAX];
    leat_loader_stats_info stats;
    leat_plan *plan = plan_of("{threads: 0, spans: 64, reader: pread}");
    const leat_loader_options options = { .epochs = -1 };
    leat_loader *loader = open_loader(plan, &options);
    take(loader, 300);
    leat_loader_stats(loader, &stats);
    json_t *json = write_and_load(loader);
    assert_in_range(check_trace(json, &stats, rows, "step"), 63, 64);
    assert_true(json_integer_value(
                    json_object_get(json_object_get(json, "otherData"), "spans_lost")) >= 236);
    /* Nothing ran while it was written, so each span that was counted is in the file or was lost. */
    json_int_t n =
        json_integer_value(json_object_get(json_object_get(json, "otherData"), "spans_lost"));
    for (int i = 0; i < ROWS_MAX; i++)
        n += rows[i].n;
    assert_int_equal(n, stats.spans);
    json_decref(json);
    close_loader_and_plan(&loader, &plan);
    plan = plan_of("{threads: 1, spans: 0}");
    loader = open_loader(plan, NULL);
    take(loader, 5);
    leat_loader_stats(loader, &stats);
    assert_int_equal(stats.spans, 0);
    json = write_and_load(loader);
    assert_int_equal(check_trace(json, &stats, rows, "step"), 0);
    json_decref(json);
    close_loader_and_plan(&loader, &plan);
}

static void *keep_taking(void *arg)
{
    take(arg, 600);
    return NULL;
}

TEST(written_while_it_runs)
{
    row rows[ROWS_MAX];
    leat_loader_stats_info stats;
    pthread_t consumer;
    leat_plan *plan = plan_of("{threads: 2, spans: 128, run: 2}");
    const leat_loader_options options = { .epochs = -1 };
    leat_loader *loader = open_loader(plan, &options);
    leat_loader_stats(loader, &stats);
    assert_int_equal(pthread_create(&consumer, NULL, keep_taking, loader), 0);
    for (int i = 0; i < 20; i++) {
        json_t *json = write_and_load(loader);
        check_trace(json, &stats, rows, "rows");
        json_decref(json);
    }
    pthread_join(consumer, NULL);
    close_loader_and_plan(&loader, &plan);
}

TEST(another_file_is_not_replaced)
{
    leat_error err;
    leat_plan *plan = plan_of("{threads: 1}");
    leat_loader *loader = open_loader(plan, NULL);
    const char *const path = in_folder("notes.txt");
    write_whole(path, "mine", 4);
    assert_int_equal(leat_loader_trace_write(loader, path, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "notes.txt: exists and is not a trace"));
    write_whole(path, "", 0);
    check(leat_loader_trace_write(loader, path, &err), &err);
    check(leat_loader_trace_write(loader, path, &err), &err);
    unlink(path);
    close_loader_and_plan(&loader, &plan);
}

TEST(a_folder_that_is_not_there)
{
    leat_error err;
    leat_plan *plan = plan_of("{threads: 1}");
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(leat_loader_trace_write(loader, "/nonexistent/trace.json", &err), LEAT_E_IO);
    assert_non_null(strstr(err.message, "/nonexistent/"));
    close_loader_and_plan(&loader, &plan);
}

/* --- the ring ------------------------------------------------------------------------------------- */

static leat_trace_span span_of(uint64_t i)
{
    return (leat_trace_span){ .start_ns = (int64_t)i,
                              .end_ns = (int64_t)(3 * i),
                              .batch = (int64_t)(5 * i),
                              .record = 7 * i,
                              .bytes = 11 * i,
                              .row = (uint32_t)(13 * i),
                              .n = (uint32_t)(17 * i),
                              .kind = (uint32_t)(i % 10) };
}

static void *keep_putting(void *arg)
{
    for (uint64_t i = 0; i < 200000; i++) {
        const leat_trace_span span = span_of(i);
        leat_trace_put(arg, &span);
    }
    return NULL;
}

/* What is copied while it is written is whole and without gaps. */
TEST(a_copy_of_a_ring_is_never_torn)
{
    leat_trace_ring ring = { 0 };
    leat_trace_span seen[16];
    pthread_t writer;
    uint64_t n_lost = 0, n = 0;
    check(leat_trace_ring_open(&ring, 13, NULL), NULL);
    assert_int_equal(leat_trace_ring_most(&ring), 16);
    assert_int_equal(pthread_create(&writer, NULL, keep_putting, &ring), 0);
    while (n_lost + n < 200000) {
        n = leat_trace_ring_copy(&ring, seen, 16, &n_lost);
        for (uint64_t i = 0; i < n; i++) {
            const leat_trace_span want = span_of(n_lost + i);
            assert_true(seen[i].start_ns == want.start_ns && seen[i].end_ns == want.end_ns &&
                        seen[i].batch == want.batch && seen[i].record == want.record &&
                        seen[i].bytes == want.bytes && seen[i].row == want.row &&
                        seen[i].n == want.n && seen[i].kind == want.kind);
        }
    }
    pthread_join(writer, NULL);
    leat_trace_ring_close(&ring);
}

/* Between any two looks, however close: sleep that began before and goes on behind counts in part. */
TEST(nobody_sleeps_for_longer_than_it_took)
{
    static const char *const engines[] = { "{threads: 3}", "{threads: 2, reader: pread}" };
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        leat_loader_stats_info last, now;
        leat_plan *plan = plan_of(engines[e]);
        const leat_loader_options options = { .epochs = -1 };
        leat_loader *loader = open_loader(plan, &options);
        leat_loader_stats(loader, &last);
        for (int i = 0; i < 200; i++) {
            if (i % 4 == 0)
                pause_ns(2000000); /* all is ready, and the workers sleep */
            else
                take(loader, 1);
            leat_loader_stats(loader, &now);
            assert_in_range(now.sleep_ns - last.sleep_ns, 0,
                            (now.wall_ns - last.wall_ns) * now.threads);
            assert_true(now.sleep_read_ns >= last.sleep_read_ns &&
                        now.sleep_order_ns >= last.sleep_order_ns);
            assert_true(now.sleep_read_ns + now.sleep_order_ns <= now.sleep_ns);
            assert_true(now.core_wait_ns >= last.core_wait_ns);
            last = now;
        }
        assert_true(now.sleep_ns > 0);
        close_loader_and_plan(&loader, &plan);
    }
}

SUITE_FIXTURE(make_files, remove_folder)
