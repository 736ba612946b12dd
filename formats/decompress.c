/* SPDX-License-Identifier: MIT
 *
 * decompress.c: decompresses with ISA-L.
 *
 * DESIGN. ISA-L stores its whole state, including the last 32 KiB of data, in one struct without pointers
 * into itself. So a copy of that struct and the offset of the next byte of the file are a restart point.
 * The state includes the checksum of the member: it is checked at the end of the member, also after a
 * restart. */
#include "decompress.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "little_endian.h"

enum {
    IN_BYTES = 1 << 16,
    BACK_BYTES = 16,         /* space before the input, for bytes that ISA-L gives back */
    OUT_MOST_BYTES = 1 << 30 /* of one call: its counts have 32 bits */
};

struct leat_decompress_point {
    struct inflate_state state; /* next_in, avail_in and next_out are unused */
    const char *kind;
    uint64_t next;   /* offset in the file of the next read */
    uint64_t member; /* offset in the file of the current member */
    uint64_t at;     /* bytes of data so far */
    int ended, failed;
};

struct leat_decompressor {
    struct leat_decompress_point now; /* now.next: after the bytes in `in` */
    int fd;
    leat_format_error why; /* if now.failed */
    uint8_t in[BACK_BYTES + IN_BYTES];
};

static int is_zlib(const uint8_t *b)
{
    /* The top bytes of a length are 0, even if its other bytes are damaged. Compressed data rarely has
     * that. A stored block can, but then its length and complement match. */
    const int stored = b[2] <= 1 && (leat_load_u16(b + 3) ^ leat_load_u16(b + 5)) == 0xffff;
    return (b[0] & 0x0f) == 8 && b[0] >> 4 <= 7 && (b[0] << 8 | b[1]) % 31 == 0 &&
           (b[6] || b[7] || stored);
}

const char *leat_decompress_kind(const uint8_t *begin, size_t n)
{
    if (n < 8) /* smallest file of either format */
        return NULL;
    if (begin[0] == 0x1f && begin[1] == 0x8b && begin[2] == 8 && !(begin[3] & 0xe0))
        return "GZIP";
    return is_zlib(begin) ? "ZLIB" : NULL;
}

int leat_decompress_open(leat_decompressor **out, leat_format_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory to decompress");
    return LEAT_FORMAT_OK;
}

void leat_decompress_close(leat_decompressor **decompressor)
{
    free(*decompressor);
    *decompressor = NULL;
}

static void begin_member(leat_decompressor *decompressor)
{
    struct leat_decompress_point *const now = &decompressor->now;
    now->member = now->next - now->state.avail_in;
    isal_inflate_reset(&now->state);
    now->state.crc_flag = *now->kind == 'G'   ? ISAL_GZIP
                          : *now->kind == 'Z' ? ISAL_ZLIB
                                              : ISAL_DEFLATE;
}

void leat_decompress_begin(leat_decompressor *decompressor, int fd, const char *kind,
                           uint64_t offset)
{
    decompressor->fd = fd;
    memset(&decompressor->now, 0, sizeof decompressor->now);
    decompressor->now.kind = kind;
    decompressor->now.next = offset;
    isal_inflate_init(&decompressor->now.state);
    begin_member(decompressor);
}

static int fail(leat_decompressor *decompressor, int code, const char *what, leat_format_error *err)
{
    struct leat_decompress_point *const now = &decompressor->now;
    const uint64_t byte = now->next - now->state.avail_in;
    now->failed = leat_format_fail(
        &decompressor->why, code, byte,
        "%s: %s at byte %llu of the file (in the member at byte %llu), after %llu bytes of data",
        now->kind, what, (unsigned long long)byte, (unsigned long long)now->member,
        (unsigned long long)now->at);
    if (err)
        *err = decompressor->why;
    return code;
}

static const char *reason_of(int rc)
{
    switch (rc) {
    case ISAL_INVALID_BLOCK:
    case ISAL_INVALID_SYMBOL:
    case ISAL_INVALID_LOOKBACK:
        return "the compressed data are damaged";
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
        return "damaged header, or bytes after the end that are of another format";
    case ISAL_INCORRECT_CHECKSUM:
        return "the data does not match its checksum or length: damaged";
    default:
        return "it needs a dictionary, which these files do not have";
    }
}

/* *n: bytes read; 0 at the end of the file. */
static int refill(leat_decompressor *decompressor, size_t *n, leat_format_error *err)
{
    struct leat_decompress_point *const now = &decompressor->now;
    uint8_t *const to = decompressor->in + BACK_BYTES;
    ssize_t got;
    do
        got = pread(decompressor->fd, to, IN_BYTES, (off_t)now->next);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail(decompressor, LEAT_FORMAT_IO, strerror(errno), err);
    *n = (size_t)got;
    now->next += *n;
    now->state.next_in = to;
    now->state.avail_in = (uint32_t)*n;
    return LEAT_FORMAT_OK;
}

/* Called after the last byte of a member: ends the data, or starts the next member. */
static int end_member(leat_decompressor *decompressor, leat_format_error *err)
{
    struct leat_decompress_point *const now = &decompressor->now;
    if (*now->kind == 'D') { /* other bytes of the container may follow */
        now->ended = 1;
        return LEAT_FORMAT_OK;
    }
    /* After the short trailer of ZLIB, ISA-L can hold bytes that it does not give back. */
    size_t n = now->state.avail_in + (size_t)now->state.read_in_length / 8;
    const int rc = n ? LEAT_FORMAT_OK : refill(decompressor, &n, err);
    if (rc < 0)
        return rc;
    if (n == 0)
        now->ended = 1;
    else if (*now->kind == 'G')
        begin_member(decompressor);
    else
        return fail(decompressor, LEAT_FORMAT_BAD, "there are bytes after the end", err);
    return LEAT_FORMAT_OK;
}

/* Decompresses some more bytes. */
static int step(leat_decompressor *decompressor, uint8_t *to, size_t size, size_t *n,
                leat_format_error *err)
{
    struct leat_decompress_point *const now = &decompressor->now;
    struct inflate_state *const state = &now->state;
    size_t n_in = state->avail_in;
    if (!n_in) {
        const int rc = refill(decompressor, &n_in, err);
        if (rc < 0)
            return rc;
    }
    const uint32_t room = size < OUT_MOST_BYTES ? (uint32_t)size : OUT_MOST_BYTES;
    state->next_out = to;
    state->avail_out = room;
    const int rc = isal_inflate(state);
    *n = room - state->avail_out;
    now->at += *n;
    if (rc != ISAL_DECOMP_OK)
        return fail(decompressor, LEAT_FORMAT_BAD, reason_of(rc), err);
    if (!n_in && !*n && state->block_state != ISAL_BLOCK_FINISH)
        return fail(decompressor, LEAT_FORMAT_BAD, "truncated: the file ends", err);
    return LEAT_FORMAT_OK;
}

int leat_decompress_read(leat_decompressor *decompressor, void *to, size_t size, size_t *n,
                         leat_format_error *err)
{
    struct leat_decompress_point *const now = &decompressor->now;
    int rc = LEAT_FORMAT_OK;
    *n = 0;
    if (now->failed) {
        if (err)
            *err = decompressor->why;
        return now->failed;
    }
    while (*n < size && !now->ended && rc == LEAT_FORMAT_OK) {
        size_t some = 0;
        if (now->state.block_state == ISAL_BLOCK_FINISH)
            rc = end_member(decompressor, err);
        else
            rc = step(decompressor, (uint8_t *)to + *n, size - *n, &some, err);
        *n += some;
    }
    return rc;
}

uint64_t leat_decompress_at(const leat_decompressor *decompressor)
{
    return decompressor->now.at;
}

leat_decompress_point *leat_decompress_keep(const leat_decompressor *decompressor)
{
    leat_decompress_point *const point = malloc(sizeof *point);
    if (!point)
        return NULL;
    *point = decompressor->now;
    point->next -= point->state.avail_in;
    point->state.avail_in = 0;
    return point;
}

void leat_decompress_resume(leat_decompressor *decompressor, int fd,
                            const leat_decompress_point *point)
{
    decompressor->fd = fd;
    decompressor->now = *point;
}

size_t leat_decompress_point_bytes(void)
{
    return sizeof(leat_decompress_point);
}
