/* SPDX-License-Identifier: MIT
 *
 * decode_jpeg: JPEG bytes to a uint8 image. The decoder in jpeg/ does most files. libjpeg-turbo does the
 * others (progressive, CMYK, damaged, …). The pixels are the same. */
#include "base/cpu.h"
#include "decode.h"
#include "ops/jpeg/jpeg.h"
#include "ops/jpeg/jpeg_turbo.h"
#include "ops/op_list.h"

static const char *const channel_choices[] = { "0", "1", "3", NULL };

static const leat_option options[] = {
    LEAT_OPTION_ENUM(leat_decode_options, channels, "3", channel_choices,
                     "3: RGB, 1: gray, 0: gray if stored as gray, else RGB"),
    LEAT_OPTION_BOOL(leat_decode_options, lenient, "false",
                     "keep what could be decoded of a damaged image instead of failing"),
    LEAT_DECODE_MAX_PIXELS,
    LEAT_OPTION_F64(leat_decode_options, device_share, "1", 0.01, 1,
                    "with device: gpu, share of a batch's rows that nvJPEG decodes; the CPU "
                    "decodes the others"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_decode_shape("decode_jpeg", opts, in, out, err);
}

static int measure(const void *opts, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err)
{
    leat_jpeg_size size;
    (void)scratch;
    const int rc = leat_jpeg_turbo_size(in->data, (size_t)in->shape.dims[0], &size, err);
    return rc == LEAT_OK ? leat_decode_size("decode_jpeg", opts, size.height, size.width,
                                            size.components == 1 ? 1 : 3, out, err)
                         : rc;
}

static int apply(const void *opts, const leat_plan64 *plan, const leat_view *in,
                 const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const leat_decode_options *o = opts;
    leat_jpeg jpeg;
    (void)plan;
    /* On CPUs without AVX2, libjpeg-turbo is faster than ours. */
    int rc = leat_cpu_level() < LEAT_CPU_AVX2
                 ? LEAT_E_UNSUPPORTED
                 : leat_jpeg_open(&jpeg, in->data, (size_t)in->shape.dims[0], NULL);
    if (rc == LEAT_OK)
        rc = leat_jpeg_decode(&jpeg, (int)out->shape.dims[2], out->data, scratch, err);
    if (rc != LEAT_E_UNSUPPORTED)
        return rc;
    return leat_jpeg_turbo_decode(in->data, (size_t)in->shape.dims[0], o->lenient, out, scratch,
                                  err);
}

const leat_op leat_op_decode_jpeg = {
    .name = "decode_jpeg",
    .help = "decode JPEG bytes to an uint8 image [height, width, channels]",
    .options_size = sizeof(leat_decode_options),
    .options = options,
    .shape = shape,
    .measure = measure,
    .apply = apply,
};
