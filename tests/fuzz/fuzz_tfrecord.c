/* SPDX-License-Identifier: MIT
 *
 * fuzz_tfrecord.c: any bytes as a record in memory and as a file. The first byte chooses whether
 * their checksums are put right before, so that what lies behind them is reached. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/little_endian.h"
#include "formats/tfrecord.h"
#include "fuzz_target.h"

static void mend_checksums(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; size - at >= LEAT_TFRECORD_HEADER;) {
        uint8_t *record = bytes + at;
        const uint64_t length = leat_load_u64(record);
        leat_store_u32(record + 8, leat_tfrecord_masked_crc(record, 8));
        if (size - at < LEAT_TFRECORD_OVERHEAD || length > size - at - LEAT_TFRECORD_OVERHEAD)
            return;
        leat_store_u32(record + 12 + length, leat_tfrecord_masked_crc(record + 12, (size_t)length));
        at += (size_t)length + LEAT_TFRECORD_OVERHEAD;
    }
}

static void in_memory(const uint8_t *bytes, size_t size)
{
    const uint8_t *payload;
    size_t payload_size;
    leat_format_error err = { 0 };
    const int rc = leat_tfrecord_check(bytes, size, &payload, &payload_size, &err);
    EXPECT(rc == LEAT_FORMAT_OK || (rc == LEAT_FORMAT_BAD && err.code == rc && err.text[0]));
    if (rc == LEAT_FORMAT_OK)
        EXPECT(payload == bytes + 12 && payload_size == size - 16);
    const size_t half = size / 2, sizes[LEAT_TFRECORD_TOGETHER] = { size, half, size, size };
    const bool half_is_whole =
        leat_tfrecord_check(bytes, half, &payload, &payload_size, NULL) == LEAT_FORMAT_OK;
    const unsigned want = (rc == LEAT_FORMAT_OK ? 13u : 0) | (half_is_whole ? 2u : 0);
    const uint8_t *const framed[LEAT_TFRECORD_TOGETHER] = { bytes, bytes, bytes, bytes };
    EXPECT(leat_tfrecord_check_together(framed, sizes, LEAT_TFRECORD_TOGETHER) == want);
}

/* Reads the file through; returns how far the good records reach and counts them. */
static uint64_t walk(const char *path, unsigned flags, const uint8_t *bytes, uint64_t *n, int *rc)
{
    leat_tfrecord_reader *reader;
    const uint8_t *payload;
    size_t size;
    uint64_t end = 0;
    EXPECT(leat_tfrecord_reader_open(&reader, path, flags, NULL) == LEAT_FORMAT_OK);
    for (*n = 0; (*rc = leat_tfrecord_reader_next(reader, &payload, &size, NULL)) == 0; ++*n) {
        EXPECT(leat_tfrecord_reader_offset(reader) == end);
        EXPECT(leat_tfrecord_reader_record(reader) == *n);
        EXPECT(!payload == (flags != 0));
        EXPECT(!payload || memcmp(payload, bytes + end + 12, size) == 0);
        end += size + LEAT_TFRECORD_OVERHEAD;
    }
    EXPECT(*rc == LEAT_FORMAT_END || *rc == LEAT_FORMAT_BAD);
    leat_tfrecord_reader_close(&reader);
    return end;
}

/* Reads past all damage: what is given and what is lost are the file, whole, in order. Where only lengths are read, a
 * record can turn out to be shorter than its length. */
static uint64_t resync(const char *path, unsigned flags, const uint8_t *bytes, size_t n_bytes)
{
    leat_tfrecord_reader *reader;
    const uint8_t *payload;
    size_t size;
    uint64_t at = 0, last = 0, n = 0, n_sound = 0;
    leat_format_error err;
    int rc;
    EXPECT(leat_tfrecord_reader_open(&reader, path, flags | LEAT_TFRECORD_RESYNC, NULL) == 0);
    for (;; n++) {
        rc = leat_tfrecord_reader_next(reader, &payload, &size, &err);
        const uint64_t lost = leat_tfrecord_reader_lost(reader);
        if (rc < 0 && !lost)
            break;
        const uint64_t offset = leat_tfrecord_reader_offset(reader);
        EXPECT(offset == at || (flags && offset < at && offset == last + LEAT_TFRECORD_HEADER));
        at = last = offset;
        EXPECT(leat_tfrecord_reader_record(reader) == n);
        EXPECT(rc == LEAT_FORMAT_OK ? !lost : err.code == LEAT_FORMAT_BAD && err.text[0]);
        EXPECT(!payload || memcmp(payload, bytes + at + 12, size) == 0);
        at += rc == LEAT_FORMAT_OK ? size + LEAT_TFRECORD_OVERHEAD : lost;
        n_sound += rc == LEAT_FORMAT_OK;
    }
    EXPECT(rc == LEAT_FORMAT_END && at == n_bytes);
    leat_tfrecord_reader_close(&reader);
    return n_sound;
}

static void as_file(const uint8_t *bytes, size_t size)
{
    char path[64];
    uint64_t n_all, n_lengths;
    int rc_all, rc_lengths;
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    EXPECT(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const uint64_t all = walk(path, 0, bytes, &n_all, &rc_all);
    const uint64_t lengths = walk(path, LEAT_TFRECORD_LENGTHS_ONLY, bytes, &n_lengths, &rc_lengths);
    EXPECT(all <= lengths && lengths <= size && n_all <= n_lengths);
    EXPECT((rc_lengths == LEAT_FORMAT_END) == (lengths == size));
    EXPECT(rc_all == LEAT_FORMAT_BAD || (all == size && n_all == n_lengths));
    const uint64_t n_sound = resync(path, 0, bytes, size);
    EXPECT(n_sound >= n_all);
    EXPECT(resync(path, LEAT_TFRECORD_LENGTHS_ONLY, bytes, size) >= n_sound);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    uint8_t *bytes = malloc(size > 1 ? size - 1 : 1);
    EXPECT(bytes);
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 1)
        mend_checksums(bytes, size - 1);
    in_memory(bytes, size - 1);
    if (!leat_tfrecord_compression(bytes, size - 1)) /* those: fuzz_decompress.c */
        as_file(bytes, size - 1);
    free(bytes);
    return 0;
}
