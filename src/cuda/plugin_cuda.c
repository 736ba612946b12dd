/* SPDX-License-Identifier: MIT
 *
 * plugin_cuda.c: what libleat finds when it opens the plugin: its ABI number and its device table.
 *
 * The table lists the GPUs of this machine, or says why there are none; it opens none of them. The
 * plugin calls nothing of libleat, so it serves programs that link the static library too. */
#include <cuda_runtime_api.h>
#include <string.h>

#include "device_cuda.h"

/* A device line that says what is wrong and what would help. */
static void describe_absent(leat_device_info *out, int driver, int runtime, cudaError_t rc)
{
    const int major = runtime / 1000, minor = runtime % 1000 / 10;
    out->available = 0;
    if (driver == 0)
        snprintf(out->text, sizeof out->text, "no NVIDIA driver is installed");
    else if (driver < runtime && rc == cudaErrorInsufficientDriver)
        snprintf(out->text, sizeof out->text,
                 "the driver serves CUDA %d.%d, this plugin needs %d.%d: update it", driver / 1000,
                 driver % 1000 / 10, major, minor);
    else if (rc == cudaSuccess || rc == cudaErrorNoDevice)
        snprintf(out->text, sizeof out->text,
                 "the driver sees no GPU (is CUDA_VISIBLE_DEVICES empty?)");
    else
        snprintf(out->text, sizeof out->text, "%s", cudaGetErrorString(rc));
}

static void describe_gpu(int i, leat_device_info *out)
{
    struct cudaDeviceProp properties;
    const cudaError_t rc = cudaGetDeviceProperties(&properties, i);
    if (rc == cudaSuccess)
        snprintf(out->text, sizeof out->text,
                 "%.64s (compute capability %d.%d, %.0f GiB) is there, but this "
                 "version of leat does not run on GPUs",
                 properties.name, properties.major, properties.minor,
                 (double)properties.totalGlobalMem / (1024.0 * 1024 * 1024));
    else
        snprintf(out->text, sizeof out->text, "%s", cudaGetErrorString(rc));
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
        if (n_gpus)
            describe_gpu((int)i, &out[i]);
        else
            describe_absent(&out[i], driver, runtime, rc);
    }
    cudaGetLastError(); /* a failed question must not be the answer to a later one */
    return n_gpus ? (size_t)n_gpus : 1;
}

static int open_gpu(const char *spec, leat_device **out, leat_error *err)
{
    (void)spec;
    *out = NULL;
    if (err) {
        err->code = LEAT_E_UNSUPPORTED;
        snprintf(err->message, sizeof err->message,
                 "training and copies on CUDA are not part of this version; use cpu or sim");
    }
    return LEAT_E_UNSUPPORTED;
}

static const leat_device_table table = {
    .kind = "cuda",
    .help = "an NVIDIA GPU",
    .open = open_gpu,
    .list = list_gpus,
};

int leat_cuda_abi(void)
{
    return LEAT_CUDA_ABI;
}

const leat_device_table *leat_cuda_device_table(void)
{
    return &table;
}
