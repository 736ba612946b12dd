/* SPDX-License-Identifier: MIT
 *
 * jpeg_probe.c: public functions on a JPEG file: which decoder decode_jpeg would use, and the table of a side
 * index. */
#include "leat/jpeg_probe.h"

#include <stdio.h>
#include <string.h>

#include "jpeg.h"
#include "jpeg_turbo.h"

int leat_jpeg_probe(const void *bytes, size_t size, leat_jpeg_info *out, leat_error *err)
{
    if (!bytes || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_jpeg_probe: bytes and out must be given");
    leat_jpeg own;
    leat_jpeg_size stored;
    leat_error why = { 0 };
    *out = (leat_jpeg_info){ 0 };
    const int rc = leat_jpeg_turbo_size(bytes, size, &stored, err);
    if (rc != LEAT_OK)
        return rc;
    out->height = stored.height;
    out->width = stored.width;
    out->components = stored.components;
    out->is_own = leat_jpeg_open(&own, bytes, size, &why) == LEAT_OK;
    if (out->is_own) {
        out->is_progressive = own.is_progressive;
        out->restart_mcus = own.is_progressive ? 0 : own.restart_mcus;
        return LEAT_OK;
    }
    const char *colon = strchr(why.message, ':');
    snprintf(out->why_not, sizeof out->why_not, "%.63s", colon ? colon + 2 : why.message);
    return LEAT_OK;
}

enum {
    POINT_PX = 64
}; /* distance of points; with closer points, reading the table costs more than it saves */

int leat_jpeg_make_table(const void *bytes, size_t size, uint32_t every_mcus, leat_scratch *scratch,
                         const void **table, size_t *n, leat_error *err)
{
    if (!bytes || !scratch || !table || !n)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_jpeg_make_table: bytes, scratch, table and n must be given");
    leat_jpeg jpeg;
    *n = 0;
    if (leat_jpeg_open(&jpeg, bytes, size, NULL) < 0)
        return LEAT_OK;
    if (!every_mcus)
        every_mcus = (uint32_t)(POINT_PX / jpeg.mcu_width_px);
    if (!every_mcus)
        every_mcus = 1;
    const uint64_t n_points = leat_jpeg_count_points(&jpeg, every_mcus);
    if (n_points < 2)
        return LEAT_OK;
    leat_jpeg_point *points = leat_scratch_take(scratch, (size_t)n_points * sizeof *points);
    uint8_t *packed = leat_scratch_take(scratch, leat_jpeg_table_most(n_points));
    if (!points || !packed)
        return leat_fail(err, LEAT_E_NOMEM, "a table of %llu points does not fit in scratch",
                         (unsigned long long)n_points);
    const int rc = leat_jpeg_make_points(&jpeg, every_mcus, points, scratch, err);
    if (rc == LEAT_E_UNSUPPORTED) /* damaged */
        return LEAT_OK;
    if (rc < 0)
        return rc;
    *table = packed;
    *n = leat_jpeg_pack_points(points, n_points, every_mcus, packed);
    return LEAT_OK;
}
