/* SPDX-License-Identifier: MIT
 *
 * resync.c: searches for a valid record.
 *
 * DESIGN. It tries each offset. Most fail because the length goes beyond the end of the file; almost all
 * others fail at the CRC of the length. Data is read only for the rest. A malicious file could have many
 * false lengths with right CRCs. So the bytes read for them are limited to a multiple of the bytes
 * searched; beyond it, the rest of the file is lost. */
#include "resync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "little_endian.h"
#include "tfrecord.h"

enum { WINDOW_BYTES = 1 << 18, TRIES = 16 };

struct search {
    int fd;
    uint64_t file_size;
    uint64_t base; /* of the window */
    size_t held;
    uint8_t *window, *piece; /* WINDOW_BYTES each; piece: data to check */
    uint64_t left;           /* bytes of data that can still be read */
};

/* Reads exactly `size` bytes. */
static int read_at(int fd, uint64_t at, uint8_t *to, size_t size, leat_format_error *err)
{
    const ssize_t n = leat_format_pread(fd, to, size, at);
    if (n < 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, at, "reading: %s", strerror(errno));
    if ((size_t)n < size)
        return leat_format_fail(err, LEAT_FORMAT_BAD, at,
                                "truncated: the file became shorter while it was read");
    return LEAT_FORMAT_OK;
}

/* Moves the start of the window to an offset. */
static int move_window(struct search *s, uint64_t at, leat_format_error *err)
{
    const uint64_t left = s->file_size - at;
    s->base = at;
    s->held = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    return read_at(s->fd, at, s->window, s->held, err);
}

/* *holds: 1 if the CRC of the data at that offset is right. */
static int check_data(struct search *s, uint64_t at, uint64_t length, int *holds,
                      leat_format_error *err)
{
    uint32_t crc = LEAT_TFRECORD_CRC_BEGIN;
    *holds = 0;
    if (length > s->left)
        return leat_format_fail(err, LEAT_FORMAT_END, at, "too many false lengths");
    s->left -= length;
    for (uint64_t done = 0; done < length;) {
        const size_t n = length - done < WINDOW_BYTES ? (size_t)(length - done) : WINDOW_BYTES;
        const int rc = read_at(s->fd, at + done, s->piece, n, err);
        if (rc < 0)
            return rc;
        crc = leat_tfrecord_crc_more(crc, s->piece, n);
        done += n;
    }
    const int rc = read_at(s->fd, at + length, s->piece, 4, err);
    *holds = rc == LEAT_FORMAT_OK && leat_load_u32(s->piece) == leat_tfrecord_crc_masked(crc);
    return rc;
}

static int search(struct search *s, uint64_t from, uint64_t *found, leat_format_error *err)
{
    uint64_t known = 0; /* caches the CRC of one length, for long runs of zeros */
    uint32_t known_crc = leat_tfrecord_masked_crc(&known, sizeof known);
    int rc = LEAT_FORMAT_OK, holds = 0;
    uint64_t p = from;
    for (; s->file_size - p >= LEAT_TFRECORD_OVERHEAD; p++) {
        if (p + LEAT_TFRECORD_HEADER > s->base + s->held && (rc = move_window(s, p, err)) < 0)
            return rc;
        const uint8_t *const header = s->window + (p - s->base);
        const uint64_t length = leat_load_u64(header);
        if (length > s->file_size - p - LEAT_TFRECORD_OVERHEAD)
            continue;
        if (length != known) {
            known = length;
            known_crc = leat_tfrecord_masked_crc(header, 8);
        }
        if (leat_load_u32(header + 8) != known_crc)
            continue;
        rc = check_data(s, p + LEAT_TFRECORD_HEADER, length, &holds, err);
        if (rc < 0 || holds)
            break;
    }
    *found = holds ? p : s->file_size;
    return rc == LEAT_FORMAT_END ? LEAT_FORMAT_OK : rc;
}

int leat_resync_find(int fd, uint64_t from, uint64_t file_size, uint64_t *found,
                     leat_format_error *err)
{
    *found = file_size;
    if (from >= file_size)
        return LEAT_FORMAT_OK;
    struct search s = { .fd = fd, .file_size = file_size, .base = from };
    s.left = (file_size - from) * TRIES;
    s.window = malloc(WINDOW_BYTES);
    s.piece = malloc(WINDOW_BYTES);
    const int rc = s.window && s.piece
                       ? search(&s, from, found, err)
                       : leat_format_fail(err, LEAT_FORMAT_NOMEM, from,
                                          "no memory to look for the next valid record");
    free(s.window);
    free(s.piece);
    return rc;
}
