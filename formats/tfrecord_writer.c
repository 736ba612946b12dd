/* SPDX-License-Identifier: MIT
 *
 * tfrecord_writer.c: writes TFRecord files completely or not at all. */
#include <stdlib.h>
#include <xxhash.h>

#include "atomic_file.h"
#include "tfrecord.h"

struct leat_tfrecord_writer {
    leat_atomic_file *file;
    uint64_t n_records;
    XXH3_state_t *digest;
};

int leat_tfrecord_writer_open(leat_tfrecord_writer **out, const char *path, unsigned flags,
                              leat_format_error *err)
{
    *out = NULL;
    leat_tfrecord_writer *writer = calloc(1, sizeof *writer);
    if (writer)
        writer->digest = XXH3_createState();
    int rc = LEAT_FORMAT_NOMEM;
    if (!writer || !writer->digest)
        leat_format_fail(err, rc, 0, "%s: no memory to write it", path);
    else
        rc = leat_atomic_file_open(&writer->file, path, flags, err);
    if (rc < 0) {
        leat_tfrecord_writer_close(&writer);
        return rc;
    }
    XXH3_64bits_reset(writer->digest);
    *out = writer;
    return LEAT_FORMAT_OK;
}

static int write_bytes(leat_tfrecord_writer *writer, const void *bytes, size_t size,
                       leat_format_error *err)
{
    XXH3_64bits_update(writer->digest, size ? bytes : "", size);
    return leat_atomic_file_write(writer->file, bytes, size, err);
}

int leat_tfrecord_writer_write(leat_tfrecord_writer *writer, const void *bytes, size_t size,
                               leat_format_error *err)
{
    uint8_t header[LEAT_TFRECORD_HEADER], footer[4];
    leat_tfrecord_frame(bytes, size, header, footer);
    int rc = write_bytes(writer, header, sizeof header, err);
    if (rc == LEAT_FORMAT_OK)
        rc = write_bytes(writer, bytes, size, err);
    if (rc == LEAT_FORMAT_OK)
        rc = write_bytes(writer, footer, sizeof footer, err);
    writer->n_records += rc == LEAT_FORMAT_OK;
    return rc;
}

uint64_t leat_tfrecord_writer_records(const leat_tfrecord_writer *writer)
{
    return writer->n_records;
}

uint64_t leat_tfrecord_writer_size(const leat_tfrecord_writer *writer)
{
    return leat_atomic_file_size(writer->file);
}

uint64_t leat_tfrecord_writer_digest(const leat_tfrecord_writer *writer)
{
    return XXH3_64bits_digest(writer->digest);
}

int leat_tfrecord_writer_commit(leat_tfrecord_writer *writer, leat_format_error *err)
{
    return leat_atomic_file_commit(writer->file, err);
}

int leat_tfrecord_writer_commit_unsynced(leat_tfrecord_writer *writer, leat_format_error *err)
{
    return leat_atomic_file_commit_unsynced(writer->file, err);
}

void leat_tfrecord_writer_close(leat_tfrecord_writer **writer)
{
    if (!*writer)
        return;
    leat_atomic_file_close(&(*writer)->file);
    XXH3_freeState((*writer)->digest);
    free(*writer);
    *writer = NULL;
}
