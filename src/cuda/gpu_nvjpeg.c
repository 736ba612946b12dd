/* SPDX-License-Identifier: MIT
 *
 * gpu_nvjpeg.c: opens nvJPEG at first use and describes it (gpu_nvjpeg.h). */
#include "gpu_nvjpeg.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

enum { OLDEST = 12 }; /* first major version with the declared functions */

static struct {
    pthread_mutex_t lock;
    bool loaded; /* stays true */
    leat_gpu_nvjpeg api;
} nvjpeg = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *const names[] = { "libnvjpeg.so.13", "libnvjpeg.so.12" };
enum { N_NAMES = sizeof names / sizeof *names };

static void *open_library(void)
{
    const char *const named = getenv("LEAT_NVJPEG");
    void *library = NULL;
    snprintf(nvjpeg.api.path, sizeof nvjpeg.api.path, "%s", named ? named : "");
    if (named && *named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < N_NAMES && !library; i++)
        library = leat_gpu_libs_find(names[i], true, nvjpeg.api.path);
    return library;
}

static int load_locked(leat_error *err)
{
    leat_gpu_nvjpeg *const api = &nvjpeg.api;
    const char *const named = getenv("LEAT_NVJPEG");
    void *const library = open_library();
    if (!library)
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                             "%.300s cannot be opened: put it on the library path or name it in "
                             "LEAT_NVJPEG",
                             named && *named ? named : names[0]);
#define LOAD(name, parameters)                                                                     \
    *(void **)&api->name = dlsym(library, #name);                                                  \
    if (!api->name)                                                                                \
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "%.300s has no function %s", api->path,      \
                             #name);
    NVJPEG_CALLS(LOAD)
#undef LOAD
    api->has_regions = true;
#define LOOK(name, parameters)                                                                     \
    *(void **)&api->name = dlsym(library, #name);                                                  \
    api->has_regions &= api->name != NULL;
    NVJPEG_REGION_CALLS(LOOK)
#undef LOOK
    int *const parts[] = { &api->major, &api->minor, &api->patch };
    for (int i = 0; i < 3; i++) /* nvJPEG numbers the three properties 0, 1, 2 */
        if (api->nvjpegGetProperty(i, parts[i]) != NVJPEG_OK)
            return leat_gpu_fail(err, LEAT_E_UNSUPPORTED, "%.300s does not report its version",
                                 api->path);
    if (api->major < OLDEST)
        return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                             "%.300s is nvJPEG %d.%d.%d; version %d or later is needed", api->path,
                             api->major, api->minor, api->patch, OLDEST);
    nvjpeg.loaded = true;
    return LEAT_OK;
}

const leat_gpu_nvjpeg *leat_gpu_nvjpeg_open(leat_error *err)
{
    pthread_mutex_lock(&nvjpeg.lock);
    const int rc = nvjpeg.loaded ? LEAT_OK : load_locked(err);
    pthread_mutex_unlock(&nvjpeg.lock);
    return rc == LEAT_OK ? &nvjpeg.api : NULL;
}

const char *leat_gpu_nvjpeg_text(int answer)
{
    static const char *const texts[] = {
        [NVJPEG_OK] = "no error",
        [NVJPEG_NOT_INITIALIZED] = "not initialised",
        [NVJPEG_INVALID_PARAMETER] = "invalid argument",
        [NVJPEG_BAD_JPEG] = "the file is damaged",
        [NVJPEG_JPEG_NOT_SUPPORTED] = "an unsupported kind of file",
        [NVJPEG_ALLOCATOR_FAILURE] = "no memory left",
        [NVJPEG_EXECUTION_FAILED] = "execution on the device failed",
        [NVJPEG_ARCH_MISMATCH] = "not supported by this GPU",
        [NVJPEG_INTERNAL_ERROR] = "internal error",
        [NVJPEG_IMPLEMENTATION_NOT_SUPPORTED] = "not in this version",
        [NVJPEG_INCOMPLETE_BITSTREAM] = "the file is cut short",
    };
    return answer >= 0 && (size_t)answer < sizeof texts / sizeof *texts ? texts[answer]
                                                                        : "an unknown error";
}

void leat_gpu_nvjpeg_describe(char *text, size_t size)
{
    leat_error err;
    const leat_gpu_nvjpeg *const api = leat_gpu_nvjpeg_open(&err);
    nvjpeg_handle *handle = NULL;
    unsigned n_engines = 0, n_cores = 0;
    if (!api) {
        snprintf(text, size, "no nvJPEG: %.*s", (int)strcspn(err.message, ":"), err.message);
        return;
    }
    if (api->nvjpegCreateEx(NVJPEG_HARDWARE, NULL, NULL, 0, &handle) == NVJPEG_OK) {
        if (api->nvjpegGetHardwareDecoderInfo(handle, &n_engines, &n_cores) != NVJPEG_OK)
            n_engines = 0;
        api->nvjpegDestroy(handle);
    }
    cudaGetLastError(); /* creating HARDWARE may have failed */
    if (n_engines)
        snprintf(text, size, "nvJPEG %d.%d.%d with %u hardware decoder%s", api->major, api->minor,
                 api->patch, n_engines, n_engines == 1 ? "" : "s");
    else
        snprintf(text, size, "nvJPEG %d.%d.%d without a hardware decoder", api->major, api->minor,
                 api->patch);
}
