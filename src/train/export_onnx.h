/* SPDX-License-Identifier: MIT
 *
 * export_onnx.h: what layers call to add themselves to an ONNX graph (leat_layer.export_onnx). Failures are kept until the
 * end, so that calls need no check. */
#ifndef LEAT_EXPORT_ONNX_H
#define LEAT_EXPORT_ONNX_H

#include "formats/onnx.h"
#include "layers.h"

enum { LEAT_EXPORT_ONNX_NAME = 128 };

typedef struct leat_export_onnx leat_export_onnx;

const leat_model_layer *leat_export_onnx_layer(const leat_export_onnx *e, int32_t i);
/* The layer cannot be exported: so says the message. */
void leat_export_onnx_refuse(leat_export_onnx *e, int32_t i);
/* in: names of tensors, NULL at the end */
void leat_export_onnx_node(leat_export_onnx *e, const char *type, const char *const *in,
                           const char *out, const leat_onnx_attribute *attributes, size_t n);
/* The same with one input and no attributes. */
void leat_export_onnx_node1(leat_export_onnx *e, const char *type, const char *in, const char *out);
/* channels_last: from ONNX's layout to ours; else back */
void leat_export_onnx_transpose(leat_export_onnx *e, const char *in, const char *out,
                                bool channels_last);
void leat_export_onnx_scalar(leat_export_onnx *e, const char *name, float value);
/* Adds parameter k of a layer as it is, a vector, or as the weight of a convolution. Writes its name. */
void leat_export_onnx_vector(leat_export_onnx *e, int32_t i, int32_t k,
                             char name[LEAT_EXPORT_ONNX_NAME]);
void leat_export_onnx_conv_weight(leat_export_onnx *e, int32_t i, int32_t k,
                                  char name[LEAT_EXPORT_ONNX_NAME]);

#endif
