/* SPDX-License-Identifier: MIT
 *
 * cuda_fixture.h: opens the CUDA plugin over the fake GPU (cuda_fake.h) for tests. */
#ifndef CUDA_FIXTURE_H
#define CUDA_FIXTURE_H

#include <dlfcn.h>

#include "cuda_fake.h"
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
