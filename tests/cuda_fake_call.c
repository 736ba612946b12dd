/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_call.c: how a call of the fake GPU begins and ends, its errors, and the device itself. */
#include <stdio.h>
#include <string.h>

#include "cuda_fake_state.h"

_Thread_local bool in_call;
static _Thread_local cudaError_t last_error;

void violate(const char *what)
{
    if (!fake.violation[0])
        snprintf(fake.violation, sizeof fake.violation, "%s", what);
}

cudaError_t enter(const char *name)
{
    pthread_mutex_lock(&fake.lock);
    /* Asking again and again is one call, so that the number of calls does not depend on time. */
    const bool again = fake.last == name && !strcmp(name, "cudaEventQuery");
    fake.last = name;
    fake.calls += !again;
    if (in_call) {
        char text[128];
        snprintf(text, sizeof text, "%s in a call-back", name);
        violate(text);
    }
    if (fake.driver == 0 || fake.driver < 13000)
        return cudaErrorInsufficientDriver;
    if (fake.n_gpus == 0)
        return cudaErrorNoDevice;
    if (fake.lost)
        return cudaErrorIllegalAddress;
    if (!again && fake.fail_in >= 0 && fake.fail_in-- == 0)
        return (cudaError_t)fake.fail_code;
    return cudaSuccess;
}

cudaError_t leave(cudaError_t rc)
{
    pthread_mutex_unlock(&fake.lock);
    if (rc != cudaSuccess)
        last_error = rc;
    return rc;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = fake.driver;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count)
{
    ENTER();
    *count = fake.n_gpus;
    return leave(cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    ENTER();
    if (device < 0 || device >= fake.n_gpus)
        return leave(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "fake GPU");
    p->major = 9;
    p->totalGlobalMem = fake.memory;
    p->multiProcessorCount = 4;
    return leave(cudaSuccess);
}
cudaError_t cudaSetDevice(int device)
{
    ENTER();
    return leave(device >= 0 && device < fake.n_gpus ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetPCIBusId(char *bus, int size, int device)
{
    ENTER();
    snprintf(bus, (size_t)size, "0000:%02x:00.0", device);
    return leave(cudaSuccess);
}
cudaError_t cudaDeviceSynchronize(void)
{
    ENTER();
    for (struct CUstream_st *s = fake.streams; s && !fake.lost;)
        if (s->first) {
            pthread_cond_wait(&fake.done, &fake.lock);
            s = fake.streams;
        } else {
            s = s->next;
        }
    return leave(cudaSuccess);
}
const char *cudaGetErrorString(cudaError_t rc)
{
    return rc == cudaErrorMemoryAllocation ? "out of memory"
           : rc == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
           : rc == cudaErrorNoDevice       ? "no CUDA-capable device is detected"
                                           : "planted failure";
}
const char *cudaGetErrorName(cudaError_t rc)
{
    return rc == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
           : rc == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress"
                                           : "cudaErrorPlanted";
}
cudaError_t cudaGetLastError(void)
{
    const cudaError_t rc = last_error;
    last_error = cudaSuccess;
    return rc;
}
