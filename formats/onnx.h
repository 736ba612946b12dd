/* SPDX-License-Identifier: MIT
 *
 * onnx.h: writes a model as an ONNX file: IR version 8, operators of opset 17. The caller adds inputs, weights,
 * nodes and outputs, then writes. Nodes must be added in an order in which each comes after those that it
 * reads. What the operators mean is the caller's concern: nothing is checked but sizes and names. */
#ifndef LEAT_ONNX_H
#define LEAT_ONNX_H

#include "format.h"

enum { LEAT_ONNX_IR_VERSION = 8, LEAT_ONNX_OPSET = 17 };

typedef struct leat_onnx leat_onnx;

/* An attribute of a node. Use the macros. */
typedef struct leat_onnx_attribute {
    const char *name;
    enum { LEAT_ONNX_INT, LEAT_ONNX_FLOAT, LEAT_ONNX_INTS } kind;
    int64_t i;
    float f;
    const int64_t *ints;
    size_t n; /* of ints */
} leat_onnx_attribute;

#define LEAT_ONNX_I(name_, value_)                                                                 \
    {                                                                                              \
        .name = (name_), .kind = LEAT_ONNX_INT, .i = (value_)                                      \
    }
#define LEAT_ONNX_F(name_, value_)                                                                 \
    {                                                                                              \
        .name = (name_), .kind = LEAT_ONNX_FLOAT, .f = (value_)                                    \
    }
#define LEAT_ONNX_IS(name_, list_, n_)                                                             \
    {                                                                                              \
        .name = (name_), .kind = LEAT_ONNX_INTS, .ints = (list_), .n = (n_)                        \
    }

/* Starts a model. All names and lists given later are copied. Returns NULL if out of memory. */
leat_onnx *leat_onnx_open(const char *graph, const char *producer, const char *producer_version);

/* Add an input or an output of float32. A dim of -1 is any number: the batch, called "batch" in the file.
 * Return LEAT_FORMAT_OK; _BAD: no name, or a dim below -1; _NOMEM. */
int leat_onnx_add_input(leat_onnx *model, const char *name, const int64_t *dims, size_t n_dims,
                        leat_format_error *err);
int leat_onnx_add_output(leat_onnx *model, const char *name, const int64_t *dims, size_t n_dims,
                         leat_format_error *err);

/* Adds a constant tensor. The values are not copied: they must stay until the model is written. No dims: a scalar.
 * Returns LEAT_FORMAT_OK; _BAD: no name, a negative dim, or a size that overflows; _NOMEM. */
int leat_onnx_add_floats(leat_onnx *model, const char *name, const int64_t *dims, size_t n_dims,
                         const float *values, leat_format_error *err);

/* Adds a node.
 * op_type     "Conv"; `name` says which one it is, and is unique
 * inputs      names, ends with NULL; "" leaves an optional input out
 * outputs     names, ends with NULL
 * returns     LEAT_FORMAT_OK, _NOMEM */
int leat_onnx_add_node(leat_onnx *model, const char *op_type, const char *name,
                       const char *const *inputs, const char *const *outputs,
                       const leat_onnx_attribute *attributes, size_t n_attributes,
                       leat_format_error *err);

/* Writes the file, complete or not at all (atomic_file.h). Values go from the caller's memory to the file.
 * returns  LEAT_FORMAT_OK; _BAD: 2 GiB or more, which protobuf readers refuse; _IO; _NOMEM */
int leat_onnx_write(const leat_onnx *model, const char *path, leat_format_error *err);

/* Frees and sets *model to NULL. Takes NULL. */
void leat_onnx_close(leat_onnx **model);

#endif
