/* SPDX-License-Identifier: MIT */
#include "cache_format.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "base/digest.h"

static const char magic[8] = { 'l', 'e', 'a', 't', 'k', 'e', 'p', 't' };

#define FORMAT          1u
#define BYTE_ORDER_MARK 0x01020304u

/* --- a sample ------------------------------------------------------------------------------------ */

static uint64_t round_up(uint64_t n)
{
    return (n + LEAT_CACHE_UNIT - 1) / LEAT_CACHE_UNIT * LEAT_CACHE_UNIT;
}

static bool is_open(const leat_shape *shape)
{
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] == LEAT_UNKNOWN_DIM)
            return true;
    return false;
}

/* Returns the bytes of all stored dims. */
static uint64_t dims_bytes(const leat_cache_layout *layout)
{
    uint64_t n = 0;
    for (int32_t t = 0; t < layout->n; t++)
        if (is_open(&layout->shapes[t]))
            n += (uint64_t)layout->shapes[t].rank * sizeof(int64_t);
    return round_up(n);
}

/* True: `is` matches the shape of the layout, which can have unknown dims. */
static bool fits(const leat_shape *wanted, const leat_shape *is)
{
    if (is->dtype != wanted->dtype || is->rank != wanted->rank)
        return false;
    for (int32_t d = 0; d < is->rank; d++)
        if (is->dims[d] < 0 ||
            (wanted->dims[d] != LEAT_UNKNOWN_DIM && is->dims[d] != wanted->dims[d]))
            return false;
    return true;
}

#define MOST_BYTES (INT64_MAX / 4) /* of a sample: rounding up and adding cannot overflow */

/* *sum += bytes of a tensor, rounded up; false: they are unknown, or the sum is above MOST_BYTES. */
static bool add_bytes(const leat_shape *shape, uint64_t *sum)
{
    const int64_t bytes = leat_shape_bytes(shape);
    if (bytes < 0 || bytes > MOST_BYTES)
        return false;
    *sum += round_up((uint64_t)bytes);
    return *sum <= MOST_BYTES;
}

int64_t leat_cache_sample_bytes(const leat_cache_layout *layout, const leat_view *views)
{
    uint64_t sum = dims_bytes(layout);
    for (int32_t t = 0; t < layout->n; t++)
        if (!fits(&layout->shapes[t], &views[t].shape) || !add_bytes(&views[t].shape, &sum))
            return -1;
    return (int64_t)sum;
}

int64_t leat_cache_fixed_bytes(const leat_cache_layout *layout)
{
    uint64_t sum = 0;
    for (int32_t t = 0; t < layout->n; t++)
        if (is_open(&layout->shapes[t]) || !add_bytes(&layout->shapes[t], &sum))
            return -1;
    return (int64_t)sum;
}

void leat_cache_pack(const leat_cache_layout *layout, const leat_view *views, uint8_t *to)
{
    const uint64_t n_dims = dims_bytes(layout);
    uint8_t *dims = to;
    memset(to, 0, n_dims);
    to += n_dims;
    for (int32_t t = 0; t < layout->n; t++) {
        const leat_shape *const shape = &views[t].shape;
        const size_t bytes = (size_t)leat_shape_bytes(shape);
        if (is_open(&layout->shapes[t])) {
            const size_t n = (size_t)shape->rank * sizeof *shape->dims;
            memcpy(dims, shape->dims, n);
            dims += n;
        }
        if (bytes)
            memcpy(to, views[t].data, bytes);
        memset(to + bytes, 0, round_up(bytes) - bytes);
        to += round_up(bytes);
    }
}

bool leat_cache_unpack(const leat_cache_layout *layout, const uint8_t *bytes, size_t size,
                       leat_view *views)
{
    const uint8_t *dims = bytes;
    uint64_t at = dims_bytes(layout);
    if (at > size)
        return false;
    for (int32_t t = 0; t < layout->n; t++) {
        uint64_t end = at;
        views[t] = (leat_view){ .shape = layout->shapes[t] };
        if (is_open(&layout->shapes[t])) {
            const size_t n = (size_t)layout->shapes[t].rank * sizeof(int64_t);
            memcpy(views[t].shape.dims, dims, n);
            dims += n;
        }
        if (!fits(&layout->shapes[t], &views[t].shape) || !add_bytes(&views[t].shape, &end) ||
            end > size)
            return false;
        /* The data of a view is not const; leat_cache_sample.owned tells whether it can be written. */
        views[t].data = (void *)(uintptr_t)(bytes + at);
        at = end;
    }
    return at == size;
}

/* --- header -------------------------------------------------------------------------------------- */

/* The header as in the file. */
typedef struct header {
    char magic[8];
    uint32_t byte_order, format;
    uint64_t n_records, source, stages, seed;
    char version[32];
    char text[LEAT_CACHE_TEXT];
    uint8_t unused[LEAT_CACHE_HEADER_BYTES - 8 - 2 * 4 - 4 * 8 - 32 - LEAT_CACHE_TEXT - 8];
    uint64_t checksum; /* XXH3 of all before */
} header;

_Static_assert(sizeof(header) == LEAT_CACHE_HEADER_BYTES, "one page without padding");

uint64_t leat_cache_first_entry(uint64_t n_records)
{
    const uint64_t page = LEAT_CACHE_HEADER_BYTES;
    if (n_records > (uint64_t)1 << 50)
        return 0;
    return page + (n_records * LEAT_CACHE_PLACE_BYTES + page - 1) / page * page;
}

void leat_cache_header_write(const leat_cache_origin *origin,
                             uint8_t bytes[LEAT_CACHE_HEADER_BYTES])
{
    header h = { .byte_order = BYTE_ORDER_MARK,
                 .format = FORMAT,
                 .n_records = origin->n_records,
                 .source = origin->source,
                 .stages = origin->stages,
                 .seed = origin->seed };
    memcpy(h.magic, magic, sizeof magic);
    snprintf(h.version, sizeof h.version, "%s", origin->version);
    snprintf(h.text, sizeof h.text, "%s", origin->text);
    memcpy(bytes, &h, sizeof h);
    h.checksum = XXH3_64bits(bytes, offsetof(header, checksum));
    memcpy(bytes, &h, sizeof h);
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

int leat_cache_header_read(const uint8_t *bytes, size_t size, leat_cache_origin *out,
                           leat_error *err)
{
    header h;
    if (size >= sizeof h && is_zero(bytes, sizeof h))
        return leat_fail(err, LEAT_E_DATA,
                         "its header is all zeros: the file was emptied while it was being filled");
    if (size < LEAT_CACHE_HEADER_LEAST || memcmp(bytes, magic, sizeof magic) != 0)
        return leat_fail(err, LEAT_E_DATA, "this is not a cache file of leat; it was not changed");
    if (size < sizeof h)
        return leat_fail(err, LEAT_E_DATA,
                         "it was cut inside its header, and does not belong to this pipeline");
    memcpy(&h, bytes, sizeof h);
    if (h.byte_order != BYTE_ORDER_MARK)
        return leat_fail(err, LEAT_E_DATA, "written by a machine of another byte order");
    if (h.format != FORMAT)
        return leat_fail(err, LEAT_E_DATA, "format %u; this library reads format %u", h.format,
                         FORMAT);
    if (h.checksum != XXH3_64bits(bytes, offsetof(header, checksum)) ||
        h.version[sizeof h.version - 1] || h.text[sizeof h.text - 1] ||
        !leat_cache_first_entry(h.n_records))
        return leat_fail(err, LEAT_E_DATA, "its header is damaged");
    *out = (leat_cache_origin){
        .n_records = h.n_records, .source = h.source, .stages = h.stages, .seed = h.seed
    };
    memcpy(out->version, h.version, sizeof out->version);
    memcpy(out->text, h.text, sizeof out->text);
    return LEAT_OK;
}

int leat_cache_origin_check(const leat_cache_origin *is, const leat_cache_origin *wanted,
                            leat_error *err)
{
    if (strcmp(is->version, wanted->version))
        return leat_fail(err, LEAT_E_CONFIG, "it was written by version %s of the library, not %s",
                         is->version, wanted->version);
    if (is->n_records != wanted->n_records)
        return leat_fail(err, LEAT_E_CONFIG,
                         "it was made from %llu records, but there are %llu now",
                         (unsigned long long)is->n_records, (unsigned long long)wanted->n_records);
    if (strcmp(is->text, wanted->text))
        return leat_fail(err, LEAT_E_CONFIG, "it was made by other stages: %.300s; now: %.300s",
                         is->text, wanted->text);
    if (is->stages != wanted->stages)
        return leat_fail(err, LEAT_E_CONFIG,
                         "it was made by other stages, or of tensors with other names, shapes, or "
                         "in another order");
    if (is->source != wanted->source)
        return leat_fail(
            err, LEAT_E_CONFIG,
            "it was made from another source, or the files of the source have changed");
    if (is->seed != wanted->seed)
        return leat_fail(err, LEAT_E_CONFIG,
                         "it was made with seed %llu; now the seed is %llu, and an op before the "
                         "cache is random",
                         (unsigned long long)is->seed, (unsigned long long)wanted->seed);
    return LEAT_OK;
}

/* --- places and entries -------------------------------------------------------------------------- */

void leat_cache_place_write(const leat_cache_place *place, uint8_t to[LEAT_CACHE_PLACE_BYTES])
{
    memcpy(to, &place->offset, 8);
    memcpy(to + 8, &place->bytes, 8);
}

bool leat_cache_place_read(const uint8_t from[LEAT_CACHE_PLACE_BYTES], uint64_t first,
                           uint64_t file_bytes, leat_cache_place *out)
{
    memcpy(&out->offset, from, 8);
    memcpy(&out->bytes, from + 8, 8);
    return out->offset >= first && out->offset <= file_bytes &&
           out->bytes <= file_bytes - out->offset && out->bytes >= LEAT_CACHE_ENTRY_HEAD &&
           out->offset % LEAT_CACHE_UNIT == 0 && out->bytes % LEAT_CACHE_UNIT == 0;
}

/* The digest includes the record number: an entry of another record is not valid here. */
static uint64_t digest_of(const uint8_t *entry, size_t size, uint64_t record)
{
    return leat_digest_row(entry + 8, size - 8, record);
}

void leat_cache_entry_seal(uint8_t *entry, size_t size, uint64_t record)
{
    memcpy(entry + 8, &record, 8);
    const uint64_t digest = digest_of(entry, size, record);
    memcpy(entry, &digest, 8);
}

bool leat_cache_entry_is_whole(const uint8_t *entry, size_t size, uint64_t record)
{
    uint64_t digest, number;
    if (size < LEAT_CACHE_ENTRY_HEAD)
        return false;
    memcpy(&digest, entry, 8);
    memcpy(&number, entry + 8, 8);
    return number == record && digest == digest_of(entry, size, record);
}
