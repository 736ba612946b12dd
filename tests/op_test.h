/* SPDX-License-Identifier: MIT
 *
 * op_test.h: what tests of ops share: running one op on a tensor, options by hand, small images. */
#ifndef LEAT_OP_TEST_H
#define LEAT_OP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <jpeglib.h>

#include "leat/op.h"

static leat_scratch *op_scratch;

static inline int op_test_setup(void **state)
{
    (void)state;
    return leat_scratch_open(&op_scratch, (size_t)1 << 32, NULL);
}

static inline int op_test_teardown(void **state)
{
    (void)state;
    leat_scratch_close(&op_scratch);
    return 0;
}

static inline leat_view op_image(leat_dtype dtype, int64_t height, int64_t width, int64_t channels)
{
    leat_view view = { .shape = { dtype, 3, { height, width, channels } } };
    view.data = malloc((size_t)leat_shape_bytes(&view.shape) + 1);
    assert_non_null(view.data);
    return view;
}

static inline uint64_t op_next(uint64_t *seed) /* splitmix64 */
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline leat_view op_noise(leat_dtype dtype, int64_t height, int64_t width, int64_t channels,
                                 uint64_t seed)
{
    leat_view view = op_image(dtype, height, width, channels);
    for (int64_t i = 0; i < leat_shape_elements(&view.shape); i++) {
        const uint8_t x = (uint8_t)(op_next(&seed) >> 32);
        if (dtype == LEAT_U8)
            ((uint8_t *)view.data)[i] = x;
        else
            ((float *)view.data)[i] = (float)x / 255;
    }
    return view;
}

/* A drawing that JPEG likes: smooth shades, a few edges, a little noise. */
static inline leat_view op_drawing(int64_t height, int64_t width, int64_t channels)
{
    leat_view view = op_image(LEAT_U8, height, width, channels);
    uint64_t seed = 5;
    uint8_t *to = view.data;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            for (int64_t c = 0; c < channels; c++)
                *to++ = (uint8_t)(((x * 200 / width + y * (c + 1) * 30 / height) & 0xff) / 2 +
                                  (((x / 9) ^ (y / 7)) & 1) * 60 + (int64_t)(op_next(&seed) & 15));
    return view;
}

/* Options of an op: initial values, then name, text, …, NULL. The caller frees them. */
static inline void *op_options(const leat_op *op, ...)
{
    void *options = calloc(1, op->options_size);
    va_list args;
    assert_non_null(options);
    leat_option_init(op->options, options);
    va_start(args, op);
    for (const char *name; (name = va_arg(args, const char *));) {
        const leat_option *row = leat_option_find(op->options, name);
        leat_error err = { 0 };
        assert_non_null(row);
        if (leat_option_set(row, options, va_arg(args, const char *), &err) != LEAT_OK)
            fail_msg("%s.%s: %s", op->name, name, err.message);
    }
    va_end(args);
    return options;
}

typedef struct op_result {
    int rc;
    leat_error err;
    leat_plan64 plan;
    leat_view out; /* data NULL unless rc is LEAT_OK */
} op_result;

/* shape or measure, plan, apply, into fresh memory; checks nothing. */
static inline op_result op_run(const leat_op *op, const void *options, leat_view in, uint64_t seed)
{
    op_result r = { 0 };
    leat_rng rng = leat_rng_make(seed, 1, 2, 3);
    leat_scratch_reset(op_scratch);
    r.rc = op->shape(options, &in.shape, &r.out.shape, &r.err);
    if (r.rc == LEAT_OK && op->measure)
        r.rc = op->measure(options, &in, &r.out.shape, op_scratch, &r.err);
    if (r.rc != LEAT_OK)
        return r;
    if (op->plan)
        op->plan(options, &rng, &in.shape, &r.plan);
    r.out.data = malloc((size_t)leat_shape_bytes(&r.out.shape) + 1);
    assert_non_null(r.out.data);
    leat_scratch_reset(op_scratch);
    r.rc = op->apply(options, &r.plan, &in, &r.out, op_scratch, &r.err);
    if (r.rc != LEAT_OK) {
        free(r.out.data);
        r.out.data = NULL;
    }
    return r;
}

static inline const uint8_t *op_u8(leat_view v)
{
    return v.data;
}

static inline const float *op_f32(leat_view v)
{
    return v.data;
}

static inline op_result op_run_ok(const char *name, const void *options, leat_view in,
                                  uint64_t seed)
{
    op_result r = op_run(leat_op_find(name), options, in, seed);
    if (r.rc != LEAT_OK)
        fail_msg("%s", r.err.message);
    return r;
}

static inline void op_expect_refusal(const char *name, void *options, leat_shape in,
                                     const char *text)
{
    leat_shape out;
    leat_error err = { 0 };
    assert_int_equal(leat_op_find(name)->shape(options, &in, &out, &err), LEAT_E_CONFIG);
    assert_string_equal(err.message, text);
    free(options);
}

static inline void *op_options_of(const char *name, const char *option, const char *value)
{
    return op_options(leat_op_find(name), option, value, NULL);
}

static inline leat_view op_bytes(const void *bytes, size_t n)
{
    leat_view view = { .shape = { LEAT_U8, 1, { (int64_t)n } } };
    view.data = malloc(n ? n : 1); /* exact, so that over-reads are seen */
    assert_non_null(view.data);
    if (n)
        memcpy(view.data, bytes, n);
    return view;
}

/* How op_jpeg() writes. */
typedef struct op_jpeg_how {
    int quality;     /* 0 = 85 */
    int h, v;        /* luma sampling factors; 0 = 2 */
    int progressive; /* 1: progressive */
    int arithmetic;
    int restart;          /* MCUs between restart markers */
    J_COLOR_SPACE stored; /* 0: by channels (gray, YCbCr, CMYK) */
} op_jpeg_how;

/* JPEG bytes of an uint8 image of 1, 3 or 4 channels, by plain libjpeg. */
static inline leat_view op_jpeg(leat_view image, op_jpeg_how how)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n_bytes = 0;
    const int channels = (int)image.shape.dims[2];
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, &n_bytes);
    cinfo.image_height = (JDIMENSION)image.shape.dims[0];
    cinfo.image_width = (JDIMENSION)image.shape.dims[1];
    cinfo.input_components = channels;
    cinfo.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&cinfo);
    if (how.stored)
        jpeg_set_colorspace(&cinfo, how.stored);
    jpeg_set_quality(&cinfo, how.quality ? how.quality : 85, TRUE);
    if (cinfo.jpeg_color_space == JCS_YCbCr || cinfo.jpeg_color_space == JCS_YCCK) {
        cinfo.comp_info[0].h_samp_factor = how.h ? how.h : 2;
        cinfo.comp_info[0].v_samp_factor = how.v ? how.v : 2;
    }
    cinfo.restart_interval = (unsigned)how.restart;
    cinfo.arith_code = how.arithmetic;
    if (how.progressive)
        jpeg_simple_progression(&cinfo);
    jpeg_start_compress(&cinfo, TRUE);
    while (cinfo.next_scanline < cinfo.image_height) {
        JSAMPROW row = (JSAMPROW)image.data +
                       (size_t)cinfo.next_scanline * cinfo.image_width * (size_t)channels;
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    const leat_view out = op_bytes(bytes, n_bytes);
    free(bytes);
    return out;
}

#endif
