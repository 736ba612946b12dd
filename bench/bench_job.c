/* SPDX-License-Identifier: MIT
 *
 * bench_job.c: see bench_job.h. */
#include "bench_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench_common.h"
#include "bench_input.h"
#include "device/device_sim.h"

/* --- the op: arithmetic of a given length ---------------------------------------------------------- */

typedef struct work_options {
    int64_t rounds, slow_every; /* every this many-th record takes 20 times as long; 0: none */
} work_options;

static const leat_option work_table[] = {
    LEAT_OPTION_I64(work_options, rounds, "0", 0, 1e9, "of arithmetic"),
    LEAT_OPTION_I64(work_options, slow_every, "0", 0, 1e9, "records"), LEAT_OPTION_END
};

static int work_shape(const void *o, const leat_shape *in, leat_shape *out, leat_error *err)
{
    (void)o;
    (void)err;
    *out = *in;
    return LEAT_OK;
}

/* Which record is slow is drawn: for the record, not for its place. */
static void work_draw(const void *o, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const work_options *const options = o;
    (void)in;
    out->words[0] =
        options->slow_every && leat_rng_below(rng, (uint32_t)options->slow_every) == 0 ? 20 : 1;
}

static int work_apply(const void *o, const leat_draw *draw, const leat_view *in,
                      const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const int64_t n = ((const work_options *)o)->rounds * (int64_t)draw->words[0];
    uint64_t x = 1;
    (void)scratch;
    (void)err;
    for (int64_t i = 0; i < n; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    bench_keep(&x);
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op work_op = { .name = "work",
                                 .help = "arithmetic",
                                 .options_size = sizeof(work_options),
                                 .options = work_table,
                                 .flags = LEAT_OP_RANDOM,
                                 .shape = work_shape,
                                 .draw = work_draw,
                                 .apply = work_apply };

/* --- a run of a job --------------------------------------------------------------------------------- */

static leat_plan *plan_of(const bench_job *j, const char *path, const bench_setting *s)
{
    char text[4400];
    leat_plan *plan;
    leat_error err;
    leat_builder *b = leat_builder_open();
    leat_builder_op(b, &work_op);
    leat_builder_engine(b, s->engine);
    snprintf(text, sizeof text, "{files: %s, features: {x: {type: bytes}}}", path);
    leat_builder_source(b, "tfrecord", text);
    leat_builder_stage(b, "shuffle", NULL);
    snprintf(
        text, sizeof text,
        "[{decode_raw: {dtype: uint8, shape: [%zu]}}, {work: {rounds: %lld, slow_every: %lld}}]",
        j->record_bytes, (long long)j->rounds, (long long)j->slow_every);
    leat_builder_stage(b, "map", text);
    snprintf(text, sizeof text, "%lld", (long long)j->batch);
    leat_builder_stage(b, "batch", text);
    leat_builder_stage(b, "prefetch", s->prefetch);
    bench_check(leat_builder_plan(b, &plan, &err), &err);
    leat_builder_close(&b);
    return plan;
}

/* What takes the batches. */
typedef struct consumer {
    leat_device *device;
    leat_stream *stream;
    leat_event *ends[2];
    int64_t n;
} consumer;

static void open_consumer(consumer *c, const bench_job *j)
{
    leat_error err;
    memset(c, 0, sizeof *c);
    if (j->step_us <= 0)
        return;
    bench_check(leat_device_open("sim:{copy_latency_ns: 5000, launch_ns: 0, kernel_min_ns: 0}",
                                 &c->device, &err),
                &err);
    bench_check(c->device->table->stream_open(c->device, &c->stream, &err), &err);
    for (int i = 0; i < 2; i++)
        bench_check(c->device->table->event_open(c->device, &c->ends[i], &err), &err);
}

static void close_consumer(consumer *c)
{
    if (!c->device)
        return;
    c->device->table->stream_sync(c->stream, NULL);
    for (int i = 0; i < 2; i++)
        c->device->table->event_close(c->ends[i]);
    c->device->table->stream_close(c->stream);
    leat_device_close(&c->device);
}

static void consume(consumer *c, const bench_job *j, leat_batch *batch)
{
    if (!c->device) {
        leat_batch_release(batch);
        return;
    }
    leat_batch_wait_on(batch, c->stream);
    leat_device_sim_busy(c->stream, (int64_t)(j->step_us * 1e3 * (double)j->batch));
    leat_batch_release_on(batch, c->stream);
    leat_event *const end = c->ends[c->n++ % 2];
    c->device->table->event_sync(end); /* two steps may be under way */
    c->device->table->event_record(end, c->stream);
}

bench_job_figure bench_job_run(const bench_job *j, const char *path, const bench_setting *s,
                               int64_t ms)
{
    leat_plan *plan = plan_of(j, path, s);
    leat_loader *loader;
    leat_batch *batch;
    leat_error err;
    consumer c;
    const leat_loader_options *options;
    int64_t n = 0, begin = 0, now = 0, cpu = 0;
    bench_file_cached(path, !j->cold);
    open_consumer(&c, j);
    options = &(leat_loader_options){ .device = c.device, .epochs = j->cold ? 1 : -1 };
    const int64_t opened = leat_clock_ns(), opened_cpu = bench_cpu_ns();
    bench_check(leat_loader_open(plan, options, &loader, &err), &err);
    for (;;) {
        const int rc = leat_loader_next(loader, &batch, &err);
        if (rc == LEAT_E_END)
            break;
        bench_check(rc, &err);
        n += leat_batch_get_info(batch)->rows;
        consume(&c, j, batch);
        now = leat_clock_ns();
        if (!begin && now - opened > ms * 1000000 / 3) {
            begin = now;
            cpu = bench_cpu_ns();
            n = 0;
        } else if (begin && now - begin > ms * 1000000) {
            break;
        }
    }
    if (!begin) { /* all was read before the warm-up ended */
        begin = opened;
        cpu = opened_cpu;
    }
    cpu = bench_cpu_ns() - cpu;
    leat_loader_close(&loader);
    close_consumer(&c);
    leat_plan_close(&plan);
    return (bench_job_figure){ (double)n * 1e9 / (double)(now - begin > 0 ? now - begin : 1),
                               (double)cpu / (double)(n ? n : 1) };
}
