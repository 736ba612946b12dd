/* SPDX-License-Identifier: MIT
 *
 * nvjpeg_fake_decode.c: the pictures of the fake nvJPEG, by libjpeg-turbo. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "nvjpeg_fake_decode.h"

typedef struct trap {
    struct jpeg_error_mgr base;
    jmp_buf jump;
} trap;

static void jump_out(j_common_ptr cinfo)
{
    longjmp(((trap *)(void *)cinfo->err)->jump, 1);
}

static void say_nothing(j_common_ptr cinfo, int level)
{
    cinfo->err->num_warnings += level < 0;
}

/* What is wanted of a line goes where it belongs. */
static void put_line(const nvjpeg_fake_job *j, bool gray, const uint8_t *line, int y, int width)
{
    const size_t px = gray ? 1 : 3;
    const bool all = j->part.width < 0;
    const int from_y = all ? 0 : j->part.y, from_x = all ? 0 : j->part.x;
    if (y >= from_y && (all || y < from_y + j->part.height))
        memcpy(j->to + (size_t)(y - from_y) * j->pitch, line + (size_t)from_x * px,
               (size_t)(all ? width : j->part.width) * px);
}

bool nvjpeg_fake_decode(const nvjpeg_fake_job *j, bool gray, bool nowhere)
{
    struct jpeg_decompress_struct cinfo;
    trap errors;
    uint8_t *volatile line = NULL;
    bool volatile good = false, inside = false;
    cinfo.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = jump_out;
    errors.base.emit_message = say_nothing;
    jpeg_create_decompress(&cinfo);
    if (!setjmp(errors.jump)) {
        jpeg_mem_src(&cinfo, j->file, j->bytes);
        jpeg_read_header(&cinfo, TRUE);
        cinfo.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_start_decompress(&cinfo);
        line = malloc((size_t)cinfo.output_width * 3);
        inside = j->part.width < 0 || (j->part.x + j->part.width <= (int)cinfo.output_width &&
                                       j->part.y + j->part.height <= (int)cinfo.output_height);
        while (cinfo.output_scanline < cinfo.output_height) {
            const int y = (int)cinfo.output_scanline;
            uint8_t *to = line;
            jpeg_read_scanlines(&cinfo, &to, 1);
            if (!nowhere && inside)
                put_line(j, gray, line, y, (int)cinfo.output_width);
        }
        jpeg_finish_decompress(&cinfo);
        good = inside && errors.base.num_warnings == 0;
    }
    jpeg_destroy_decompress(&cinfo);
    free(line);
    return good;
}

int nvjpeg_fake_frame(const unsigned char *file, size_t bytes, size_t *width)
{
    *width = 0;
    for (size_t at = 2; at + 9 <= bytes && file[at] == 0xff;
         at += 2 + (size_t)file[at + 2] * 256 + file[at + 3])
        if (file[at + 1] >= 0xc0 && file[at + 1] <= 0xcf && file[at + 1] != 0xc4 &&
            file[at + 1] != 0xc8 && file[at + 1] != 0xcc) {
            *width = (size_t)file[at + 7] * 256 + file[at + 8];
            return file[at + 1];
        }
    return 0;
}
