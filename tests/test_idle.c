/* SPDX-License-Identifier: MIT
 *
 * test_idle.c: device idle as measured agrees with arithmetic. A pipeline that sleeps feeds a
 * simulated device whose step has a set length C; L is the measured time that the pipeline needs
 * per batch, L0 that of one batch alone. Without prefetch the device idles L0 / (L0 + C), with
 * prefetch max(0, 1 - C / L). */
#include "engine_fixture.h"

#include <math.h>

#include "clock.h"
#include "device_sim.h"
#include "leat/meter.h"
#include "quiet.h"

enum { BATCH = 8, N_ROWS = 64 * BATCH, N_SETTLE = 10, N_MEASURED = 60 };

/* Copies take no time to speak of. */
#define DEVICE "sim:{copy_bytes_per_s: 1e12, copy_latency_ns: 0, launch_ns: 0}"

static float *rows;

static leat_plan *plan_of(int prefetch)
{
    char text[32];
    leat_plan *plan;
    leat_error err;
    const int64_t dims[] = { ROW_FLOATS };
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 1, dims), rows };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, N_ROWS, &x, 1);
    leat_builder_engine(b, "{threads: 2}");
    leat_builder_stage(b, "map", "[{sleep: 1}]");
    snprintf(text, sizeof text, "%d", BATCH);
    leat_builder_stage(b, "batch", text);
    snprintf(text, sizeof text, "%d", prefetch);
    leat_builder_stage(b, "prefetch", text);
    check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    return plan;
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

/* Steps of a given length over a new loader. */
static leat_meter run(int prefetch, int64_t compute_ns)
{
    leat_step_times times[N_SETTLE + N_MEASURED];
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
    for (int i = 0; i < N_SETTLE + N_MEASURED; i++)
        times[i] = step(&c, loader, compute_ns);
    c.table->stream_sync(c.stream, NULL);
    leat_loader_close(&loader);
    c.table->event_close(c.start);
    c.table->event_close(c.end);
    c.table->stream_close(c.stream);
    leat_device_close(&c.device);
    leat_plan_close(&plan);
    check(leat_meter_account(times, N_SETTLE, N_SETTLE + N_MEASURED, &meter), &err);
    return meter;
}

/* Points by which measured idle is away from what it should be; also that idle is input wait. */
static double off(const leat_meter *meter, double expected)
{
    const double idle = 1 - meter->busy;
    return 100 * fmax(fabs(idle - expected), idle - meter->input_wait - 0.02);
}

static int prepare(void **state)
{
    (void)state;
    rows = make_rows(N_ROWS);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    free(rows);
    return 0;
}

static double per_step(const leat_meter *meter)
{
    return (double)meter->wall_ns / (double)meter->n_steps;
}

/* A neighbour moves L between two runs, so the best of some attempts counts: what is wrong by
 * design is wrong in each of them. */
static void assert_within(double points, double (*attempt)(void))
{
    double best = attempt();
    for (int i = 1; i < 6 && best > points; i++)
        best = fmin(best, attempt());
    if (best > points && !machine_is_quiet())
        skip();
    if (best > points)
        fail_msg("%.1f points off, more than %.0f", best, points);
}

static double without_prefetch(void)
{
    const leat_meter alone = run(0, 0), ahead = run(2, 0);
    const double compute = per_step(&ahead) / 0.8;
    const leat_meter meter = run(0, (int64_t)compute);
    return off(&meter, per_step(&alone) / (per_step(&alone) + compute));
}

static double input_faster(void)
{
    const leat_meter ahead = run(2, 0), meter = run(2, (int64_t)(per_step(&ahead) / 0.8));
    return off(&meter, 0);
}

static double input_slower(void)
{
    const leat_meter ahead = run(2, 0), meter = run(2, (int64_t)(per_step(&ahead) / 2));
    return off(&meter, 0.5);
}

static void without_prefetch_times_add_up(void **state)
{
    (void)state;
    assert_within(3, without_prefetch);
}

static void prefetch_hides_an_input_that_is_faster(void **state)
{
    (void)state;
    assert_within(2, input_faster);
}

static void prefetch_cannot_hide_an_input_that_is_slower(void **state)
{
    (void)state;
    assert_within(3, input_slower);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_prefetch_times_add_up),
        cmocka_unit_test(prefetch_hides_an_input_that_is_faster),
        cmocka_unit_test(prefetch_cannot_hide_an_input_that_is_slower),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
