/* SPDX-License-Identifier: MIT
 *
 * image.c: checks and pixel helpers that ops on images share (image.h). */
#include "image.h"

#include <math.h>
#include <string.h>

#include "base/check.h"

static int is_allowed(unsigned allowed, leat_dtype dtype)
{
    return (dtype == LEAT_U8 && (allowed & LEAT_IMAGE_U8)) ||
           (dtype == LEAT_F32 && (allowed & LEAT_IMAGE_F32));
}

int leat_image_expect(const char *op, unsigned allowed, const leat_shape *in, leat_error *err)
{
    static const char *const types[] = { "", "uint8", "float32", "uint8 or float32" };
    int fits = is_allowed(allowed, in->dtype) && in->rank == 3;
    for (int i = 0; fits && i < 3; i++)
        fits = in->dims[i] == LEAT_UNKNOWN_DIM ||
               (in->dims[i] >= 1 && in->dims[i] <= (i == 2 ? 4 : INT32_MAX));
    if (fits)
        return LEAT_OK;
    char text[128];
    return leat_fail(err, LEAT_E_CONFIG,
                     "%s expects a %s image [height, width, 1 to 4 channels], got %s", op,
                     types[allowed & LEAT_IMAGE_U8_F32], leat_shape_text(in, text, sizeof text));
}

int leat_image_size(const char *op, const leat_i64s *size, int64_t *height, int64_t *width,
                    leat_error *err)
{
    if (size->n != 1 && size->n != 2)
        return leat_fail(err, LEAT_E_CONFIG,
                         "%s: size is [height, width] or one number for both, got %d numbers", op,
                         (int)size->n);
    *height = size->values[0];
    *width = size->values[size->n - 1];
    return LEAT_OK;
}

int leat_image_expect_range(const char *op, const char *option, const leat_f32s *range,
                            leat_error *err)
{
    if (range->n == 2 && range->values[0] <= range->values[1])
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG, "%s: %s is [least, most], got %d values%s", op, option,
                     (int)range->n, range->n == 2 ? " in the wrong order" : "");
}

double leat_image_draw(leat_rng *rng, double low, double high)
{
    return low + (high - low) * (double)leat_rng_f32(rng);
}

size_t leat_image_pixel_bytes(const leat_shape *shape)
{
    return (size_t)shape->dims[2] * leat_dtype_bytes(shape->dtype);
}

int leat_image_expect_value(const char *op, const char *option, const leat_f32s *values,
                            const leat_shape *in, leat_error *err)
{
    char text[128];
    for (int32_t i = 0; i < values->n && in->dtype == LEAT_U8; i++)
        if (values->values[i] < 0 || values->values[i] > UINT8_MAX)
            return leat_fail(err, LEAT_E_CONFIG, "%s: %s is %g, but values of %s are 0 to 255", op,
                             option, (double)values->values[i],
                             leat_shape_text(in, text, sizeof text));
    if (values->n == 1 || (values->n > 1 && values->n <= 4 &&
                           (values->n == in->dims[2] || in->dims[2] == LEAT_UNKNOWN_DIM)))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG,
                     "%s: %s is one value or one for each channel, got %d values for %s", op,
                     option, (int)values->n, leat_shape_text(in, text, sizeof text));
}

void leat_image_value(const leat_f32s *values, const leat_shape *shape, uint8_t *pixel)
{
    for (int64_t c = 0; c < shape->dims[2]; c++) {
        const float x = values->values[values->n > 1 ? c : 0];
        if (shape->dtype == LEAT_F32)
            memcpy(pixel + (size_t)c * sizeof x, &x, sizeof x);
        else
            pixel[c] = (uint8_t)lrintf(x);
    }
}

/* Copies what is there to behind it, twice as much each time. */
void leat_image_repeat(uint8_t *to, const uint8_t *pixel, size_t pixel_bytes, size_t n)
{
    const size_t bytes = n * pixel_bytes;
    if (n)
        memcpy(to, pixel, pixel_bytes);
    for (size_t done = pixel_bytes; done < bytes; done *= 2)
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

size_t leat_image_n_px(const leat_shape *shape)
{
    return (size_t)shape->dims[0] * (size_t)shape->dims[1];
}

int leat_image_same(const char *op, unsigned allowed, const leat_shape *in, leat_shape *out,
                    leat_error *err)
{
    const int rc = leat_image_expect(op, allowed, in, err);
    if (rc == LEAT_OK)
        *out = *in;
    return rc;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

const char *const leat_image_pad_modes[] = { "constant", "edge", "reflect", "symmetric", NULL };

int leat_image_expect_pad(const char *op, int64_t pad, int32_t mode, const leat_shape *in, int side,
                          leat_error *err)
{
    char text[128];
    if (in->dims[side] == LEAT_UNKNOWN_DIM || mode < LEAT_PAD_REFLECT ||
        pad <= in->dims[side] - (mode == LEAT_PAD_REFLECT))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG, "%s: %lld pixels are more than %s has to mirror", op,
                     (long long)pad, leat_shape_text(in, text, sizeof text));
}

/* Columns `at` to `at + n` - 1 of a row, all of them outside of it. */
static void cut_outside(uint8_t *to, const uint8_t *row, int64_t at, int64_t n, int64_t width,
                        size_t pixel, int32_t mode)
{
    if (mode == LEAT_PAD_CONSTANT)
        memset(to, 0, (size_t)n * pixel);
    else
        for (int64_t x = at; x < at + n; x++, to += pixel)
            memcpy(to, row + (size_t)leat_image_pad_source(x, width, mode) * pixel, pixel);
}

void leat_image_crop(const leat_view *in, const leat_view *out, const leat_image_box *box,
                     int32_t mode)
{
    const int64_t height = in->shape.dims[0], width = in->shape.dims[1];
    const size_t pixel = leat_image_pixel_bytes(&in->shape);
    const size_t in_stride = (size_t)width * pixel, out_stride = (size_t)box->width * pixel;
    const int64_t left = clamp(-(int64_t)box->x, 0, box->width);
    const int64_t right = clamp(width - box->x, left, box->width);
    uint8_t *to = out->data;
    leat_check(out->shape.dims[0] == box->height && out->shape.dims[1] == box->width);
    for (int64_t row = 0; row < box->height; row++, to += out_stride) {
        const int64_t y = leat_image_pad_source(box->y + row, height, mode);
        if (y < 0) {
            memset(to, 0, out_stride);
            continue;
        }
        const uint8_t *from = (const uint8_t *)in->data + (size_t)y * in_stride;
        cut_outside(to, from, box->x, left, width, pixel, mode);
        if (left < right)
            memcpy(to + (size_t)left * pixel, from + (size_t)(box->x + left) * pixel,
                   (size_t)(right - left) * pixel);
        cut_outside(to + (size_t)right * pixel, from, box->x + right, box->width - right, width,
                    pixel, mode);
    }
}

/* --- shapes that hold as many elements as another one ---------------------------------------- */

static int check_dims(const char *op, const leat_i64s *dims, int *open, leat_error *err)
{
    *open = -1;
    if (dims->n > LEAT_MAX_RANK)
        return leat_fail(err, LEAT_E_CONFIG, "%s: shape has %d dims, at most %d are possible", op,
                         (int)dims->n, LEAT_MAX_RANK);
    for (int i = 0; i < dims->n; i++) {
        if (dims->values[i] == 0 || dims->values[i] < -1 || (dims->values[i] == -1 && *open >= 0))
            return leat_fail(err, LEAT_E_CONFIG,
                             "%s: the dims of shape are 1 or more, and one of them may be -1", op);
        if (dims->values[i] == -1)
            *open = i;
    }
    return LEAT_OK;
}

int leat_image_fit_shape(const char *op, const leat_i64s *dims, int64_t n_elements, leat_shape *out,
                         leat_error *err)
{
    int open;
    const int rc = check_dims(op, dims, &open, err);
    if (rc != LEAT_OK)
        return rc;
    *out = leat_shape_make(out->dtype, dims->n, dims->values);
    leat_shape rest = *out;
    if (open >= 0)
        rest.dims[open] = 1;
    const int64_t n = leat_shape_elements(&rest);
    if (n < 0)
        return leat_fail(err, LEAT_E_CONFIG, "%s: the shape is too large", op);
    if (n_elements < 0)
        return LEAT_OK;
    if (open < 0 ? n != n_elements : n_elements % n != 0) {
        char text[128];
        return leat_fail(err, LEAT_E_CONFIG, "%s: %s does not hold %lld elements", op,
                         leat_shape_text(out, text, sizeof text), (long long)n_elements);
    }
    if (open >= 0)
        out->dims[open] = n_elements / n;
    return LEAT_OK;
}
