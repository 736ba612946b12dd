/* SPDX-License-Identifier: MIT */
#include "tfrecord.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "little_endian.h"
#include "resync.h"

typedef unsigned long long ull;

/* ISA-L neither inverts the start value nor the result, and counts bytes in an int. */
uint32_t leat_tfrecord_crc_more(uint32_t crc, const void *bytes, size_t size)
{
    const size_t most = (size_t)1 << 30;
    unsigned char *at = (unsigned char *)(uintptr_t)bytes; /* not const there, yet only read */
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

/* TensorFlow's two ways to compress a whole file, by their first bytes (RFC 1952, RFC 1950). The top
 * bytes of a length are 0, also where it is damaged elsewhere. */
static const char *compression_of(const uint8_t *bytes)
{
    if (!(bytes[6] | bytes[7]))
        return NULL;
    if (bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8)
        return "GZIP";
    if ((bytes[0] & 0x0f) == 8 && (bytes[0] << 8 | bytes[1]) % 31 == 0 && bytes[0] >> 4 <= 7)
        return "ZLIB";
    return NULL;
}

int leat_tfrecord_check_length(const uint8_t *header, uint64_t *length, leat_format_error *err)
{
    const uint32_t stored = leat_load_u32(header + 8);
    const uint32_t crc = leat_tfrecord_masked_crc(header, 8);
    *length = leat_load_u64(header);
    if (stored == crc)
        return LEAT_FORMAT_OK;
    const char *const packed = compression_of(header);
    if (packed)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 8,
                                "this looks like a %s-compressed TFRecord file: decompress it "
                                "first, since records are read from their places in any order",
                                packed);
    return leat_format_fail(err, LEAT_FORMAT_BAD, 8,
                            "length CRC is %08x but the length's bytes give %08x: damaged, or not "
                            "a TFRecord file",
                            stored, crc);
}

static int check_data(const uint8_t *data, size_t size, leat_format_error *err)
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
        return leat_format_fail(err, LEAT_FORMAT_BAD, LEAT_TFRECORD_OVERHEAD + length,
                                "the record's %llu bytes of data end before the %zu bytes that its "
                                "index gives it: the index does not fit the file",
                                (ull)length, size);
    rc = check_data(framed + LEAT_TFRECORD_HEADER, (size_t)length, err);
    if (rc < 0)
        return rc;
    *payload = framed + LEAT_TFRECORD_HEADER;
    *payload_size = (size_t)length;
    return LEAT_FORMAT_OK;
}

/* --- reader ------------------------------------------------------------------------------------*/

enum {
    READ_BYTES = 1 << 20, /* one read, and the buffer to begin with */
    HOP_BYTES = 4096,     /* one read when hopping over large records */
    LARGE_RECORD_BYTES = 65536
};

/* The buffer holds `held` bytes of the file from offset `base` on. */
struct leat_tfrecord_reader {
    char *path;
    int fd;
    unsigned flags;
    int failed;            /* code of the error that stopped it, or 0 */
    leat_format_error why; /* that error */
    uint64_t file_size;
    int64_t file_mtime_ns;
    uint64_t next_offset, next_record;
    uint64_t offset; /* of the record given last; its number is next_record - 1 */
    uint64_t
        framed;    /* bytes of the record at next_offset, where its length is sound; otherwise 0 */
    uint64_t lost; /* bytes of the damage that was reported last */
    uint64_t base;
    size_t held, capacity;
    uint8_t *buffer;
};

int leat_tfrecord_reader_open(leat_tfrecord_reader **out, const char *path, unsigned flags,
                              leat_format_error *err)
{
    struct stat st;
    int rc;
    *out = NULL;
    leat_tfrecord_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory to read it", path);
    reader->flags = flags;
    reader->capacity = READ_BYTES;
    reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block here */
    reader->path = strdup(path);
    reader->buffer = malloc(READ_BYTES);
    if (reader->fd < 0 || fstat(reader->fd, &st) < 0) {
        rc =
            leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", path, leat_format_open_error(errno));
    } else if (!S_ISREG(st.st_mode)) {
        rc = leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: not a regular file", path);
    } else if (!reader->path || !reader->buffer) {
        rc = leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory to read it", path);
    } else {
        reader->file_size = (uint64_t)st.st_size;
        reader->file_mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        *out = reader;
        return LEAT_FORMAT_OK;
    }
    leat_tfrecord_reader_close(&reader);
    return rc;
}

void leat_tfrecord_reader_close(leat_tfrecord_reader **reader)
{
    if (!*reader)
        return;
    if ((*reader)->fd >= 0)
        close((*reader)->fd);
    free((*reader)->path);
    free((*reader)->buffer);
    free(*reader);
    *reader = NULL;
}

static int make_room(leat_tfrecord_reader *reader, size_t size, leat_format_error *err)
{
    if (size <= reader->capacity)
        return LEAT_FORMAT_OK;
    uint8_t *larger = realloc(reader->buffer, size);
    if (!larger)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, reader->next_offset,
                                "no memory for its %zu bytes", size);
    reader->buffer = larger;
    reader->capacity = size;
    return LEAT_FORMAT_OK;
}

/* Moves what is held from `offset` on to the front of the buffer. */
static void keep_from(leat_tfrecord_reader *reader, uint64_t offset)
{
    const uint64_t drop = offset - reader->base;
    reader->held = drop < reader->held ? reader->held - (size_t)drop : 0;
    memmove(reader->buffer, reader->buffer + (reader->held ? drop : 0), reader->held);
    reader->base = offset;
}

/* Has `size` bytes from next_offset on in memory, all within the file; *bytes points to them. */
static int fetch(leat_tfrecord_reader *reader, size_t size, size_t read_bytes,
                 const uint8_t **bytes, leat_format_error *err)
{
    const uint64_t at = reader->next_offset;
    if (at + size > reader->base + reader->held) {
        const int rc = make_room(reader, size, err);
        if (rc < 0)
            return rc;
        keep_from(reader, at);
    }
    while (at + size > reader->base + reader->held) { /* then base is at */
        const size_t least = size - reader->held, room = reader->capacity - reader->held;
        const size_t most = least > read_bytes ? least : read_bytes;
        const ssize_t n = pread(reader->fd, reader->buffer + reader->held,
                                room < most ? room : most, (off_t)(at + reader->held));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return leat_format_fail(err, LEAT_FORMAT_IO, at, "reading: %s", strerror(errno));
        if (n == 0)
            return leat_format_fail(err, LEAT_FORMAT_BAD, at,
                                    "truncated: the file became shorter while it was read");
        reader->held += (size_t)n;
    }
    *bytes = reader->buffer + (at - reader->base);
    return LEAT_FORMAT_OK;
}

static int next_length(leat_tfrecord_reader *reader, uint64_t *length, leat_format_error *err)
{
    const uint64_t left = reader->file_size - reader->next_offset;
    const int hop = (reader->flags & LEAT_TFRECORD_LENGTHS_ONLY) &&
                    reader->next_offset - reader->offset > LARGE_RECORD_BYTES;
    const uint8_t *header;
    if (left < LEAT_TFRECORD_OVERHEAD)
        return leat_format_fail(err, LEAT_FORMAT_BAD, reader->next_offset,
                                "truncated: the last %llu bytes of the file are too few for a "
                                "record",
                                (ull)left);
    int rc = fetch(reader, LEAT_TFRECORD_HEADER, hop ? HOP_BYTES : READ_BYTES, &header, err);
    if (rc < 0)
        return rc;
    rc = leat_tfrecord_check_length(header, length, err);
    if (rc < 0)
        return rc;
    if (*length > left - LEAT_TFRECORD_OVERHEAD)
        return leat_format_fail(err, LEAT_FORMAT_BAD, reader->next_offset,
                                "truncated: %llu bytes of data, but the file ends after %llu",
                                (ull)*length, (ull)(left - LEAT_TFRECORD_HEADER));
    return LEAT_FORMAT_OK;
}

static int next_record(leat_tfrecord_reader *reader, const uint8_t **payload, size_t *payload_size,
                       leat_format_error *err)
{
    uint64_t length = 0;
    const uint8_t *framed = NULL;
    reader->framed = 0;
    int rc = next_length(reader, &length, err);
    if (rc < 0)
        return rc;
    const size_t framed_size = (size_t)length + LEAT_TFRECORD_OVERHEAD;
    reader->framed = framed_size;
    if (!(reader->flags & LEAT_TFRECORD_LENGTHS_ONLY)) {
        rc = fetch(reader, framed_size, READ_BYTES, &framed, err);
        if (rc < 0)
            return rc;
        rc = check_data(framed + LEAT_TFRECORD_HEADER, (size_t)length, err);
        if (rc < 0)
            return rc;
    }
    *payload = framed ? framed + LEAT_TFRECORD_HEADER : NULL;
    *payload_size = (size_t)length;
    reader->offset = reader->next_offset;
    reader->next_offset += framed_size;
    reader->next_record++;
    return LEAT_FORMAT_OK;
}

/* Goes on behind the damage at next_offset: it counts as one record. */
static int skip_damage(leat_tfrecord_reader *reader, leat_format_error *err)
{
    const uint64_t from = reader->next_offset;
    uint64_t next = from + reader->framed;
    const int rc = reader->framed
                       ? LEAT_FORMAT_OK
                       : leat_resync_find(reader->fd, from + 1, reader->file_size, &next, err);
    if (rc < 0)
        return rc;
    reader->lost = next - from;
    reader->offset = from;
    reader->next_offset = next;
    reader->next_record++;
    return LEAT_FORMAT_OK;
}

static int say_where(const leat_tfrecord_reader *reader, const leat_format_error *what,
                     leat_format_error *out)
{
    const int advise = what->code == LEAT_FORMAT_BAD && !(reader->flags & LEAT_TFRECORD_RESYNC);
    return leat_format_fail(out, what->code, reader->next_offset,
                            "%s: record %llu at byte %llu: %.300s%s", reader->path,
                            (ull)reader->next_record, (ull)reader->next_offset, what->text,
                            advise ? "; `leat repair` writes a copy of what is sound" : "");
}

int leat_tfrecord_reader_next(leat_tfrecord_reader *reader, const uint8_t **payload,
                              size_t *payload_size, leat_format_error *err)
{
    leat_format_error inner;
    *payload = NULL;
    *payload_size = 0;
    reader->lost = 0;
    if (!reader->failed) {
        if (reader->next_offset == reader->file_size)
            return leat_format_fail(err, LEAT_FORMAT_END, reader->file_size,
                                    "%s: no more records after %llu", reader->path,
                                    (ull)reader->next_record);
        if (next_record(reader, payload, payload_size, &inner) == LEAT_FORMAT_OK)
            return LEAT_FORMAT_OK;
        const int rc = say_where(reader, &inner, &reader->why);
        if (rc != LEAT_FORMAT_BAD || !(reader->flags & LEAT_TFRECORD_RESYNC))
            reader->failed = rc;
        else if (skip_damage(reader, &inner) < 0)
            reader->failed = say_where(reader, &inner, &reader->why);
    }
    if (err)
        *err = reader->why;
    return reader->why.code;
}

uint64_t leat_tfrecord_reader_record(const leat_tfrecord_reader *reader)
{
    return reader->next_record ? reader->next_record - 1 : 0;
}

uint64_t leat_tfrecord_reader_offset(const leat_tfrecord_reader *reader)
{
    return reader->offset;
}

uint64_t leat_tfrecord_reader_lost(const leat_tfrecord_reader *reader)
{
    return reader->lost;
}

uint64_t leat_tfrecord_reader_file_size(const leat_tfrecord_reader *reader)
{
    return reader->file_size;
}

int64_t leat_tfrecord_reader_file_mtime_ns(const leat_tfrecord_reader *reader)
{
    return reader->file_mtime_ns;
}
