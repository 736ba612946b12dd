/* SPDX-License-Identifier: MIT
 *
 * nvjpeg_fake_decode.h: what the fake nvJPEG makes of a file. */
#ifndef NVJPEG_FAKE_DECODE_H
#define NVJPEG_FAKE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

struct nvjpeg_params {
    const struct nvjpeg_handle *handle;
    int format, x, y, width, height; /* width -1: all of the picture */
};
/* What is to be done with a file. */
typedef struct nvjpeg_fake_job {
    const unsigned char *file;
    size_t bytes;
    unsigned char *to; /* and bytes from line to line there */
    size_t pitch;
    struct nvjpeg_params part;
} nvjpeg_fake_job;

/* Decodes a file to where it belongs, as gray or RGB, or to nowhere. False: it is damaged, or has no such part. */
bool nvjpeg_fake_decode(const nvjpeg_fake_job *job, bool gray, bool nowhere);
/* The frame's marker, 0xc0 for baseline; 0: there is none. width: of the picture. */
int nvjpeg_fake_frame(const unsigned char *file, size_t bytes, size_t *width);

#endif
