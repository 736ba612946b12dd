/* SPDX-License-Identifier: MIT
 *
 * onednn_conv.c: oneDNN's convolutions, and copies between layouts. See onednn.h.
 *
 * DESIGN. A primitive is compiled once and run by any thread; the descriptions of its arguments' memory
 * belong to a thread, because their addresses change with every run. Scratch memory is an argument like the
 * others, so that no primitive allocates when it runs. */
#include <pthread.h>
#include <stdlib.h>

#include "onednn_impl.h"

enum { MAX_ARGS = 5 };

/* A compiled operation. */
typedef struct primitive {
    leat_dn *dn;
    dnnl_primitive_t prim;
    const char *implementation;
    int n_args;
    int numbers[MAX_ARGS];   /* DNNL_ARG_… */
    dnnl_memory_t *memories; /* [thread * n_args + argument] */
    size_t scratch;
} primitive;

struct leat_dn_conv {
    primitive p;
    leat_dn_pass pass;
    const leat_dn_layout *weights;
};

struct leat_dn_copy {
    primitive p;
};

static dnnl_status_t make_memories(primitive *p, const_dnnl_primitive_desc_t pd)
{
    const size_t n = (size_t)p->n_args;
    p->memories = calloc(n * (size_t)p->dn->n_threads, sizeof *p->memories);
    if (!p->memories)
        return dnnl_out_of_memory;
    for (size_t i = 0; i < n * (size_t)p->dn->n_threads; i++) {
        leat_dn_const_desc md =
            dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, p->numbers[i % n]);
        const dnnl_status_t status =
            dnnl_memory_create(&p->memories[i], md, p->dn->engine, DNNL_MEMORY_NONE);
        if (status != dnnl_success)
            return status;
    }
    return dnnl_success;
}

static void primitive_close(primitive *p)
{
    for (size_t i = 0; p->memories && i < (size_t)p->n_args * (size_t)p->dn->n_threads; i++)
        if (p->memories[i])
            dnnl_memory_destroy(p->memories[i]);
    free(p->memories);
    if (p->prim)
        dnnl_primitive_destroy(p->prim);
}

/* pd: stays the caller's. numbers: those that are no argument are left out. */
static dnnl_status_t primitive_open(primitive *p, leat_dn *dn, const_dnnl_primitive_desc_t pd,
                                    const int *numbers, int n)
{
    dnnl_status_t status;
    p->dn = dn;
    for (int i = 0; i < n; i++) {
        leat_dn_const_desc md =
            dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, numbers[i]);
        if (md && dnnl_memory_desc_get_size(md) > 0)
            p->numbers[p->n_args++] = numbers[i];
        if (numbers[i] == DNNL_ARG_SCRATCHPAD && md)
            p->scratch = dnnl_memory_desc_get_size(md);
    }
    if ((status = dnnl_primitive_create(&p->prim, pd)) != dnnl_success ||
        (status = make_memories(p, pd)) != dnnl_success)
        return status;
    const_dnnl_primitive_desc_t kept;
    p->implementation = "primitive";
    if (dnnl_primitive_get_primitive_desc(p->prim, &kept) == dnnl_success)
        (void)dnnl_primitive_desc_query(kept, dnnl_query_impl_info_str, 0, &p->implementation);
    return dnnl_success;
}

/* data: by the numbers of the arguments. */
static int primitive_run(primitive *p, int32_t thread, const int *numbers, void *const *data, int n,
                         leat_error *err)
{
    dnnl_memory_t *memories = p->memories + thread * p->n_args;
    dnnl_exec_arg_t args[MAX_ARGS];
    dnnl_status_t status = dnnl_success;
    for (int i = 0, k = 0; i < n && k < p->n_args && status == dnnl_success; i++)
        if (p->numbers[k] == numbers[i]) {
            status = dnnl_memory_set_data_handle(memories[k], data[i]);
            args[k] = (dnnl_exec_arg_t){ numbers[i], memories[k] };
            k++;
        }
    if (status == dnnl_success)
        status = dnnl_primitive_execute(p->prim, p->dn->streams[thread], p->n_args, args);
    return status == dnnl_success ? LEAT_OK : leat_dn_fail(err, p->implementation, status);
}

static dnnl_status_t make_attributes(bool relu, dnnl_primitive_attr_t *out)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (status != dnnl_success || !relu)
        return status;
    if ((status = dnnl_post_ops_create(&ops)) != dnnl_success)
        return status;
    status = leat_dn_append_relu(ops);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*out, ops);
    dnnl_post_ops_destroy(ops);
    return status;
}

/* oneDNN keeps descriptors and compiled code in one cache for all threads, so a descriptor that one
 * thread asks for may have been made by another. Held while one is made and read. */
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- convolution ----------------------------------------------------------------------------- */

static void set_window(const leat_sliding *w, leat_dn_conv_descs *d)
{
    for (int i = 0; i < 2; i++) {
        d->stride[i] = w->stride[i];
        d->dilation[i] = w->dilation[i] - 1;
        d->low[i] = w->pad_low[i];
        /* oneDNN's padding may be negative where the window does not reach the edge */
        d->high[i] = (w->out[i] - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1 -
                     w->in[i] - w->pad_low[i];
    }
}

/* In any layout, or in the one that the spec gives. */
static dnnl_status_t describe_weights(const leat_dn_conv_spec *s, dnnl_data_type_t type,
                                      const leat_dn_layout *layout, leat_dn_desc *out)
{
    const int one = s->groups == 1;
    const dnnl_dims_t dims = { s->groups, s->out_channels / s->groups, s->in_channels / s->groups,
                               s->window.size[0], s->window.size[1] };
    return layout ? leat_dn_desc_copy(out, layout->md)
                  : leat_dn_desc_by_tag(out, 5 - one, dims + one, type, dnnl_format_tag_any);
}

static void free_descs(leat_dn_conv_descs *d)
{
    leat_dn_desc_free(d->src);
    leat_dn_desc_free(d->weights);
    leat_dn_desc_free(d->bias);
    leat_dn_desc_free(d->dst);
}

/* All but the weights. */
static dnnl_status_t describe(const leat_dn_conv_spec *s, leat_dn_conv_descs *d)
{
    const leat_sliding *w = &s->window;
    const dnnl_data_type_t type = s->bf16 ? dnnl_bf16 : dnnl_f32;
    const dnnl_dims_t src = { s->rows, s->in_channels, w->in[0], w->in[1] };
    const dnnl_dims_t dst = { s->rows, s->out_channels, w->out[0], w->out[1] };
    const dnnl_dims_t bias = { s->out_channels };
    set_window(w, d);
    dnnl_status_t status = leat_dn_desc_by_tag(&d->src, 4, src, type, dnnl_nhwc);
    if (status == dnnl_success)
        status = leat_dn_desc_by_tag(&d->dst, 4, dst, type, dnnl_nhwc);
    if (status == dnnl_success && s->bias)
        status = leat_dn_desc_by_tag(&d->bias, 1, bias, dnnl_f32, dnnl_a);
    return status;
}

/* The backward passes want a forward primitive's descriptor as a hint, with weights of the images' type in any
 * layout. */
static dnnl_status_t make_hint(leat_dn *dn, const leat_dn_conv_spec *s, leat_dn_conv_descs *d,
                               const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    dnnl_status_t status = describe_weights(s, s->bf16 ? dnnl_bf16 : dnnl_f32, NULL, &d->weights);
    if (status == dnnl_success)
        status = leat_dn_conv_desc(out, dn->engine, LEAT_DN_FORWARD, dnnl_forward_training, d, NULL,
                                   attr);
    leat_dn_desc_free(d->weights);
    d->weights = NULL;
    return status;
}

static dnnl_status_t make_desc(leat_dn *dn, const leat_dn_conv_spec *s,
                               const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    const bool half = s->bf16 && s->pass != LEAT_DN_GRAD_WEIGHTS;
    leat_dn_conv_descs d = { 0 };
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t status = describe(s, &d);
    if (status == dnnl_success && s->pass != LEAT_DN_FORWARD)
        status = make_hint(dn, s, &d, attr, &hint);
    if (status == dnnl_success)
        status = describe_weights(s, half ? dnnl_bf16 : dnnl_f32, s->weights, &d.weights);
    if (status == dnnl_success)
        status =
            leat_dn_conv_desc(out, dn->engine, s->pass, dnnl_forward_inference, &d, hint, attr);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    free_descs(&d);
    return status;
}

static const int conv_args[3][MAX_ARGS] = {
    { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD },
    { DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD },
    { DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST,
      DNNL_ARG_SCRATCHPAD },
};

/* Under cache_lock. */
static dnnl_status_t open_conv(leat_dn *dn, const leat_dn_conv_spec *s, leat_dn_conv *conv)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = make_attributes(s->relu && s->pass == LEAT_DN_FORWARD, &attr);
    if (status == dnnl_success)
        status = make_desc(dn, s, attr, &pd);
    if (status == dnnl_success)
        status = primitive_open(&conv->p, dn, pd, conv_args[s->pass], MAX_ARGS);
    if (status == dnnl_success) {
        conv->weights = leat_dn_intern(
            dn, dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, conv_args[s->pass][1]));
        status = conv->weights ? dnnl_success : dnnl_out_of_memory;
    }
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    return status;
}

int leat_dn_conv_open(leat_dn *dn, const leat_dn_conv_spec *spec, leat_dn_conv **out,
                      leat_error *err)
{
    static const char *const passes[] = { "convolution", "convolution, gradient of data",
                                          "convolution, gradient of weights" };
    leat_dn_conv *conv = calloc(1, sizeof *conv);
    *out = NULL;
    if (!conv)
        return leat_fail(err, LEAT_E_NOMEM, "oneDNN: %zu bytes", sizeof *conv);
    conv->p.dn = dn;
    conv->pass = spec->pass;
    pthread_mutex_lock(&cache_lock);
    const dnnl_status_t status = open_conv(dn, spec, conv);
    pthread_mutex_unlock(&cache_lock);
    if (status != dnnl_success) {
        leat_dn_conv_close(&conv);
        return leat_dn_fail(err, passes[spec->pass], status);
    }
    *out = conv;
    return LEAT_OK;
}

void leat_dn_conv_close(leat_dn_conv **out)
{
    leat_dn_conv *conv = *out;
    if (!conv)
        return;
    primitive_close(&conv->p);
    free(conv);
    *out = NULL;
}

const leat_dn_layout *leat_dn_conv_weights(const leat_dn_conv *conv)
{
    return conv->weights;
}

size_t leat_dn_conv_scratch(const leat_dn_conv *conv)
{
    return conv->p.scratch;
}

int leat_dn_conv_run(leat_dn_conv *conv, int32_t thread, const leat_dn_conv_args *a,
                     leat_error *err)
{
    void *const data[MAX_ARGS] = { a->src, a->weights, a->bias, a->dst, a->scratch };
    return primitive_run(&conv->p, thread, conv_args[conv->pass], data, MAX_ARGS, err);
}

/* --- copies ---------------------------------------------------------------------------------- */

static const int copy_args[] = { DNNL_ARG_FROM, DNNL_ARG_TO, DNNL_ARG_SCRATCHPAD };

int leat_dn_copy_open(leat_dn *dn, const leat_dn_layout *from, const leat_dn_layout *to,
                      leat_dn_copy **out, leat_error *err)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    leat_dn_copy *copy = calloc(1, sizeof *copy);
    *out = NULL;
    if (!copy)
        return leat_fail(err, LEAT_E_NOMEM, "oneDNN: %zu bytes", sizeof *copy);
    copy->p.dn = dn;
    pthread_mutex_lock(&cache_lock);
    dnnl_status_t status = make_attributes(false, &attr);
    if (status == dnnl_success)
        status =
            dnnl_reorder_primitive_desc_create(&pd, from->md, dn->engine, to->md, dn->engine, attr);
    if (status == dnnl_success)
        status = primitive_open(&copy->p, dn, pd, copy_args, 3);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    pthread_mutex_unlock(&cache_lock);
    if (status != dnnl_success) {
        leat_dn_copy_close(&copy);
        return leat_dn_fail(err, "copy of weights", status);
    }
    *out = copy;
    return LEAT_OK;
}

void leat_dn_copy_close(leat_dn_copy **out)
{
    leat_dn_copy *copy = *out;
    if (!copy)
        return;
    primitive_close(&copy->p);
    free(copy);
    *out = NULL;
}

size_t leat_dn_copy_scratch(const leat_dn_copy *copy)
{
    return copy->p.scratch;
}

int leat_dn_copy_run(leat_dn_copy *copy, int32_t thread, const void *from, void *to, void *scratch,
                     leat_error *err)
{
    void *const data[] = { (void *)(uintptr_t)from, to, scratch };
    return primitive_run(&copy->p, thread, copy_args, data, 3, err);
}
