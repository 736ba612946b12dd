/* SPDX-License-Identifier: MIT
 *
 * gpu_bench_train.c: how fast the device trains, with the batch already in its memory: creation, first step and
 * steady step, the host's time per step, samples per second and floating-point operations per second.
 * tools/dev/gpu_torch.py measures the same models in PyTorch. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cuda/cudnn_build.h"
#include "cuda/gpu_libs.h"
#include "device/device_busy.h"
#include "gpu_train.h"
#include "leat/leat.h"

typedef struct bench {
    const char *name, *text;
    int rank;
    int64_t dims[3], batch;
    int classes;
} bench;

typedef struct speed {
    double open_s, first_ms, step_us, host_us, samples, flops;
} speed;

/* A batch in the device's memory. */
static int put_batch(gpu_net *net, const leat_trainer_feed *feed, gpu_batch *b, leat_net_rows *rows)
{
    const leat_device_table *const t = net->device->table;
    void *const from[] = { b->x, b->y };
    leat_view *const views[] = { &rows->x, &rows->y };
    const leat_shape *const shapes[] = { &feed->input, &feed->target };
    *rows = (leat_net_rows){ .rows = b->rows, .n_valid = b->rows };
    for (int k = 0; k < 2; k++) {
        leat_view *const v = views[k];
        v->shape = *shapes[k];
        v->shape.rank++;
        v->shape.dims[0] = b->rows;
        memcpy(&v->shape.dims[1], shapes[k]->dims,
               (size_t)shapes[k]->rank * sizeof v->shape.dims[0]);
        const size_t bytes = (size_t)leat_shape_bytes(&v->shape);
        if (!(v->data = t->device_alloc(net->device, bytes)) ||
            t->copy_to_device(net->trainer->stream, v->data, from[k], bytes, false) < 0)
            return LEAT_E_DEVICE;
    }
    return LEAT_OK;
}

static void drop_batch(gpu_net *net, leat_net_rows *rows)
{
    const leat_device_table *const t = net->device->table;
    if (rows->x.data)
        t->device_free(net->device, rows->x.data);
    if (rows->y.data)
        t->device_free(net->device, rows->y.data);
}

static int steps(gpu_net *net, const leat_net_rows *rows, int n, leat_error *err)
{
    int rc = LEAT_OK;
    for (int i = 0; i < n && rc == LEAT_OK; i++)
        rc = leat_trainer_step_rows(net->trainer, rows, true, err);
    return rc;
}

/* At most `most_ns` of steps, in one go, after a few to get warm. */
static int time_steps(gpu_net *net, const leat_net_rows *rows, int64_t most_ns, speed *out,
                      leat_error *err)
{
    enum { WARM = 4, LEAST = 5, MOST = 20000 };
    const leat_device_table *const t = net->device->table;
    int64_t start = leat_clock_ns();
    int rc = steps(net, rows, 1, err);
    if (rc == LEAT_OK)
        rc = t->stream_sync(net->trainer->stream, err);
    out->first_ms = (double)(leat_clock_ns() - start) / 1e6;
    if (rc == LEAT_OK)
        rc = steps(net, rows, WARM, err);
    if (rc == LEAT_OK)
        rc = t->stream_sync(net->trainer->stream, err);
    start = leat_clock_ns();
    if (rc == LEAT_OK && (rc = steps(net, rows, 1, err)) == LEAT_OK)
        rc = t->stream_sync(net->trainer->stream, err);
    const int64_t one = leat_clock_ns() - start + 1;
    int n = most_ns / one < MOST ? (int)(most_ns / one) : MOST;
    n = n > LEAST ? n : LEAST;
    start = leat_clock_ns();
    if (rc == LEAT_OK)
        rc = steps(net, rows, n, err);
    out->host_us = (double)(leat_clock_ns() - start) / 1e3 / n;
    if (rc == LEAT_OK)
        rc = t->stream_sync(net->trainer->stream, err);
    out->step_us = (double)(leat_clock_ns() - start) / 1e3 / n;
    return rc;
}

/* Prints which kernels a step spends its time in. A device that keeps no records: nothing. */
static void note_kernels(gpu_net *net, const leat_net_rows *rows)
{
    enum { STEPS = 8, MOST = 40 };
    const leat_device_table *const t = net->device->table;
    leat_device_record record;
    leat_device_kernel kernels[MOST];
    leat_error err;
    if (!t->record_start || t->record_start(net->device, &err) < 0)
        return;
    int rc = steps(net, rows, STEPS, &err);
    if (rc == LEAT_OK)
        rc = t->stream_sync(net->trainer->stream, &err);
    if (t->record_stop(net->device, &record, &err) < 0)
        return;
    const int32_t n = rc == LEAT_OK ? leat_device_kernels_of(&record, kernels, MOST) : 0;
    int64_t from = INT64_MAX, to = 0, count = 0;
    for (size_t i = 0; i < record.n; i++) {
        const leat_device_span *const s = &record.spans[i];
        if (s->kind != LEAT_SPAN_KERNEL)
            continue;
        from = s->start_ns < from ? s->start_ns : from;
        to = s->end_ns > to ? s->end_ns : to;
        count++;
    }
    if (count)
        gpu_note("  busy %.1f of %.1f us a step, %.1f kernels",
                 (double)leat_device_union_ns(&record, LEAT_SPAN_BUSY, from, to) / 1e3 / STEPS,
                 (double)(to - from) / 1e3 / STEPS, (double)count / STEPS);
    for (int32_t i = 0; i < n; i++)
        gpu_note("  %9.1f us a step in %5.1f runs: %.110s", (double)kernels[i].ns / 1e3 / STEPS,
                 (double)kernels[i].n / STEPS, kernels[i].name);
    leat_device_record_fini(&record);
}

static int measure(gpu_run *run, const bench *b, const char *how, speed *out, leat_error *err)
{
    const gpu_model m = { .name = b->name,
                          .dtype = b->rank == 3 ? LEAT_U8 : LEAT_F32,
                          .dims = { b->dims[0], b->dims[1], b->dims[2] },
                          .batch = b->batch,
                          .target = LEAT_I64 };
    leat_trainer_feed feed = gpu_feed(&m);
    leat_net_rows rows = { .rows = 0 };
    gpu_net net = { 0 };
    char text[2048];
    feed.n_classes = b->classes;
    snprintf(text, sizeof text,
             "train: {%s, model: %s, loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: "
             "0.001, momentum: 0.9}}}",
             how, b->text);
    gpu_batch data = gpu_batch_draw(&feed, 1, b->batch, false);
    const int64_t start = leat_clock_ns();
    int rc = gpu_net_open(&net, run->device, text, &feed, err);
    out->open_s = (double)(leat_clock_ns() - start) / 1e9;
    if (rc == LEAT_OK && (rc = put_batch(&net, &feed, &data, &rows)) < 0)
        leat_fail(err, rc, "the batch could not be copied");
    if (rc == LEAT_OK)
        rc = time_steps(&net, &rows, run->effort >= 50 ? 1500000000 : 50000000, out, err);
    if (rc == LEAT_OK) {
        out->samples = (double)b->batch * 1e6 / out->step_us;
        out->flops = out->samples * leat_trainer_get_info(net.trainer)->flops_per_sample;
    }
    if (rc == LEAT_OK && run->effort >= 50)
        note_kernels(&net, &rows);
    if (net.trainer)
        drop_batch(&net, &rows);
    gpu_net_close(&net);
    gpu_batch_drop(&data);
    return rc;
}

static void keep(gpu_run *run, const char *name, const speed *s)
{
    const struct {
        const char *what, *unit;
        double value;
    } figures[] = { { "open", "s", s->open_s },          { "first", "ms", s->first_ms },
                    { "step", "us", s->step_us },        { "host", "us", s->host_us },
                    { "rate", "samples/s", s->samples }, { "tflops", "Tflop/s", s->flops / 1e12 } };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char text[48];
        snprintf(text, sizeof text, "%s_%s", name, figures[i].what);
        gpu_keep(run, text, figures[i].value, figures[i].unit);
    }
}

/* An arm of a bench: what is said of it, and its options. */
typedef struct arm {
    const char *name, *how;
    const bench *what;
} arm;

/* An arm that fails costs its own figures, unless it took the device with it. */
static gpu_verdict measure_all(gpu_run *run, const arm *arms, int n)
{
    char text[400] = "";
    gpu_verdict verdict = GPU_PASSED;
    int rc = LEAT_OK;
    if (!run->device->table->train)
        return gpu_say(run, GPU_NOT_RUN, "the device does not train");
    for (int i = 0; i < n && rc != LEAT_E_DEVICE; i++) {
        speed s = { 0 };
        leat_error err;
        const size_t at = strlen(text);
        rc = measure(run, arms[i].what, arms[i].how, &s, &err);
        if (rc < 0) {
            gpu_note("%s: %s", arms[i].name, err.message);
            if (verdict != GPU_FAILED)
                verdict = rc == LEAT_E_UNSUPPORTED ? GPU_NOT_RUN : GPU_FAILED;
            snprintf(text + at, sizeof text - at, "%s%s: %.100s", i ? "; " : "", arms[i].name,
                     err.message);
            continue;
        }
        keep(run, arms[i].name, &s);
        gpu_note("%s: opened in %.2f s, first step %.1f ms, %.1f us a step, host %.1f, %.0f "
                 "samples/s, %.1f Tflop/s",
                 arms[i].name, s.open_s, s.first_ms, s.step_us, s.host_us, s.samples,
                 s.flops / 1e12);
        snprintf(text + at, sizeof text - at, "%s%s %.0f/s (%.1f us a step, host %.1f)",
                 i ? "; " : "", arms[i].name, s.samples, s.step_us, s.host_us);
    }
    return gpu_say(run, verdict, "%s", text);
}

gpu_verdict gpu_bench_train_small(gpu_run *run)
{
    static const bench mlp = { "mlp", "[dense: 128, relu, dense: 10]", 1, { 100, 0, 0 }, 10, 10 };
    static const bench cifar = { "cifar",
                                 "[{conv2d: {filters: 32, kernel: 3, padding: same, bias: false}}, "
                                 "batch_norm, relu, max_pool: 2, {conv2d: {filters: 64, kernel: 3, "
                                 "padding: same, bias: false}}, batch_norm, relu, max_pool: 2, "
                                 "{conv2d: {filters: 128, kernel: 3, padding: same, bias: false}}, "
                                 "batch_norm, relu, max_pool: 2, flatten, dense: 10]",
                                 3,
                                 { 32, 32, 3 },
                                 128,
                                 10 };
    static const arm arms[] = { { "mlp_graph", "graph: auto", &mlp },
                                { "mlp_no_graph", "graph: false", &mlp },
                                { "mlp_measured", "cuda: {plans: measure}", &mlp },
                                { "cifar_fp32", "precision: fp32", &cifar },
                                { "cifar_bf16", "precision: bf16", &cifar } };
    return measure_all(run, arms, run->effort < 50 ? 2 : 5); /* the rest takes a real GPU */
}

/* Prints how cuDNN describes the device: test_cuda_plans builds plans from such a text. */
static void note_device(void)
{
    leat_error err;
    const leat_gpu_libs *const libs = leat_gpu_libs_open(&err);
    leat_cudnn_build b = { .api = libs ? &libs->cudnn : NULL };
    char text[4096] = "";
    void *handle;
    int64_t n;
    if (!libs || b.api->cudnnCreate(&handle))
        return;
    void *const d = leat_cudnn_make(&b, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    leat_cudnn_set(&b, d, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    leat_cudnn_finalize(&b, d);
    if (!b.status &&
        b.api->cudnnBackendGetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                        CUDNN_TYPE_CHAR, sizeof text - 1, &n, text) == 0)
        gpu_note("device: %s", text);
    leat_cudnn_close(&b);
    b.api->cudnnDestroy(handle);
}

static void drop_folder(const char *folder)
{
    DIR *const open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open)) != NULL;)
        unlinkat(dirfd(open), entry->d_name, 0);
    if (open)
        closedir(open);
    rmdir(folder);
}

enum { MOST_ARMS = 4 };

/* Arms of ResNet-50 with one folder of plans, so that each batch norm is compiled once: LEAT_GPU_PLANS, which several lines
 * can share and which is kept, or one that is removed. ways: what each arm says beside the folder. */
static gpu_verdict measure_resnet(gpu_run *run, const bench *what, const arm *ways, int n)
{
    const char *const named = getenv("LEAT_GPU_PLANS");
    char own[] = "/tmp/leat-gpu-plans-XXXXXX", hows[MOST_ARMS][600];
    arm arms[MOST_ARMS];
    if (run->effort < 50)
        return gpu_say(run, GPU_NOT_RUN, "only with all effort");
    const bool keep_them = named && *named;
    const char *const folder = keep_them ? named : mkdtemp(own);
    if (!folder)
        return gpu_say(run, GPU_FAILED, "no folder %s", own);
    for (int i = 0; i < n; i++) {
        arms[i] = (arm){ ways[i].name, hows[i], what };
        snprintf(hows[i], sizeof hows[i], ways[i].how, folder);
    }
    const gpu_verdict verdict = measure_all(run, arms, n);
    if (!keep_them)
        drop_folder(folder);
    return verdict;
}

#define RESNET_WAYS(name, precision)                                                               \
    { name, "precision: " precision ", cuda: {plan_cache: '%.400s'}", NULL },                      \
    {                                                                                              \
        name "_measured",                                                                          \
            "precision: " precision ", cuda: {plans: measure, plan_cache: '%.400s'}", NULL         \
    }

gpu_verdict gpu_bench_train_r224(gpu_run *run)
{
    static const bench large = { "r224", "{resnet50: {classes: 1000}}", 3, { 224, 224, 3 }, 256,
                                 1000 };
    static const arm ways[] = { RESNET_WAYS("r224_bf16", "bf16") };
    if (run->effort >= 50)
        note_device();
    return measure_resnet(run, &large, ways, 2);
}

static const bench r32 = { "r32", "{resnet50: {classes: 10, stem: large}}", 3, { 32, 32, 3 }, 128,
                           10 };

gpu_verdict gpu_bench_train_r32(gpu_run *run)
{
    static const arm ways[] = {
        RESNET_WAYS("r32_bf16", "bf16"),
        { "r32_bf16_no_graph",
          "precision: bf16, graph: false, cuda: {plans: measure, plan_cache: '%.400s'}", NULL }
    };
    return measure_resnet(run, &r32, ways, 3);
}

gpu_verdict gpu_bench_train_r32_fp32(gpu_run *run)
{
    static const arm ways[] = { RESNET_WAYS("r32_fp32", "fp32"), RESNET_WAYS("r32_tf32", "tf32") };
    return measure_resnet(run, &r32, ways, 4);
}
