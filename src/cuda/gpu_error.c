/* SPDX-License-Identifier: MIT
 *
 * gpu_error.c: converts CUDA errors to leat's codes and messages. All files of the plugin call it. */
#include <stdarg.h>
#include <string.h>

#include "gpu.h"

/* After these errors every CUDA call of the process fails, and only a new process helps. */
static bool is_lost(cudaError_t rc)
{
    switch (rc) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorDevicesUnavailable:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

static const char *advice(cudaError_t rc)
{
    if (is_lost(rc))
        return "; this process cannot use the device any more: end it and start again";
    if (rc == cudaErrorNoKernelImageForDevice)
        return "; leat's kernels need compute capability 8.0 or more";
    if (rc == cudaErrorSystemNotReady)
        return "; the machine's NVSwitch fabric is not ready (is the fabric manager running?)";
    return "";
}

int leat_gpu_code(leat_gpu *gpu, cudaError_t rc, const char *what)
{
    if (rc == cudaSuccess)
        return LEAT_OK;
    cudaGetLastError(); /* otherwise a later call would report this failure */
    if (rc == cudaErrorNotReady)
        return LEAT_E_AGAIN;
    pthread_mutex_lock(&gpu->lock);
    snprintf(gpu->trouble, sizeof gpu->trouble, "%s: %s (%s)%s", what, cudaGetErrorString(rc),
             cudaGetErrorName(rc), advice(rc));
    pthread_mutex_unlock(&gpu->lock);
    return rc == cudaErrorMemoryAllocation ? LEAT_E_NOMEM : LEAT_E_DEVICE;
}

int leat_gpu_trouble(leat_gpu *gpu, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&gpu->lock);
    vsnprintf(gpu->trouble, sizeof gpu->trouble, format, args);
    pthread_mutex_unlock(&gpu->lock);
    va_end(args);
    return code;
}

int leat_gpu_fail(leat_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return code;
}

int leat_gpu_check(leat_gpu *gpu, cudaError_t rc, const char *what, leat_error *err)
{
    const int code = leat_gpu_code(gpu, rc, what);
    if (code < 0) {
        char text[sizeof gpu->trouble];
        leat_gpu_explain(&gpu->base, text, sizeof text);
        leat_gpu_fail(err, code, "%s", text);
    }
    return code;
}

void leat_gpu_explain(leat_device *device, char *text, size_t size)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    pthread_mutex_lock(&gpu->lock);
    snprintf(text, size, "%s", gpu->trouble);
    pthread_mutex_unlock(&gpu->lock);
}

int leat_gpu_use(leat_gpu *gpu)
{
    return leat_gpu_code(gpu, cudaSetDevice(gpu->number), "choosing the device");
}
