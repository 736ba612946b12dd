/* SPDX-License-Identifier: MIT */
#include "tfrecord.h"

#include <isa-l/crc.h>

#include "inflate.h"
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

uint32_t leat_tfrecord_crc32c(const void *bytes, size_t size)
{
    return ~leat_tfrecord_crc_more(LEAT_TFRECORD_CRC_BEGIN, bytes, size);
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
    return leat_inflate_kind(begin, n);
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
                                "truncated: %llu bytes of data and %d around them, but %zu bytes "
                                "are there",
                                (ull)length, LEAT_TFRECORD_OVERHEAD, size);
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
