/* SPDX-License-Identifier: MIT
 *
 * fused.h: functions that do several ops at once and give the same bytes as one op after the other. In
 * a config the ops stay separate, and each draws as before. The plan looks here whether a chain begins
 * with such ops. A new function means a file and a line in op_list.c. At the end: what ops tell to such functions. */
#ifndef LEAT_FUSED_H
#define LEAT_FUSED_H

#include <stdbool.h>

#include "leat/op.h"
#include "leat/tensor.h"
#include "ops/image/image.h"
#include "ops/image/output.h"

#define LEAT_FUSED_MAX 8 /* ops of one function */

/* One op of a chain. */
typedef struct leat_fused_op {
    const leat_op *op;
    const void *options;
} leat_fused_op;

typedef struct leat_fused {
    const char *help;
    /* The number of the chain's first ops that it does, or 0. At open. */
    int (*match)(const leat_fused_op *ops, int n);
    /* Does n ops with their draws, as apply() of an op. Returns the errors of the ops, or
     * LEAT_E_UNSUPPORTED if this sample needs the ops one by one.
     * streams  out->data will leave the CPU's caches before it is read: it may be written around them */
    int (*apply)(const leat_fused_op *ops, int n, const leat_draw *draws, const leat_view *in,
                 const leat_view *out, bool streams, leat_scratch *scratch, leat_error *err);
} leat_fused;

/* The first function that does at least two of the ops, and their number. NULL: none. */
const leat_fused *leat_fused_find(const leat_fused_op *ops, int n, int *n_taken);

/* --- center_crop.c --------------------------------------------------------------------------- */

/* The box of a size in the middle of an image, which is not smaller. */
leat_image_box leat_center_crop_box(const leat_shape *in, int32_t height, int32_t width);

/* --- random_crop.c --------------------------------------------------------------------------- */

/* Whether its box can reach beyond the image. */
bool leat_random_crop_pads(const void *options);

/* --- normalize.c ----------------------------------------------------------------------------- */

/* Fills scale, shift, element type and layout for inputs of a shape. Images need a known shape if the
 * channels come first. */
void leat_normalize_output(const void *options, const leat_shape *in, leat_output *out);
/* Whether the channels come first. */
bool leat_normalize_is_planar(const void *options);
/* Whether it has numbers for each channel, which must be last then. */
bool leat_normalize_has_channels(const void *options);
/* The same of layout as of normalize; else it puts channels last. */
bool leat_layout_is_planar(const void *options);
/* Fails: the channels are where the op `name` would put them: first, else last. */
int leat_layout_fail(const char *name, const leat_shape *in, bool first, leat_error *err);
/* Does so if the dimensions of an image say it. */
int leat_layout_refuse(const char *name, const leat_shape *in, bool first, leat_error *err);

/* --- random_flip.c --------------------------------------------------------------------------- */

/* True if the op mirrors left to right, false if top to bottom. */
bool leat_random_flip_is_horizontal(const void *options);
bool leat_random_flip_mirrors(const leat_draw *draw);

#endif
