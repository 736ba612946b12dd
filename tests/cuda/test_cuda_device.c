/* SPDX-License-Identifier: MIT
 *
 * The CUDA plugin's device table over a fake GPU: messages, order of streams and events, times,
 * and what happens when any one call fails. No GPU is needed, and none is used. */
#include "base/clock.h"
#include "device/device_table.h"
#include "fixtures/cuda_fixture.h"

FAKE_GPU

TEST(names_and_reasons)
{
    static const struct {
        const char *name;
        int gpus, driver, rc;
        const char *says;
    } cases[] = {
        { "cuda", 1, 13000, LEAT_OK, "" },
        { "cuda:0", 1, 13000, LEAT_OK, "" },
        { "cuda:1", 1, 13000, LEAT_E_UNSUPPORTED, "has 1 GPU, the last is cuda:0" },
        { "cuda:x", 1, 13000, LEAT_E_CONFIG, "takes a number" },
        { "cuda:-1", 1, 13000, LEAT_E_CONFIG, "takes a number" },
        { "cuda:0", 0, 13000, LEAT_E_UNSUPPORTED, "sees no GPU" },
        { "cuda:0", 1, 0, LEAT_E_UNSUPPORTED, "no NVIDIA driver is installed" },
        { "cuda:0", 1, 12040, LEAT_E_UNSUPPORTED, "supports CUDA 12.4, this plugin needs 13.0" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_device *device;
        leat_error err = { 0 };
        fake->reset(i);
        fake->set_gpus(cases[i].gpus);
        fake->set_driver(cases[i].driver);
        assert_int_equal(leat_device_open(cases[i].name, &device, &err), cases[i].rc);
        if (cases[i].rc < 0 && !strstr(err.message, cases[i].says))
            fail_msg("case %zu: %s", i, err.message);
        leat_device_close(&device);
        check_fake(fake);
    }
    fake->reset(0);
}

TEST(lists_what_is_there)
{
    leat_device_info infos[64];
    const size_t n = leat_devices(infos, 64);
    int found = 0;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(infos[i].name, "cuda:0")) {
            found++;
            assert_true(infos[i].available);
            assert_false(infos[i].simulated);
            assert_non_null(strstr(infos[i].text, "compute capability 9.0"));
        }
    char text[64];
    assert_string_equal(leat_device_libraries("cuda", text, sizeof text), "plain C");
    assert_string_equal(leat_device_libraries("cpu", text, sizeof text), "");
    assert_string_equal(leat_device_libraries("none", text, sizeof text), "");
    assert_int_equal(found, 1);
}

/* As src/cuda/gpu.h has it, which needs CUDA's headers: the native stream follows. */
typedef struct gpu_stream {
    leat_stream base;
    void *cuda;
} gpu_stream;

/* Two streams: copies in, an event, copies back; and a call of the host behind all. */
typedef struct pair {
    leat_device *device;
    leat_stream *in, *out;
    leat_event *there;
    uint8_t *pinned, *back, *memory, *second;
} pair;
enum { BYTES = 1000 };

static int open_pair(pair *p, leat_error *err)
{
    const leat_device_table *t;
    memset(p, 0, sizeof *p);
    int rc = leat_device_open("cuda:0", &p->device, err);
    if (rc < 0)
        return rc;
    t = p->device->table;
    if ((rc = t->stream_open(p->device, &p->in, err)) < 0 ||
        (rc = t->stream_open(p->device, &p->out, err)) < 0 ||
        (rc = t->event_open(p->device, &p->there, err)) < 0)
        return rc;
    p->pinned = t->pinned_alloc(p->device, BYTES);
    p->back = t->pinned_alloc(p->device, BYTES);
    p->memory = t->device_alloc(p->device, BYTES);
    p->second = t->device_alloc(p->device, BYTES);
    return p->pinned && p->back && p->memory && p->second ? LEAT_OK : LEAT_E_NOMEM;
}

static void close_pair(pair *p)
{
    if (!p->device)
        return;
    const leat_device_table *const t = p->device->table;
    if (p->in)
        t->stream_close(p->in);
    if (p->out)
        t->stream_close(p->out);
    if (p->there)
        t->event_close(p->there);
    t->pinned_free(p->device, p->pinned);
    t->pinned_free(p->device, p->back);
    t->device_free(p->device, p->memory);
    t->device_free(p->device, p->second);
    leat_device_close(&p->device);
}

static int round_trip(pair *p, uint8_t value)
{
    const leat_device_table *const t = p->device->table;
    int rc;
    memset(p->pinned, value, BYTES);
    memset(p->back, ~value, BYTES);
    leat_stream *wrapped;
    if ((rc = t->copy_to_device(p->in, p->memory, p->pinned, BYTES, true)) < 0 ||
        (rc = t->event_record(p->there, p->in)) < 0 ||
        (rc = leat_stream_wrap(p->device, ((const gpu_stream *)p->out)->cuda, &wrapped, NULL)) < 0)
        return rc;
    rc = t->stream_wait(wrapped, p->there);
    leat_stream_unwrap(&wrapped);
    if (rc < 0 || (rc = t->copy_on_device(p->out, p->second, p->memory, BYTES)) < 0 ||
        (rc = t->copy_to_host(p->out, p->back, p->second, BYTES)) < 0)
        return rc;
    return t->stream_sync(p->out, NULL);
}

TEST(streams_keep_their_order)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        pair p;
        leat_error err;
        fake->reset(seed);
        check(open_pair(&p, &err), &err);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(round_trip(&p, (uint8_t)(seed * 8 + (uint64_t)i)), LEAT_OK);
            assert_memory_equal(p.pinned, p.back, BYTES);
        }
        close_pair(&p);
        check_fake(fake);
    }
}

TEST(events_tell_the_time)
{
    leat_device *const device = open_gpu();
    const leat_device_table *const t = device->table;
    leat_stream *stream;
    leat_event *event, *never;
    leat_error err;
    int64_t last = leat_clock_ns();
    fake->reset(3);
    check(t->stream_open(device, &stream, &err), &err);
    check(t->event_open(device, &event, &err), &err);
    check(t->event_open(device, &never, &err), &err);
    assert_int_equal(t->event_query(never), LEAT_OK);
    assert_int_equal(t->event_ns(never), 0);
    for (int i = 0; i < 100; i++) {
        fake->pause(1);
        assert_int_equal(t->event_record(event, stream), LEAT_OK);
        assert_int_equal(t->event_query(event), LEAT_E_AGAIN);
        fake->pause(0);
        assert_int_equal(t->event_sync(event), LEAT_OK);
        const int64_t ns = t->event_ns(event), now = leat_clock_ns();
        /* An anchor is as good as its narrowest try; under load that is not narrow. */
        assert_in_range(ns, last - 100000000, now + 100000000);
        last = ns;
    }
    t->event_close(event);
    t->event_close(never);
    t->stream_close(stream);
    leat_device_close((leat_device **)&device);
    check_fake(fake);
}

TEST(no_memory_says_how_much)
{
    leat_device *device = open_gpu();
    const leat_device_table *const t = device->table;
    size_t n_free, total;
    char why[256];
    fake->set_memory(1 << 20);
    assert_null(t->device_alloc(device, 2 << 20));
    t->explain(device, why, sizeof why);
    assert_non_null(strstr(why, "2097152 bytes"));
    assert_non_null(strstr(why, "out of memory"));
    assert_int_equal(t->memory_info(device, &n_free, &total), LEAT_OK);
    assert_int_equal(total, 1 << 20);
    void *const half = t->device_alloc(device, 1 << 19);
    assert_non_null(half);
    assert_int_equal(t->memory_info(device, &n_free, &total), LEAT_OK);
    assert_int_equal(n_free, 1 << 19);
    t->device_free(device, half);
    leat_device_close(&device);
    fake->reset(0);
    check_fake(fake);
}

/* Every call fails once, in every way: an error that says something, and nothing left behind. */
TEST(any_call_may_fail)
{
    static const int codes[] = { 1 /* invalid value */, 2 /* memory */, 719 /* launch failure */ };
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
        bool failed = true;
        for (int64_t n = 0; failed; n++) {
            pair p;
            leat_error err = { 0 };
            int rc;
            fake->reset((uint64_t)n);
            fake->fail_at(n, codes[c]);
            rc = open_pair(&p, &err);
            if (rc == LEAT_OK)
                rc = round_trip(&p, 7);
            failed = rc < 0;
            if (failed && p.device) {
                char why[256];
                p.device->table->explain(p.device, why, sizeof why);
                assert_true(why[0] != 0);
            } else if (failed) {
                assert_true(err.message[0] != 0);
            }
            close_pair(&p);
            fake->fail_at(-1, 0);
            check_fake(fake);
            assert_in_range(n, 0, 1000);
        }
    }
    fake->reset(0);
}

TEST(a_lost_device_hangs_nobody)
{
    pair p;
    leat_error err;
    char why[256];
    check(open_pair(&p, &err), &err);
    const leat_device_table *const t = p.device->table;
    fake->pause(1);
    assert_int_equal(t->copy_to_device(p.in, p.memory, p.pinned, BYTES, true), LEAT_OK);
    fake->lose();
    assert_int_equal(t->stream_sync(p.in, &err), LEAT_E_DEVICE);
    assert_non_null(strstr(err.message, "end it and start again"));
    assert_int_equal(t->event_sync(p.there), LEAT_E_DEVICE);
    assert_int_equal(round_trip(&p, 1), LEAT_E_DEVICE);
    t->explain(p.device, why, sizeof why);
    assert_non_null(strstr(why, "cudaErrorIllegalAddress"));
    close_pair(&p);
    fake->reset(0);
}

TEST(planted_work_runs)
{
    pair p;
    leat_error err;
    fake->reset(1);
    check(open_pair(&p, &err), &err);
    const leat_device_table *const t = p.device->table;
    memset(p.pinned, 0, BYTES);
    assert_int_equal(t->copy_to_device(p.in, p.memory, p.pinned, BYTES, true), LEAT_OK);
    assert_int_equal(t->synthetic_work(p.in, 1000, 5, p.memory, BYTES), LEAT_OK);
    assert_int_equal(t->copy_to_host(p.in, p.back, p.memory, BYTES), LEAT_OK);
    assert_int_equal(t->stream_sync(p.in, &err), LEAT_OK);
    for (size_t i = 0; i < BYTES / 4; i++)
        assert_int_equal(((uint32_t *)(void *)p.back)[i], 5);
    assert_int_equal(fake->kernels(), 5);
    close_pair(&p);
    check_fake(fake);
}

/* Products and sums for experiments, through the library of training and a kernel of ours. */
TEST(measured_work_computes)
{
    enum { N = 16, ROWS = 8, FLOATS = N * N };
    pair p;
    leat_error err;
    fake->reset(1);
    check(open_pair(&p, &err), &err);
    const leat_device_table *const t = p.device->table;
    float *const host = t->pinned_alloc(p.device, 2 * FLOATS * sizeof(float));
    float *const back = t->pinned_alloc(p.device, FLOATS * sizeof(float));
    float *const a = t->device_alloc(p.device, 3 * FLOATS * sizeof(float));
    assert_true(host && back && a);
    float *const b = a + FLOATS, *const c = b + FLOATS;
    for (int i = 0; i < 2 * FLOATS; i++)
        host[i] = (float)(i % 13 - 6);
    assert_int_equal(t->copy_to_device(p.in, a, host, 2 * FLOATS * sizeof(float), true), LEAT_OK);
    assert_int_equal(t->matmul(p.in, LEAT_PRECISION_FP32, a, b, c, ROWS, N), LEAT_OK);
    assert_int_equal(t->matmul(p.in, LEAT_PRECISION_FP32, a, b, c, N, N),
                     LEAT_OK); /* another plan */
    assert_int_equal(t->matmul(p.in, LEAT_PRECISION_FP32, a, b, c, ROWS, N), LEAT_OK);
    assert_int_equal(t->matmul(p.in, LEAT_PRECISION_FP32, a + 1, b, c, ROWS, N),
                     LEAT_E_UNSUPPORTED); /* no multiple of 64 */
    assert_int_equal(t->copy_to_host(p.in, back, c, FLOATS * sizeof(float)), LEAT_OK);
    assert_int_equal(t->stream_sync(p.in, &err), LEAT_OK);
    for (int i = 0; i < FLOATS; i++) {
        float sum = 0;
        for (int k = 0; k < N; k++)
            sum += host[i / N * N + k] * host[FLOATS + k * N + i % N];
        assert_true(back[i] == sum); /* whole numbers */
    }
    assert_int_equal(t->add(p.in, a, b, c, FLOATS), LEAT_OK);
    assert_int_equal(t->copy_to_host(p.in, back, c, FLOATS * sizeof(float)), LEAT_OK);
    assert_int_equal(t->stream_sync(p.in, &err), LEAT_OK);
    for (int i = 0; i < FLOATS; i++)
        assert_true(back[i] == host[i] + host[FLOATS + i]);
    t->pinned_free(p.device, host);
    t->pinned_free(p.device, back);
    t->device_free(p.device, a);
    close_pair(&p);
    check_fake(fake);
}

/* Without a driver, or without the library: a reason that names what is missing, and no record. */
TEST(records_need_cupti)
{
    leat_device *device = open_gpu();
    const leat_device_table *const t = device->table;
    leat_device_record record;
    leat_error err = { 0 };
    int percent;
    assert_int_equal(t->record_stop(device, &record, &err), LEAT_E_ARGUMENT);
    setenv("LEAT_CUPTI", "/nowhere/libcupti.so", 1);
    assert_int_equal(t->record_start(device, &err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "/nowhere/libcupti.so"));
    unsetenv("LEAT_CUPTI");
    if (t->record_start(device, &err) < 0) /* CUPTI is there and has no driver, or is not */
        assert_true(strstr(err.message, "CUPTI") || strstr(err.message, "cupti"));
    else
        assert_int_equal(t->record_stop(device, &record, &err), LEAT_OK);
    if (t->utilisation(device, &percent, &err) < 0)
        assert_true(strstr(err.message, "libnvidia-ml.so.1") || strstr(err.message, "NVML"));
    leat_device_close(&device);
    check_fake(fake);
}
