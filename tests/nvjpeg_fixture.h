/* SPDX-License-Identifier: MIT
 *
 * nvjpeg_fixture.h: opens the stand-in for nvJPEG (nvjpeg_fake.h) for tests. */
#ifndef NVJPEG_FIXTURE_H
#define NVJPEG_FIXTURE_H

#include "cuda_fixture.h"
#include "nvjpeg_fake.h"

#define FAKE_NVJPEG BUILD_DIR "/tests/libnvjpeg-fake.so"

/* After open_fake(): it works on that GPU. */
static inline const nvjpeg_fake_table *open_fake_nvjpeg(void)
{
    const nvjpeg_fake_table *(*get)(void);
    setenv("LEAT_NVJPEG", FAKE_NVJPEG, 1);
    void *const library = dlopen(FAKE_NVJPEG, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    *(void **)&get = dlsym(library, "nvjpeg_fake_get");
    assert_non_null(get);
    return get();
}

static inline void check_fake_nvjpeg(const nvjpeg_fake_table *fake)
{
    if (fake->violation())
        fail_msg("violation: %s", fake->violation());
    assert_int_equal(fake->live(), 0);
}

#endif
