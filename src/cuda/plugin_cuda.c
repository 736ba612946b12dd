/* SPDX-License-Identifier: MIT
 *
 * plugin_cuda.c: the entry points of the plugin, its ABI number and its device table, and opening a GPU.
 * libleat finds them with dlsym(). The plugin does not call libleat, so that it also works with programs
 * that link libleat statically. */
#include <stdlib.h>
#include <string.h>

#include "device/device_plugin.h"
#include "gpu.h"
#include "gpu_nvjpeg.h"
#include "net_cuda.h"
#include "train_lib.h"

/* Writes why there is no GPU, and what would help. */
static void describe_absent(leat_device_info *out, int driver, int runtime, cudaError_t rc)
{
    const int major = runtime / 1000, minor = runtime % 1000 / 10;
    out->available = 0;
    if (driver == 0)
        snprintf(out->text, sizeof out->text, "no NVIDIA driver is installed");
    else if (driver < runtime && rc == cudaErrorInsufficientDriver)
        snprintf(out->text, sizeof out->text,
                 "the driver supports CUDA %d.%d, this plugin needs %d.%d: update it",
                 driver / 1000, driver % 1000 / 10, major, minor);
    else if (rc == cudaSuccess || rc == cudaErrorNoDevice)
        snprintf(out->text, sizeof out->text,
                 "the driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)");
    else
        snprintf(out->text, sizeof out->text, "%s", cudaGetErrorString(rc));
}

static int describe_gpu(int i, leat_device_info *out)
{
    struct cudaDeviceProp properties;
    const cudaError_t rc = cudaGetDeviceProperties(&properties, i);
    out->available = rc == cudaSuccess;
    if (out->available)
        snprintf(out->text, sizeof out->text,
                 "%.64s, compute capability %d.%d, %.0f GiB: copies, map and training",
                 properties.name, properties.major, properties.minor,
                 (double)properties.totalGlobalMem / (1024.0 * 1024 * 1024));
    else
        snprintf(out->text, sizeof out->text, "%s", cudaGetErrorString(rc));
    return out->available;
}

/* Adds the JPEG decoder of a GPU to its line. Only for lists, because it takes the GPU a while. */
static void add_nvjpeg(int i, leat_device_info *out)
{
    char text[120] = "";
    const size_t n = strlen(out->text);
    if (cudaSetDevice(i) == cudaSuccess)
        leat_gpu_nvjpeg_describe(text, sizeof text);
    if (text[0])
        snprintf(out->text + n, sizeof out->text - n, "; %s", text);
}

static size_t list_gpus(leat_device_info *out, size_t n)
{
    int driver = 0, runtime = 0, n_gpus = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaError_t rc = cudaGetDeviceCount(&n_gpus);
    if (rc != cudaSuccess)
        n_gpus = 0;
    for (size_t i = 0; i < n && (i == 0 || i < (size_t)n_gpus); i++) {
        memset(&out[i], 0, sizeof out[i]);
        snprintf(out[i].name, sizeof out[i].name, "cuda:%zu", i);
        if (n_gpus == 0)
            describe_absent(&out[i], driver, runtime, rc);
        else if (describe_gpu((int)i, &out[i]))
            add_nvjpeg((int)i, &out[i]);
    }
    cudaGetLastError(); /* otherwise a later call would report this failure */
    return n_gpus ? (size_t)n_gpus : 1;
}

/* The number of a GPU from its name; "" is the first. -1: not a number. */
static int number_of(const char *spec)
{
    char *end;
    const long n = strtol(spec, &end, 10);
    if (!*spec)
        return 0;
    return *end || n < 0 || n > 4096 || *spec < '0' || *spec > '9' ? -1 : (int)n;
}

/* Finds that GPU, or fails with the reason. */
static int find_gpu(const char *spec, int *number, leat_device_info *info, leat_error *err)
{
    int driver = 0, runtime = 0, n_gpus = 0;
    *number = number_of(spec);
    if (*number < 0)
        return leat_gpu_fail(err, LEAT_E_CONFIG, "cuda takes a number, as in cuda:0");
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    const cudaError_t rc = cudaGetDeviceCount(&n_gpus);
    cudaGetLastError();
    if (rc != cudaSuccess || n_gpus == 0)
        describe_absent(info, driver, runtime, rc);
    else if (*number < n_gpus && describe_gpu(*number, info))
        return LEAT_OK;
    else if (*number >= n_gpus)
        snprintf(info->text, sizeof info->text, "this machine has %d GPU%s, the last is cuda:%d",
                 n_gpus, n_gpus == 1 ? "" : "s", n_gpus - 1);
    return leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "%s", info->text);
}

static void libraries(char *text, size_t size)
{
    leat_gpu_lib_functions.describe(text, size);
}

static void close_gpu(leat_device *device)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    cudaSetDevice(gpu->number);
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    leat_gpu_work_close(gpu);
    leat_gpu_synthetic_work_close(gpu);
    leat_gpu_clock_close(gpu);
    leat_gpu_capture_mode(mode);
    cudaGetLastError();
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

static int open_gpu(const char *spec, leat_device **out, leat_error *err)
{
    leat_device_info info = { .simulated = 0 };
    int number;
    *out = NULL;
    int rc = find_gpu(spec, &number, &info, err);
    if (rc < 0)
        return rc;
    leat_gpu *const gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return leat_gpu_fail(err, LEAT_E_NOMEM, "device: %zu bytes", sizeof *gpu);
    pthread_mutex_init(&gpu->lock, NULL);
    gpu->base = (leat_device){ .table = leat_cuda_device_table(), .info = info };
    gpu->number = number;
    snprintf(gpu->base.info.name, sizeof gpu->base.info.name, "cuda:%d", number);
    rc = leat_gpu_check(gpu, cudaSetDevice(number), "starting the device", err);
    const enum cudaStreamCaptureMode mode = leat_gpu_capture_mode(cudaStreamCaptureModeRelaxed);
    if (rc == LEAT_OK)
        rc = leat_gpu_clock_open(gpu, err);
    leat_gpu_capture_mode(mode);
    if (rc < 0) {
        close_gpu(&gpu->base);
        return rc;
    }
    *out = &gpu->base;
    return LEAT_OK;
}

static const leat_device_table table = {
    .kind = "cuda",
    .help = "an NVIDIA GPU",
    .open = open_gpu,
    .close = close_gpu,
    .list = list_gpus,
    .device_alloc = leat_gpu_device_alloc,
    .device_free = leat_gpu_device_free,
    .pinned_alloc = leat_gpu_pinned_alloc,
    .pinned_free = leat_gpu_pinned_free,
    .stream_open = leat_gpu_stream_open,
    .stream_close = leat_gpu_stream_close,
    .stream_sync = leat_gpu_stream_sync,
    .stream_wrap = leat_gpu_stream_wrap,
    .stream_unwrap = leat_gpu_stream_unwrap,
    .event_open = leat_gpu_event_open,
    .event_close = leat_gpu_event_close,
    .event_record = leat_gpu_event_record,
    .stream_wait = leat_gpu_stream_wait,
    .event_query = leat_gpu_event_query,
    .event_sync = leat_gpu_event_sync,
    .event_ns = leat_gpu_event_ns,
    .copy_to_device = leat_gpu_copy_to_device,
    .copy_to_host = leat_gpu_copy_to_host,
    .copy_on_device = leat_gpu_copy_on_device,
    .memory_info = leat_gpu_memory_info,
    .explain = leat_gpu_explain,
    .synthetic_work = leat_gpu_synthetic_work,
    .matmul = leat_gpu_matmul,
    .add = leat_gpu_add,
    .ops_open = leat_gpu_ops_open,
    .ops_add = leat_gpu_ops_add,
    .ops_run = leat_gpu_ops_run,
    .ops_close = leat_gpu_ops_close,
    .record_start = leat_gpu_record_start,
    .record_stop = leat_gpu_record_stop,
    .utilisation = leat_gpu_utilisation,
    .libraries = libraries,
    .train = leat_net_backend,
};

int leat_cuda_abi(void)
{
    return LEAT_CUDA_ABI;
}

const leat_device_table *leat_cuda_device_table(void)
{
    return &table;
}
