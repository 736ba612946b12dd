/* SPDX-License-Identifier: MIT
 *
 * decode.h: options, checks and messages that the ops decoding images share. */
#ifndef LEAT_DECODE_H
#define LEAT_DECODE_H

#include <stdbool.h>

#include "leat/op.h"

/* Values of the option `channels`: indices into the choices "0", "1", "3", "4". */
enum { LEAT_DECODE_AS_STORED, LEAT_DECODE_GRAY, LEAT_DECODE_RGB, LEAT_DECODE_RGBA };

/* The options of every decoding op. They share a struct, so that decode_image can pass its options on.
 * Each op has rows only for the fields that it uses. */
typedef struct leat_decode_options {
    int32_t channels;
    int32_t lenient;
    int64_t max_pixels;
    double device_share; /* decode_jpeg on the GPU: its share of the rows of a batch */
    int32_t scale;       /* of decode_jpeg, LEAT_DECODE_SCALE_… */
    int32_t exact;
    /* Not an option: the size that the op behind decode_jpeg gives; 0: it is not resize. */
    int64_t resize_height, resize_width;
    int32_t resize_keeps_aspect; /* height is the shorter side */
} leat_decode_options;

/* Values of `scale`: the size is divided by 1 << scale. */
enum { LEAT_DECODE_SCALE_1, LEAT_DECODE_SCALE_8 = 3, LEAT_DECODE_SCALE_AUTO };

/* Tells decode_jpeg, at open, which op follows it. */
void leat_decode_jpeg_followed_by(leat_decode_options *options, const leat_op *next,
                                  const void *next_options);

/* Whether the op decodes JPEG files at their own size, so that it can run together with a crop or resize right after it. */
bool leat_decode_fuses(const leat_op *op, const void *options);

#define LEAT_DECODE_MAX_PIXELS                                                                     \
    LEAT_OPTION_I64(leat_decode_options, max_pixels, "268435456", 1, 4294836225,                   \
                    "larger images are an error")

/* shape(): the output is [?, ?, channels]. */
int leat_decode_shape(const char *op, const leat_decode_options *options, const leat_shape *in,
                      leat_shape *out, leat_error *err);

/* measure(), after the header is read. `stored` is the number of channels in the file. */
int leat_decode_size(const char *op, const leat_decode_options *options, int64_t height,
                     int64_t width, int64_t stored, leat_shape *out, leat_error *err);

/* Fails with "OP: not a KIND: WHY". If the bytes are another known kind, adds which op decodes it. */
int leat_decode_fail_kind(const char *op, const char *kind, const char *why, const void *bytes,
                          size_t n, leat_error *err);

/* Writes n RGB pixels as `channels` values each: 1 (gray, color.h) or 3. `to` may be `rgb`. */
void leat_decode_put(uint8_t *to, const uint8_t *rgb, size_t n_px, int64_t channels);

#endif
