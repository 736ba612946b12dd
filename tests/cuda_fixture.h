/* SPDX-License-Identifier: MIT
 *
 * cuda_fixture.h: opens the CUDA plugin over the fake GPU (cuda_fake.h) for tests. */
#ifndef CUDA_FIXTURE_H
#define CUDA_FIXTURE_H

#include <dlfcn.h>

#include "cuda_fake.h"
#include "device/device_table.h"
#include "engine_fixture.h"

#ifndef BUILD_DIR
#define BUILD_DIR "."
#endif
#define FAKE_PLUGIN BUILD_DIR "/tests/libleat-cuda-fake.so"

static inline const cuda_fake_table *open_fake(void)
{
    const cuda_fake_table *(*get)(void);
    setenv("LEAT_CUDA_PLUGIN", FAKE_PLUGIN, 1);
    void *const library = dlopen(FAKE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    *(void **)&get = dlsym(library, "cuda_fake_get");
    assert_non_null(get);
    return get();
}

static inline leat_device *open_gpu(void)
{
    leat_device *device;
    leat_error err;
    check(leat_device_open("cuda:0", &device, &err), &err);
    return device;
}

/* Opens a loader, takes all batches as a trainer does, closes; the first error. see: of each batch, and
 * at the end without one; NULL: nothing. */
static inline int take_all(const leat_plan *plan, leat_device *device, int64_t epochs,
                           void (*see)(void *user, leat_loader *loader, leat_batch *batch),
                           void *user, leat_error *err)
{
    const leat_loader_options o = { .device = device, .epochs = epochs };
    leat_loader *loader = NULL;
    leat_stream *stream = NULL;
    leat_batch *batch;
    int rc = device->table->stream_open(device, &stream, err);
    if (rc >= 0)
        rc = leat_loader_open(plan, &o, &loader, err);
    while (rc >= 0 && (rc = leat_loader_next(loader, &batch, err)) >= 0) {
        if (see)
            see(user, loader, batch);
        const int waited = leat_batch_wait_on(batch, stream);
        const int released = leat_batch_release_on(batch, stream);
        rc = waited < 0 ? waited : released;
        if (rc < 0)
            leat_fail(err, rc, "a call on a batch failed");
    }
    if (loader && see)
        see(user, loader, NULL);
    leat_loader_close(&loader);
    if (stream)
        device->table->stream_close(stream);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

/* The same, with the device opened and closed. */
static inline int take_all_of_device(const leat_plan *plan,
                                     void (*see)(void *user, leat_loader *loader,
                                                 leat_batch *batch),
                                     void *user, leat_error *err)
{
    leat_device *device;
    int rc = leat_device_open("cuda:0", &device, err);
    if (rc < 0)
        return rc;
    rc = take_all(plan, device, 0, see, user, err);
    leat_device_close(&device);
    return rc;
}

/* Nothing leaked, nothing used wrongly. */
static inline void check_fake(const cuda_fake_table *fake)
{
    char text[256];
    if (fake->violation())
        fail_msg("violation: %s", fake->violation());
    if (fake->live(text, sizeof text))
        fail_msg("not freed: %s", text);
}

#endif
