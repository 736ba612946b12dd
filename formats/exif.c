/* SPDX-License-Identifier: MIT */
#include "exif.h"

#include <stdbool.h>
#include <string.h>

enum { BEFORE_TIFF = 6, TAG_ORIENTATION = 0x0112, ENTRY_BYTES = 12 };

static uint32_t load(const uint8_t *p, int n, bool is_big)
{
    uint32_t value = 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | p[is_big ? i : n - 1 - i];
    return value;
}

/* Bytes of a value of that type; 0: of another. Exif asks for SHORT; some programs write LONG, and readers take it. */
static int bytes_of_type(uint32_t type)
{
    return type == 3 ? 2 : type == 4 ? 4 : 0;
}

/* Returns the offset of the orientation in the segment, and its bytes in *bytes; 0: there is none. */
static size_t find(const uint8_t *segment, size_t size, bool *is_big, int *bytes)
{
    *bytes = 0;
    if (size < BEFORE_TIFF + 8 || memcmp(segment, "Exif\0", BEFORE_TIFF) != 0)
        return 0;
    const uint8_t *tiff = segment + BEFORE_TIFF;
    const size_t n = size - BEFORE_TIFF;
    if (memcmp(tiff, "II*\0", 4) != 0 && memcmp(tiff, "MM\0*", 4) != 0)
        return 0;
    *is_big = tiff[0] == 'M';
    const size_t directory = load(tiff + 4, 4, *is_big);
    if (directory < 8 || directory > n - 2)
        return 0;
    const uint32_t n_entries = load(tiff + directory, 2, *is_big);
    size_t at = directory + 2;
    for (uint32_t i = 0; i < n_entries && n - at >= ENTRY_BYTES; i++, at += ENTRY_BYTES)
        if (load(tiff + at, 2, *is_big) == TAG_ORIENTATION) {
            *bytes = bytes_of_type(load(tiff + at + 2, 2, *is_big));
            return *bytes && load(tiff + at + 4, 4, *is_big) == 1 ? BEFORE_TIFF + at + 8 : 0;
        }
    return 0;
}

int leat_exif_orientation(const uint8_t *segment, size_t size)
{
    bool is_big = false;
    int bytes;
    const size_t at = find(segment, size, &is_big, &bytes);
    const uint32_t value = at ? load(segment + at, bytes, is_big) : 0;
    return value <= 8 ? (int)value : 0;
}

int leat_exif_set_orientation(uint8_t *segment, size_t size, int orientation)
{
    bool is_big = false;
    int bytes;
    const size_t at = find(segment, size, &is_big, &bytes);
    const int before = leat_exif_orientation(segment, size);
    if (at) {
        memset(segment + at, 0, (size_t)bytes);
        segment[at + (is_big ? (size_t)bytes - 1 : 0)] = (uint8_t)orientation;
    }
    return before;
}
