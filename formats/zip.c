/* SPDX-License-Identifier: MIT
 *
 * zip.c: reads the directory at the end of the file, then the short header before each member.
 *
 * DESIGN. Every offset and length is checked against the size of the file before it is used. The directory
 * counts; the header before a member says only where its bytes begin. */
#include "zip.h"

#include <errno.h>
#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decompress.h"
#include "little_endian.h"

enum {
    END_BYTES = 22, /* of the record at the end, without its comment */
    COMMENT_MOST = 65535,
    LOCATOR_BYTES = 20, /* before it, if there are 64-bit fields */
    END64_BYTES = 56,
    ENTRY_BYTES = 46, /* of the directory */
    LOCAL_BYTES = 30, /* before the bytes of a member */
    DIRECTORY_MOST = 1 << 26,
    DEFLATE_MOST = 1032 /* bytes that one deflated byte can become */
};

#define END_SIGNATURE     0x06054b50u
#define LOCATOR_SIGNATURE 0x07064b50u
#define END64_SIGNATURE   0x06064b50u
#define ENTRY_SIGNATURE   0x02014b50u
#define LOCAL_SIGNATURE   0x04034b50u
#define ABSENT            0xffffffffu /* the value is in a 64-bit field */

int leat_zip_begins(const uint8_t *begin, size_t n)
{
    return n >= 4 &&
           (leat_load_u32(begin) == LOCAL_SIGNATURE || leat_load_u32(begin) == END_SIGNATURE);
}

void leat_zip_close(leat_zip *zip)
{
    free(zip->members);
    free(zip->directory);
    *zip = (leat_zip){ 0 };
}

static int bad(leat_format_error *err, uint64_t offset, const char *what)
{
    return leat_format_fail(err, LEAT_FORMAT_BAD, offset, "ZIP: %s (byte %llu)", what,
                            (unsigned long long)offset);
}

/* Reads exactly size bytes. */
static int read_at(int fd, void *to, size_t size, uint64_t offset, leat_format_error *err)
{
    const ssize_t n = leat_format_pread(fd, to, size, offset);
    if (n < 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, offset, "%s", strerror(errno));
    return (size_t)n < size ? bad(err, offset + (size_t)n, "the file ends too early")
                            : LEAT_FORMAT_OK;
}

/* What the end of the file says about the directory. */
typedef struct directory {
    uint64_t file_bytes, offset, bytes, n;
} directory;

/* Finds the record at the end: its comment reaches exactly to the end of the file. -1: there is none. */
static ssize_t find_end(const uint8_t *tail, size_t n)
{
    for (size_t at = n < END_BYTES ? 0 : n - END_BYTES + 1; at-- > 0;)
        if (leat_load_u32(tail + at) == END_SIGNATURE &&
            at + END_BYTES + leat_load_u16(tail + at + 20) == n)
            return (ssize_t)at;
    return -1;
}

/* Reads the 64-bit fields, if there are any. end: offset of the record at the end. */
static int read_end64(int fd, uint64_t end, directory *d, leat_format_error *err)
{
    uint8_t locator[LOCATOR_BYTES], fields[END64_BYTES];
    if (end < LOCATOR_BYTES)
        return LEAT_FORMAT_OK;
    int rc = read_at(fd, locator, sizeof locator, end - LOCATOR_BYTES, err);
    if (rc < 0 || leat_load_u32(locator) != LOCATOR_SIGNATURE)
        return rc;
    const uint64_t at = leat_load_u64(locator + 8);
    if (at > end || end - at < END64_BYTES + LOCATOR_BYTES)
        return bad(err, end, "damaged: the 64-bit end of the directory lies outside the file");
    rc = read_at(fd, fields, sizeof fields, at, err);
    if (rc == LEAT_FORMAT_OK && leat_load_u32(fields) != END64_SIGNATURE)
        rc = bad(err, at, "damaged: there is no 64-bit end of the directory");
    d->n = leat_load_u64(fields + 32);
    d->bytes = leat_load_u64(fields + 40);
    d->offset = leat_load_u64(fields + 48);
    return rc;
}

static int read_end(int fd, directory *d, leat_format_error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s", strerror(errno));
    d->file_bytes = (uint64_t)status.st_size;
    const size_t most = END_BYTES + COMMENT_MOST;
    const size_t n = d->file_bytes < most ? (size_t)d->file_bytes : most;
    uint8_t *const tail = malloc(n ? n : 1);
    if (!tail)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory for a ZIP directory");
    int rc = read_at(fd, tail, n, d->file_bytes - n, err);
    const ssize_t at = rc < 0 ? -1 : find_end(tail, n);
    if (rc == LEAT_FORMAT_OK && at < 0)
        rc = bad(err, d->file_bytes,
                 "no directory at the end of the file: truncated, or not an archive");
    if (rc == LEAT_FORMAT_OK) {
        d->n = leat_load_u16(tail + at + 10);
        d->bytes = leat_load_u32(tail + at + 12);
        d->offset = leat_load_u32(tail + at + 16);
        rc = read_end64(fd, d->file_bytes - n + (uint64_t)at, d, err);
    }
    free(tail);
    if (rc == LEAT_FORMAT_OK &&
        (d->offset > d->file_bytes || d->bytes > d->file_bytes - d->offset ||
         d->bytes > DIRECTORY_MOST || d->n > LEAT_ZIP_MOST_MEMBERS ||
         d->n > d->bytes / ENTRY_BYTES))
        rc = bad(err, d->offset, "damaged: the directory does not fit in the file");
    return rc;
}

/* The 64-bit fields of an entry stand in this order, each only if the short one has no room. */
static int read_extra(const uint8_t *at, const uint8_t *end, uint64_t *const *fields)
{
    while (end - at >= 4) {
        const uint16_t id = leat_load_u16(at), n = leat_load_u16(at + 2);
        const uint8_t *value = at + 4;
        if (n > end - value)
            return -1;
        for (size_t i = 0; id == 1 && fields[i]; i++) {
            if (*fields[i] != ABSENT)
                continue;
            if (at + 4 + n - value < 8)
                return -1;
            *fields[i] = leat_load_u64(value);
            value += 8;
        }
        at += 4 + n;
    }
    return 0;
}

/* Reads the entry at *at and moves behind it. m->offset: of the header before the member. */
static int read_entry(uint8_t **at, const uint8_t *end, leat_zip_member *m, leat_format_error *err)
{
    uint8_t *const e = *at;
    if (end - e < ENTRY_BYTES || leat_load_u32(e) != ENTRY_SIGNATURE)
        return bad(err, 0, "the directory is damaged");
    const uint16_t flags = leat_load_u16(e + 8), method = leat_load_u16(e + 10);
    const size_t name = leat_load_u16(e + 28), extra = leat_load_u16(e + 30);
    const size_t comment = leat_load_u16(e + 32);
    *m = (leat_zip_member){ .name = (const char *)e,
                            .offset = leat_load_u32(e + 42),
                            .stored_bytes = leat_load_u32(e + 20),
                            .bytes = leat_load_u32(e + 24),
                            .crc = leat_load_u32(e + 16),
                            .deflated = method == 8 };
    uint64_t *const fields[] = { &m->bytes, &m->stored_bytes, &m->offset, NULL };
    if ((size_t)(end - e) - ENTRY_BYTES < name + extra + comment ||
        read_extra(e + ENTRY_BYTES + name, e + ENTRY_BYTES + name + extra, fields) < 0)
        return bad(err, 0, "the directory is damaged");
    if (flags & 1 || (method != 0 && method != 8))
        return bad(err, m->offset,
                   flags & 1 ? "a member is encrypted" : "a member is neither stored nor deflated");
    if (!m->deflated && m->bytes != m->stored_bytes)
        return bad(err, m->offset, "the directory is damaged: a stored member has two sizes");
    if (memchr(e + ENTRY_BYTES, 0, name))
        return bad(err, m->offset, "a member's name has a zero byte");
    if (m->deflated && m->bytes / DEFLATE_MOST > m->stored_bytes)
        return bad(err, m->offset, "the directory is damaged: a member is too large for its bytes");
    memmove(e, e + ENTRY_BYTES, name); /* to have room for the terminating 0 */
    e[name] = 0;
    *at = e + ENTRY_BYTES + name + extra + comment;
    return LEAT_FORMAT_OK;
}

/* Moves m->offset from the header before the member to the member. */
static int find_bytes(int fd, const directory *d, leat_zip_member *m, leat_format_error *err)
{
    uint8_t local[LOCAL_BYTES];
    if (m->offset > d->file_bytes || d->file_bytes - m->offset < LOCAL_BYTES)
        return bad(err, m->offset, "the directory is damaged: a member lies outside the file");
    const int rc = read_at(fd, local, sizeof local, m->offset, err);
    if (rc < 0)
        return rc;
    if (leat_load_u32(local) != LOCAL_SIGNATURE)
        return bad(err, m->offset, "damaged: there is no member");
    m->offset += LOCAL_BYTES + (uint64_t)leat_load_u16(local + 26) + leat_load_u16(local + 28);
    if (m->offset > d->file_bytes || m->stored_bytes > d->file_bytes - m->offset)
        return bad(err, m->offset, "the directory is damaged: a member lies outside the file");
    return LEAT_FORMAT_OK;
}

int leat_zip_open(int fd, leat_zip *out, leat_format_error *err)
{
    directory d = { 0 };
    *out = (leat_zip){ 0 };
    int rc = read_end(fd, &d, err);
    if (rc < 0)
        return rc;
    out->directory = malloc((size_t)d.bytes + 1);
    out->members = calloc((size_t)d.n + 1, sizeof *out->members);
    if (!out->directory || !out->members)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "no memory for a ZIP directory");
    rc = read_at(fd, out->directory, (size_t)d.bytes, d.offset, err);
    uint8_t *at = out->directory;
    for (; rc == LEAT_FORMAT_OK && out->n_members < d.n; out->n_members++) {
        leat_zip_member *const m = &out->members[out->n_members];
        rc = read_entry(&at, out->directory + d.bytes, m, err);
        if (rc == LEAT_FORMAT_OK)
            rc = find_bytes(fd, &d, m, err);
    }
    return rc;
}

/* Inflates the first n bytes of a member; all of them must be its end too. */
static int inflate_member(int fd, const leat_zip_member *m, uint8_t *to, size_t n,
                          leat_format_error *err)
{
    leat_decompressor *decompressor;
    size_t got = 0, more = 0;
    uint8_t one;
    int rc = leat_decompress_open(&decompressor, err);
    if (rc < 0)
        return rc;
    leat_decompress_begin(decompressor, fd, "DEFLATE", m->offset);
    rc = leat_decompress_read(decompressor, to, n, &got, err);
    if (rc == LEAT_FORMAT_OK && got == m->bytes)
        rc = leat_decompress_read(decompressor, &one, 1, &more, err);
    if (rc == LEAT_FORMAT_OK && (got != n || more))
        rc = bad(err, m->offset, "a member has not the size that the directory gives");
    leat_decompress_close(&decompressor);
    return rc;
}

int leat_zip_begin(int fd, const leat_zip_member *m, uint8_t *to, size_t n, leat_format_error *err)
{
    if (n > m->bytes)
        return bad(err, m->offset, "a member is too short");
    return m->deflated ? inflate_member(fd, m, to, n, err) : read_at(fd, to, n, m->offset, err);
}

int leat_zip_read(int fd, const leat_zip_member *m, uint8_t *to, leat_format_error *err)
{
    const int rc = leat_zip_begin(fd, m, to, (size_t)m->bytes, err);
    if (rc < 0)
        return rc;
    return crc32_gzip_refl(0, to, m->bytes) == m->crc
               ? LEAT_FORMAT_OK
               : bad(err, m->offset, "a member does not match its checksum: damaged");
}
