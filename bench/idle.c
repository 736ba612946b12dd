/* SPDX-License-Identifier: MIT
 *
 * idle.c: measured idle time of a simulated device against arithmetic. The input of a batch takes L
 * (measured: a consumer that does nothing), one batch alone takes L0 (measured: the same at prefetch
 * 0), the device computes for C. Expected idle: L0 / (L0 + C) at prefetch 0, max(0, 1 - C / L) ahead.
 * Samples sleep instead of computing, so that two busy cores do not blur the picture. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_common.h"
#include "device/device_sim.h"
#include "leat/leat.h"

#define BATCH   32
#define STEPS   60
#define WARM    10
#define REPEATS 5

static leat_plan *plan_of(int prefetch)
{
    static float rows[1024];
    leat_plan *plan;
    leat_error err;
    char text[64];
    leat_builder *b = leat_builder_open();
    const leat_rows x = { "x", leat_shape_make(LEAT_F32, 0, NULL), rows };
    leat_builder_rows(b, 1024, &x, 1);
    leat_builder_engine(b, "{threads: 2}");
    leat_builder_stage(b, "map", "[{sleep: 0.3}]");
    snprintf(text, sizeof text, "%d", BATCH);
    leat_builder_stage(b, "batch", text);
    snprintf(text, sizeof text, "%d", prefetch);
    leat_builder_stage(b, "prefetch", text);
    bench_check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    return plan;
}

/* Runs STEPS steps with C of compute each (0: none); the meter of the last STEPS - WARM. */
static leat_meter run(int prefetch, int64_t compute_ns)
{
    leat_plan *plan = plan_of(prefetch);
    leat_device *device;
    leat_stream *stream;
    leat_event *begin[STEPS], *end[STEPS];
    leat_step_times times[STEPS] = { 0 };
    const leat_batch_info *infos[STEPS];
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    leat_meter meter;
    bench_check(leat_device_open("sim:{copy_latency_ns: 1000, launch_ns: 0, kernel_min_ns: 0}",
                                 &device, &err),
                &err);
    const leat_loader_options options = { .device = device, .epochs = -1 };
    bench_check(device->table->stream_open(device, &stream, &err), &err);
    bench_check(leat_loader_open(plan, &options, &loader, &err), &err);
    for (int i = 0; i < STEPS; i++) {
        bench_check(device->table->event_open(device, &begin[i], &err), &err);
        bench_check(device->table->event_open(device, &end[i], &err), &err);
        bench_check(leat_loader_next(loader, &batch, &err), &err);
        infos[i] = leat_batch_get_info(batch);
        leat_batch_wait_on(batch, stream);
        device->table->event_record(begin[i], stream);
        leat_device_sim_busy(stream, compute_ns);
        device->table->event_record(end[i], stream);
        leat_batch_release_on(batch, stream);
        times[i] = (leat_step_times){ .asked_ns = infos[i]->asked_ns,
                                      .ready_ns = infos[i]->ready_ns,
                                      .rows = infos[i]->rows };
        if (i >= 2) /* its copy is done by now, and its info still there */
            device->table->event_sync(end[i - 2]);
    }
    device->table->stream_sync(stream, NULL);
    for (int i = 0; i < STEPS; i++) {
        times[i].compute_start_ns = device->table->event_ns(begin[i]);
        times[i].compute_end_ns = device->table->event_ns(end[i]);
        times[i].busy_ns = times[i].compute_end_ns - times[i].compute_start_ns;
        device->table->event_close(begin[i]);
        device->table->event_close(end[i]);
    }
    leat_meter_account(times, WARM, STEPS, &meter);
    leat_loader_close(&loader);
    device->table->stream_close(stream);
    leat_device_close(&device);
    leat_plan_close(&plan);
    return meter;
}

static double step_ns(int prefetch)
{
    const leat_meter meter = run(prefetch, 0);
    return (double)meter.wall_ns / (double)meter.n_steps;
}

int main(int argc, char **argv)
{
    static const struct {
        int prefetch;
        double l_over_c; /* with L as measured at prefetch 2 */
    } cases[] = { { 0, 0.8 }, { 0, 2.0 }, { 2, 0.5 }, { 2, 0.8 }, { 2, 2.0 } };
    const bool json = argc > 1 && !strcmp(argv[1], "--json");
    json_t *list = json_array();
    if (!json)
        printf("idle of a simulated device, medians of %d repeats\n"
               "prefetch  L/C   L ms  L0 ms   C ms  measured %%  expected %%\n",
               REPEATS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ahead[REPEATS], alone[REPEATS], measured[REPEATS], expected[REPEATS], c[REPEATS];
        for (int k = 0; k < REPEATS; k++) { /* L and L0 in the same minute as the run itself */
            ahead[k] = step_ns(2);
            alone[k] = step_ns(0);
            c[k] = ahead[k] / cases[i].l_over_c;
            measured[k] = 1 - run(cases[i].prefetch, (int64_t)c[k]).busy;
            expected[k] = cases[i].prefetch ? c[k] < ahead[k] ? 1 - c[k] / ahead[k] : 0
                                            : alone[k] / (alone[k] + c[k]);
        }
        const double l = bench_quantile(ahead, REPEATS, 0.5) / 1e6,
                     l0 = bench_quantile(alone, REPEATS, 0.5) / 1e6,
                     ms = bench_quantile(c, REPEATS, 0.5) / 1e6,
                     got = 100 * bench_quantile(measured, REPEATS, 0.5),
                     want = 100 * bench_quantile(expected, REPEATS, 0.5);
        if (!json)
            printf("%8d %4.1f %6.2f %6.2f %6.2f %11.1f %11.1f\n", cases[i].prefetch,
                   cases[i].l_over_c, l, l0, ms, got, want);
        json_array_append_new(list,
                              json_pack("{sisfsfsfsfsfsf}", "prefetch", cases[i].prefetch,
                                        "l_over_c", cases[i].l_over_c, "l_ms", l, "l0_ms", l0,
                                        "c_ms", ms, "idle_percent", got, "expected_percent", want));
    }
    if (json)
        json_dumpf(list, stdout, JSON_INDENT(2));
    json_decref(list);
    return 0;
}
