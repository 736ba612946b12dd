/* SPDX-License-Identifier: MIT
 *
 * mixup (Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018): x = l a + (1 - l) b, also for
 * labels. l comes from Beta(alpha, alpha), one per batch, as in torchvision.transforms.v2.MixUp. With
 * uint8 images l is rounded to 1/256 for images and labels. */
#include <math.h>
#include <stdbool.h>

#include "batch_op.h"
#include "ops/image/mix.h"

typedef struct mixup_draw {
    float own;
    uint32_t own_256;
} mixup_draw;

static const leat_option options[] = { LEAT_MIX_ROWS, LEAT_OPTION_END };

static int check(const void *opts, const leat_shape *in, leat_error *err)
{
    char text[128];
    (void)opts;
    if (in->dtype != LEAT_U8 && in->dtype != LEAT_F32)
        return leat_fail(err, LEAT_E_CONFIG, "mixup expects uint8 or float32, got %s",
                         leat_shape_text(in, text, sizeof text));
    return LEAT_OK;
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out, double *own)
{
    const leat_mix_options *const o = opts;
    mixup_draw drawn = { 0 };
    const bool mixes = leat_rng_f32(rng) < o->p;
    *own = leat_mix_beta(rng, (double)o->alpha);
    if (!mixes)
        *own = 1;
    drawn.own_256 = (uint32_t)rint(*own * 256);
    if (in->dtype == LEAT_U8)
        *own = drawn.own_256 / 256.0;
    drawn.own = (float)*own;
    LEAT_DRAW_PUT(out, drawn);
}

static void apply(const leat_draw *p, const leat_shape *in, void *a, void *b)
{
    const size_t n = (size_t)leat_shape_elements(in);
    mixup_draw drawn;
    LEAT_DRAW_GET(p, drawn);
    if (in->dtype == LEAT_U8)
        leat_mix_u8(a, b, n, drawn.own_256);
    else
        leat_mix_f32(a, b, n, drawn.own);
}

const leat_batch_op leat_batch_op_mixup = {
    { "mixup", "mix pairs of samples of a batch, and their labels, by a random share", options },
    sizeof(leat_mix_options),
    0,
    check,
    draw,
    apply
};
