/* SPDX-License-Identifier: MIT
 *
 * compressed.h: bytes as GZIP or ZLIB data, for tests. */
#ifndef COMPRESSED_H
#define COMPRESSED_H

#include <isa-l/igzip_lib.h>
#include <stdint.h>
#include <stdlib.h>

/* Appends one GZIP member or ZLIB stream of n bytes to `to`, which has `room`; gives its size, or 0. */
static inline size_t compress_one(const uint8_t *bytes, size_t n, int zlib, uint8_t *to,
                                  size_t room)
{
    struct isal_zstream *const stream = malloc(sizeof *stream);
    if (!stream)
        return 0;
    isal_deflate_init(stream);
    stream->gzip_flag = zlib ? IGZIP_ZLIB : IGZIP_GZIP;
    stream->end_of_stream = 1;
    stream->next_in = (uint8_t *)(uintptr_t)bytes;
    stream->avail_in = (uint32_t)n;
    stream->next_out = to;
    stream->avail_out = (uint32_t)room;
    const int rc = isal_deflate(stream);
    const size_t size = room - stream->avail_out;
    const int done = rc == COMP_OK && stream->internal_state.state == ZSTATE_END;
    free(stream);
    return done ? size : 0;
}

/* In members of at most `member` bytes; free() it. NULL: no memory, or ISA-L failed. */
static inline uint8_t *compressed(const uint8_t *bytes, size_t n, int zlib, size_t member,
                                  size_t *size)
{
    const size_t room = n + n / 8 + (n / member + 1) * 400;
    uint8_t *const to = malloc(room);
    *size = 0;
    for (size_t at = 0; to && (at < n || at == 0); at += member) {
        const size_t some = n - at < member ? n - at : member;
        const size_t one = compress_one(bytes + at, some, zlib, to + *size, room - *size);
        *size += one;
        if (!one) {
            free(to);
            return NULL;
        }
    }
    return to;
}

#endif
