/* SPDX-License-Identifier: MIT */
#include "tfrecord.h"

#include <isa-l/crc.h>
#include <stdbool.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include "decompress.h"
#include "little_endian.h"

typedef unsigned long long ull;

/* ISA-L inverts neither the start value nor the result, and its byte count is an int. */
uint32_t leat_tfrecord_crc_more(uint32_t crc, const void *bytes, size_t size)
{
    const size_t most = (size_t)1 << 30;
    unsigned char *at =
        (unsigned char *)(uintptr_t)bytes; /* ISA-L only reads, but its type lacks const */
    while (size) {
        const size_t n = size < most ? size : most;
        crc = crc32_iscsi(at, (int)n, crc);
        at += n;
        size -= n;
    }
    return crc;
}

uint32_t leat_tfrecord_crc_masked(uint32_t crc)
{
    return ((~crc >> 15) | (~crc << 17)) + 0xa282ead8u;
}

uint32_t leat_tfrecord_masked_crc(const void *bytes, size_t size)
{
    return leat_tfrecord_crc_masked(leat_tfrecord_crc_more(LEAT_TFRECORD_CRC_BEGIN, bytes, size));
}

void leat_tfrecord_frame(const void *data, size_t size, uint8_t header[LEAT_TFRECORD_HEADER],
                         uint8_t footer[4])
{
    leat_store_u64(header, size);
    leat_store_u32(header + 8, leat_tfrecord_masked_crc(header, 8));
    leat_store_u32(footer, leat_tfrecord_masked_crc(data, size));
}

const char *leat_tfrecord_compression(const uint8_t *begin, size_t n)
{
    uint64_t length;
    if (n >= LEAT_TFRECORD_HEADER && leat_tfrecord_check_length(begin, &length, NULL) == 0)
        return NULL;
    return leat_decompress_kind(begin, n);
}

int leat_tfrecord_check_length(const uint8_t *header, uint64_t *length, leat_format_error *err)
{
    const uint32_t stored = leat_load_u32(header + 8);
    const uint32_t crc = leat_tfrecord_masked_crc(header, 8);
    *length = leat_load_u64(header);
    if (stored == crc)
        return LEAT_FORMAT_OK;
    if (!memcmp(header, "leat-", 5)) /* index.h, jpeg_index.h */
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "this is the index of a TFRecord file, not the file itself");
    return leat_format_fail(err, LEAT_FORMAT_BAD, 8,
                            "length CRC is %08x but the length's bytes give %08x: damaged, or not "
                            "a TFRecord file",
                            stored, crc);
}

int leat_tfrecord_check_data(const uint8_t *data, size_t size, leat_format_error *err)
{
    const uint32_t stored = leat_load_u32(data + size);
    const uint32_t crc = leat_tfrecord_masked_crc(data, size);
    if (stored != crc)
        return leat_format_fail(err, LEAT_FORMAT_BAD, LEAT_TFRECORD_HEADER + size,
                                "data CRC is %08x but the %zu bytes of data give %08x: damaged",
                                stored, size, crc);
    return LEAT_FORMAT_OK;
}

int leat_tfrecord_check(const uint8_t *framed, size_t size, const uint8_t **payload,
                        size_t *payload_size, leat_format_error *err)
{
    uint64_t length;
    if (size < LEAT_TFRECORD_HEADER)
        return leat_format_fail(err, LEAT_FORMAT_BAD, size,
                                "truncated: %zu bytes, less than a record's header of %d", size,
                                LEAT_TFRECORD_HEADER);
    int rc = leat_tfrecord_check_length(framed, &length, err);
    if (rc < 0)
        return rc;
    const uint64_t room = size < LEAT_TFRECORD_OVERHEAD ? 0 : size - LEAT_TFRECORD_OVERHEAD;
    if (size < LEAT_TFRECORD_OVERHEAD || length > room)
        return leat_format_fail(err, LEAT_FORMAT_BAD, size,
                                "truncated: %llu bytes of data and %d around them, but not all of "
                                "them are there",
                                (ull)length, LEAT_TFRECORD_OVERHEAD);
    if (length < room)
        return leat_format_fail(
            err, LEAT_FORMAT_BAD, LEAT_TFRECORD_OVERHEAD + length,
            "the record has %llu bytes of data and ends before the %zu bytes that "
            "its index gives: the index does not fit the file",
            (ull)length, size);
    rc = leat_tfrecord_check_data(framed + LEAT_TFRECORD_HEADER, (size_t)length, err);
    if (rc < 0)
        return rc;
    *payload = framed + LEAT_TFRECORD_HEADER;
    *payload_size = (size_t)length;
    return LEAT_FORMAT_OK;
}

/* --- several at once ------------------------------------------------------------------------------ */

static unsigned check_one_by_one(const uint8_t *const *framed, const size_t *sizes, int n)
{
    unsigned intact = 0;
    for (int i = 0; i < n; i++) {
        const uint8_t *payload;
        size_t size;
        if (leat_tfrecord_check(framed[i], sizes[i], &payload, &size, NULL) == LEAT_FORMAT_OK)
            intact |= 1u << i;
    }
    return intact;
}

#if defined(__x86_64__)
#define SHORT 1024 /* bytes of a record; ISA-L is as fast for longer ones */

/* Moves on the CRCs of four records by `words` words of 8 bytes. */
__attribute__((target("sse4.2"))) static void crc_words(uint64_t crc[4],
                                                        const uint8_t *const *framed, size_t words)
{
    uint64_t a = crc[0], b = crc[1], c = crc[2], d = crc[3];
    for (size_t at = LEAT_TFRECORD_HEADER, end = at + 8 * words; at < end; at += 8) {
        a = _mm_crc32_u64(a, leat_load_u64(framed[0] + at));
        b = _mm_crc32_u64(b, leat_load_u64(framed[1] + at));
        c = _mm_crc32_u64(c, leat_load_u64(framed[2] + at));
        d = _mm_crc32_u64(d, leat_load_u64(framed[3] + at));
    }
    crc[0] = a, crc[1] = b, crc[2] = c, crc[3] = d;
}

/* Whether the length of a record is right, and its CRC. */
__attribute__((target("sse4.2"))) static bool has_length(const uint8_t *framed, size_t size)
{
    const uint64_t length = leat_load_u64(framed);
    const uint32_t crc = (uint32_t)_mm_crc32_u64(LEAT_TFRECORD_CRC_BEGIN, length);
    return length == size - LEAT_TFRECORD_OVERHEAD &&
           leat_tfrecord_crc_masked(crc) == leat_load_u32(framed + 8);
}

/* Finishes the CRC of a record from `at` on, and compares it with the stored one. */
__attribute__((target("sse4.2"))) static bool has_crc(uint64_t crc, const uint8_t *framed,
                                                      size_t at, size_t size)
{
    const size_t end = size - 4;
    for (; at + 8 <= end; at += 8)
        crc = _mm_crc32_u64(crc, leat_load_u64(framed + at));
    for (; at < end; at++)
        crc = _mm_crc32_u8((uint32_t)crc, framed[at]);
    return leat_tfrecord_crc_masked((uint32_t)crc) == leat_load_u32(framed + end);
}

static unsigned check_four(const uint8_t *const *framed, const size_t *sizes)
{
    uint64_t crc[4];
    size_t least = sizes[0];
    unsigned intact = 0;
    for (int i = 0; i < 4; i++) {
        crc[i] = LEAT_TFRECORD_CRC_BEGIN;
        least = sizes[i] < least ? sizes[i] : least;
    }
    const size_t words = (least - LEAT_TFRECORD_OVERHEAD) / 8;
    crc_words(crc, framed, words);
    for (int i = 0; i < 4; i++)
        if (has_length(framed[i], sizes[i]) &&
            has_crc(crc[i], framed[i], LEAT_TFRECORD_HEADER + 8 * words, sizes[i]))
            intact |= 1u << i;
    return intact;
}

unsigned leat_tfrecord_check_together(const uint8_t *const *framed, const size_t *sizes, int n)
{
    bool fit = n == LEAT_TFRECORD_TOGETHER && __builtin_cpu_supports("sse4.2");
    for (int i = 0; i < n && fit; i++)
        fit = sizes[i] >= LEAT_TFRECORD_OVERHEAD && sizes[i] <= SHORT;
    return fit ? check_four(framed, sizes) : check_one_by_one(framed, sizes, n);
}
#else
unsigned leat_tfrecord_check_together(const uint8_t *const *framed, const size_t *sizes, int n)
{
    return check_one_by_one(framed, sizes, n);
}
#endif
