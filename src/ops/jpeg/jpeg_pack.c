/* SPDX-License-Identifier: MIT
 *
 * jpeg_pack.c: packs points into the table of a side index, and unpacks them. DESIGN: the distances of points
 * vary little, and the DC values of a file are in a small range. So a point stores differences to the
 * minimum in a fixed number of bits. That takes 4 to 6 bytes instead of 12, and is read without branches.
 * Little-endian:
 *
 *     0   uint32     every_mcus
 *     4   uint32     n: points without the first, which is all zero
 *     8   uint8[4]   bits of: distance, DC values
 *     12  uint32     0
 *     16  uint64     smallest distance, in bits of the file with stuffed zeros
 *     24  int16[4]   smallest DC values, then 0
 *     32             n × (distance, three DC values) minus the smallest, lowest bit first
 *     …   8 bytes 0, so that 8 bytes can be read at every place */
#include "jpeg_impl.h"

#include <string.h>

#include "base/check.h"
#include "base/scratch.h"
#include "formats/little_endian.h"

enum {
    AT_EVERY = 0,
    AT_COUNT = 4,
    AT_WIDTHS = 8,
    AT_ZERO = 12,
    AT_LEAST = 16,
    AT_LEAST_DC = 24,
    AT_MARKS = 32,
    PAD = 8,
    N_FIELDS = 4,
    MOST_BITS = 36 /* of a distance: byte is 32 bits */
};

/* The numbers of a point: the distance from the previous point, and the DC values. */
typedef struct fields {
    int64_t at[N_FIELDS];
} fields;

static fields fields_of(const leat_jpeg_point *point)
{
    const int64_t here = 8 * (int64_t)point[0].byte + point[0].bit;
    const int64_t before = 8 * (int64_t)point[-1].byte + point[-1].bit;
    return (fields){ { here - before, point->dc[0], point->dc[1], point->dc[2] } };
}

static uint64_t packed_bytes(uint64_t n, const uint8_t *widths)
{
    const uint64_t n_bits = (uint64_t)widths[0] + widths[1] + widths[2] + widths[3];
    return AT_MARKS + (n * n_bits + 7) / 8 + PAD;
}

size_t leat_jpeg_table_most(uint64_t n_points)
{
    return (size_t)packed_bytes(n_points, (const uint8_t[N_FIELDS]){ MOST_BITS, 16, 16, 16 });
}

static uint8_t bits_for(int64_t range)
{
    return range ? (uint8_t)(64 - __builtin_clzll((uint64_t)range)) : 0;
}

static void put(uint8_t *to, uint64_t *at, uint64_t value, unsigned width)
{
    uint8_t *const p = to + *at / 8;
    leat_store_u64(p, leat_load_u64(p) | value << *at % 8);
    *at += width;
}

size_t leat_jpeg_pack_points(const leat_jpeg_point *points, uint64_t n_points, uint32_t every_mcus,
                             uint8_t *out)
{
    if (n_points < 2)
        return 0;
    fields least = fields_of(points + 1), most = least;
    uint64_t at = 0;
    for (uint64_t i = 2; i < n_points; i++) {
        const fields f = fields_of(points + i);
        for (int k = 0; k < N_FIELDS; k++) {
            least.at[k] = f.at[k] < least.at[k] ? f.at[k] : least.at[k];
            most.at[k] = f.at[k] > most.at[k] ? f.at[k] : most.at[k];
        }
    }
    for (int k = 0; k < N_FIELDS; k++)
        out[AT_WIDTHS + k] = bits_for(most.at[k] - least.at[k]);
    const size_t size = (size_t)packed_bytes(n_points - 1, out + AT_WIDTHS);
    memset(out + AT_ZERO, 0, size - AT_ZERO);
    leat_store_u32(out + AT_EVERY, every_mcus);
    leat_store_u32(out + AT_COUNT, (uint32_t)(n_points - 1));
    leat_store_u64(out + AT_LEAST, (uint64_t)least.at[0]);
    for (int k = 1; k < N_FIELDS; k++)
        leat_store_u16(out + AT_LEAST_DC + 2 * (k - 1), (uint16_t)(int16_t)least.at[k]);
    for (uint64_t i = 1; i < n_points; i++) {
        const fields f = fields_of(points + i);
        for (int k = 0; k < N_FIELDS; k++)
            put(out + AT_MARKS, &at, (uint64_t)(f.at[k] - least.at[k]), out[AT_WIDTHS + k]);
    }
    leat_check(size <= leat_jpeg_table_most(n_points));
    return size;
}

static int64_t get(const uint8_t *from, uint64_t *at, unsigned width)
{
    const uint64_t word = leat_load_u64(from + *at / 8) >> *at % 8;
    *at += width;
    return (int64_t)(word & (((uint64_t)1 << width) - 1));
}

/* Returns 0 if a position does not fit a point. */
static int unpack(const uint8_t *table, uint64_t n, leat_jpeg_point *points)
{
    const uint8_t *const widths = table + AT_WIDTHS, *const from = table + AT_MARKS;
    const int64_t least = (int64_t)leat_load_u64(table + AT_LEAST);
    int64_t place = 0, least_dc[3];
    uint64_t at = 0;
    for (int k = 0; k < 3; k++)
        least_dc[k] = (int16_t)leat_load_u16(table + AT_LEAST_DC + 2 * k);
    points[0] = (leat_jpeg_point){ 0 };
    for (uint64_t i = 1; i <= n; i++) {
        place += least + get(from, &at, widths[0]);
        if (place >> 3 > UINT32_MAX)
            return 0;
        points[i].byte = (uint32_t)(place >> 3);
        points[i].bit = place & 7;
        for (int k = 0; k < 3; k++)
            points[i].dc[k] = (int16_t)(least_dc[k] + get(from, &at, widths[1 + k]));
    }
    return 1;
}

static int fits(const leat_jpeg *jpeg, const uint8_t *table, size_t size)
{
    if (size < AT_MARKS + PAD)
        return 0;
    const uint8_t *const widths = table + AT_WIDTHS;
    const uint64_t n = leat_load_u32(table + AT_COUNT);
    return n + 1 == leat_jpeg_count_points(jpeg, leat_load_u32(table + AT_EVERY)) &&
           widths[0] <= MOST_BITS && widths[1] <= 16 && widths[2] <= 16 && widths[3] <= 16 &&
           leat_load_u64(table + AT_LEAST) >> MOST_BITS == 0 && size == packed_bytes(n, widths);
}

int leat_jpeg_use_table(leat_jpeg *jpeg, const uint8_t *table, size_t size, leat_scratch *scratch,
                        leat_error *err)
{
    if (!fits(jpeg, table, size))
        return leat_fail(err, LEAT_E_ARGUMENT, "jpeg: %zu bytes are not a table of this file",
                         size);
    const uint64_t n = leat_load_u32(table + AT_COUNT);
    leat_jpeg_point *points = leat_scratch_take(scratch, (size_t)(n + 1) * sizeof *points);
    if (!points)
        return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory for %llu points",
                         (unsigned long long)n);
    if (!unpack(table, n, points))
        return leat_fail(err, LEAT_E_ARGUMENT, "jpeg: the table belongs to another file");
    return leat_jpeg_use_points(jpeg, leat_load_u32(table + AT_EVERY), points, n + 1, err);
}

int leat_jpeg_with_seek(leat_jpeg *jpeg, leat_seek *seek, leat_jpeg_work *work, const void *how,
                        void *out, leat_scratch *scratch, leat_error *err)
{
    const size_t mark = leat_scratch_mark(scratch);
    if (!seek || !seek->bytes)
        return work(jpeg, how, out, scratch, err);
    int rc = leat_jpeg_use_table(jpeg, seek->table, seek->bytes, scratch, err);
    if (rc == LEAT_OK)
        rc = work(jpeg, how, out, scratch, err);
    seek->used = rc == LEAT_OK;
    if (rc == LEAT_OK || rc == LEAT_E_NOMEM)
        return rc;
    leat_scratch_rewind(scratch, mark);
    jpeg->points = NULL;
    rc = work(jpeg, how, out, scratch, err);
    seek->refused = rc == LEAT_OK;
    return rc;
}
