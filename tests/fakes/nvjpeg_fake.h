/* SPDX-License-Identifier: MIT
 *
 * nvjpeg_fake.h: a stand-in for nvJPEG over the fake GPU (cuda_fake.h), for tests of what the plugin
 * makes of it. nvjpeg_fake.c becomes a shared library that the plugin opens by LEAT_NVJPEG. It decodes
 * with libjpeg-turbo, so its pixels are those of the CPU's way, which the real one's are not. Files are
 * looked at when a call is made and read again when the stream comes to it: one that is overwritten
 * too early shows. The JPEG engine runs ahead of its stream, as an H200's did. Every wrong use is a violation; any call can
 * be made to fail. */
#ifndef NVJPEG_FAKE_H
#define NVJPEG_FAKE_H

#include <stddef.h>
#include <stdint.h>

/* What it says to parts of pictures. */
typedef enum nvjpeg_fake_regions {
    NVJPEG_FAKE_SUPPORTED,
    NVJPEG_FAKE_NOT_SUPPORTED, /* when it is asked */
    NVJPEG_FAKE_REFUSED,       /* only when they are to be decoded */
    NVJPEG_FAKE_FAILED         /* then the engine itself fails */
} nvjpeg_fake_regions;

typedef struct nvjpeg_fake_table {
    /* Back to the start. n_engines: hardware decoders; 0: it answers as a chip that has none does.
     * Nothing may be alive. */
    void (*reset)(unsigned n_engines);
    /* The n-th call from now (0: the next) gives this answer, once; -1: none does. */
    void (*fail_at)(int64_t n, int answer);
    uint64_t (*calls)(void);
    size_t (*live)(void); /* handles, states and headers that are not destroyed */
    const char *(*violation)(void);
    uint64_t (*decoded)(int by_hardware); /* pictures */
    void (*set_regions)(nvjpeg_fake_regions regions);
    uint64_t (*parts)(void);         /* pictures of which parts were decoded */
    void (*fail_always)(int answer); /* every call that can fail gives this answer */
} nvjpeg_fake_table;

#endif
