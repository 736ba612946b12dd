/* SPDX-License-Identifier: MIT
 *
 * jpeg_points.c: the index of a file without restart markers. A point has the first bit of every n-th MCU and
 * the DC values before it, so that a Huffman decoder can start there. jpeg_pack.c packs points. */
#include "jpeg_impl.h"

uint64_t leat_jpeg_count_points(const leat_jpeg *jpeg, uint32_t every_mcus)
{
    const uint64_t n_mcus = (uint64_t)jpeg->mcus_x * (uint64_t)jpeg->mcus_y;
    return jpeg->restart_mcus || jpeg->is_progressive || !every_mcus
               ? 0
               : (n_mcus + every_mcus - 1) / every_mcus;
}

/* Maps positions in the bytes without stuffed zeros to positions in the file. The decoder may be a few
 * bytes beyond the end before it notices, but then it refuses the file. */
typedef struct follower {
    const uint8_t *at, *end;
    uint64_t n_bytes;
} follower;

static void follow(follower *f, uint64_t n_bytes)
{
    for (; f->n_bytes < n_bytes && f->at < f->end; f->n_bytes++)
        f->at += *f->at == 0xff ? 2 : 1;
}

static void set_point(leat_jpeg_point *point, const leat_jpeg_scan *scan, follower *f)
{
    const uint64_t n_bits =
        scan->mcu ? 8 * (uint64_t)(scan->bits.p - scan->segment) - (scan->bits.n & 63) : 0;
    follow(f, n_bits / 8);
    point->byte = (uint32_t)(f->at - scan->jpeg->scan);
    point->bit = (uint16_t)(n_bits % 8);
    for (int i = 0; i < 3; i++)
        point->dc[i] = (int16_t)scan->dc_sum[i];
}

int leat_jpeg_make_points(const leat_jpeg *jpeg, uint32_t every_mcus, leat_jpeg_point *points,
                          leat_scratch *scratch, leat_error *err)
{
    const leat_jpeg_window last = { .x1 = jpeg->mcus_x,
                                    .y0 = jpeg->mcus_y - 1,
                                    .y1 = jpeg->mcus_y };
    const uint64_t n_across = (uint64_t)jpeg->mcus_x;
    leat_jpeg plain = *jpeg;
    leat_jpeg_scan scan;
    follower f = { .at = jpeg->scan, .end = jpeg->end };
    plain.points = NULL;
    if (!leat_jpeg_count_points(jpeg, every_mcus) || jpeg->end - jpeg->scan > UINT32_MAX)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "jpeg: not a file for an index");
    int rc = leat_jpeg_scan_open(&scan, &plain, &last, scratch, err);
    while (!rc && scan.mcu < scan.n_mcus) {
        const uint64_t row_end = (scan.mcu / n_across + 1) * n_across;
        const uint64_t next = (scan.mcu / every_mcus + 1) * every_mcus;
        if (scan.mcu % every_mcus == 0)
            set_point(&points[scan.mcu / every_mcus], &scan, &f);
        rc = leat_jpeg_scan_pass(&scan, next < row_end ? next : row_end, err);
    }
    return rc;
}

int leat_jpeg_use_points(leat_jpeg *jpeg, uint32_t every_mcus, const leat_jpeg_point *points,
                         uint64_t n_points, leat_error *err)
{
    if (!n_points || n_points != leat_jpeg_count_points(jpeg, every_mcus))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "jpeg: an index of %llu points does not fit the file",
                         (unsigned long long)n_points);
    jpeg->points = points;
    jpeg->point_mcus = every_mcus;
    return LEAT_OK;
}
