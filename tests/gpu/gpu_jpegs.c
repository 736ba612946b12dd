/* SPDX-License-Identifier: MIT
 *
 * gpu_jpegs.c: see gpu_jpegs.h. */
#include "gpu_jpegs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

#include "formats/example.h"
#include "formats/tfrecord.h"
#include "leat/rng.h"

/* Slopes, edges and a little noise, in colours of the picture's own. */
static void draw(uint8_t *rgb, int height, int width, leat_rng *rng)
{
    int base[3], slope_y[3], slope_x[3];
    const int edge = 5 + (int)leat_rng_below(rng, 60);
    for (int c = 0; c < 3; c++) {
        base[c] = (int)leat_rng_below(rng, 200);
        slope_y[c] = (int)leat_rng_below(rng, 100);
        slope_x[c] = (int)leat_rng_below(rng, 100);
    }
    for (int y = 0; y < height; y++) {
        int row[3];
        for (int c = 0; c < 3; c++)
            row[c] = base[c] + slope_y[c] * y / height;
        for (int x = 0; x < width; x++) {
            const int step = (x / edge + y / edge) % 2 * 40;
            const uint32_t noise = leat_rng_u32(rng);
            for (int c = 0; c < 3; c++)
                *rgb++ = (uint8_t)(row[c] + slope_x[c] * x / width + step * (c != 1) +
                                   (int)(noise >> 8 * c & 7));
        }
    }
}

typedef enum kind { PLAIN, PROGRESSIVE, GRAY, RESTARTS, FULL_CHROMA, CMYK, N_KINDS } kind;

static unsigned char *encode(const uint8_t *pixels, int height, int width, kind k, bool seekable,
                             unsigned long *n)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    *n = 0;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, n);
    cinfo.image_height = (JDIMENSION)height;
    cinfo.image_width = (JDIMENSION)width;
    cinfo.input_components = k == CMYK ? 4 : 3;
    cinfo.in_color_space = k == CMYK ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&cinfo);
    if (k == GRAY)
        jpeg_set_colorspace(&cinfo, JCS_GRAYSCALE);
    jpeg_set_quality(&cinfo, 90, TRUE);
    if (k == FULL_CHROMA)
        cinfo.comp_info[0].h_samp_factor = cinfo.comp_info[0].v_samp_factor = 1;
    if (k == RESTARTS)
        cinfo.restart_interval = 3;
    if (seekable)
        cinfo.restart_in_rows = 1;
    if (k == PROGRESSIVE)
        jpeg_simple_progression(&cinfo);
    jpeg_start_compress(&cinfo, TRUE);
    while (cinfo.next_scanline < cinfo.image_height) {
        const size_t stride = (size_t)(width * cinfo.input_components);
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + cinfo.next_scanline * stride);
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    return bytes;
}

static int put(const gpu_jpegs *what, int i, leat_example_builder *builder,
               leat_tfrecord_writer *file, leat_format_error *why)
{
    leat_rng rng = leat_rng_make(what->seed, (uint64_t)i, 0, 7);
    const uint32_t sides = (uint32_t)(what->most_px - what->least_px + 1);
    const int height = what->least_px + (int)leat_rng_below(&rng, sides);
    const int drawn = what->least_px + (int)leat_rng_below(&rng, sides);
    const int width = i == what->wide ? what->wide_px : drawn;
    const bool odd = what->odd_every && i % what->odd_every == 0;
    const kind k = odd ? (kind)(i / what->odd_every % (what->cmyk ? N_KINDS : CMYK)) : PLAIN;
    const int64_t label = i;
    uint8_t *const rgb = calloc((size_t)height * (size_t)width, 4); /* or CMYK */
    unsigned long n;
    draw(rgb, height, width, &rng);
    unsigned char *const bytes = encode(rgb, height, width, k, what->seekable && !odd, &n);
    if (i == what->cut) {
        n = n * 9 / 10;
        if (what->ends)
            memcpy(bytes + n - 2, "\xff\xd9", 2);
    }
    if (i == what->headless)
        memset(bytes, 'x', n);
    leat_example_builder_clear(builder);
    int rc = leat_example_add_bytes(builder, "image", bytes, n, why);
    if (rc == 0)
        rc = leat_example_add_int64s(builder, "label", &label, 1, why);
    const uint8_t *packed;
    size_t size;
    if (rc == 0)
        rc = leat_example_builder_pack(builder, &packed, &size, why);
    if (rc == 0)
        rc = leat_tfrecord_writer_write(file, packed, size, why);
    free(bytes);
    free(rgb);
    return rc;
}

int gpu_jpegs_write(const gpu_jpegs *what, char path[64], leat_error *err)
{
    leat_format_error why = { 0 };
    leat_tfrecord_writer *file = NULL;
    leat_example_builder *builder = leat_example_builder_open();
    strcpy(path, "/tmp/leat-jpegs-XXXXXX.tfrecord");
    const int fd = mkstemps(path, 9);
    if (fd < 0)
        return leat_fail(err, LEAT_E_IO, "no file in /tmp");
    close(fd);
    int rc = leat_tfrecord_writer_open(&file, path, 0, &why);
    for (int i = 0; i < what->n && rc == 0; i++)
        rc = put(what, i, builder, file, &why);
    if (rc == 0)
        rc = leat_tfrecord_writer_commit(file, &why);
    leat_tfrecord_writer_close(&file);
    leat_example_builder_close(&builder);
    return rc == 0 ? LEAT_OK : leat_fail(err, LEAT_E_IO, "%s: %s", path, why.text);
}

void gpu_jpegs_remove(const char *path)
{
    char side[72];
    snprintf(side, sizeof side, "%s.idx", path);
    remove(side);
    remove(path);
}
