/* SPDX-License-Identifier: MIT
 *
 * onednn_version.h: the functions of oneDNN that onednn_ops.c calls, and those whose form differs between 2.x and 3.x in
 * the form of 3.x. There a description of memory is an object of oneDNN's, and one call describes a primitive; in 2.x
 * the description of memory is a struct, and a primitive needs a description of its operation first. */
#ifndef LEAT_ONEDNN_VERSION_H
#define LEAT_ONEDNN_VERSION_H

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

#include "device/onednn_calls.h"
#include "onednn.h"

/* X(name without dnnl_) */
#define DNNL_BOTH(X)                                                                               \
    X(get_effective_cpu_isa)                                                                       \
    X(engine_create)                                                                               \
    X(engine_destroy)                                                                              \
    X(stream_create)                                                                               \
    X(stream_destroy)                                                                              \
    X(memory_create)                                                                               \
    X(memory_destroy)                                                                              \
    X(memory_set_data_handle)                                                                      \
    X(memory_desc_equal)                                                                           \
    X(memory_desc_get_size)                                                                        \
    X(primitive_create)                                                                            \
    X(primitive_destroy)                                                                           \
    X(primitive_execute)                                                                           \
    X(primitive_get_primitive_desc)                                                                \
    X(primitive_desc_destroy)                                                                      \
    X(primitive_desc_query)                                                                        \
    X(primitive_desc_query_md)                                                                     \
    X(primitive_attr_create)                                                                       \
    X(primitive_attr_destroy)                                                                      \
    X(primitive_attr_set_scratchpad_mode)                                                          \
    X(primitive_attr_set_post_ops)                                                                 \
    X(post_ops_create)                                                                             \
    X(post_ops_destroy)                                                                            \
    X(post_ops_append_eltwise)                                                                     \
    X(reorder_primitive_desc_create)

#if DNNL_VERSION_MAJOR == 2
#define DNNL_LIST(X)                                                                               \
    DNNL_BOTH(X)                                                                                   \
    X(memory_desc_init_by_tag)                                                                     \
    X(memory_desc_init_by_strides)                                                                 \
    X(primitive_desc_create)                                                                       \
    X(primitive_desc_iterator_create)                                                              \
    X(primitive_desc_iterator_fetch)                                                               \
    X(primitive_desc_iterator_next)                                                                \
    X(primitive_desc_iterator_destroy)                                                             \
    X(dilated_convolution_forward_desc_init)                                                       \
    X(dilated_convolution_backward_data_desc_init)                                                 \
    X(dilated_convolution_backward_weights_desc_init)                                              \
    X(matmul_desc_init)
#else
#define DNNL_LIST(X)                                                                               \
    DNNL_BOTH(X)                                                                                   \
    X(memory_desc_create_with_tag)                                                                 \
    X(memory_desc_create_with_strides)                                                             \
    X(memory_desc_clone)                                                                           \
    X(memory_desc_destroy)                                                                         \
    X(primitive_desc_next_impl)                                                                    \
    X(convolution_forward_primitive_desc_create)                                                   \
    X(convolution_backward_data_primitive_desc_create)                                             \
    X(convolution_backward_weights_primitive_desc_create)                                          \
    X(matmul_primitive_desc_create)
#endif

/* The functions of the library that was opened. [const after load_functions() returned NULL] */
static struct {
#define MEMBER(name) __typeof__(&dnnl_##name) name;
    DNNL_LIST(MEMBER)
#undef MEMBER
} dnnl;

/* Returns the name of one that the library lacks, or NULL. */
static inline const char *load_functions(void)
{
    const char *missing = NULL;
#define FIND(name)                                                                                 \
    *(void **)&dnnl.name = leat_onednn_calls_find("dnnl_" #name);                                  \
    missing = missing || dnnl.name ? missing : "dnnl_" #name;
    DNNL_LIST(FIND)
#undef FIND
    return missing;
}

/* A description of memory. In 3.x oneDNN owns what is behind the pointer, in 2.x this file. */
#if DNNL_VERSION_MAJOR == 2
typedef dnnl_memory_desc_t *leat_dn_desc;
typedef const dnnl_memory_desc_t *leat_dn_const_desc;
#elif DNNL_VERSION_MAJOR == 3
typedef dnnl_memory_desc_t leat_dn_desc;
typedef const_dnnl_memory_desc_t leat_dn_const_desc;
#else
#error "onednn_version.h is written for oneDNN 2.x and 3.x"
#endif

/* A convolution, whatever its pass: oneDNN's names of a gradient begin with diff_. */
typedef struct leat_dn_conv_descs {
    leat_dn_desc src, weights, bias, dst; /* bias NULL: none */
    dnnl_dims_t stride, dilation, low, high;
    /* pass over implementations for windows of 1 x 1; for AMX, but for those; by products of small matrices (brgemm); of
     * bfloat16 without such products, but for windows of 1 x 1 */
    bool not_1x1, not_amx, not_brgemm, not_jit_bf16;
} leat_dn_conv_descs;

/* Of all that make a description of memory: *out is NULL after a failure; leat_dn_desc_free() takes NULL. Of a
 * convolution's gradients, `hint` is the descriptor of a forward pass for training. */

/* Whether this implementation is to be passed over. */
static inline bool is_unwanted(const leat_dn_conv_descs *d, const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    if ((!d->not_1x1 && !d->not_amx && !d->not_brgemm && !d->not_jit_bf16) ||
        dnnl.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success || !name)
        return false;
    if (strstr(name, "1x1"))
        return d->not_1x1 || (d->not_brgemm && strstr(name, "brg"));
    return (d->not_brgemm && strstr(name, "brg")) || (d->not_amx && strstr(name, "amx")) ||
           (d->not_jit_bf16 && strstr(name, "jit_bf16"));
}

#if DNNL_VERSION_MAJOR == 2

/* Keeps what init made; from: NULL after a failure of it. */
static inline dnnl_status_t keep(leat_dn_desc *out, const dnnl_memory_desc_t *from,
                                 dnnl_status_t status)
{
    *out = status == dnnl_success ? malloc(sizeof **out) : NULL;
    if (!*out)
        return status == dnnl_success ? dnnl_out_of_memory : status;
    **out = *from;
    return dnnl_success;
}

static inline dnnl_status_t leat_dn_desc_by_tag(leat_dn_desc *out, int rank, const dnnl_dims_t dims,
                                                dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t md;
    const dnnl_status_t status = dnnl.memory_desc_init_by_tag(&md, rank, dims, type, tag);
    return keep(out, &md, status);
}

static inline dnnl_status_t leat_dn_desc_by_strides(leat_dn_desc *out, int rank,
                                                    const dnnl_dims_t dims, dnnl_data_type_t type,
                                                    const dnnl_dims_t strides)
{
    dnnl_memory_desc_t md;
    const dnnl_status_t status = dnnl.memory_desc_init_by_strides(&md, rank, dims, type, strides);
    return keep(out, &md, status);
}

static inline dnnl_status_t leat_dn_desc_copy(leat_dn_desc *out, leat_dn_const_desc from)
{
    return keep(out, from, dnnl_success);
}

static inline void leat_dn_desc_free(leat_dn_desc desc)
{
    free(desc);
}

/* The first implementation, of those that `d` allows. */
static inline dnnl_status_t describe_first(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                           const dnnl_convolution_desc_t *desc,
                                           const leat_dn_conv_descs *d,
                                           const_dnnl_primitive_desc_t hint,
                                           const_dnnl_primitive_attr_t attr)
{
    dnnl_primitive_desc_iterator_t at = NULL;
    dnnl_status_t status = dnnl.primitive_desc_iterator_create(&at, desc, attr, engine, hint);
    *out = status == dnnl_success ? dnnl.primitive_desc_iterator_fetch(at) : NULL;
    while (status == dnnl_success && is_unwanted(d, *out)) {
        dnnl.primitive_desc_destroy(*out);
        status = dnnl.primitive_desc_iterator_next(at);
        *out = status == dnnl_success ? dnnl.primitive_desc_iterator_fetch(at) : NULL;
    }
    if (at)
        dnnl.primitive_desc_iterator_destroy(at);
    return status == dnnl_iterator_ends ? dnnl_unimplemented : status;
}

static inline dnnl_status_t leat_dn_conv_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                              leat_dn_pass pass, dnnl_prop_kind_t forward,
                                              const leat_dn_conv_descs *d,
                                              const_dnnl_primitive_desc_t hint,
                                              const_dnnl_primitive_attr_t attr)
{
    const dnnl_alg_kind_t kind = dnnl_convolution_direct;
    dnnl_convolution_desc_t desc;
    dnnl_status_t status;
    if (pass == LEAT_DN_FORWARD)
        status = dnnl.dilated_convolution_forward_desc_init(&desc, forward, kind, d->src,
                                                            d->weights, d->bias, d->dst, d->stride,
                                                            d->dilation, d->low, d->high);
    else if (pass == LEAT_DN_GRAD_DATA)
        status = dnnl.dilated_convolution_backward_data_desc_init(
            &desc, kind, d->src, d->weights, d->dst, d->stride, d->dilation, d->low, d->high);
    else
        status = dnnl.dilated_convolution_backward_weights_desc_init(
            &desc, kind, d->src, d->weights, d->bias, d->dst, d->stride, d->dilation, d->low,
            d->high);
    return status == dnnl_success ? describe_first(out, engine, &desc, d, hint, attr) : status;
}

static inline dnnl_status_t leat_dn_product_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                                 leat_dn_const_desc a, leat_dn_const_desc b,
                                                 leat_dn_const_desc c,
                                                 const_dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t desc;
    const dnnl_status_t status = dnnl.matmul_desc_init(&desc, a, b, NULL, c);
    return status == dnnl_success ? dnnl.primitive_desc_create(out, &desc, attr, engine, NULL)
                                  : status;
}

static inline dnnl_status_t leat_dn_append_relu(dnnl_post_ops_t ops)
{
    return dnnl.post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0, 0);
}

#else

static inline dnnl_status_t leat_dn_desc_by_tag(leat_dn_desc *out, int rank, const dnnl_dims_t dims,
                                                dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    *out = NULL;
    return dnnl.memory_desc_create_with_tag(out, rank, dims, type, tag);
}

static inline dnnl_status_t leat_dn_desc_by_strides(leat_dn_desc *out, int rank,
                                                    const dnnl_dims_t dims, dnnl_data_type_t type,
                                                    const dnnl_dims_t strides)
{
    *out = NULL;
    return dnnl.memory_desc_create_with_strides(out, rank, dims, type, strides);
}

static inline dnnl_status_t leat_dn_desc_copy(leat_dn_desc *out, leat_dn_const_desc from)
{
    *out = NULL;
    return dnnl.memory_desc_clone(out, from);
}

static inline void leat_dn_desc_free(leat_dn_desc desc)
{
    if (desc)
        dnnl.memory_desc_destroy(desc);
}

static inline dnnl_status_t describe_first(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                           leat_dn_pass pass, dnnl_prop_kind_t forward,
                                           const leat_dn_conv_descs *d,
                                           const_dnnl_primitive_desc_t hint,
                                           const_dnnl_primitive_attr_t attr)
{
    const dnnl_alg_kind_t kind = dnnl_convolution_direct;
    if (pass == LEAT_DN_FORWARD)
        return dnnl.convolution_forward_primitive_desc_create(
            out, engine, forward, kind, d->src, d->weights, d->bias, d->dst, d->stride, d->dilation,
            d->low, d->high, attr);
    if (pass == LEAT_DN_GRAD_DATA)
        return dnnl.convolution_backward_data_primitive_desc_create(
            out, engine, kind, d->src, d->weights, d->dst, d->stride, d->dilation, d->low, d->high,
            hint, attr);
    return dnnl.convolution_backward_weights_primitive_desc_create(
        out, engine, kind, d->src, d->weights, d->bias, d->dst, d->stride, d->dilation, d->low,
        d->high, hint, attr);
}

static inline dnnl_status_t leat_dn_conv_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                              leat_dn_pass pass, dnnl_prop_kind_t forward,
                                              const leat_dn_conv_descs *d,
                                              const_dnnl_primitive_desc_t hint,
                                              const_dnnl_primitive_attr_t attr)
{
    dnnl_status_t status = describe_first(out, engine, pass, forward, d, hint, attr);
    while (status == dnnl_success && is_unwanted(d, *out))
        status = dnnl.primitive_desc_next_impl(*out);
    if (status == dnnl_last_impl_reached) {
        dnnl.primitive_desc_destroy(*out);
        *out = NULL;
        return dnnl_unimplemented;
    }
    return status;
}

static inline dnnl_status_t leat_dn_product_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                                 leat_dn_const_desc a, leat_dn_const_desc b,
                                                 leat_dn_const_desc c,
                                                 const_dnnl_primitive_attr_t attr)
{
    return dnnl.matmul_primitive_desc_create(out, engine, a, b, NULL, c, attr);
}

static inline dnnl_status_t leat_dn_append_relu(dnnl_post_ops_t ops)
{
    return dnnl.post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0);
}

#endif

#endif
