/* SPDX-License-Identifier: MIT
 *
 * fuzz_cache.c: any bytes as a cache's file, and as one kept sample. The first byte chooses what gets
 * its right checksum before: the header, the entry. Nothing outside of the bytes is touched, every view
 * lies within them, and what is packed comes back as it was. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "fuzz_target.h"
#include "pipeline/cache/cache_format.h"

static const leat_cache_layout layouts[] = {
    { 2, { { LEAT_U8, 1, { LEAT_UNKNOWN_DIM } }, { LEAT_I64, 0, { 0 } } } },
    { 1, { { LEAT_F32, 2, { 3, 5 } } } },
    { 3,
      { { LEAT_U8, 3, { LEAT_UNKNOWN_DIM, LEAT_UNKNOWN_DIM, 3 } },
        { LEAT_F32, 2, { 2, LEAT_UNKNOWN_DIM } },
        { LEAT_I32, 1, { LEAT_UNKNOWN_DIM } } } },
    { 1,
      { { LEAT_U8,
          6,
          { LEAT_UNKNOWN_DIM, LEAT_UNKNOWN_DIM, LEAT_UNKNOWN_DIM, LEAT_UNKNOWN_DIM,
            LEAT_UNKNOWN_DIM, LEAT_UNKNOWN_DIM } } } },
    { 0, { { LEAT_U8, 0, { 0 } } } },
};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

/* Bytes of a sample: those of the fuzzer, at a multiple of 16. */
static void check_sample(const leat_cache_layout *layout, const uint8_t *bytes, size_t size)
{
    leat_view views[LEAT_MAX_FEATURES];
    if (!leat_cache_unpack(layout, bytes, size, views))
        return;
    uint64_t sum = 0;
    for (int32_t t = 0; t < layout->n; t++) {
        const int64_t n = leat_shape_bytes(&views[t].shape);
        const uint8_t *const at = views[t].data;
        EXPECT(n >= 0 && at >= bytes && at + n <= bytes + size);
        for (int64_t i = 0; i < n; i++)
            sum += at[i];
    }
    EXPECT(leat_cache_sample_bytes(layout, views) == (int64_t)size);
    const int64_t fixed = leat_cache_fixed_bytes(layout);
    EXPECT(fixed < 0 || fixed == (int64_t)size);
    uint8_t *const again = malloc(size ? size : 1);
    leat_view same[LEAT_MAX_FEATURES];
    EXPECT(again);
    leat_cache_pack(layout, views, again);
    EXPECT(leat_cache_unpack(layout, again, size, same));
    for (int32_t t = 0; t < layout->n; t++) {
        EXPECT(leat_shape_equal(&views[t].shape, &same[t].shape));
        EXPECT(!memcmp(views[t].data, same[t].data, (size_t)leat_shape_bytes(&views[t].shape)));
    }
    EXPECT(sum != UINT64_MAX);
    free(again);
}

static void check_entry(uint8_t *bytes, size_t size, bool mend)
{
    const size_t head = LEAT_CACHE_ENTRY_HEAD;
    if (mend && size >= head)
        leat_cache_entry_seal(bytes, size, 7);
    const bool whole = leat_cache_entry_is_whole(bytes, size, 7);
    EXPECT(whole || !mend || size < head);
    if (whole) {
        EXPECT(!leat_cache_entry_is_whole(bytes, size, 8));
        bytes[size - 1] ^= 1;
        EXPECT(!leat_cache_entry_is_whole(bytes, size, 7));
        bytes[size - 1] ^= 1;
    }
}

static void check_file(const uint8_t *bytes, size_t size)
{
    static leat_cache_origin is, again;
    static uint8_t header[LEAT_CACHE_HEADER_BYTES];
    leat_error err;
    if (leat_cache_header_read(bytes, size, &is, &err) < 0) {
        EXPECT(err.message[0]);
        return;
    }
    EXPECT(leat_cache_origin_check(&is, &is, &err) == LEAT_OK);
    leat_cache_header_write(&is, header);
    EXPECT(leat_cache_header_read(header, sizeof header, &again, &err) == LEAT_OK);
    EXPECT(leat_cache_origin_check(&is, &again, &err) == LEAT_OK);
    const uint64_t first = leat_cache_first_entry(is.n_records);
    for (uint64_t r = 0; LEAT_CACHE_HEADER_BYTES + (r + 1) * LEAT_CACHE_PLACE_BYTES <= size; r++) {
        leat_cache_place place;
        if (leat_cache_place_read(bytes + LEAT_CACHE_HEADER_BYTES + r * LEAT_CACHE_PLACE_BYTES,
                                  first, size, &place))
            EXPECT(place.offset >= first && place.offset + place.bytes <= size &&
                   place.bytes >= LEAT_CACHE_ENTRY_HEAD);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const uint8_t first = *data++;
    size--;
    uint8_t *const bytes = malloc(size ? size : 1); /* malloc's alignment is 16 */
    EXPECT(bytes);
    memcpy(bytes, data, size);
    if (first & 1 && size >= LEAT_CACHE_HEADER_BYTES) {
        const uint64_t checksum = XXH3_64bits(bytes, LEAT_CACHE_HEADER_BYTES - 8);
        memcpy(bytes + LEAT_CACHE_HEADER_BYTES - 8, &checksum, 8);
    }
    check_file(bytes, size);
    check_sample(&layouts[(first >> 2) % N_LAYOUTS], bytes, size);
    check_entry(bytes, size, first & 2);
    free(bytes);
    return 0;
}
