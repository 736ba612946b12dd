/* SPDX-License-Identifier: MIT
 *
 * layout: reorders an image of any type from height, width, channels to channels, height, width, or back. */
#include <stdbool.h>
#include <string.h>

#include "fused.h"
#include "op_list.h"
#include "ops/image/color_loops.h"

enum { CHANNELS_FIRST, CHANNELS_LAST };
static const char *const layouts[] = { "channels_first", "channels_last", NULL };

typedef struct layout_options {
    int32_t to;
} layout_options;

static const leat_option options[] = {
    LEAT_OPTION_ENUM(layout_options, to, "channels_first", layouts,
                     "order of the result; channels_last also undoes channels_first"),
    LEAT_OPTION_END
};

/* As few channels as an image has at this end, and more than are usual at the others, which may be channels of other data. Of
 * sizes that are not known yet nothing is said. */
static bool has_channels_at(const leat_shape *in, int end)
{
    const int64_t *const d = in->dims;
    const int64_t few = d[end] == 3 ? 4 : 16; /* three are nearly always RGB */
    return d[end] >= 1 && d[end] <= 4 && d[1] > few && d[2 - end] > few;
}

int leat_layout_fail(const char *name, const leat_shape *in, bool first, leat_error *err)
{
    char text[128];
    return leat_fail(err, LEAT_E_CONFIG,
                     "%s: the channels of %s are %s already: leave `layout` out", name,
                     leat_shape_text(in, text, sizeof text), first ? "first" : "last");
}

int leat_layout_refuse(const char *name, const leat_shape *in, bool first, leat_error *err)
{
    return has_channels_at(in, first ? 0 : 2) ? leat_layout_fail(name, in, first, err) : LEAT_OK;
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const bool first = ((const layout_options *)opts)->to == CHANNELS_FIRST;
    char text[128];
    if (in->rank != 3)
        return leat_fail(err, LEAT_E_CONFIG, "layout expects three dimensions, got %s",
                         leat_shape_text(in, text, sizeof text));
    const int rc = leat_layout_refuse("layout", in, first, err);
    if (rc)
        return rc;
    *out = *in;
    for (int i = 0; i < 3; i++)
        out->dims[i] = in->dims[(first ? i + 2 : i + 1) % 3];
    return LEAT_OK;
}

bool leat_layout_is_planar(const void *options_)
{
    return ((const layout_options *)options_)->to == CHANNELS_FIRST;
}

/* rows x columns values to columns x rows */
static void transpose(uint8_t *to, const uint8_t *from, size_t rows, size_t columns, size_t size)
{
    for (size_t x = 0; x < columns; x++)
        for (size_t y = 0; y < rows; y++, to += size)
            memcpy(to, from + (y * columns + x) * size, size);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const bool first = ((const layout_options *)opts)->to == CHANNELS_FIRST;
    const size_t size = leat_dtype_bytes(in->shape.dtype);
    const int64_t *const d = in->shape.dims;
    const size_t rows = (size_t)(first ? d[0] * d[1] : d[0]);
    const size_t columns = (size_t)(first ? d[2] : d[1] * d[2]);
    (void)draw;
    (void)scratch;
    (void)err;
    if (first && columns == 3 && size == 1) {
        uint8_t *const to = out->data;
        uint8_t *const planes[3] = { to, to + rows, to + 2 * rows };
        leat_color_loops_now()->split(planes, in->data, rows);
    } else {
        transpose(out->data, in->data, rows, columns, size);
    }
    return LEAT_OK;
}

const leat_op leat_op_layout = {
    .name = "layout",
    .help = "put the channels of an image first, or last again",
    .options_size = sizeof(layout_options),
    .options = options,
    .shape = shape,
    .apply = apply,
};
