/* SPDX-License-Identifier: MIT */
#include "jpeg_plain.h"

#include "jpeg.h"

enum { BASELINE = 0xc0 };

/* The frame's marker; 0 if there is none where one is expected. */
static int frame_of(const uint8_t *file, size_t bytes)
{
    for (size_t at = 2; at + 4 <= bytes; at += 2 + (size_t)file[at + 2] * 256 + file[at + 3]) {
        while (at + 4 < bytes && file[at] == 0xff && file[at + 1] == 0xff)
            at++; /* fill bytes */
        const int marker = file[at] == 0xff ? file[at + 1] : 0;
        const bool is_table = marker == 0xc4 || marker == 0xc8 || marker == 0xcc;
        if (!marker || (marker >= BASELINE && marker <= BASELINE + 15 && !is_table))
            return marker;
    }
    return 0;
}

bool leat_jpeg_is_plain(const uint8_t *file, size_t bytes)
{
    leat_jpeg jpeg;
    return frame_of(file, bytes) == BASELINE && leat_jpeg_open(&jpeg, file, bytes, NULL) == LEAT_OK;
}
