/* SPDX-License-Identifier: MIT
 *
 * test_idle.c: which part a loader names as the cause of a device's idle time. A pipeline that sleeps feeds a
 * simulated device whose step has a fixed length. The assertions follow from who waits for whom and from the
 * minimum time of the sleeps, so a busy machine cannot change them. bench/idle measures how close measured
 * idle time is to the calculated one. */
#include "fixtures/engine_fixture.h"

#include "device/device_sim.h"
#include "leat/meter.h"

enum { BATCH = 8, N_ROWS = 64 * BATCH, N_SETTLE = 10, N_MEASURED = 40, N = N_SETTLE + N_MEASURED };

/* The least time that two threads need for a batch of rows that sleep for 1 ms each. */
enum { BATCH_NS = BATCH * 1000000 / 2 };

/* Copies take no time to speak of. */
#define DEVICE "sim:{copy_bytes_per_s: 1e12, copy_latency_ns: 0, launch_ns: 0}"

static float *rows;

static leat_plan *plan_of(int prefetch)
{
    char text[32];
    leat_builder *b = build_rows(N_ROWS, rows);
    leat_builder_engine(b, "{threads: 2}");
    leat_builder_stage(b, "map", "[{sleep: 1}]");
    snprintf(text, sizeof text, "%d", BATCH);
    leat_builder_stage(b, "batch", text);
    snprintf(text, sizeof text, "%d", prefetch);
    leat_builder_stage(b, "prefetch", text);
    return plan_of_builder(b);
}

typedef struct {
    leat_device *device;
    const leat_device_table *table;
    leat_stream *stream;
    leat_event *start, *end;
} consumer;

static int64_t event_ns(const consumer *c, leat_event *event)
{
    c->table->event_record(event, c->stream);
    return c->table->event_ns(event); /* on this device known at once */
}

/* Returns when the loader has a batch that it would hand out at once. */
static void wait_until_ready(leat_loader *loader)
{
    leat_loader_stats_info stats;
    for (leat_loader_stats(loader, &stats); stats.batches_ready < 1;
         leat_loader_stats(loader, &stats))
        pause_ns(100000);
}

/* One step. The host goes on at once, as a trainer's does. */
static leat_step_times step(const consumer *c, leat_loader *loader, int64_t compute_ns)
{
    leat_step_times times = { .busy_ns = compute_ns };
    leat_batch *batch;
    leat_error err;
    check(leat_loader_next(loader, &batch, &err), &err);
    const leat_batch_info *info = leat_batch_get_info(batch);
    times.asked_ns = info->asked_ns;
    times.ready_ns = info->ready_ns;
    times.rows = info->rows;
    leat_batch_wait_on(batch, c->stream);
    times.compute_start_ns = event_ns(c, c->start);
    leat_device_sim_busy(c->stream, compute_ns);
    times.compute_end_ns = event_ns(c, c->end);
    leat_batch_release_on(batch, c->stream);
    return times;
}

/* N steps of a given length over a new loader; with is_patient the host asks for a batch when there is
 * one. */
static leat_meter run(int prefetch, int64_t compute_ns, bool is_patient, leat_step_times times[N])
{
    leat_plan *plan = plan_of(prefetch);
    leat_meter meter;
    leat_error err;
    consumer c;
    check(leat_device_open(DEVICE, &c.device, &err), &err);
    c.table = c.device->table;
    check(c.table->stream_open(c.device, &c.stream, &err), &err);
    check(c.table->event_open(c.device, &c.start, &err), &err);
    check(c.table->event_open(c.device, &c.end, &err), &err);
    const leat_loader_options options = { .device = c.device, .epochs = -1 };
    leat_loader *loader = open_loader(plan, &options);
    for (int i = 0; i < N; i++) {
        if (is_patient)
            wait_until_ready(loader);
        times[i] = step(&c, loader, compute_ns);
    }
    c.table->stream_sync(c.stream, NULL);
    leat_loader_close(&loader);
    c.table->event_close(c.start);
    c.table->event_close(c.end);
    c.table->stream_close(c.stream);
    leat_device_close(&c.device);
    leat_plan_close(&plan);
    check(leat_meter_account(times, N_SETTLE, N, &meter), &err);
    return meter;
}

static int prepare(void **state)
{
    rows = make_rows(N_ROWS);
    return 0;
}

static int clean_up(void **state)
{
    free(rows);
    return 0;
}

/* The next batch is begun when the step before has ended: nothing overlaps. */
TEST(without_prefetch_every_step_waits_for_a_whole_batch)
{
    leat_step_times times[N];
    const leat_meter meter = run(0, 2000000, false, times);
    for (int i = N_SETTLE; i < N; i++)
        assert_true(times[i].compute_start_ns - times[i - 1].compute_end_ns >= BATCH_NS);
    assert_true(meter.input_wait * (double)meter.wall_ns >= (double)N_MEASURED * BATCH_NS);
}

/* Batches come while the device computes, so a host that is slow to ask is not the input's fault. */
TEST(prefetch_makes_batches_before_they_are_asked_for)
{
    leat_step_times times[N];
    const leat_meter meter = run(2, 2000000, true, times);
    for (int i = N_SETTLE; i < N; i++)
        assert_true(times[i].ready_ns <= times[i].asked_ns);
    assert_true(meter.input_wait == 0);
}

/* At most a few batches lie ready at the window's start; the others take their time. */
TEST(prefetch_cannot_hide_an_input_that_is_slower)
{
    enum { AHEAD = 5 };
    leat_step_times times[N];
    const leat_meter meter = run(2, 1000000, false, times);
    assert_true(meter.wall_ns >= (int64_t)(N_MEASURED - AHEAD) * BATCH_NS);
    assert_true(meter.busy <= 1e6 * N_MEASURED / ((N_MEASURED - AHEAD) * (double)BATCH_NS));
    assert_true(meter.input_wait > 0);
}

SUITE_FIXTURE(prepare, clean_up)
