/* SPDX-License-Identifier: MIT */
#include "jpeg_seek.h"

#include <stdio.h>
#include <string.h>

#include "formats/little_endian.h"

void leat_jpeg_seek_open(leat_source_seek *seek, const char *path, uint64_t data_bytes,
                         uint64_t n_records, leat_source *source)
{
    leat_format_error why;
    seek->feature = -1;
    const int rc = leat_jpeg_index_open(path, data_bytes, n_records, &seek->index, &why);
    if (rc == LEAT_FORMAT_OK)
        return;
    source->seek_complete = false;
    if (rc != LEAT_FORMAT_END && !source->seek_note[0])
        snprintf(source->seek_note, sizeof source->seek_note, "%.190s", why.text);
}

void leat_jpeg_seek_close(leat_source_seek *seek)
{
    leat_jpeg_index_close(&seek->index);
}

void leat_jpeg_seek_offer(leat_source_seek *seek, int32_t i, const char *key)
{
    if (seek->index.memory && !strcmp(key, seek->index.key))
        seek->feature = i;
}

int leat_jpeg_seek_add(const leat_source_seek *seek, uint64_t record, const uint8_t *payload,
                       size_t payload_size, leat_scratch *scratch, leat_view *features,
                       leat_error *err)
{
    /* The CRC of the data follows it in the framing. */
    const leat_jpeg_index_id id = { payload_size, leat_load_u32(payload + payload_size) };
    const uint8_t *table = NULL;
    size_t n = 0;
    const int rc = leat_jpeg_index_find(&seek->index, record, &id, &table, &n);
    if (rc == LEAT_FORMAT_OK && !n)
        return LEAT_OK;
    leat_seek *const out = leat_scratch_take(scratch, sizeof *out);
    if (!out)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes do not fit in scratch", sizeof *out);
    *out = (leat_seek){ .table = table, .bytes = n, .refused = rc != LEAT_FORMAT_OK };
    features[seek->feature].seek = out;
    return LEAT_OK;
}
