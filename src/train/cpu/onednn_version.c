/* SPDX-License-Identifier: MIT
 *
 * onednn_version.c: the calls of oneDNN whose form differs between 2.x and 3.x, in the form of 3.x. There a
 * description of memory is an object of oneDNN's, and one call describes a primitive; in 2.x the description of memory
 * is a struct, and a primitive needs a description of its operation first. See onednn_impl.h. */
#include <stdlib.h>
#include <string.h>

#include "onednn_impl.h"

/* Whether this is an implementation for windows of 1 x 1. */
static bool is_1x1(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    return leat_onednn.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) ==
               dnnl_success &&
           name && strstr(name, "1x1");
}

#if DNNL_VERSION_MAJOR == 2

/* Keeps what init made; from: NULL after a failure of it. */
static dnnl_status_t keep(leat_dn_desc *out, const dnnl_memory_desc_t *from, dnnl_status_t status)
{
    *out = status == dnnl_success ? malloc(sizeof **out) : NULL;
    if (!*out)
        return status == dnnl_success ? dnnl_out_of_memory : status;
    **out = *from;
    return dnnl_success;
}

dnnl_status_t leat_dn_desc_by_tag(leat_dn_desc *out, int rank, const dnnl_dims_t dims,
                                  dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t md;
    const dnnl_status_t status = leat_onednn.memory_desc_init_by_tag(&md, rank, dims, type, tag);
    return keep(out, &md, status);
}

dnnl_status_t leat_dn_desc_by_strides(leat_dn_desc *out, int rank, const dnnl_dims_t dims,
                                      dnnl_data_type_t type, const dnnl_dims_t strides)
{
    dnnl_memory_desc_t md;
    const dnnl_status_t status =
        leat_onednn.memory_desc_init_by_strides(&md, rank, dims, type, strides);
    return keep(out, &md, status);
}

dnnl_status_t leat_dn_desc_copy(leat_dn_desc *out, leat_dn_const_desc from)
{
    return keep(out, from, dnnl_success);
}

void leat_dn_desc_free(leat_dn_desc desc)
{
    free(desc);
}

/* The first implementation, of those that `d` allows. */
static dnnl_status_t describe_first(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                    const dnnl_convolution_desc_t *desc,
                                    const leat_dn_conv_descs *d, const_dnnl_primitive_desc_t hint,
                                    const_dnnl_primitive_attr_t attr)
{
    dnnl_primitive_desc_iterator_t at = NULL;
    dnnl_status_t status =
        leat_onednn.primitive_desc_iterator_create(&at, desc, attr, engine, hint);
    *out = status == dnnl_success ? leat_onednn.primitive_desc_iterator_fetch(at) : NULL;
    while (status == dnnl_success && d->not_1x1 && is_1x1(*out)) {
        leat_onednn.primitive_desc_destroy(*out);
        status = leat_onednn.primitive_desc_iterator_next(at);
        *out = status == dnnl_success ? leat_onednn.primitive_desc_iterator_fetch(at) : NULL;
    }
    if (at)
        leat_onednn.primitive_desc_iterator_destroy(at);
    return status == dnnl_iterator_ends ? dnnl_unimplemented : status;
}

dnnl_status_t leat_dn_conv_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, leat_dn_pass pass,
                                dnnl_prop_kind_t forward, const leat_dn_conv_descs *d,
                                const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    const dnnl_alg_kind_t kind = dnnl_convolution_direct;
    dnnl_convolution_desc_t desc;
    dnnl_status_t status;
    if (pass == LEAT_DN_FORWARD)
        status = leat_onednn.dilated_convolution_forward_desc_init(
            &desc, forward, kind, d->src, d->weights, d->bias, d->dst, d->stride, d->dilation,
            d->low, d->high);
    else if (pass == LEAT_DN_GRAD_DATA)
        status = leat_onednn.dilated_convolution_backward_data_desc_init(
            &desc, kind, d->src, d->weights, d->dst, d->stride, d->dilation, d->low, d->high);
    else
        status = leat_onednn.dilated_convolution_backward_weights_desc_init(
            &desc, kind, d->src, d->weights, d->bias, d->dst, d->stride, d->dilation, d->low,
            d->high);
    return status == dnnl_success ? describe_first(out, engine, &desc, d, hint, attr) : status;
}

dnnl_status_t leat_dn_product_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                   leat_dn_const_desc a, leat_dn_const_desc b, leat_dn_const_desc c,
                                   const_dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t desc;
    const dnnl_status_t status = leat_onednn.matmul_desc_init(&desc, a, b, NULL, c);
    return status == dnnl_success
               ? leat_onednn.primitive_desc_create(out, &desc, attr, engine, NULL)
               : status;
}

dnnl_status_t leat_dn_append_relu(dnnl_post_ops_t ops)
{
    return leat_onednn.post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0, 0);
}

#else

dnnl_status_t leat_dn_desc_by_tag(leat_dn_desc *out, int rank, const dnnl_dims_t dims,
                                  dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    *out = NULL;
    return leat_onednn.memory_desc_create_with_tag(out, rank, dims, type, tag);
}

dnnl_status_t leat_dn_desc_by_strides(leat_dn_desc *out, int rank, const dnnl_dims_t dims,
                                      dnnl_data_type_t type, const dnnl_dims_t strides)
{
    *out = NULL;
    return leat_onednn.memory_desc_create_with_strides(out, rank, dims, type, strides);
}

dnnl_status_t leat_dn_desc_copy(leat_dn_desc *out, leat_dn_const_desc from)
{
    *out = NULL;
    return leat_onednn.memory_desc_clone(out, from);
}

void leat_dn_desc_free(leat_dn_desc desc)
{
    if (desc)
        leat_onednn.memory_desc_destroy(desc);
}

static dnnl_status_t describe_first(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                    leat_dn_pass pass, dnnl_prop_kind_t forward,
                                    const leat_dn_conv_descs *d, const_dnnl_primitive_desc_t hint,
                                    const_dnnl_primitive_attr_t attr)
{
    const dnnl_alg_kind_t kind = dnnl_convolution_direct;
    if (pass == LEAT_DN_FORWARD)
        return leat_onednn.convolution_forward_primitive_desc_create(
            out, engine, forward, kind, d->src, d->weights, d->bias, d->dst, d->stride, d->dilation,
            d->low, d->high, attr);
    if (pass == LEAT_DN_GRAD_DATA)
        return leat_onednn.convolution_backward_data_primitive_desc_create(
            out, engine, kind, d->src, d->weights, d->dst, d->stride, d->dilation, d->low, d->high,
            hint, attr);
    return leat_onednn.convolution_backward_weights_primitive_desc_create(
        out, engine, kind, d->src, d->weights, d->bias, d->dst, d->stride, d->dilation, d->low,
        d->high, hint, attr);
}

dnnl_status_t leat_dn_conv_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine, leat_dn_pass pass,
                                dnnl_prop_kind_t forward, const leat_dn_conv_descs *d,
                                const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
    dnnl_status_t status = describe_first(out, engine, pass, forward, d, hint, attr);
    while (status == dnnl_success && d->not_1x1 && is_1x1(*out))
        status = leat_onednn.primitive_desc_next_impl(*out);
    if (status == dnnl_last_impl_reached) {
        leat_onednn.primitive_desc_destroy(*out);
        *out = NULL;
        return dnnl_unimplemented;
    }
    return status;
}

dnnl_status_t leat_dn_product_desc(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                                   leat_dn_const_desc a, leat_dn_const_desc b, leat_dn_const_desc c,
                                   const_dnnl_primitive_attr_t attr)
{
    return leat_onednn.matmul_primitive_desc_create(out, engine, a, b, NULL, c, attr);
}

dnnl_status_t leat_dn_append_relu(dnnl_post_ops_t ops)
{
    return leat_onednn.post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0);
}

#endif
