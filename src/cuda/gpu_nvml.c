/* SPDX-License-Identifier: MIT
 *
 * gpu_nvml.c: the utilisation that the driver reports through NVML. The library comes with the driver, but its
 * header is often missing. So the functions are declared here as NVML's documentation has them. */
#include <dlfcn.h>

#include "gpu.h"

typedef struct nvml_utilisation {
    unsigned gpu, memory;
} nvml_utilisation;

static struct {
    pthread_once_t once;
    const char *missing; /* NULL: all is there */
    int (*init)(void);
    int (*by_bus)(const char *bus, void **out);
    int (*utilisation)(void *device, nvml_utilisation *out);
} nvml = { .once = PTHREAD_ONCE_INIT };

static void load(void)
{
    void *const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    nvml.missing = "libnvidia-ml.so.1 cannot be opened; it comes with the driver";
    if (!library)
        return;
    *(void **)&nvml.init = dlsym(library, "nvmlInit_v2");
    *(void **)&nvml.by_bus = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&nvml.utilisation = dlsym(library, "nvmlDeviceGetUtilizationRates");
    nvml.missing = "libnvidia-ml.so.1 lacks a function";
    if (nvml.init && nvml.by_bus && nvml.utilisation)
        nvml.missing = nvml.init() == 0 ? NULL : "NVML refuses to start";
}

int leat_gpu_utilisation(leat_device *device, int *percent, leat_error *err)
{
    leat_gpu *const gpu = leat_gpu_of(device);
    char bus[32] = "";
    void *handle = NULL;
    nvml_utilisation found = { 0, 0 };
    pthread_once(&nvml.once, load);
    if (nvml.missing)
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "%s", nvml.missing);
    /* CUDA and NVML number devices differently. */
    int rc =
        leat_gpu_check(gpu, cudaDeviceGetPCIBusId(bus, sizeof bus, gpu->number), "bus id", err);
    if (rc < 0)
        return rc;
    const int answer = nvml.by_bus(bus, &handle);
    const int second = answer ? answer : nvml.utilisation(handle, &found);
    *percent = (int)found.gpu;
    return second == 0
               ? LEAT_OK
               : leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "NVML returned %d for %s", second, bus);
}
