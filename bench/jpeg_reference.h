/* SPDX-License-Identifier: MIT
 *
 * jpeg_reference.h: libjpeg-turbo for tests: decodes to pixels or coefficients with errors and
 * warnings counted, and writes small pictures of any sampling. */
#ifndef LEAT_JPEG_REFERENCE_H
#define LEAT_JPEG_REFERENCE_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

typedef struct reference_errors {
    struct jpeg_error_mgr base; /* first: libjpeg hands out a pointer to it */
    jmp_buf jump;
} reference_errors;

static void reference_fail(j_common_ptr info)
{
    longjmp(((reference_errors *)(void *)info->err)->jump, 1);
}

static void reference_silent(j_common_ptr info)
{
    (void)info;
}

static inline void reference_catch(reference_errors *errors)
{
    jpeg_std_error(&errors->base);
    errors->base.error_exit = reference_fail;
    errors->base.output_message = reference_silent;
}

/* Decodes height × width × channels bytes into `out` of `room` bytes. Returns the number of
 * warnings, -1 for an error, -2 if the picture does not fit. */
static inline long reference_decode(const uint8_t *data, size_t size, int channels, uint8_t *out,
                                    size_t room)
{
    struct jpeg_decompress_struct info;
    reference_errors errors;
    reference_catch(&errors);
    info.err = &errors.base;
    if (setjmp(errors.jump)) {
        jpeg_destroy_decompress(&info);
        return -1;
    }
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, data, size);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_start_decompress(&info);
    const size_t row = (size_t)info.output_width * (size_t)channels;
    if (row * info.output_height > room) {
        jpeg_destroy_decompress(&info);
        return -2;
    }
    while (info.output_scanline < info.output_height) {
        JSAMPROW at = out + row * info.output_scanline;
        jpeg_read_scanlines(&info, &at, 1);
    }
    jpeg_finish_decompress(&info);
    const long warnings = errors.base.num_warnings;
    jpeg_destroy_decompress(&info);
    return warnings;
}

typedef struct reference_picture {
    int width, height, channels; /* 1: gray, 3: YCbCr, 4: CMYK */
    int h, v;                    /* luma's sampling */
    int chroma_h, chroma_v;      /* 0: 1 */
    int quality, restart, is_optimized, is_progressive, is_arithmetic, is_rgb, is_split;
    int has_long_codes;           /* of 12 bits for the commonest DC symbol */
    const jpeg_scan_info *script; /* progressive: its scans; NULL: the usual ones */
    int n_scans;
} reference_picture;

/* The fields of a picture that all have. */
#define REFERENCE_OF(width_, height_, channels_, h_, v_, quality_)                                 \
    .width = (width_), .height = (height_), .channels = (channels_), .h = (h_), .v = (v_),         \
    .quality = (quality_)

static inline void reference_lengthen(JHUFF_TBL *dc)
{
    memset(dc->bits, 0, sizeof dc->bits);
    for (int length = 1; length <= 12; length++) {
        dc->bits[length] = 1;
        dc->huffval[length - 1] = (UINT8)(12 - length);
    }
}

static inline void reference_set_up(struct jpeg_compress_struct *info, const reference_picture *p)
{
    info->image_width = (JDIMENSION)p->width;
    info->image_height = (JDIMENSION)p->height;
    info->input_components = p->channels;
    info->in_color_space = p->channels == 1 ? JCS_GRAYSCALE : p->channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(info);
    if (p->is_rgb)
        jpeg_set_colorspace(info, JCS_RGB);
    jpeg_set_quality(info, p->quality, TRUE);
    info->restart_interval = (unsigned)p->restart;
    info->optimize_coding = p->is_optimized;
    info->arith_code = p->is_arithmetic;
    info->comp_info[0].h_samp_factor = p->h;
    info->comp_info[0].v_samp_factor = p->v;
    for (int i = 1; i < p->channels && p->chroma_h; i++) {
        info->comp_info[i].h_samp_factor = p->chroma_h;
        info->comp_info[i].v_samp_factor = p->chroma_v;
    }
    for (int i = 0; i < 2 && p->has_long_codes; i++)
        reference_lengthen(info->dc_huff_tbl_ptrs[i]);
    if (p->is_progressive)
        jpeg_simple_progression(info);
    if (p->script) {
        info->scan_info = p->script;
        info->num_scans = p->n_scans;
    }
}

/* Compresses a drawn picture: gradients, edges and noise. Free *out with free(). */
static inline size_t reference_encode(const reference_picture *p, unsigned seed, uint8_t **out)
{
    static const jpeg_scan_info split[] = { { 1, { 0 }, 0, 63, 0, 0 },
                                            { 1, { 1 }, 0, 63, 0, 0 },
                                            { 1, { 2 }, 0, 63, 0, 0 } };
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned long size = 0;
    unsigned state = seed * 2654435761u + 1;
    uint8_t *row = malloc((size_t)p->width * 4), *bytes = NULL;
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &size);
    reference_set_up(&info, p);
    if (p->is_split) {
        info.scan_info = split;
        info.num_scans = 3;
    }
    jpeg_start_compress(&info, TRUE);
    for (int y = 0; y < p->height; y++) {
        for (int i = 0; i < p->width * p->channels; i++) {
            const int x = i / p->channels, c = i % p->channels;
            state = state * 1664525u + 1013904223u;
            const int noise = (int)(state >> 24) * ((int)(seed % 4)) / 4;
            row[i] = (uint8_t)(x * (3 + c) + y * 5 + (x / 9 + y / 7 + c) % 3 * 70 + noise);
        }
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    free(row);
    *out = bytes;
    return (size_t)size;
}

#endif
