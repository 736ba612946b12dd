/* SPDX-License-Identifier: MIT
 *
 * onednn_impl.h: shared by the files that use oneDNN's API: onednn.c (engine, threads, layouts, products),
 * onednn_primitive.c (compiled operations, products in bfloat16), onednn_conv.c (convolutions and copies) and
 * onednn_version.c (what differs between oneDNN 2.x and 3.x). */
#ifndef LEAT_ONEDNN_IMPL_H
#define LEAT_ONEDNN_IMPL_H

#include "device/onednn_calls.h"
#include "onednn.h"

/* A description of memory. In 3.x oneDNN owns what is behind the pointer, in 2.x onednn_version.c. */
#if DNNL_VERSION_MAJOR == 2
typedef dnnl_memory_desc_t *leat_dn_desc;
typedef const dnnl_memory_desc_t *leat_dn_const_desc;
#elif DNNL_VERSION_MAJOR == 3
typedef dnnl_memory_desc_t leat_dn_desc;
typedef const_dnnl_memory_desc_t leat_dn_const_desc;
#else
#error "onednn*.c are written for oneDNN 2.x and 3.x"
#endif

struct leat_dn_layout {
    leat_dn_layout *next;
    leat_dn_desc md;
};

struct leat_dn {
    dnnl_engine_t engine;
    int32_t n_threads;
    dnnl_stream_t *streams; /* one for each thread */
    leat_dn_layout *layouts;
};

/* onednn.c: fills *err with the name of oneDNN's status. */
int leat_dn_fail(leat_error *err, const char *what, dnnl_status_t status);
/* The layout of that description. NULL: out of memory. */
const leat_dn_layout *leat_dn_intern(leat_dn *dn, leat_dn_const_desc md);

/* --- onednn_primitive.c ---------------------------------------------------------------------- */

enum { LEAT_DN_MAX_ARGS = 5 };

struct leat_dn_primitive {
    leat_dn *dn;
    dnnl_primitive_t prim;
    const char *implementation;
    int n_args;
    int numbers[LEAT_DN_MAX_ARGS]; /* DNNL_ARG_… */
    int data[LEAT_DN_MAX_ARGS];    /* of each: its place in the data of a run */
    dnnl_memory_t *memories;       /* [thread * n_args + argument] */
    size_t scratch;
    const leat_dn_layout *weights; /* of a convolution */
};

/* How one is made. */
typedef struct leat_dn_making {
    const char *what; /* for messages */
    const int *
        numbers; /* DNNL_ARG_… in the order of a run's data; those that are no argument are left out */
    int n_numbers;
    bool relu;
    dnnl_status_t (*describe)(leat_dn *dn, void *arg, const_dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t *out);
    void *arg; /* of describe() */
} leat_dn_making;

/* Errors as leat_dn_conv_open(). */
int leat_dn_primitive_open(leat_dn *dn, const leat_dn_making *how, leat_dn_primitive **out,
                           leat_error *err);
int leat_dn_primitive_run(leat_dn_primitive *p, int32_t thread, void *const *data, leat_error *err);

/* --- onednn_version.c: functions of 3.x, and the same in 2.x --------------------------------- */

/* *out is NULL after a failure; free() takes NULL. */
dnnl_status_t leat_dn_desc_by_tag(leat_dn_desc *out, int rank, const dnnl_dims_t dims,
                                  dnnl_data_type_t type, dnnl_format_tag_t tag);
dnnl_status_t leat_dn_desc_by_strides(leat_dn_desc *out, int rank, const dnnl_dims_t dims,
                                      dnnl_data_type_t type, const dnnl_dims_t strides);
dnnl_status_t leat_dn_desc_copy(leat_dn_desc *out, leat_dn_const_desc from);
void leat_dn_desc_free(leat_dn_desc desc);

/* A convolution, whatever its pass: oneDNN's names of a gradient begin with diff_. */
typedef struct leat_dn_conv_descs {
    leat_dn_desc src, weights, bias, dst; /* bias NULL: none */
    dnnl_dims_t stride, dilation, low, high;
    bool not_1x1; /* pass over implementations for windows of 1 x 1 */
} leat_dn_conv_descs;

/* hint: of the gradients' passes, the descriptor of a forward pass for training. */
dnnl_status_t leat_dn_conv_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, leat_dn_pass pass,
                                dnnl_prop_kind_t forward, const leat_dn_conv_descs *d,
                                const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr);
dnnl_status_t leat_dn_product_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                   leat_dn_const_desc a, leat_dn_const_desc b, leat_dn_const_desc c,
                                   const_dnnl_primitive_attr_t attr);
dnnl_status_t leat_dn_append_relu(dnnl_post_ops_t ops);

#endif
