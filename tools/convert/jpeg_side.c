/* SPDX-License-Identifier: MIT */
#include "jpeg_side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "formats/example.h"
#include "formats/figure.h"
#include "formats/tfrecord.h"
#include "image_header.h"
#include "leat/jpeg_probe.h"

#define SCRATCH_BYTES ((size_t)1 << 34) /* address space: pictures may be very large */

typedef struct side_maker {
    const leat_jpeg_side_how *how;
    leat_jpeg_side *side;
    leat_tfrecord_reader *reader;
    leat_jpeg_index_writer *writer; /* NULL: an index is being checked */
    leat_jpeg_index index;
    leat_scratch *scratch;
} side_maker;

static leat_feature look_up(const uint8_t *example, size_t size, const char *key)
{
    const leat_feature_key wanted = { key, strlen(key) };
    leat_feature found = { 0 };
    if (leat_example_scan(example, size, &wanted, 1, &found, NULL) < 0)
        found.kind = LEAT_FEATURE_NONE;
    return found;
}

/* Finds the feature that holds the JPEG files, from the first record. */
static int choose_feature(side_maker *m, const char *path, leat_error *err)
{
    const char *const names[] = { m->how->feature ? m->how->feature : "image/encoded",
                                  m->how->feature ? m->how->feature : "image" };
    const uint8_t *payload;
    size_t size;
    leat_format_error why;
    const int rc = leat_tfrecord_reader_next(m->reader, &payload, &size, &why);
    if (rc == LEAT_FORMAT_BAD || rc == LEAT_FORMAT_IO || rc == LEAT_FORMAT_NOMEM)
        return leat_files_fail(err, &why);
    for (int i = 0; i < 2; i++) {
        snprintf(m->side->feature, sizeof m->side->feature, "%s", names[i]);
        if (strlen(names[i]) > LEAT_JPEG_INDEX_KEY_MAX)
            return leat_fail(err, LEAT_E_ARGUMENT, "feature '%.100s': its name is too long",
                             names[i]);
        if (rc == LEAT_FORMAT_END || look_up(payload, size, names[i]).kind == LEAT_FEATURE_BYTES)
            return LEAT_OK;
    }
    return leat_fail(
        err, LEAT_E_DATA,
        "%s: record 0 has no bytes feature '%s': name the one with the JPEG files by --feature",
        path, names[1]);
}

/* Counts a record by what makes it seekable; `n` is the size of its table. */
static void count(side_maker *m, const uint8_t *jpeg, size_t size, size_t n)
{
    leat_jpeg_info info = { 0 };
    leat_jpeg_side *const side = m->side;
    side->records++;
    if (n) {
        side->tables++;
        return;
    }
    const bool is_jpeg = jpeg && leat_jpeg_probe(jpeg, size, &info, NULL) == LEAT_OK;
    if (info.restart_mcus) {
        side->restart_markers++;
        return;
    }
    side->neither++;
    side->none += !is_jpeg;
    side->other += is_jpeg && (!info.is_own || info.is_progressive);
    side->small += is_jpeg && info.is_own && !info.is_progressive;
}

static int add_record(side_maker *m, const leat_jpeg_index_id *id, const uint8_t *jpeg, size_t size,
                      leat_error *err)
{
    const void *table = NULL;
    size_t n = 0;
    leat_format_error why;
    leat_scratch_reset(m->scratch);
    const int rc =
        jpeg ? leat_jpeg_make_table(jpeg, size, m->how->every_mcus, m->scratch, &table, &n, err)
             : LEAT_OK;
    if (rc < 0)
        return rc;
    count(m, jpeg, size, n);
    return leat_jpeg_index_writer_add(m->writer, id, table, n, &why) < 0
               ? leat_files_fail(err, &why)
               : LEAT_OK;
}

static int check_record(side_maker *m, const leat_jpeg_index_id *id, const uint8_t *jpeg,
                        size_t size, leat_error *err)
{
    const uint8_t *table;
    size_t n;
    const uint64_t record = leat_tfrecord_reader_record(m->reader);
    const int rc = leat_jpeg_index_find(&m->index, record, id, &table, &n);
    if (rc < 0)
        return leat_fail(err, LEAT_E_DATA, "%s at record %llu",
                         rc == LEAT_FORMAT_BAD ? "it is damaged" : "it was made for other data",
                         (unsigned long long)record);
    count(m, jpeg, size, n);
    return LEAT_OK;
}

/* Checks or adds every record. */
static int walk(side_maker *m, const char *path, leat_error *err)
{
    leat_format_error why;
    const uint8_t *payload, *jpeg;
    size_t size, n;
    int rc = leat_tfrecord_reader_open(&m->reader, path, 0, &why);
    m->side->records = m->side->tables = m->side->restart_markers = m->side->neither = 0;
    m->side->small = m->side->other = m->side->none = 0;
    while (rc == LEAT_FORMAT_OK &&
           (rc = leat_tfrecord_reader_next(m->reader, &payload, &size, &why)) == LEAT_FORMAT_OK) {
        const leat_feature found = look_up(payload, size, m->side->feature);
        const leat_jpeg_index_id id = { size, leat_tfrecord_masked_crc(payload, size) };
        if (found.kind != LEAT_FEATURE_BYTES || found.n != 1 ||
            leat_feature_bytes(&found, 0, &jpeg, &n) < 0)
            jpeg = NULL;
        const int done = (m->writer ? add_record : check_record)(m, &id, jpeg, jpeg ? n : 0, err);
        if (done < 0)
            return done;
    }
    return rc == LEAT_FORMAT_END ? LEAT_OK : leat_files_fail(err, &why);
}

static int write_side(side_maker *m, const char *path, leat_error *err)
{
    leat_format_error why;
    int rc = leat_jpeg_index_writer_open(&m->writer, path, m->side->feature, &why);
    if (rc < 0)
        return leat_files_fail(err, &why);
    leat_tfrecord_reader_close(&m->reader);
    rc = walk(m, path, err);
    if (rc < 0)
        return rc;
    m->side->bytes = leat_jpeg_index_writer_size(m->writer);
    m->side->built = true;
    return leat_jpeg_index_writer_commit(m->writer, m->side->data_bytes, &why) < 0
               ? leat_files_fail(err, &why)
               : LEAT_OK;
}

/* LEAT_OK if the existing side index fits every record; else `err` says why not. */
static int check_side(side_maker *m, const char *path, uint64_t n_records, leat_error *err)
{
    leat_format_error why;
    if (leat_jpeg_index_open(path, m->side->data_bytes, n_records, &m->index, &why) < 0)
        return leat_files_fail(err, &why);
    m->side->bytes = m->index.memory_bytes;
    if (strcmp(m->index.key, m->side->feature) != 0)
        return leat_fail(err, LEAT_E_DATA, "it was made for feature '%s'", m->index.key);
    leat_tfrecord_reader_close(&m->reader);
    return walk(m, path, err);
}

static int take(side_maker *m, const char *path, uint64_t n_records, leat_error *err)
{
    leat_format_error why;
    leat_error reason = { 0 };
    if (leat_tfrecord_reader_open(&m->reader, path, 0, &why) < 0)
        return leat_files_fail(err, &why);
    m->side->data_bytes = leat_tfrecord_reader_file_size(m->reader);
    const int rc = choose_feature(m, path, err);
    if (rc < 0)
        return rc;
    if (m->how->rebuild)
        leat_fail(&reason, LEAT_E_ARGUMENT, "rebuild requested");
    else if (check_side(m, path, n_records, &reason) == LEAT_OK)
        return LEAT_OK;
    if (m->how->check)
        return leat_fail(err, LEAT_E_DATA, "%s: the index of its JPEG files: %s", path,
                         reason.message);
    snprintf(m->side->note, sizeof m->side->note, "%.470s", reason.message);
    return write_side(m, path, err);
}

int leat_jpeg_side_take(const char *tfrecord, uint64_t n_records, const leat_jpeg_side_how *how,
                        leat_jpeg_side *out, leat_error *err)
{
    side_maker m = { .how = how, .side = out };
    *out = (leat_jpeg_side){ .built = false };
    int rc = leat_image_scratch_open(&m.scratch, SCRATCH_BYTES, err);
    if (rc == LEAT_OK)
        rc = take(&m, tfrecord, n_records, err);
    leat_jpeg_index_writer_close(&m.writer);
    leat_jpeg_index_close(&m.index);
    leat_tfrecord_reader_close(&m.reader);
    leat_scratch_close(&m.scratch);
    return rc;
}
