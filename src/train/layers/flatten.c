/* SPDX-License-Identifier: MIT
 *
 * flatten: turns an image into a vector, height outermost, channels innermost. Images already have this
 * order, so nothing is computed. */
#include "train/export_onnx.h"
#include "train/program.h"

typedef struct common_only {
    leat_layer_common base;
} common_only;

const leat_option leat_layer_no_options[] = { LEAT_LAYER_COMMON(common_only), LEAT_OPTION_END };

int leat_layer_same_shape(const void *options, const leat_shape *in, int32_t n, leat_shape *out,
                          leat_error *err)
{
    (void)options;
    (void)n;
    (void)err;
    *out = *in;
    return LEAT_OK;
}

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    const int64_t elements = leat_shape_elements(in);
    (void)opts;
    (void)n;
    (void)err;
    *out = leat_shape_make(LEAT_F32, 1, &elements);
    return LEAT_OK;
}

static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    (void)opts;
    (void)in;
    (void)out;
    (void)rows;
    *to = (leat_layer_cost){ 0 };
}

static void forward(leat_program *p, int32_t i)
{
    leat_program_set_out(p, i, leat_program_in(p, i, 0));
}

static void backward(leat_program *p, int32_t i)
{
    leat_program_give(p, i, 0, leat_program_grad(p, i));
}

/* Our rows of an image have its channels innermost. */
static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    const leat_model_layer *l = leat_export_onnx_layer(e, i);
    char last[LEAT_EXPORT_ONNX_NAME];
    snprintf(last, sizeof last, "%s.nhwc", l->name);
    if (l->in.rank == 3)
        leat_export_onnx_transpose(e, in[0], last, true);
    leat_export_onnx_node1(e, "Flatten", l->in.rank == 3 ? last : in[0], out);
}

const leat_layer leat_layer_flatten = {
    .kind = { "flatten", "an image as a vector", leat_layer_no_options },
    .options_size = sizeof(leat_layer_common),
    .shape = shape,
    .cost = cost,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
