/* SPDX-License-Identifier: MIT
 *
 * test_device_sim.c: the arithmetic of the simulated accelerator. Most tests put a long kernel in
 * front of what they look at: everything behind it is then computed from its end, to the ns. A test
 * that enqueued something after that end, as the machine had no time for it, runs again behind a longer kernel. */
#include "base/clock.h"
#include "device/device_sim.h"
#include "fixtures/unit.h"
#include "leat/rng.h"

enum { MS = 1000000, N_STREAMS = 3, TRIES = 7 };

/* 1 byte takes 1 ns to copy, 2 ns when pageable; 1 flop 1 ns; 1 byte of memory 0.1 ns. */
#define PLAIN                                                                                      \
    "sim:{peak_flops: 1e9, memory_bytes_per_s: 1e10, launch_ns: 1000, kernel_min_ns: 500, "        \
    "copy_bytes_per_s: 1e9, pageable_bytes_per_s: 5e8, copy_latency_ns: 7000}"

typedef struct {
    leat_device *device;
    const leat_device_table *table;
    leat_stream *stream[N_STREAMS];
    leat_event *event;
} bench;

static void bench_open(bench *b, const char *name)
{
    leat_error err = { 0 };
    if (leat_device_open(name, &b->device, &err))
        fail_msg("%s: %s", name, err.message);
    b->table = b->device->table;
    for (int i = 0; i < N_STREAMS; i++)
        assert_int_equal(b->table->stream_open(b->device, &b->stream[i], NULL), LEAT_OK);
    assert_int_equal(b->table->event_open(b->device, &b->event, NULL), LEAT_OK);
}

static void bench_close(bench *b)
{
    for (int i = 0; i < N_STREAMS; i++)
        b->table->stream_close(b->stream[i]);
    b->table->event_close(b->event);
    leat_device_close(&b->device);
}

/* --- behind a long kernel -------------------------------------------------------------------- */

static int64_t lead_ns, lead_end_ns; /* its length; its end, in the try that runs */
static bool is_late;

/* Runs a test until everything was enqueued before the long kernel ended. */
static void behind_lead(void (*test)(void))
{
    lead_ns = 60 * MS;
    for (int i = 0; i == 0 || is_late; i++) {
        assert_true(i < TRIES); /* 7 s for some calls */
        lead_ns *= 2;
        is_late = false;
        test();
    }
}

#define TEST_BEHIND_LEAD(name)                                                                     \
    static void name##_once(void);                                                                 \
    TEST(name)                                                                                     \
    {                                                                                              \
        behind_lead(name##_once);                                                                  \
    }                                                                                              \
    static void name##_once(void)

/* Whether all calls so far came before the end of the long kernel; else the test runs again. */
static bool in_time(void)
{
    is_late |= leat_clock_ns() >= lead_end_ns;
    return !is_late;
}

static void assert_ns(int64_t ns, int64_t want)
{
    if (in_time())
        assert_int_equal(ns, want);
}

/* End of the stream's work so far. On this device it is known when it is enqueued. */
static int64_t end_of(const bench *b, int stream)
{
    assert_int_equal(b->table->event_record(b->event, b->stream[stream]), LEAT_OK);
    return b->table->event_ns(b->event);
}

/* Fills the compute engine for a while and makes all streams wait for its end. */
static int64_t lead(const bench *b)
{
    leat_device_sim_busy(b->stream[0], lead_ns);
    lead_end_ns = end_of(b, 0);
    for (int i = 1; i < N_STREAMS; i++)
        b->table->stream_wait(b->stream[i], b->event);
    return lead_end_ns;
}

static void copy_in(const bench *b, int stream, void *to, const void *from, size_t bytes)
{
    assert_int_equal(b->table->copy_to_device(b->stream[stream], to, from, bytes, true), LEAT_OK);
}

/* --- kernels ------------------------------------------------------------------------------- */

TEST_BEHIND_LEAD(a_kernel_takes_what_its_roof_says)
{
    static const struct {
        double flops, bytes;
        int64_t ns;
    } cases[] = {
        { 2e6, 0, 2000000 },                    /* arithmetic */
        { 0, 3e7, 3000000 },                    /* memory */
        { 2e6, 1e7, 2000000 },                  /* both: the longer */
        { 1e6, 3e7, 3000000 }, { 10, 10, 500 }, /* shortest */
        { 0, 0, 500 },         { -1, -1, 500 },
    };
    bench b;
    bench_open(&b, PLAIN);
    int64_t end_ns = lead(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_sim_work work = leat_device_sim_work(b.stream[0]);
        assert_int_equal(leat_device_sim_kernel(b.stream[0], cases[i].flops, cases[i].bytes), 0);
        assert_ns(end_of(&b, 0) - end_ns, cases[i].ns);
        assert_int_equal(leat_device_sim_work(b.stream[0]).work_ns - work.work_ns, cases[i].ns);
        end_ns = end_of(&b, 0);
    }
    bench_close(&b);
}

/* Here all stand behind the launch of the first kernel. A caller that is held up until kernels run is always late. */
TEST_BEHIND_LEAD(the_host_issues_one_kernel_at_a_time)
{
    const int64_t launch_ns = lead_ns / 8;
    char name[80];
    bench b;
    snprintf(name, sizeof name, "sim:{launch_ns: %lld, kernel_min_ns: 1000}", (long long)launch_ns);
    bench_open(&b, name);
    const int64_t before_ns = leat_clock_ns();
    leat_device_sim_busy(b.stream[0], 0);
    const int64_t first_ns = lead_end_ns = end_of(&b, 0);
    assert_true(first_ns >= before_ns + launch_ns);
    for (int i = 1; i < 6; i++)
        leat_device_sim_kernel(b.stream[i % 2], 0, 0);
    assert_ns(end_of(&b, 1) - first_ns, 5 * launch_ns + 1000);
    bench_close(&b);
}

TEST_BEHIND_LEAD(all_streams_share_one_compute_engine)
{
    bench b;
    bench_open(&b, PLAIN);
    const int64_t end_ns = lead(&b);
    for (int i = 0; i < N_STREAMS; i++)
        leat_device_sim_busy(b.stream[i], MS);
    for (int i = 0; i < N_STREAMS; i++)
        assert_ns(end_of(&b, i) - end_ns, (i + 1) * MS);
    bench_close(&b);
}

/* --- copies -------------------------------------------------------------------------------- */

static uint8_t here[8 * MS], there[8 * MS];

TEST_BEHIND_LEAD(copies_share_an_engine_and_overlap_with_kernels)
{
    bench b;
    bench_open(&b, PLAIN);
    const int64_t end_ns = lead(&b);
    copy_in(&b, 1, there, here, MS);
    copy_in(&b, 2, there + MS, here, 2 * MS);
    leat_device_sim_busy(b.stream[0], 2 * MS);
    assert_int_equal(b.table->copy_to_host(b.stream[0], here + 4 * MS, there + 4 * MS, MS), 0);
    assert_ns(end_of(&b, 1) - end_ns, MS + 7000);
    assert_ns(end_of(&b, 2) - end_ns, 3 * MS + 2 * 7000);
    assert_ns(end_of(&b, 0) - end_ns, 3 * MS + 7000); /* the other direction was free */
    bench_close(&b);
}

/* Each byte is read and written, at 10 bytes per ns, while another batch comes from the host. */
TEST_BEHIND_LEAD(a_copy_on_the_device_is_no_transfer)
{
    bench b;
    bench_open(&b, PLAIN);
    const int64_t end_ns = lead(&b);
    copy_in(&b, 1, there, here, MS);
    memset(there + 2 * MS, 7, MS);
    assert_int_equal(b.table->copy_on_device(b.stream[0], there + 4 * MS, there + 2 * MS, MS), 0);
    assert_ns(end_of(&b, 1) - end_ns, MS + 7000);
    assert_ns(end_of(&b, 0) - end_ns, MS / 5 + 7000);
    assert_int_equal(b.table->stream_sync(b.stream[0], NULL), LEAT_OK);
    assert_memory_equal(there + 4 * MS, there + 2 * MS, MS);
    bench_close(&b);
}

TEST_BEHIND_LEAD(a_kernel_waits_for_its_copy_and_covers_the_next)
{
    enum { COPY = 2 * MS, STEP = 3 * MS };
    bench b;
    leat_event *copied;
    bench_open(&b, PLAIN);
    assert_int_equal(b.table->event_open(b.device, &copied, NULL), LEAT_OK);
    const int64_t end_ns = lead(&b);
    for (int i = 0; i < 4; i++) {
        copy_in(&b, 1, there, here, COPY);
        b.table->event_record(copied, b.stream[1]);
        b.table->stream_wait(b.stream[0], copied);
        leat_device_sim_busy(b.stream[0], STEP);
        assert_ns(end_of(&b, 0) - end_ns, COPY + 7000 + (i + 1) * STEP);
    }
    b.table->event_close(copied);
    bench_close(&b);
}

TEST(pageable_copies_hold_the_caller)
{
    bench b;
    bench_open(&b, PLAIN);
    const int64_t before_ns = leat_clock_ns();
    assert_int_equal(b.table->copy_to_device(b.stream[0], there, here, 4 * MS, false), LEAT_OK);
    assert_true(leat_clock_ns() - before_ns >= 2 * 4 * MS + 7000);
    leat_device_sim_busy(b.stream[1], 30 * MS); /* work before it in its stream comes first */
    const int64_t kernel_ns = end_of(&b, 1);
    assert_int_equal(b.table->copy_to_device(b.stream[1], there, here, MS, false), LEAT_OK);
    assert_true(leat_clock_ns() >= kernel_ns + 2 * MS + 7000);
    bench_close(&b);
}

TEST_BEHIND_LEAD(a_slot_rewritten_too_early_is_seen)
{
    bench b;
    bench_open(&b, PLAIN);
    lead(&b);
    memset(here, 1, 1000);
    copy_in(&b, 0, there, here, 1000);
    memset(here, 2, 1000);
    const bool is_early = in_time();
    b.table->stream_sync(b.stream[0], NULL);
    assert_true(!is_early || (there[0] == 2 && there[999] == 2));
    bench_close(&b);
}

TEST_BEHIND_LEAD(copies_can_be_time_alone)
{
    bench b;
    bench_open(&b, "sim:{copy_bytes_per_s: 1e9, copy_latency_ns: 0, copy_data: false}");
    const int64_t end_ns = lead(&b);
    memset(here, 1, 1000);
    memset(there, 3, 1000);
    copy_in(&b, 0, there, here, 1000);
    assert_ns(end_of(&b, 0) - end_ns, 1000);
    b.table->stream_sync(b.stream[0], NULL);
    assert_int_equal(there[0], 3);
    bench_close(&b);
}

/* The copy takes no time on the device and a while here. */
TEST(an_event_is_not_done_before_the_bytes_are_there)
{
    bench b;
    bench_open(&b, "sim:{copy_bytes_per_s: 1e15, copy_latency_ns: 0}");
    for (int i = 1; i <= 20; i++) {
        memset(here, i, sizeof here);
        copy_in(&b, 0, there, here, sizeof here);
        b.table->event_record(b.event, b.stream[0]);
        b.table->stream_wait(b.stream[1], b.event); /* also one that only waited for the copy */
        b.table->event_record(b.event, b.stream[1]);
        while (b.table->event_query(b.event) == LEAT_E_AGAIN)
            ;
        assert_int_equal(there[0], i);
        assert_int_equal(there[sizeof there - 1], i);
    }
    bench_close(&b);
}

/* --- against a model ----------------------------------------------------------------------- */

struct model {
    int64_t tail[N_STREAMS], event[N_STREAMS], compute, copy[2];
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void model_step(struct model *m, const bench *b, leat_event **events, leat_rng *rng)
{
    const uint32_t s = leat_rng_below(rng, N_STREAMS), other = leat_rng_below(rng, N_STREAMS);
    const int32_t size = (int32_t)leat_rng_below(rng, 20000);
    const uint32_t way = leat_rng_below(rng, 2);
    switch (leat_rng_below(rng, 4)) {
    case 0:
        leat_device_sim_kernel(b->stream[s], size, 0);
        m->tail[s] = m->compute = later(m->tail[s], m->compute) + later(size, 500);
        break;
    case 1:
        if (way)
            b->table->copy_to_host(b->stream[s], here, there, (size_t)size);
        else
            copy_in(b, (int)s, there, here, (size_t)size);
        m->tail[s] = m->copy[way] = later(m->tail[s], m->copy[way]) + 7000 + size;
        break;
    case 2:
        b->table->event_record(events[s], b->stream[s]);
        m->event[s] = m->tail[s];
        break;
    default:
        b->table->stream_wait(b->stream[s], events[other]);
        m->tail[s] = later(m->tail[s], m->event[other]);
    }
}

TEST_BEHIND_LEAD(random_work_agrees_with_a_model)
{
    bench b;
    leat_event *events[N_STREAMS];
    leat_rng rng = leat_rng_make(11, 0, 0, 0);
    bench_open(&b, PLAIN);
    for (int round = 0; round < 4; round++) {
        struct model m = { { 0 }, { 0 }, 0, { 0, 0 } };
        for (int i = 0; i < N_STREAMS; i++)
            assert_int_equal(b.table->event_open(b.device, &events[i], NULL), LEAT_OK);
        m.compute = lead(&b);
        for (int i = 0; i < N_STREAMS; i++)
            m.tail[i] = m.compute;
        for (int i = 0; i < 300; i++)
            model_step(&m, &b, events, &rng);
        for (int i = 0; i < N_STREAMS; i++)
            assert_ns(end_of(&b, i), m.tail[i]);
        for (int i = 0; i < N_STREAMS; i++) {
            b.table->stream_sync(b.stream[i], NULL);
            assert_true(leat_clock_ns() >= m.tail[i]);
            b.table->event_close(events[i]);
        }
    }
    bench_close(&b);
}

/* More work waiting than the device has room for at first. */
TEST_BEHIND_LEAD(a_long_queue_is_kept_in_order)
{
    enum { N = 1000 };
    static uint8_t to[N];
    uint8_t from = 9;
    bench b;
    bench_open(&b, PLAIN);
    lead(&b);
    for (int i = 0; i < N; i++)
        copy_in(&b, i % N_STREAMS, to + i, i ? to + i - 1 : &from,
                1); /* each from the one before */
    in_time();
    for (int i = 0; i < N_STREAMS; i++)
        b.table->stream_sync(b.stream[i], NULL);
    for (int i = 0; i < N; i++)
        assert_int_equal(to[i], 9);
    bench_close(&b);
}

/* Only where somebody assumes a time. */
TEST(opening_takes_the_assumed_time)
{
    leat_device *device;
    const int64_t from = leat_clock_ns();
    assert_int_equal(leat_device_open("sim:h200 {open_ns: 60000000}", &device, NULL), LEAT_OK);
    assert_true(leat_clock_ns() - from >= 60 * MS);
    leat_device_close(&device);
    for (size_t i = 0; leat_device_sim_preset(i); i++)
        assert_int_equal(leat_device_sim_preset(i)->options.open_ns, 0);
}

/* A step of the same kernels, issued by an eager framework. */
TEST(an_eager_host_takes_longer_to_issue_kernels)
{
    for (size_t i = 0; leat_device_sim_preset(i); i++) {
        const int64_t each_ns = leat_device_sim_preset(i)->options.launch_ns;
        char name[64];
        bench b;
        snprintf(name, sizeof name, "sim:%s", leat_device_sim_preset(i)->name);
        bench_open(&b, name);
        assert_int_equal(leat_device_sim_work(b.stream[0]).n_launches, 0);
        leat_device_sim_kernel(b.stream[0], 1, 1);
        assert_int_equal(leat_device_sim_work(b.stream[0]).launch_ns, each_ns);
        bench_close(&b);
        strcat(name, " {host: eager}");
        bench_open(&b, name);
        for (int k = 0; k < 3; k++)
            leat_device_sim_kernel(b.stream[k / 2], 1, 1);
        assert_int_equal(leat_device_sim_work(b.stream[0]).n_launches, 2);
        assert_int_equal(leat_device_sim_work(b.stream[0]).launch_ns, 2 * (each_ns + 10000));
        assert_int_equal(leat_device_sim_work(b.stream[1]).n_launches, 1);
        bench_close(&b);
    }
}
