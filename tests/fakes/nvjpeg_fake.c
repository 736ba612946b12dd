/* SPDX-License-Identifier: MIT
 *
 * nvjpeg_fake.c: see nvjpeg_fake.h. */
#include "nvjpeg_fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/gpu_nvjpeg.h"
#include "cuda_fake.h"
#include "leat/api.h"
#include "nvjpeg_fake_decode.h"

struct nvjpeg_handle {
    int backend;
};
struct nvjpeg_header {
    bool is_for_hardware;
};
struct nvjpeg_state {
    const nvjpeg_handle *handle;
    int n, format; /* as announced */
    bool busy;     /* its work has not run yet */
    nvjpeg_fake_job *jobs;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    unsigned n_engines;
    int64_t fail_in;
    int answer;
    bool always;
    uint64_t calls, decoded[2], parts;
    nvjpeg_fake_regions regions;
    size_t live;
    char violation[256];
    const cuda_fake_table *cuda;
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER,
           .idle = PTHREAD_COND_INITIALIZER,
           .fail_in = -1,
           .n_engines = 1 };

static void violate(const char *what)
{
    if (!fake.violation[0])
        snprintf(fake.violation, sizeof fake.violation, "%s", what);
}

/* Begins a call: takes the lock; the answer, if it is made to fail. */
static int enter(void)
{
    fake.cuda->allocates("a call of nvJPEG");
    pthread_mutex_lock(&fake.lock);
    fake.calls++;
    if (fake.always)
        return fake.answer;
    return fake.fail_in >= 0 && fake.fail_in-- == 0 ? fake.answer : NVJPEG_OK;
}

static int leave(int answer)
{
    pthread_mutex_unlock(&fake.lock);
    return answer;
}

#define ENTER()                                                                                    \
    const int planted = enter();                                                                   \
    if (planted != NVJPEG_OK)                                                                      \
    return leave(planted)

/* --- the library's functions ---------------------------------------------------------------------- */

#define EXPORT_ONE(name, parameters) LEAT_API int name parameters;
NVJPEG_CALLS(EXPORT_ONE)
NVJPEG_REGION_CALLS(EXPORT_ONE)

int nvjpegGetProperty(int what, int *value)
{
    const char *const major = getenv("NVJPEG_FAKE_MAJOR");
    *value = what == 0 ? (major ? atoi(major) : 13) : what;
    return NVJPEG_OK;
}

int nvjpegCreateEx(int backend, const void *device, const void *pinned, unsigned flags,
                   nvjpeg_handle **out)
{
    ENTER();
    (void)device, (void)pinned;
    if (backend == NVJPEG_HARDWARE && !fake.n_engines)
        return leave(NVJPEG_ARCH_MISMATCH);
    if (flags & ~(unsigned)NVJPEG_INTERPOLATE)
        violate("a flag that is not known");
    *out = malloc(sizeof **out);
    (*out)->backend = backend;
    fake.live++;
    return leave(NVJPEG_OK);
}

/* What ends something ends it also when it is made to fail. */
static int end(void *what)
{
    const int planted = enter();
    fake.live--;
    free(what);
    return leave(planted);
}

int nvjpegDestroy(nvjpeg_handle *handle)
{
    return end(handle);
}

int nvjpegGetHardwareDecoderInfo(nvjpeg_handle *handle, unsigned *n_engines, unsigned *n_cores)
{
    ENTER();
    *n_engines = handle->backend == NVJPEG_HARDWARE ? fake.n_engines : 0;
    *n_cores = *n_engines ? 1 : 0;
    return leave(NVJPEG_OK);
}

int nvjpegJpegStateCreate(nvjpeg_handle *handle, nvjpeg_state **out)
{
    ENTER();
    *out = calloc(1, sizeof **out);
    (*out)->handle = handle;
    fake.live++;
    return leave(NVJPEG_OK);
}

int nvjpegJpegStateDestroy(nvjpeg_state *state)
{
    pthread_mutex_lock(&fake.lock);
    if (state->busy && !fake.cuda->forgives() && !fake.answer)
        violate("a state destroyed before its work is done");
    while (state->busy && !fake.cuda->is_lost()) /* as freeing its memory would */
        pthread_cond_wait(&fake.idle, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    free(state->jobs);
    return end(state);
}

int nvjpegJpegStreamCreate(nvjpeg_handle *handle, nvjpeg_header **out)
{
    ENTER();
    (void)handle;
    *out = calloc(1, sizeof **out);
    fake.live++;
    return leave(NVJPEG_OK);
}

int nvjpegJpegStreamDestroy(nvjpeg_header *header)
{
    return end(header);
}

int nvjpegJpegStreamParseHeader(nvjpeg_handle *handle, const unsigned char *file, size_t bytes,
                                nvjpeg_header *header)
{
    ENTER();
    (void)handle;
    size_t width;
    const int frame = nvjpeg_fake_frame(file, bytes, &width);
    header->is_for_hardware = frame == 0xc0;
    return leave(frame ? NVJPEG_OK : NVJPEG_BAD_JPEG);
}

int nvjpegDecodeBatchedSupported(nvjpeg_handle *handle, nvjpeg_header *header, int *zero_if_it_is)
{
    ENTER();
    *zero_if_it_is = handle->backend == NVJPEG_HARDWARE && !header->is_for_hardware;
    return leave(NVJPEG_OK);
}

int nvjpegDecodeBatchedPreAllocate(nvjpeg_handle *handle, nvjpeg_state *state, int n, int width,
                                   int height, int chroma, int format)
{
    ENTER();
    (void)chroma, (void)format;
    if (handle != state->handle || n < 1 || width < 1 || height < 1)
        violate("a wrong argument of nvjpegDecodeBatchedPreAllocate");
    return leave(NVJPEG_OK);
}

static void begin(nvjpeg_state *state, int n, int format)
{
    if (state->busy)
        violate("a state used anew before its work is done");
    free(state->jobs);
    state->jobs = calloc((size_t)n, sizeof *state->jobs);
    state->n = n;
    state->format = format;
}

int nvjpegDecodeBatchedInitialize(nvjpeg_handle *handle, nvjpeg_state *state, int n,
                                  int n_cpu_threads, int format)
{
    ENTER();
    (void)n_cpu_threads;
    if (handle != state->handle || n < 1)
        violate("a wrong argument of nvjpegDecodeBatchedInitialize");
    begin(state, n, format);
    return leave(NVJPEG_OK);
}

/* On the fake GPU's thread. */
static void run(void *arg)
{
    nvjpeg_state *const state = arg;
    for (int i = 0; i < state->n; i++)
        if (!nvjpeg_fake_decode(&state->jobs[i], state->format == NVJPEG_Y, false)) {
            pthread_mutex_lock(&fake.lock);
            violate("a file changed before it was decoded");
            pthread_mutex_unlock(&fake.lock);
        }
    pthread_mutex_lock(&fake.lock);
    fake.decoded[state->handle->backend == NVJPEG_HARDWARE] += (uint64_t)state->n;
    state->busy = false;
    pthread_cond_broadcast(&fake.idle);
    pthread_mutex_unlock(&fake.lock);
}

static int enqueue(nvjpeg_state *state, const unsigned char *const *files, const size_t *bytes,
                   const nvjpeg_image *out, nvjpeg_params *const *params, cudaStream_t stream)
{
    if (state->busy || !state->jobs)
        violate("a state used anew before its work is done, or not announced");
    for (int i = 0; i < state->n; i++) {
        nvjpeg_fake_job *const j = &state->jobs[i];
        *j = (nvjpeg_fake_job){ .file = files[i],
                                .bytes = bytes[i],
                                .to = out[i].channel[0],
                                .pitch = out[i].pitch[0],
                                .part = { .format = state->format, .width = -1 } };
        if (params)
            j->part = *params[i];
        if (j->part.format != state->format)
            violate("parameters of another format");
        fake.parts += j->part.width >= 0;
        size_t width;
        const int frame = nvjpeg_fake_frame(files[i], bytes[i], &width);
        if (j->part.width >= 0)
            width = (size_t)j->part.width;
        if (j->pitch < width * (state->format == NVJPEG_Y ? 1 : 3)) {
            violate("a pitch below the width of what is decoded");
            return NVJPEG_INVALID_PARAMETER;
        }
        if (state->handle->backend == NVJPEG_HARDWARE && frame != 0xc0)
            return NVJPEG_JPEG_NOT_SUPPORTED;
        if (!nvjpeg_fake_decode(j, state->format == NVJPEG_Y, true)) {
            j->part.width = -1;
            if (nvjpeg_fake_decode(j, state->format == NVJPEG_Y, true))
                violate("a part that lies outside of the picture");
            return NVJPEG_BAD_JPEG;
        }
    }
    state->busy = true;
    pthread_mutex_unlock(&fake.lock); /* the fake GPU's thread may hold its own and want this one */
    const bool engine = state->handle->backend == NVJPEG_HARDWARE;
    const int rc = (engine ? fake.cuda->enqueue_ahead : fake.cuda->enqueue)(stream, run, state);
    pthread_mutex_lock(&fake.lock);
    state->busy &= rc == 0;
    return rc == 0 ? NVJPEG_OK : NVJPEG_EXECUTION_FAILED;
}

int nvjpegDecodeBatched(nvjpeg_handle *handle, nvjpeg_state *state,
                        const unsigned char *const *files, const size_t *bytes, nvjpeg_image *out,
                        cudaStream_t stream)
{
    ENTER();
    if (handle != state->handle)
        violate("a state of another handle");
    return leave(enqueue(state, files, bytes, out, NULL, stream));
}

int nvjpegDecode(nvjpeg_handle *handle, nvjpeg_state *state, const unsigned char *file,
                 size_t bytes, int format, nvjpeg_image *out, cudaStream_t stream)
{
    ENTER();
    if (handle != state->handle)
        violate("a state of another handle");
    begin(state, 1, format);
    return leave(enqueue(state, &file, &bytes, out, NULL, stream));
}

/* --- parts of pictures ----------------------------------------------------------------------------- */

int nvjpegDecodeParamsCreate(nvjpeg_handle *handle, nvjpeg_params **out)
{
    ENTER();
    *out = malloc(sizeof **out);
    **out = (nvjpeg_params){ .handle = handle, .width = -1, .height = -1 };
    fake.live++;
    return leave(NVJPEG_OK);
}

int nvjpegDecodeParamsDestroy(nvjpeg_params *params)
{
    return end(params);
}

int nvjpegDecodeParamsSetOutputFormat(nvjpeg_params *params, int format)
{
    ENTER();
    params->format = format;
    return leave(NVJPEG_OK);
}

int nvjpegDecodeParamsSetROI(nvjpeg_params *params, int x, int y, int width, int height)
{
    ENTER();
    const bool all = x == 0 && y == 0 && width == -1 && height == -1;
    if (!all && (x < 0 || y < 0 || width < 1 || height < 1))
        return leave(NVJPEG_INVALID_PARAMETER);
    params->x = x;
    params->y = y;
    params->width = width;
    params->height = height;
    return leave(NVJPEG_OK);
}

int nvjpegDecodeBatchedSupportedEx(nvjpeg_handle *handle, nvjpeg_header *header,
                                   nvjpeg_params *params, int *zero_if_it_is)
{
    ENTER();
    if (handle != params->handle)
        violate("parameters of another handle");
    *zero_if_it_is = handle->backend != NVJPEG_HARDWARE || !header->is_for_hardware ||
                     (params->width >= 0 && fake.regions == NVJPEG_FAKE_NOT_SUPPORTED);
    return leave(NVJPEG_OK);
}

int nvjpegDecodeBatchedEx(nvjpeg_handle *handle, nvjpeg_state *state,
                          const unsigned char *const *files, const size_t *bytes, nvjpeg_image *out,
                          nvjpeg_params **params, cudaStream_t stream)
{
    ENTER();
    if (handle != state->handle)
        violate("a state of another handle");
    if (handle->backend != NVJPEG_HARDWARE)
        return leave(NVJPEG_IMPLEMENTATION_NOT_SUPPORTED);
    if (fake.regions == NVJPEG_FAKE_REFUSED)
        return leave(NVJPEG_INVALID_PARAMETER);
    if (fake.regions == NVJPEG_FAKE_FAILED)
        return leave(NVJPEG_EXECUTION_FAILED);
    return leave(enqueue(state, files, bytes, out, params, stream));
}

/* --- for tests ------------------------------------------------------------------------------------ */

static void fake_reset(unsigned n_engines)
{
    pthread_mutex_lock(&fake.lock);
    fake.n_engines = n_engines;
    fake.fail_in = -1;
    fake.answer = 0;
    fake.always = false;
    fake.calls = fake.decoded[0] = fake.decoded[1] = fake.parts = 0;
    fake.regions = NVJPEG_FAKE_SUPPORTED;
    fake.violation[0] = 0;
    pthread_mutex_unlock(&fake.lock);
}

static void fake_fail_at(int64_t n, int answer)
{
    pthread_mutex_lock(&fake.lock);
    fake.fail_in = n;
    fake.answer = answer;
    pthread_mutex_unlock(&fake.lock);
}

static uint64_t look(const uint64_t *what)
{
    pthread_mutex_lock(&fake.lock);
    const uint64_t n = *what;
    pthread_mutex_unlock(&fake.lock);
    return n;
}

static uint64_t fake_calls(void)
{
    return look(&fake.calls);
}

static size_t fake_live(void)
{
    return fake.live;
}

static const char *fake_violation(void)
{
    return fake.violation[0] ? fake.violation : NULL;
}

static uint64_t fake_decoded(int by_hardware)
{
    return look(&fake.decoded[by_hardware]);
}

static void fake_set_regions(nvjpeg_fake_regions regions)
{
    pthread_mutex_lock(&fake.lock);
    fake.regions = regions;
    pthread_mutex_unlock(&fake.lock);
}

static void fake_fail_always(int answer)
{
    pthread_mutex_lock(&fake.lock);
    fake.answer = answer;
    fake.always = true;
    pthread_mutex_unlock(&fake.lock);
}

static uint64_t fake_parts(void)
{
    return look(&fake.parts);
}

LEAT_API const nvjpeg_fake_table *nvjpeg_fake_get(void);
const nvjpeg_fake_table *nvjpeg_fake_get(void)
{
    static const nvjpeg_fake_table table = { fake_reset,       fake_fail_at,   fake_calls,
                                             fake_live,        fake_violation, fake_decoded,
                                             fake_set_regions, fake_parts,     fake_fail_always };
    return &table;
}

/* The fake GPU, whose streams do the work: the plugin that opened this library. */
__attribute__((constructor)) static void find_cuda(void)
{
    const cuda_fake_table *(*get)(void);
    void *const plugin = dlopen(getenv("LEAT_CUDA_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    *(void **)&get = plugin ? dlsym(plugin, "cuda_fake_get") : NULL;
    if (!get)
        abort();
    fake.cuda = get();
}
