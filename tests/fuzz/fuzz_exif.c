/* SPDX-License-Identifier: MIT
 *
 * fuzz_exif.c: any bytes as an APP1 segment. An orientation that is found can be set, and changes
 * nothing but its own two bytes. */
#include <stdlib.h>
#include <string.h>

#include "formats/exif.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int orientation = leat_exif_orientation(data, size);
    uint8_t *copy = malloc(size + 1);
    size_t n_changed = 0;
    EXPECT(copy);
    if (size)
        memcpy(copy, data, size);
    EXPECT(orientation >= 0 && orientation <= 8);
    EXPECT(leat_exif_set_orientation(copy, size, 5) == orientation);
    for (size_t i = 0; i < size; i++)
        n_changed += copy[i] != data[i];
    EXPECT(n_changed <= 4);
    if (orientation)
        EXPECT(leat_exif_orientation(copy, size) == 5);
    free(copy);
    return 0;
}
