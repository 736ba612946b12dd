/* SPDX-License-Identifier: MIT
 *
 * gpu_bench_auto.c: `device: auto` against every cut that could be written by hand, by turns in one run:
 * without a step, where only the input counts, and beside a planted step, where the device's time is
 * dear: told of it, and left to find out, which takes an epoch. What auto is worth is its rate over the
 * best one's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gpu_cases.h"
#include "leat/leat.h"

/* The ops; a cut before number k gives the first k to the CPU. */
static const char *const ops[] = {
    "random_resized_crop: {size: %d}",
    "random_flip",
    "color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}",
    "normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}",
};
enum {
    N_OPS = sizeof ops / sizeof *ops,
    AUTO = N_OPS + 1,
    LEARNS = N_OPS + 2, /* auto again, but nobody says what the step takes */
    N_PLANS = N_OPS + 2,
    N_ARMS = N_OPS + 3,
    ROUNDS = 3,
    EPOCH = 6 /* batches: fewer, and nothing is learned of them */
};

typedef struct scene {
    gpu_run *run;
    int side, batch, steps, skip;
    int64_t step_ns; /* of a batch; 0: none */
    uint8_t *pixels;
    leat_plan *plans[N_PLANS];
    double rates[N_ARMS][ROUNDS];
} scene;

static void add_map(leat_builder *b, const char *device, int from, int to, int size)
{
    char text[600];
    int n = snprintf(text, sizeof text, "{device: %s, ops: [", device);
    for (int i = from; i < to; i++) {
        char op[160];
        snprintf(op, sizeof op, ops[i], size); /* only the first one has a place for it */
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i > from ? ", " : "", op);
    }
    snprintf(text + n, sizeof text - (size_t)n, "]}");
    if (to > from)
        leat_builder_stage(b, "map", text);
}

static int open_plan(scene *s, int arm, leat_error *err)
{
    const int64_t dims[] = { s->side, s->side, 3 };
    const int size = s->side * 7 / 8;
    char text[32];
    const leat_rows rows = { "image", leat_shape_make(LEAT_U8, 3, dims), s->pixels };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, (uint64_t)s->batch * EPOCH, &rows, 1);
    if (arm == AUTO) {
        add_map(b, "auto", 0, N_OPS, size);
    } else {
        add_map(b, "cpu", 0, arm, size);
        add_map(b, "gpu", arm, N_OPS, size);
    }
    snprintf(text, sizeof text, "%d", s->batch);
    leat_builder_stage(b, "batch", text);
    leat_builder_stage(b, "prefetch", "4");
    const int rc = leat_builder_plan(b, &s->plans[arm], err);
    leat_builder_close(&b);
    return rc;
}

/* Takes a batch, computes on it, and waits for the step before, as a training loop does. */
static int step(scene *s, leat_loader *loader, leat_stream *stream, leat_event *done[2], int i,
                leat_error *err)
{
    const leat_device_table *const t = s->run->device->table;
    leat_batch *batch;
    int rc = leat_loader_next(loader, &batch, err);
    if (rc < 0)
        return rc;
    rc = leat_batch_wait_on(batch, stream);
    if (rc >= 0 && s->step_ns)
        rc = t->plant(stream, s->step_ns, 1, NULL, 0);
    if (rc >= 0)
        rc = t->event_record(done[i % 2], stream);
    const int released = leat_batch_release_on(batch, stream);
    if (rc >= 0 && i)
        rc = t->event_sync(done[(i - 1) % 2]);
    rc = rc < 0 ? rc : released;
    return rc < 0 ? leat_fail(err, rc, "a step could not be enqueued") : rc;
}

/* Samples per second of one arm, once. */
static int run_arm(scene *s, int arm, double *rate, leat_error *err)
{
    const leat_device_table *const t = s->run->device->table;
    const leat_plan *const plan = s->plans[arm == LEARNS ? AUTO : arm];
    const leat_loader_options o = { .device = s->run->device,
                                    .epochs = -1,
                                    .step_ns = arm == LEARNS ? 0 : s->step_ns };
    leat_loader *loader = NULL;
    leat_stream *stream = NULL;
    leat_event *done[2] = { NULL, NULL };
    int64_t start = 0;
    int rc = t->stream_open(s->run->device, &stream, err);
    for (int i = 0; i < 2 && rc >= 0; i++)
        rc = t->event_open(s->run->device, &done[i], err);
    if (rc >= 0)
        rc = leat_loader_open(plan, &o, &loader, err);
    for (int i = 0; i < s->steps && rc >= 0; i++) {
        rc = step(s, loader, stream, done, i, err);
        if (i == s->skip)
            start = leat_clock_ns();
    }
    if (rc >= 0)
        rc = t->stream_sync(stream, err);
    *rate = (double)(s->steps - 1 - s->skip) * s->batch / ((double)(leat_clock_ns() - start) / 1e9);
    leat_loader_close(&loader);
    for (int i = 0; i < 2; i++)
        if (done[i])
            t->event_close(done[i]);
    if (stream)
        t->stream_close(stream);
    return rc;
}

/* Where auto cut: the number of ops on the CPU. */
static int cut_of_auto(const scene *s)
{
    static leat_placement p;
    const leat_loader_options o = { .device = s->run->device, .step_ns = s->step_ns };
    int n = 0;
    if (leat_plan_placement(s->plans[AUTO], &o, &p, NULL) < 0)
        return -1;
    for (int32_t i = 0; i < p.n_ops; i++)
        n += !p.ops[i].on_device;
    return n;
}

/* All arms by turns. out: the rates of auto, told and not told, over the best one's of the others. */
static int run_scene(scene *s, const char *name, double out[2], int *cut, leat_error *err)
{
    const char *const names[] = { "auto", "auto_that_learns" };
    double best = 0;
    int rc = LEAT_OK;
    for (int round = 0; round < ROUNDS && rc >= 0; round++)
        for (int arm = 0; arm < N_ARMS && rc >= 0; arm++)
            rc = run_arm(s, arm, &s->rates[arm][round], err);
    for (int arm = 0; arm < N_ARMS && rc >= 0; arm++) {
        char figure[48];
        const double rate = gpu_median(s->rates[arm], ROUNDS);
        if (arm >= AUTO)
            snprintf(figure, sizeof figure, "%s_%s", name, names[arm - AUTO]);
        else
            snprintf(figure, sizeof figure, "%s_%d_on_cpu", name, arm);
        gpu_keep(s->run, figure, rate, "images/s");
        if (arm < AUTO && rate > best)
            best = rate;
    }
    for (int i = 0; i < 2; i++)
        out[i] = rc < 0 || best <= 0 ? 0 : s->rates[AUTO + i][ROUNDS / 2] / best;
    *cut = cut_of_auto(s);
    return rc;
}

gpu_verdict gpu_bench_auto(gpu_run *run)
{
    const bool whole = run->effort >= 50;
    scene s = { .run = run, .side = whole ? 256 : 16, .batch = whole ? 256 : 8 };
    leat_error err;
    double alone[2] = { 0, 0 }, beside[2] = { 0, 0 };
    int cuts[2] = { -1, -1 };
    if (!run->device->table->map_open || !run->device->table->plant)
        return gpu_say(run, GPU_NOT_RUN, "the device runs no ops, or no planted step");
    s.steps = whole ? 50 : 4 * EPOCH;
    s.skip = 2 * EPOCH; /* by then it knows */
    const size_t n = (size_t)s.batch * EPOCH * (size_t)s.side * (size_t)s.side * 3;
    s.pixels = malloc(n);
    int rc = s.pixels ? LEAT_OK : leat_fail(&err, LEAT_E_NOMEM, "pixels");
    for (size_t i = 0; rc >= 0 && i < n; i++)
        s.pixels[i] = (uint8_t)(i * 2654435761u >> 13);
    for (int arm = 0; arm < N_PLANS && rc >= 0; arm++)
        rc = open_plan(&s, arm, &err);
    if (rc >= 0)
        rc = run_scene(&s, "alone", alone, &cuts[0], &err);
    s.step_ns = whole ? 10000000 : 1000000;
    if (rc >= 0)
        rc = run_scene(&s, "beside_step", beside, &cuts[1], &err);
    for (int arm = 0; arm < N_PLANS; arm++)
        leat_plan_close(&s.plans[arm]);
    free(s.pixels);
    if (rc < 0)
        return gpu_say(run, GPU_FAILED, "%s", err.message);
    const bool good = alone[0] >= 0.95 && beside[0] >= 0.95 && beside[1] >= 0.95;
    return gpu_say(
        run, good ? GPU_PASSED : GPU_FAILED,
        "auto leaves %d of %d ops to the CPU and has %.0f %% of the best cut's rate; "
        "beside a step of %.0f ms %d ops and %.0f %%; %.0f %% where it must find out what "
        "the step takes (95 are wanted)",
        cuts[0], (int)N_OPS, 100 * alone[0], (double)s.step_ns / 1e6, cuts[1], 100 * beside[0],
        100 * beside[1]);
}
