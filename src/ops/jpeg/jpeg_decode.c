/* SPDX-License-Identifier: MIT
 *
 * jpeg_decode.c: decodes an image, or a box of it, to gray or RGB. DESIGN: one row of MCUs goes from
 * coefficients to samples to pixels while it is in the CPU cache. If chroma has half the rows, the pixels
 * of the last row need the first row of the next MCUs. So the last row of samples is carried over as row 0
 * of the strip. The window has the MCUs of the box and of the samples next to it, so that the pixels are
 * the same as in the whole image. */
#include "jpeg_impl.h"

#include <string.h>

enum { MAX_SHORT_CUT = 8191 }; /* above it, libjpeg-turbo's short cut gives other samples */

typedef struct strip {
    uint8_t *rows; /* the carried row, then 8v rows of the current row of MCUs */
    ptrdiff_t stride;
    int32_t first;    /* row of the plane at rows[stride] */
    int32_t from, to; /* decoded columns */
} strip;

typedef struct painter {
    const leat_jpeg *jpeg;
    leat_image_box box;
    leat_jpeg_scan scan;
    strip strip[3];
    uint8_t *chroma[2]; /* one row at full width */
    int n_planes;       /* planes to decode */
} painter;

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static leat_jpeg_window window_of(const leat_jpeg *jpeg, const leat_image_box *box)
{
    const int32_t beside = jpeg->chroma_h == 2 ? 2 : 0, above = jpeg->chroma_v == 2 ? 2 : 0;
    const int32_t left = box->x < beside ? 0 : box->x - beside;
    const int32_t top = box->y < above ? 0 : box->y - above;
    const int32_t right = box->x + box->width + beside - 1;
    const int32_t bottom = box->y + box->height + above - 1;
    return (leat_jpeg_window){ .x0 = left / jpeg->mcu_width_px,
                               .x1 = least(jpeg->mcus_x, right / jpeg->mcu_width_px + 1),
                               .y0 = top / jpeg->mcu_height_px,
                               .y1 = least(jpeg->mcus_y, bottom / jpeg->mcu_height_px + 1) };
}

static int take_memory(painter *p, leat_scratch *scratch)
{
    for (int i = 0; i < p->n_planes; i++) {
        const leat_jpeg_component *c = &p->jpeg->component[i];
        strip *s = &p->strip[i];
        s->from = 8 * c->h * p->scan.window.x0;
        s->to = least(8 * c->h * p->scan.window.x1, c->width_px);
        s->stride = 8 * (ptrdiff_t)c->n_across + 64; /* kernels may read past a row */
        s->rows = leat_scratch_take(scratch, (size_t)s->stride * (size_t)(8 * c->v + 1));
        if (!s->rows)
            return -1;
    }
    for (int i = 0; i < 2 && p->n_planes == 3; i++) {
        p->chroma[i] = leat_scratch_take(scratch, (size_t)p->strip[0].stride + 64);
        if (!p->chroma[i])
            return -1;
    }
    return 0;
}

/* Row y of a plane. Outside of the plane it is the nearest row. */
static const uint8_t *row_of(const painter *p, int plane, int32_t y)
{
    const strip *s = &p->strip[plane];
    const int32_t last = p->jpeg->component[plane].height_px - 1;
    y = y < 0 ? 0 : least(y, last);
    return s->rows + s->stride * (y - s->first + 1);
}

/* libjpeg does not filter planes of one or two columns. */
static void double_row(const uint8_t *in, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[2 * i] = out[2 * i + 1] = in[i];
}

/* Row y of a chroma plane at full size, perhaps in p->chroma. Inside the box it equals that of the whole
 * image, because the window has one more sample on each side that is not an edge. */
static const uint8_t *chroma_row(const painter *p, int plane, int32_t y)
{
    const leat_jpeg *jpeg = p->jpeg;
    const strip *s = &p->strip[plane];
    const int32_t n = s->to - s->from;
    uint8_t *out = p->chroma[plane - 1] + jpeg->chroma_h * s->from;
    const uint8_t *near = row_of(p, plane, y / jpeg->chroma_v) + s->from;
    if (jpeg->chroma_h == 1 && jpeg->chroma_v == 1)
        return near - s->from;
    const uint8_t *far = row_of(p, plane, y / 2 + (y & 1 ? 1 : -1)) + s->from;
    if (jpeg->chroma_h == 1)
        jpeg->dsp->up_v2(near, far, out, n, y & 1 ? 2 : 1);
    else if (jpeg->component[plane].width_px <= 2)
        double_row(near, out, n);
    else if (jpeg->chroma_v == 1)
        jpeg->dsp->up_h2(near, out, n);
    else
        jpeg->dsp->up_h2v2(near, far, out, n);
    return p->chroma[plane - 1];
}

static void paint_row(const painter *p, int32_t y, int channels, uint8_t *out)
{
    const leat_jpeg *jpeg = p->jpeg;
    const int32_t x = p->box.x, n = p->box.width;
    const uint8_t *luma = row_of(p, 0, y) + x;
    if (channels == 1)
        memcpy(out, luma, (size_t)n);
    else if (jpeg->n_components == 1)
        for (int32_t i = 0; i < n; i++)
            out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = luma[i];
    else
        jpeg->dsp->rgb(luma, chroma_row(p, 1, y) + x, chroma_row(p, 2, y) + x, out, n);
}

/* Transforms the coefficients of one row of MCUs to samples. Returns 0 if some are out of range. */
static int transform(painter *p, int32_t mcu_row)
{
    uint32_t largest = 0;
    for (int i = 0; i < p->n_planes; i++) {
        const leat_jpeg_component *c = &p->jpeg->component[i];
        strip *s = &p->strip[i];
        const int32_t first = (p->scan.window.x0 * c->h) & ~3;
        const int32_t n = (p->scan.window.x1 * c->h - first + 3) & ~3;
        s->first = mcu_row * 8 * c->v;
        for (int32_t v = 0; v < c->v; v++) {
            const int16_t *blocks = p->scan.blocks[i] + 64 * ((ptrdiff_t)c->n_across * v + first);
            const uint32_t peak = p->jpeg->dsp->idct(
                blocks, n, c->quant, s->rows + s->stride * (8 * v + 1) + 8 * first, s->stride);
            largest = peak > largest ? peak : largest;
        }
    }
    return largest <= MAX_SHORT_CUT;
}

static void carry_rows(painter *p)
{
    for (int i = 0; i < p->n_planes; i++) {
        strip *s = &p->strip[i];
        memcpy(s->rows, s->rows + s->stride * (8 * p->jpeg->component[i].v), (size_t)s->stride);
    }
}

static int paint(painter *p, int channels, leat_jpeg_rows *rows, leat_error *err)
{
    const leat_jpeg *jpeg = p->jpeg;
    const leat_jpeg_window *w = &p->scan.window;
    const int32_t late = p->n_planes == 3 && jpeg->chroma_v == 2; /* rows that need the next MCUs */
    const int32_t bottom = p->box.y + p->box.height;
    int32_t y = p->box.y;
    for (int32_t row = w->y0; row < w->y1; row++) {
        const int rc = leat_jpeg_scan_row(&p->scan, row, err);
        if (rc)
            return rc;
        if (!transform(p, row))
            return leat_fail(err, LEAT_E_UNSUPPORTED, "jpeg: coefficients out of range");
        const int32_t ready =
            row == jpeg->mcus_y - 1 ? jpeg->height : (row + 1) * jpeg->mcu_height_px - late;
        for (; y < least(ready, bottom); y++)
            paint_row(p, y, channels, rows->next(rows));
        if (late)
            carry_rows(p);
    }
    return leat_jpeg_scan_finish(&p->scan, err);
}

int leat_jpeg_decode_rows(const leat_jpeg *jpeg, const leat_image_box *box, int channels,
                          leat_jpeg_rows *rows, leat_scratch *scratch, leat_error *err)
{
    painter p = { .jpeg = jpeg, .box = *box };
    if (box->x < 0 || box->y < 0 || box->width < 1 || box->height < 1 ||
        box->width > jpeg->width - box->x || box->height > jpeg->height - box->y)
        return leat_fail(err, LEAT_E_ARGUMENT, "jpeg: the box is not inside %d x %d pixels",
                         jpeg->width, jpeg->height);
    const leat_jpeg_window window = window_of(jpeg, box);
    p.n_planes = channels == 1 ? 1 : jpeg->n_components;
    const int rc = leat_jpeg_scan_open(&p.scan, jpeg, &window, scratch, err);
    if (rc)
        return rc;
    if (take_memory(&p, scratch))
        return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory for %d x %d pixels", jpeg->width,
                         jpeg->height);
    return paint(&p, channels, rows, err);
}

/* Rows one after the other in memory. */
typedef struct memory_rows {
    leat_jpeg_rows rows;
    uint8_t *next;
    size_t stride_bytes;
} memory_rows;

static uint8_t *next_in_memory(leat_jpeg_rows *rows)
{
    memory_rows *m = (memory_rows *)rows;
    uint8_t *row = m->next;
    m->next += m->stride_bytes;
    return row;
}

int leat_jpeg_decode_box(const leat_jpeg *jpeg, const leat_image_box *box, int channels,
                         uint8_t *out, leat_scratch *scratch, leat_error *err)
{
    memory_rows m = { { next_in_memory }, out, (size_t)box->width * (size_t)channels };
    return leat_jpeg_decode_rows(jpeg, box, channels, &m.rows, scratch, err);
}

int leat_jpeg_decode(const leat_jpeg *jpeg, int channels, uint8_t *out, leat_scratch *scratch,
                     leat_error *err)
{
    const leat_image_box whole = { 0, 0, jpeg->height, jpeg->width };
    return leat_jpeg_decode_box(jpeg, &whole, channels, out, scratch, err);
}
