/* SPDX-License-Identifier: MIT
 *
 * output.c: scales pixels and writes them as output.h says. Values go in pieces through buffers that stay in
 * the L1 cache. */
#include "output.h"

#include <string.h>

#include "color_loops.h"

enum {
    VALUES = 840, /* divisible by every number of channels up to LEAT_AFFINE_MAX */
    PIXELS = 256
};

void leat_output_planar_dims(const leat_shape *in, leat_shape *out)
{
    const int64_t dims[] = { in->dims[2], in->dims[0], in->dims[1] };
    memcpy(out->dims, dims, sizeof dims);
}

void leat_output_fill(leat_output *output)
{
    const int32_t n = output->affine.n_channels;
    leat_dsp_affine_fill(&output->affine);
    for (int32_t c = 0; output->is_planar && c < n; c++) {
        output->planes[c] = (leat_affine){ .n_channels = 1,
                                           .scale = { output->affine.scale[c] },
                                           .shift = { output->affine.shift[c] } };
        leat_dsp_affine_fill(&output->planes[c]);
    }
}

bool leat_output_is_plain(const leat_output *output)
{
    return output->in == LEAT_U8 && output->out == LEAT_F32 && !output->is_planar;
}

static void to_floats(const leat_output *o, const leat_affine *affine, float *to, const void *in,
                      size_t n)
{
    if (o->in == LEAT_U8)
        leat_dsp()->affine_u8(to, in, n, affine);
    else
        leat_dsp()->affine_f32(to, in, n, affine);
}

/* n values that lie one after the other. */
static void write_values(const leat_output *o, const leat_affine *affine, void *to, const void *in,
                         size_t n)
{
    float values[VALUES];
    if (o->out == LEAT_F32) {
        to_floats(o, affine, to, in, n);
        return;
    }
    for (size_t i = 0; i < n; i += VALUES) {
        const size_t part = n - i < VALUES ? n - i : VALUES;
        uint16_t *const at = (uint16_t *)to + i;
        to_floats(o, affine, values, (const uint8_t *)in + i * leat_dtype_bytes(o->in), part);
        if (o->out == LEAT_F16)
            leat_dsp()->f16_of_f32(at, values, part);
        else
            leat_dsp()->bf16_of_f32(at, values, part);
    }
}

static void *place(const leat_output *o, void *out, size_t channel, size_t px)
{
    return (uint8_t *)out + (channel * o->n_px + px) * leat_dtype_bytes(o->out);
}

static const leat_affine *affine_of(const leat_output *o, size_t channel)
{
    return &o->planes[o->affine.n_channels > 1 ? channel : 0];
}

static void write_rgb(const leat_output *o, void *out, size_t px, const uint8_t *in, size_t n_px)
{
    uint8_t planes[3][PIXELS];
    uint8_t *const parts[3] = { planes[0], planes[1], planes[2] };
    leat_color_loops_now()->split(parts, in, n_px);
    for (size_t c = 0; c < 3; c++)
        write_values(o, affine_of(o, c), place(o, out, c, px), planes[c], n_px);
}

static void write_planes(const leat_output *o, void *out, size_t px, const uint8_t *in, size_t n_px)
{
    const size_t size = leat_dtype_bytes(o->in), pixel = o->channels * size;
    uint8_t plane[PIXELS * sizeof(float)];
    for (size_t c = 0; c < o->channels; c++) {
        for (size_t i = 0; i < n_px; i++)
            memcpy(plane + i * size, in + i * pixel + c * size, size);
        write_values(o, affine_of(o, c), place(o, out, c, px), plane, n_px);
    }
}

void leat_output_write(const leat_output *o, void *out, size_t first, const void *in, size_t n)
{
    if (!o->is_planar) {
        write_values(o, &o->affine, (uint8_t *)out + first * leat_dtype_bytes(o->out), in, n);
        return;
    }
    const size_t px = first / o->channels, n_px = n / o->channels;
    const size_t pixel = o->channels * leat_dtype_bytes(o->in);
    for (size_t i = 0; i < n_px; i += PIXELS) {
        const size_t part = n_px - i < PIXELS ? n_px - i : PIXELS;
        const uint8_t *const from = (const uint8_t *)in + i * pixel;
        (o->in == LEAT_U8 && o->channels == 3 ? write_rgb : write_planes)(o, out, px + i, from,
                                                                          part);
    }
}
