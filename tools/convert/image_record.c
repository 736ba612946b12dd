/* SPDX-License-Identifier: MIT
 *
 * image_record.c: makes the record of an image file (shards.h). */
#include "shards.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "formats/example.h"
#include "image_file.h"

struct leat_image_record {
    bool verify;
    leat_image_reader reader;
    leat_jpeg_transcoder *transcoder; /* NULL: bytes are copied unchanged */
    leat_image_record_counts counts;
    leat_example_builder *builder;
    uint8_t *bytes; /* of the file */
    size_t room;
};

leat_image_record *leat_image_record_open(const leat_convert *how)
{
    leat_image_record *record = calloc(1, sizeof *record);
    if (!record)
        return NULL;
    record->verify = how->verify;
    record->room = (size_t)128 << 10;
    record->builder = leat_example_builder_open();
    record->bytes = malloc(record->room);
    if (how->restart_mcus > 0)
        record->transcoder = leat_jpeg_transcoder_open(how->restart_mcus, how->keep_metadata);
    if (!record->builder || !record->bytes || (how->restart_mcus > 0 && !record->transcoder))
        leat_image_record_close(&record);
    return record;
}

void leat_image_record_close(leat_image_record **record)
{
    if (!*record)
        return;
    leat_image_reader_fini(&(*record)->reader);
    leat_jpeg_transcoder_close(&(*record)->transcoder);
    leat_example_builder_close(&(*record)->builder);
    free((*record)->bytes);
    free(*record);
    *record = NULL;
}

static int grow(leat_image_record *record, leat_error *err)
{
    uint8_t *bytes = realloc(record->bytes, record->room * 2);
    if (!bytes)
        return leat_fail(err, LEAT_E_NOMEM, "cannot allocate %zu bytes for the file",
                         record->room * 2);
    record->bytes = bytes;
    record->room *= 2;
    return LEAT_OK;
}

/* True if opening failed because of the file and not because of the machine. */
static int open_code(int error)
{
    return error == EACCES || error == EPERM || error == ENOENT || error == ELOOP || error == ENXIO
               ? LEAT_E_DATA
               : LEAT_E_IO;
}

/* Until a read gives nothing: over FUSE or a network one can give less than was asked for, before the end. */
static int read_file(leat_image_record *record, int folder, const char *path, size_t *size,
                     leat_error *err)
{
    int rc = LEAT_OK;
    *size = 0;
    const int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return leat_fail(err, open_code(errno), "%s: cannot open: %s", path,
                         leat_format_open_error(errno));
    for (ssize_t n = 1; n > 0 && rc == LEAT_OK;) {
        do
            n = read(fd, record->bytes + *size, record->room - *size);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            rc = leat_fail(err, errno == EISDIR ? LEAT_E_DATA : LEAT_E_IO, "%s: cannot read: %s",
                           path, strerror(errno));
        else
            *size += (size_t)n;
        if (*size == record->room)
            rc = grow(record, err);
    }
    close(fd);
    return rc;
}

/* The fields of an image's record. */
struct stored {
    const uint8_t *bytes;
    size_t size;
    leat_image_header header;
    int64_t orientation; /* 0: upright, or not known */
};

static int transcode(leat_image_record *record, struct stored *image, leat_error *err)
{
    leat_image_record_counts *counts = &record->counts;
    leat_jpeg_transcoded made;
    const int rc = leat_jpeg_transcode(record->transcoder, image->bytes, image->size, &made, err);
    if (rc < 0)
        return rc;
    image->orientation = made.orientation;
    counts->oriented += made.orientation != 0;
    counts->turned += made.is_turned;
    counts->passed += made.is_passed;
    if (made.is_passed)
        return LEAT_OK;
    counts->transcoded++;
    counts->bytes_before += image->size;
    counts->bytes_after += made.size;
    image->bytes = made.bytes;
    image->size = made.size;
    image->header.height = made.height;
    image->header.width = made.width;
    return LEAT_OK;
}

static int pack(leat_image_record *record, const struct stored *image, const char *path,
                const leat_image_label *label, const uint8_t **out, size_t *size,
                leat_format_error *why)
{
    leat_example_builder *b = record->builder;
    const leat_image_header *header = &image->header;
    const char *const format = leat_image_format_word(header->format);
    leat_example_builder_clear(b);
    int rc = leat_example_add_bytes(b, "image/encoded", image->bytes, image->size, why);
    if (!rc)
        rc = leat_example_add_bytes(b, "image/format", format, strlen(format), why);
    if (!rc && label->n)
        rc =
            label->floats
                ? leat_example_add_floats(b, "image/class/label", label->floats, label->n, why)
                : leat_example_add_int64s(b, "image/class/label",
                                          label->ints ? label->ints : &label->place, label->n, why);
    if (!rc && label->text)
        rc = leat_example_add_bytes(b, "image/class/text", label->text, strlen(label->text), why);
    if (!rc)
        rc = leat_example_add_int64s(b, "image/height", &header->height, 1, why);
    if (!rc)
        rc = leat_example_add_int64s(b, "image/width", &header->width, 1, why);
    if (!rc)
        rc = leat_example_add_bytes(b, "image/filename", path, strlen(path), why);
    if (!rc && image->orientation)
        rc = leat_example_add_int64s(b, "image/exif/orientation", &image->orientation, 1, why);
    return rc ? rc : leat_example_builder_pack(b, out, size, why);
}

int leat_image_record_make(leat_image_record *record, int folder, const char *path,
                           const leat_image_label *label, const uint8_t **out, size_t *size,
                           size_t *bytes_in, bool *no_image, leat_error *err)
{
    struct stored image = { 0 };
    leat_format_error why = { 0 };
    *no_image = false;
    int rc = read_file(record, folder, path, bytes_in, err);
    if (rc < 0)
        return rc;
    image.bytes = record->bytes;
    image.size = *bytes_in;
    *no_image = leat_image_format_of(image.bytes, image.size) == LEAT_IMAGE_NONE;
    rc = leat_image_reader_read(&record->reader, image.bytes, image.size, record->verify,
                                &image.header, err);
    if (rc == LEAT_OK && record->transcoder && image.header.format == LEAT_IMAGE_JPEG)
        rc = transcode(record, &image, err);
    if (rc < 0)
        return leat_fail_in(err, rc, "%s: ", path);
    if (pack(record, &image, path, label, out, size, &why) < 0) {
        leat_files_fail(err, &why);
        return leat_fail_in(err, err->code, "%s: ", path);
    }
    return LEAT_OK;
}

leat_image_record_counts leat_image_record_get_counts(const leat_image_record *record)
{
    return record->counts;
}
