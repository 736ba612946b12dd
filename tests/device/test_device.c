/* SPDX-License-Identifier: MIT
 *
 * test_device.c: what every device must do, on every device of this machine. */
#include <sched.h>

#include "base/clock.h"
#include "device/device_plugin.h"
#include "device/device_table.h"
#include "fixtures/unit.h"

/* Slow enough that a missing wait shows. */
#define SLOW_SIM "sim:{copy_bytes_per_s: 2e8, pageable_bytes_per_s: 2e8, copy_latency_ns: 1000}"
enum { N_BYTES = 1 << 20, MAX_DEVICES = 32 };

static leat_device_info devices[MAX_DEVICES + 1];
static size_t n_devices;

static void fill(uint8_t *bytes, size_t n, uint8_t seed)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

/* What a test of one device works on. */
typedef struct {
    leat_device *device;
    const leat_device_table *table;
    leat_stream *stream[2];
    leat_event *event;
    uint8_t *from, *to; /* pinned */
    void *there;        /* device memory */
} bench;

static void bench_open(bench *b, const char *name)
{
    leat_error err = { 0 };
    if (leat_device_open(name, &b->device, &err))
        fail_msg("%s: %s", name, err.message);
    b->table = b->device->table;
    for (int i = 0; i < 2; i++)
        assert_int_equal(b->table->stream_open(b->device, &b->stream[i], &err), LEAT_OK);
    assert_int_equal(b->table->event_open(b->device, &b->event, &err), LEAT_OK);
    b->from = b->table->pinned_alloc(b->device, N_BYTES);
    b->to = b->table->pinned_alloc(b->device, N_BYTES);
    b->there = b->table->device_alloc(b->device, N_BYTES);
    assert_non_null(b->from);
    assert_non_null(b->to);
    assert_int_equal((uintptr_t)b->there % 256, 0);
    fill(b->from, N_BYTES, 1);
    memset(b->to, 0, N_BYTES);
}

static void bench_close(bench *b)
{
    for (int i = 0; i < 2; i++)
        b->table->stream_close(b->stream[i]);
    b->table->event_close(b->event);
    b->table->pinned_free(b->device, b->from);
    b->table->pinned_free(b->device, b->to);
    b->table->device_free(b->device, b->there);
    leat_device_close(&b->device);
    assert_null(b->device);
}

static void on_each(void (*test)(bench *))
{
    for (size_t i = 0; i < n_devices; i++) {
        bench b;
        if (!devices[i].available)
            continue;
        bench_open(&b, devices[i].name);
        test(&b);
        bench_close(&b);
    }
}

static int list_devices(void **state)
{
    n_devices = leat_devices(devices, MAX_DEVICES);
    assert_in_range(n_devices, 3, MAX_DEVICES);
    snprintf(devices[n_devices].name, sizeof devices->name, "%.63s",
             "sim:{copy_bytes_per_s: 2e8, pageable_bytes_per_s: 2e8}");
    devices[n_devices++].available = 1;
    return 0;
}

/* --- names ----------------------------------------------------------------------------------- */

TEST(list_says_what_is_there)
{
    leat_device_info few[2];
    bool kinds[3] = { false, false, false };
    const size_t n = n_devices - 1; /* one was added by the set-up */
    assert_int_equal(leat_devices(NULL, 0), n);
    assert_int_equal(leat_devices(few, 2), n);
    assert_string_equal(few[1].name, devices[1].name);
    for (size_t i = 0; i < n; i++) {
        assert_true(devices[i].name[0] && devices[i].text[0]);
        assert_int_equal(!!strstr(devices[i].text, "simulated"), devices[i].simulated);
        kinds[0] |= !strcmp(devices[i].name, "cpu") && devices[i].available;
        kinds[1] |= !strcmp(devices[i].name, "sim") && devices[i].available;
        kinds[2] |= !strncmp(devices[i].name, "cuda:", 5);
    }
    assert_true(kinds[0] && kinds[1] && kinds[2]);
}

TEST(tables_are_complete)
{
    for (size_t i = 0; leat_device_tables()[i]; i++) {
        const leat_device_table *table = leat_device_tables()[i];
        assert_true(table->kind && table->help && table->open && table->list);
    }
    for (size_t i = 0; i < n_devices; i++) {
        leat_device *device;
        if (!devices[i].available)
            continue;
        assert_int_equal(leat_device_open(devices[i].name, &device, NULL), LEAT_OK);
        const leat_device_table *t = device->table;
        assert_true(t->close && t->device_alloc && t->device_free && t->pinned_alloc &&
                    t->pinned_free && t->stream_unwrap && t->stream_open && t->stream_close &&
                    t->stream_sync && t->event_open && t->event_close && t->event_record &&
                    t->stream_wait && t->event_query && t->event_sync && t->event_ns &&
                    t->copy_to_device && t->copy_to_host && t->copy_on_device);
        assert_string_equal(leat_device_get_info(device)->name, devices[i].name);
        assert_int_equal(leat_device_get_info(device)->available, 1);
        leat_device_close(&device);
    }
}

TEST(a_name_tells_a_gpu)
{
    for (size_t i = 0; leat_device_tables()[i]; i++) {
        const leat_device_table *const table = leat_device_tables()[i];
        char name[64];
        snprintf(name, sizeof name, "%s:1", table->kind);
        assert_int_equal(leat_device_is_gpu(table->kind), table->is_gpu);
        assert_int_equal(leat_device_is_gpu(name), table->is_gpu);
    }
    assert_int_equal(leat_device_is_gpu("cuda"), 1);
    assert_int_equal(leat_device_is_gpu("cuda:7"), 1);
    assert_int_equal(leat_device_is_gpu("sim:h200"), 0);
    assert_int_equal(leat_device_is_gpu("cudax"), 0);
    assert_int_equal(leat_device_is_gpu("cud"), 0);
    assert_int_equal(leat_device_is_gpu(""), 0);
}

TEST(options_can_be_listed)
{
    assert_non_null(leat_option_find(leat_device_options("sim"), "peak_flops"));
    assert_null(leat_device_options("cpu"));
    assert_null(leat_device_options("gpu"));
}

TEST(bad_names_say_why)
{
    static char long_name[300];
    static const struct {
        const char *name;
        int code;
        const char *says;
    } bad[] = {
        { "", LEAT_E_CONFIG, "cpu, sim, cuda" },
        { "gpu", LEAT_E_CONFIG, "devices are: cpu, sim, cuda" },
        { "cuda0", LEAT_E_CONFIG, "did you mean 'cuda'?" },
        { "smi:h200", LEAT_E_CONFIG, "did you mean 'sim'?" },
        { "cpu:1", LEAT_E_CONFIG, "has no options" },
        { "sim:h20", LEAT_E_CONFIG, "did you mean 'h200'?" },
        { "sim:h20", LEAT_E_CONFIG,
          "presets are: small, laptop, rtx4090, t4, l4, a100, h100, h200" },
        { "sim:{peak_flop: 1}", LEAT_E_CONFIG, "peak_flops" },
        { "sim:{peak_flops: fast}", LEAT_E_CONFIG, "peak_flops" },
        { "sim:{launch_ns: -1}", LEAT_E_CONFIG, "launch_ns" },
        { "sim:{copy_bytes_per_s: 0}", LEAT_E_CONFIG, "copy_bytes_per_s" },
        { "sim:{launch_ns: [1, 2]}", LEAT_E_CONFIG, "launch_ns" },
        { "sim:{launch_ns", LEAT_E_CONFIG, "sim:{launch_ns" },
        { "sim:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          LEAT_E_CONFIG, "too long" },
        { long_name, LEAT_E_CONFIG, "the name has 256 bytes, 255 at most" },
    };
    snprintf(long_name, sizeof long_name, "sim:{%s%*s}", "launch_ns: 1", 238, "");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        leat_device *device = (leat_device *)&device;
        leat_error err = { 0 };
        assert_int_equal(leat_device_open(bad[i].name, &device, &err), bad[i].code);
        assert_null(device);
        assert_int_equal(err.code, bad[i].code);
        if (!strstr(err.message, bad[i].says))
            fail_msg("'%s': message '%s' lacks '%s'", bad[i].name, err.message, bad[i].says);
        assert_int_equal(leat_device_open(bad[i].name, &device, NULL), bad[i].code);
    }
    leat_device *device = NULL;
    assert_int_equal(leat_device_open(NULL, &device, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_device_open("cpu", NULL, NULL), LEAT_E_ARGUMENT);
    leat_device_close(&device);
    leat_device_close(NULL);
}

/* Devices are told apart by their names. */
TEST(a_name_is_whole_and_a_device_has_one)
{
    static const char *const names[][2] = { { SLOW_SIM, SLOW_SIM }, { "cpu", "cpu" },
                                            { "cpu:", "cpu" },      { "sim", "sim" },
                                            { "sim:", "sim" },      { "sim:small", "sim" },
                                            { "sim:t4", "sim:t4" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        leat_device *device;
        assert_int_equal(leat_device_open(names[i][0], &device, NULL), LEAT_OK);
        assert_string_equal(leat_device_get_info(device)->name, names[i][1]);
        leat_device_close(&device);
    }
}

/* LEAT_CUDA_PLUGIN names a file that is none (set in main, before anything opened it). */
TEST(cuda_without_plugin_says_so)
{
    leat_device *device;
    leat_error err = { 0 };
    assert_int_equal(leat_device_open("cuda:0", &device, &err), LEAT_E_UNSUPPORTED);
    assert_null(device);
    assert_non_null(strstr(err.message, "cuda:0"));
    assert_non_null(strstr(err.message, "no-such-folder/" LEAT_CUDA_PLUGIN));
    for (size_t i = 0; i < n_devices; i++)
        if (!strncmp(devices[i].name, "cuda:", 5)) {
            assert_int_equal(devices[i].available, 0);
            assert_non_null(strstr(devices[i].text, LEAT_CUDA_PLUGIN));
        }
}

/* --- streams, events, copies --------------------------------------------------------------- */

static void check_order(bench *b)
{
    assert_int_equal(b->table->copy_to_device(b->stream[0], b->there, b->from, N_BYTES, true), 0);
    assert_int_equal(b->table->copy_to_host(b->stream[0], b->to, b->there, N_BYTES), 0);
    assert_int_equal(b->table->stream_sync(b->stream[0], NULL), LEAT_OK);
    assert_memory_equal(b->from, b->to, N_BYTES);
}

TEST(a_stream_keeps_order)
{
    on_each(check_order);
}

static void check_wait(bench *b)
{
    assert_int_equal(b->table->copy_to_device(b->stream[0], b->there, b->from, N_BYTES, true), 0);
    assert_int_equal(b->table->event_record(b->event, b->stream[0]), 0);
    assert_int_equal(b->table->stream_wait(b->stream[1], b->event), 0);
    assert_int_equal(b->table->copy_to_host(b->stream[1], b->to, b->there, N_BYTES), 0);
    assert_int_equal(b->table->stream_sync(b->stream[1], NULL), LEAT_OK);
    assert_memory_equal(b->from, b->to, N_BYTES);
}

TEST(a_stream_waits_for_another)
{
    on_each(check_wait);
}

static void check_unrecorded(bench *b)
{
    assert_int_equal(b->table->event_query(b->event), LEAT_OK);
    assert_int_equal(b->table->event_sync(b->event), LEAT_OK);
    assert_int_equal(b->table->stream_wait(b->stream[0], b->event), LEAT_OK);
    assert_int_equal(b->table->stream_sync(b->stream[0], NULL), LEAT_OK);
}

TEST(an_event_never_recorded_is_done)
{
    on_each(check_unrecorded);
}

static void check_query(bench *b)
{
    const int64_t before_ns = leat_clock_ns();
    int rc;
    assert_int_equal(b->table->copy_to_device(b->stream[0], b->there, b->from, N_BYTES, true), 0);
    assert_int_equal(b->table->event_record(b->event, b->stream[0]), 0);
    while ((rc = b->table->event_query(b->event)) == LEAT_E_AGAIN)
        ;
    assert_int_equal(rc, LEAT_OK);
    /* Done means that the bytes are there and the source is free. */
    fill(b->from, N_BYTES, 2);
    assert_in_range(b->table->event_ns(b->event), before_ns, leat_clock_ns());
    assert_int_equal(b->table->copy_to_host(b->stream[0], b->to, b->there, N_BYTES), 0);
    assert_int_equal(b->table->event_record(b->event, b->stream[0]), 0);
    assert_int_equal(b->table->event_sync(b->event), LEAT_OK);
    assert_int_equal(b->table->event_query(b->event), LEAT_OK);
    fill(b->from, N_BYTES, 1);
    assert_memory_equal(b->from, b->to, N_BYTES);
}

TEST(an_event_is_done_when_its_work_is)
{
    on_each(check_query);
}

/* As in check_wait(), with a stream that is wrapped. What has no native streams takes none. */
static void check_wrapped(bench *b)
{
    leat_stream *wrapped, *none;
    leat_error err;
    assert_int_equal(leat_stream_wrap(b->device, b, &none, &err), LEAT_E_ARGUMENT);
    assert_null(none);
    assert_non_null(strstr(err.message, "no native streams"));
    assert_int_equal(leat_stream_wrap(b->device, NULL, &wrapped, &err), LEAT_OK);
    assert_int_equal(b->table->copy_to_device(b->stream[0], b->there, b->from, N_BYTES, true), 0);
    assert_int_equal(b->table->event_record(b->event, b->stream[0]), 0);
    assert_int_equal(b->table->stream_wait(wrapped, b->event), 0);
    assert_int_equal(b->table->copy_to_host(wrapped, b->to, b->there, N_BYTES), 0);
    assert_int_equal(b->table->event_record(b->event, wrapped), 0);
    leat_stream_unwrap(&wrapped);
    assert_null(wrapped);
    leat_stream_unwrap(&wrapped);
    assert_int_equal(b->table->event_sync(b->event), LEAT_OK);
    assert_memory_equal(b->from, b->to, N_BYTES);
}

TEST(a_stream_of_others_can_be_wrapped)
{
    on_each(check_wrapped);
}

/* One stream follows another: it waits for its work so far. */
static void check_follow(bench *b)
{
    assert_int_equal(b->table->copy_to_device(b->stream[0], b->there, b->from, N_BYTES, true), 0);
    assert_int_equal(leat_stream_follow(b->stream[1], b->stream[0]), LEAT_OK);
    assert_int_equal(b->table->copy_to_host(b->stream[1], b->to, b->there, N_BYTES), 0);
    assert_int_equal(b->table->stream_sync(b->stream[1], NULL), LEAT_OK);
    assert_memory_equal(b->from, b->to, N_BYTES);
    assert_int_equal(leat_stream_follow(b->stream[1], NULL), LEAT_E_ARGUMENT);
}

TEST(a_stream_follows_another)
{
    on_each(check_follow);
}

static void check_pageable(bench *b)
{
    uint8_t *from = malloc(N_BYTES);
    assert_non_null(from);
    memcpy(from, b->from, N_BYTES);
    assert_int_equal(b->table->copy_to_device(b->stream[0], b->there, from, N_BYTES, false), 0);
    memset(from, 0, N_BYTES); /* staged: the caller has it back */
    free(from);
    assert_int_equal(b->table->copy_to_host(b->stream[0], b->to, b->there, N_BYTES), 0);
    assert_int_equal(b->table->stream_sync(b->stream[0], NULL), LEAT_OK);
    assert_memory_equal(b->from, b->to, N_BYTES);
}

TEST(pageable_memory_is_free_on_return)
{
    on_each(check_pageable);
}

static void check_close(bench *b)
{
    leat_stream *stream;
    assert_int_equal(b->table->stream_open(b->device, &stream, NULL), LEAT_OK);
    assert_int_equal(b->table->copy_to_device(stream, b->there, b->from, N_BYTES, true), 0);
    assert_int_equal(b->table->copy_to_host(stream, b->to, b->there, N_BYTES), 0);
    b->table->stream_close(stream);
    assert_memory_equal(b->from, b->to, N_BYTES);
}

TEST(closing_a_stream_waits_for_its_work)
{
    on_each(check_close);
}

static void check_memory(bench *b)
{
    assert_null(b->table->device_alloc(b->device, SIZE_MAX));
    assert_null(b->table->pinned_alloc(b->device, SIZE_MAX - 255));
    void *none = b->table->device_alloc(b->device, 0);
    b->table->device_free(b->device, none);
    b->table->pinned_free(b->device, NULL);
}

TEST(memory_can_run_out)
{
    on_each(check_memory);
}

TEST(work_takes_its_time)
{
    bench b;
    bench_open(&b, SLOW_SIM);
    const int64_t from = leat_clock_ns();
    assert_int_equal(b.table->copy_to_device(b.stream[0], b.there, b.from, N_BYTES, true), 0);
    assert_int_equal(b.table->event_record(b.event, b.stream[0]), 0);
    while (b.table->event_query(b.event) == LEAT_E_AGAIN)
        sched_yield();
    assert_true(leat_clock_ns() - from >= N_BYTES * 5); /* 2e8 bytes/s */
    bench_close(&b);
}

SUITE_FIXTURE(list_devices, NULL)

int main(void)
{
    setenv("LEAT_CUDA_PLUGIN", "/no-such-folder/" LEAT_CUDA_PLUGIN, 1);
    return unit_run();
}
