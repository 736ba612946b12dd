/* SPDX-License-Identifier: MIT
 *
 * tfrecord_reader.c: reads plain and compressed TFRecord files from start to end. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decompress.h"
#include "resync.h"
#include "tfrecord.h"

typedef unsigned long long ull;

enum {
    READ_BYTES = 1 << 20, /* of one read, and of the first buffer */
    HOP_BYTES = 4096,     /* of one read while skipping large records */
    LARGE_RECORD_BYTES = 65536
};

/* The buffer holds `held` bytes of the file, or of the decompressed data, from offset `base` on. The end
 * of decompressed data is known only once it is reached. */
struct leat_tfrecord_reader {
    char *path;
    int fd;
    unsigned flags;
    int failed;            /* code of the error that stopped it, or 0 */
    leat_format_error why; /* that error */
    uint64_t file_size;
    int64_t file_mtime_ns;
    const char *compression;         /* NULL: none */
    leat_decompressor *decompressor; /* NULL: not compressed */
    uint64_t end;                    /* of the records; INT64_MAX: not known yet */
    int broken;                      /* bytes cannot be read: the reader cannot continue */
    uint64_t next_offset, next_record;
    uint64_t offset; /* of the last record; its number is next_record - 1 */
    uint64_t framed; /* bytes of the record at next_offset; 0: its length is damaged */
    uint64_t lost;   /* bytes of the last damage */
    bool unchecked;  /* the last record ends at next_offset, and its data were not read */
    uint64_t base;
    size_t held, capacity;
    uint8_t *buffer;
};

/* Detects compression. A read error is ignored here: later reads report it. */
static int detect_compression(leat_tfrecord_reader *reader, leat_format_error *err)
{
    uint8_t begin[LEAT_DECOMPRESS_LOOK];
    const ssize_t n = leat_format_pread(reader->fd, begin, sizeof begin, 0);
    reader->end = reader->file_size;
    reader->compression = leat_tfrecord_compression(begin, n < 0 ? 0 : (size_t)n);
    if (!reader->compression)
        return LEAT_FORMAT_OK;
    const int rc = leat_decompress_open(&reader->decompressor, err);
    if (rc < 0)
        return rc;
    leat_decompress_begin(reader->decompressor, reader->fd, reader->compression, 0);
    reader->end = INT64_MAX;
    return LEAT_FORMAT_OK;
}

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
    reader->fd = leat_format_open(path);
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
        rc = detect_compression(reader, err);
        if (rc == LEAT_FORMAT_OK) {
            *out = reader;
            return LEAT_FORMAT_OK;
        }
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
    leat_decompress_close(&(*reader)->decompressor);
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

/* Moves the held bytes from `offset` on to the front of the buffer. */
static void keep_from(leat_tfrecord_reader *reader, uint64_t offset)
{
    const uint64_t drop = offset - reader->base;
    reader->held = drop < reader->held ? reader->held - (size_t)drop : 0;
    memmove(reader->buffer, reader->buffer + (reader->held ? drop : 0), reader->held);
    reader->base = offset;
}

/* Appends up to `most` bytes to the buffer. *n: how many; 0 at the end. */
static int read_more(leat_tfrecord_reader *reader, size_t most, size_t *n, leat_format_error *err)
{
    const uint64_t at = reader->base + reader->held;
    uint8_t *const to = reader->buffer + reader->held;
    ssize_t got;
    *n = 0;
    if (reader->decompressor) { /* use the bytes before an error; the next read reports it */
        const int rc = leat_decompress_read(reader->decompressor, to, most, n, err);
        return *n ? LEAT_FORMAT_OK : rc;
    }
    do
        got = pread(reader->fd, to, most, (off_t)at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, at, "reading: %s", strerror(errno));
    *n = (size_t)got;
    return LEAT_FORMAT_OK;
}

/* For a compressed file: decompresses and drops the bytes before next_offset. */
static int skip_data(leat_tfrecord_reader *reader, leat_format_error *err)
{
    size_t n = 1;
    int rc = LEAT_FORMAT_OK;
    while (rc == LEAT_FORMAT_OK && n &&
           leat_decompress_at(reader->decompressor) < reader->next_offset) {
        const uint64_t left = reader->next_offset - leat_decompress_at(reader->decompressor);
        rc = leat_decompress_read(reader->decompressor, reader->buffer,
                                  left < reader->capacity ? (size_t)left : reader->capacity, &n,
                                  err);
    }
    return rc;
}

static int fail_short(leat_tfrecord_reader *reader, leat_format_error *err)
{
    reader->broken = 1;
    if (!reader->decompressor)
        return leat_format_fail(err, LEAT_FORMAT_BAD, reader->next_offset,
                                "truncated: the file became shorter while it was read");
    return leat_format_fail(err, LEAT_FORMAT_BAD, reader->next_offset,
                            "truncated: the decompressed data ends at byte %llu",
                            (ull)leat_decompress_at(reader->decompressor));
}

/* Loads `size` bytes from next_offset on; *bytes points to them. For a compressed file, memory only grows
 * with bytes that exist, because a damaged length can be huge. */
static int load_bytes(leat_tfrecord_reader *reader, size_t size, size_t read_bytes,
                      const uint8_t **bytes, leat_format_error *err)
{
    const uint64_t at = reader->next_offset;
    size_t n = 1;
    int rc = LEAT_FORMAT_OK;
    if (at + size > reader->base + reader->held) {
        keep_from(reader, at);
        rc = reader->decompressor ? skip_data(reader, err) : make_room(reader, size, err);
    }
    while (rc == LEAT_FORMAT_OK && n && at + size > reader->base + reader->held) { /* base is at */
        const size_t least = size - reader->held, most = least > read_bytes ? least : read_bytes;
        if (reader->held == reader->capacity)
            rc = make_room(reader, size / 2 < reader->held ? size : 2 * reader->held, err);
        const size_t room = reader->capacity - reader->held;
        if (rc == LEAT_FORMAT_OK)
            rc = read_more(reader, room < most ? room : most, &n, err);
        reader->held += rc == LEAT_FORMAT_OK ? n : 0;
    }
    reader->broken = rc < 0;
    *bytes = reader->buffer + (at - reader->base);
    return rc == LEAT_FORMAT_OK && !n ? fail_short(reader, err) : rc;
}

/* *ends: 1 after the last record. For a compressed file, it reads ahead to find out. */
static int at_end(leat_tfrecord_reader *reader, int *ends, leat_format_error *err)
{
    int rc = LEAT_FORMAT_OK;
    size_t n = 1;
    if (reader->decompressor && reader->next_offset >= reader->base + reader->held) {
        keep_from(reader, reader->next_offset);
        rc = skip_data(reader, err);
        if (rc == LEAT_FORMAT_OK && leat_decompress_at(reader->decompressor) == reader->next_offset)
            rc = read_more(reader, reader->capacity, &n, err);
        reader->held += n;
        reader->broken = rc < 0;
        if (rc == LEAT_FORMAT_OK && !n)
            reader->end = reader->next_offset;
    }
    *ends = reader->next_offset == reader->end;
    return rc;
}

static int next_length(leat_tfrecord_reader *reader, uint64_t *length, leat_format_error *err)
{
    const uint64_t left = reader->end - reader->next_offset;
    const int hop = (reader->flags & LEAT_TFRECORD_LENGTHS_ONLY) &&
                    reader->next_offset - reader->offset > LARGE_RECORD_BYTES;
    const uint8_t *header;
    if (left < LEAT_TFRECORD_OVERHEAD)
        return leat_format_fail(err, LEAT_FORMAT_BAD, reader->next_offset,
                                "truncated: the last %llu bytes of the file are too few for a "
                                "record",
                                (ull)left);
    int rc = load_bytes(reader, LEAT_TFRECORD_HEADER, hop ? HOP_BYTES : READ_BYTES, &header, err);
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
        rc = load_bytes(reader, framed_size, READ_BYTES, &framed, err);
        if (rc < 0)
            return rc;
        rc = leat_tfrecord_check_data(framed + LEAT_TFRECORD_HEADER, (size_t)length, err);
        if (rc < 0)
            return rc;
    }
    *payload = framed ? framed + LEAT_TFRECORD_HEADER : NULL;
    *payload_size = (size_t)length;
    reader->offset = reader->next_offset;
    reader->next_offset += framed_size;
    reader->next_record++;
    reader->unchecked = !framed;
    return LEAT_FORMAT_OK;
}

/* A record may begin there, or the file ends. */
static bool can_begin(const leat_tfrecord_reader *reader, uint64_t at)
{
    uint8_t header[LEAT_TFRECORD_HEADER];
    uint64_t length;
    return at == reader->end ||
           (leat_format_pread(reader->fd, header, sizeof header, at) == (ssize_t)sizeof header &&
            leat_tfrecord_check_length(header, &length, NULL) == LEAT_FORMAT_OK &&
            reader->end - at >= LEAT_TFRECORD_OVERHEAD &&
            length <= reader->end - at - LEAT_TFRECORD_OVERHEAD);
}

/* The data of the record at `from` are damaged, and no record begins at its end. If one begins before it, bytes of the
 * record are missing, and *next is the end of its header: what follows is damage of its own. */
static int look_inside(const leat_tfrecord_reader *reader, uint64_t from, uint64_t *next,
                       leat_format_error *err)
{
    uint64_t found;
    const int rc =
        leat_resync_find(reader->fd, from + LEAT_TFRECORD_HEADER, reader->end, &found, err);
    if (rc == LEAT_FORMAT_OK && found < *next)
        *next = from + LEAT_TFRECORD_HEADER;
    return rc;
}

/* No record begins at next_offset. Where only lengths are read, the record before it may be the damaged one. */
static int look_back(leat_tfrecord_reader *reader, leat_format_error *err)
{
    uint64_t found, next = reader->next_offset;
    int rc = leat_resync_find(reader->fd, reader->offset, reader->end, &found, err);
    reader->unchecked = false;
    if (rc == LEAT_FORMAT_OK && found != reader->offset)
        rc = look_inside(reader, reader->offset, &next, err);
    if (rc == LEAT_FORMAT_OK && next != reader->next_offset) {
        reader->next_offset = reader->base = next;
        reader->held = 0;
    }
    return rc;
}

/* Skips the damage at next_offset, which counts as one record. */
static int skip_damage(leat_tfrecord_reader *reader, leat_format_error *err)
{
    const uint64_t from = reader->next_offset;
    uint64_t next = from + reader->framed;
    int rc = LEAT_FORMAT_OK;
    if (!reader->framed)
        rc = leat_resync_find(reader->fd, from + 1, reader->end, &next, err);
    else if (!reader->decompressor && !can_begin(reader, next))
        rc = look_inside(reader, from, &next, err);
    if (rc < 0)
        return rc;
    reader->lost = next - from;
    reader->offset = from;
    reader->next_offset = next;
    reader->next_record++;
    return LEAT_FORMAT_OK;
}

/* The reason always has room: of a path that is too long for both, the end is told. */
static int say_where(const leat_tfrecord_reader *reader, const leat_format_error *what,
                     leat_format_error *out)
{
    const int advise = what->code == LEAT_FORMAT_BAD && !(reader->flags & LEAT_TFRECORD_RESYNC);
    char place[112], reason[352];
    const int n_place =
        snprintf(place, sizeof place, ": record %llu at byte %llu%s: ", (ull)reader->next_record,
                 (ull)reader->next_offset, reader->decompressor ? " of the decompressed data" : "");
    const int n_reason =
        snprintf(reason, sizeof reason, "%.300s%s", what->text,
                 advise ? "; `leat repair` writes a copy of the valid records" : "");
    const size_t room = sizeof out->text - 1 - (size_t)n_place - (size_t)n_reason;
    const size_t n_path = strlen(reader->path);
    const char *path = reader->path + (n_path > room ? n_path - room + strlen("…") : 0);
    while (path > reader->path && (*path & 0xc0) == 0x80) /* not within a character */
        path++;
    leat_format_fail(out, what->code, reader->next_offset, "%s%s%s%s",
                     path > reader->path ? "…" : "", path, place, reason);
    out->what = (int)(strlen(out->text) - (size_t)n_reason);
    return what->code;
}

/* There is no resync in decompressed data: damage to the compressed file shows as a wrong checksum. Other
 * damage existed before the compression. */
static int may_go_on(const leat_tfrecord_reader *reader, int rc)
{
    return rc == LEAT_FORMAT_BAD && (reader->flags & LEAT_TFRECORD_RESYNC) && !reader->broken &&
           (!reader->decompressor || reader->framed);
}

static bool may_look_back(const leat_tfrecord_reader *reader, int rc)
{
    return may_go_on(reader, rc) && !reader->decompressor && !reader->framed;
}

int leat_tfrecord_reader_next(leat_tfrecord_reader *reader, const uint8_t **payload,
                              size_t *payload_size, leat_format_error *err)
{
    leat_format_error inner;
    *payload = NULL;
    *payload_size = 0;
    reader->lost = 0;
    if (!reader->failed) {
        int ends = 0, rc = at_end(reader, &ends, &inner);
        if (ends)
            return leat_format_fail(err, LEAT_FORMAT_END, reader->file_size,
                                    "%s: no more records after %llu", reader->path,
                                    (ull)reader->next_record);
        if (rc == LEAT_FORMAT_OK)
            rc = next_record(reader, payload, payload_size, &inner);
        if (reader->unchecked && may_look_back(reader, rc)) {
            rc = look_back(reader, &inner);
            if (rc == LEAT_FORMAT_OK)
                rc = next_record(reader, payload, payload_size, &inner);
        }
        if (rc == LEAT_FORMAT_OK)
            return LEAT_FORMAT_OK;
        say_where(reader, &inner, &reader->why);
        if (!may_go_on(reader, rc))
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

const char *leat_tfrecord_reader_compression(const leat_tfrecord_reader *reader)
{
    return reader->compression;
}

uint64_t leat_tfrecord_reader_file_size(const leat_tfrecord_reader *reader)
{
    return reader->file_size;
}

int64_t leat_tfrecord_reader_file_mtime_ns(const leat_tfrecord_reader *reader)
{
    return reader->file_mtime_ns;
}
