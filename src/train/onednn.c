/* SPDX-License-Identifier: MIT
 *
 * onednn.c: the only file that knows oneDNN's API (2.x).
 *
 * DESIGN: each constructor fills an operation descriptor, make() turns it into a primitive with the
 * memory objects of all its arguments, found by asking for each. Scratch memory is an argument like
 * the others, so that no primitive allocates when it runs. Threads are the caller's affair, so oneDNN
 * is kept to one. The OpenMP functions for that are looked up at run time, because which OpenMP
 * library oneDNN was built with (if any) is not ours to choose. */
#include "onednn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "cores.h"

#if DNNL_VERSION_MAJOR != 2
#error "onednn.c is written for oneDNN 2.x"
#endif

struct leat_onednn_layout {
    leat_onednn_layout *next;
    dnnl_memory_desc_t md;
};

struct leat_onednn_prim {
    leat_onednn *dn;
    leat_onednn_prim *next, **here; /* list of its leat_onednn */
    dnnl_primitive_t prim;
    const char *implementation;
    const leat_onednn_layout *layouts[LEAT_DN_N_ARGS];
    dnnl_memory_t memories[LEAT_DN_N_ARGS];
    int n_args;
    dnnl_exec_arg_t args[LEAT_DN_N_ARGS];
};

struct leat_onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    leat_onednn_layout *layouts;
    leat_onednn_prim *prims;
    int outer_threads; /* of the calling thread, between enter and leave */
    int (*omp_get_max)(void);
    void (*omp_set)(int);
};

static const int arg_numbers[LEAT_DN_N_ARGS] = {
    [LEAT_DN_SRC] = DNNL_ARG_SRC,
    [LEAT_DN_DST] = DNNL_ARG_DST,
    [LEAT_DN_WEIGHTS] = DNNL_ARG_WEIGHTS,
    [LEAT_DN_BIAS] = DNNL_ARG_BIAS,
    [LEAT_DN_DIFF_SRC] = DNNL_ARG_DIFF_SRC,
    [LEAT_DN_DIFF_DST] = DNNL_ARG_DIFF_DST,
    [LEAT_DN_DIFF_WEIGHTS] = DNNL_ARG_DIFF_WEIGHTS,
    [LEAT_DN_DIFF_BIAS] = DNNL_ARG_DIFF_BIAS,
    [LEAT_DN_WORKSPACE] = DNNL_ARG_WORKSPACE,
    [LEAT_DN_SCRATCH] = DNNL_ARG_SCRATCHPAD,
};

static int failed(leat_error *err, const char *what, dnnl_status_t status)
{
    static const struct {
        int code;
        const char *text;
    } of[] = {
        [dnnl_success] = { LEAT_E_INTERNAL, "no error" },
        [dnnl_out_of_memory] = { LEAT_E_NOMEM, "out of memory" },
        [dnnl_invalid_arguments] = { LEAT_E_INTERNAL, "invalid arguments" },
        [dnnl_unimplemented] = { LEAT_E_UNSUPPORTED, "oneDNN has no such operation here" },
        [dnnl_iterator_ends] = { LEAT_E_UNSUPPORTED, "oneDNN has no other way to do it" },
        [dnnl_runtime_error] = { LEAT_E_INTERNAL, "runtime error" },
        [dnnl_not_required] = { LEAT_E_INTERNAL, "not required" },
    };
    const size_t i = (size_t)status < sizeof of / sizeof *of ? (size_t)status : dnnl_runtime_error;
    return leat_fail(err, of[i].code, "oneDNN %d.%d: %s: %s", dnnl_version()->major,
                     dnnl_version()->minor, what, of[i].text);
}

/* --- open, close, threads -------------------------------------------------------------------- */

static void find_openmp(leat_onednn *dn)
{
    *(void **)&dn->omp_get_max = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    *(void **)&dn->omp_set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (!dn->omp_get_max)
        dn->omp_set = NULL;
}

int leat_onednn_open(leat_onednn **out, leat_error *err)
{
    dnnl_status_t status;
    *out = NULL;
    leat_onednn *dn = calloc(1, sizeof *dn);
    if (!dn)
        return leat_fail(err, LEAT_E_NOMEM, "oneDNN: %zu bytes", sizeof *dn);
    find_openmp(dn);
    if ((status = dnnl_engine_create(&dn->engine, dnnl_cpu, 0)) == dnnl_success)
        status = dnnl_stream_create(&dn->stream, dn->engine, dnnl_stream_in_order);
    if (status != dnnl_success) {
        leat_onednn_close(&dn);
        return failed(err, "CPU engine", status);
    }
    *out = dn;
    return LEAT_OK;
}

void leat_onednn_close(leat_onednn **out)
{
    leat_onednn *dn = *out;
    if (!dn)
        return;
    for (leat_onednn_prim *prim; (prim = dn->prims);)
        leat_onednn_free(&prim);
    for (leat_onednn_layout *layout; (layout = dn->layouts);) {
        dn->layouts = layout->next;
        free(layout);
    }
    if (dn->stream)
        dnnl_stream_destroy(dn->stream);
    if (dn->engine)
        dnnl_engine_destroy(dn->engine);
    free(dn);
    *out = NULL;
}

int32_t leat_onednn_threads(int32_t most)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    const int32_t threads = asked ? (int32_t)strtol(asked, NULL, 10) : 0;
    if (threads > 0)
        return threads < 1024 ? threads : 1024;
    return leat_cores_count() < most ? leat_cores_count() : most;
}

void leat_onednn_enter(leat_onednn *dn)
{
    if (!dn->omp_set)
        return;
    dn->outer_threads = dn->omp_get_max();
    if (dn->outer_threads != 1)
        dn->omp_set(1);
}

void leat_onednn_leave(leat_onednn *dn)
{
    if (dn->omp_set && dn->outer_threads != 1)
        dn->omp_set(dn->outer_threads);
}

/* --- layouts --------------------------------------------------------------------------------- */

static const leat_onednn_layout *intern(leat_onednn *dn, const dnnl_memory_desc_t *md)
{
    for (leat_onednn_layout *layout = dn->layouts; layout; layout = layout->next)
        if (dnnl_memory_desc_equal(&layout->md, md))
            return layout;
    leat_onednn_layout *layout = calloc(1, sizeof *layout);
    if (!layout)
        return NULL;
    layout->md = *md;
    layout->next = dn->layouts;
    dn->layouts = layout;
    return layout;
}

static dnnl_data_type_t data_type(leat_dtype dtype)
{
    return dtype == LEAT_U8 ? dnnl_u8 : dtype == LEAT_I32 ? dnnl_s32 : dnnl_f32;
}

const leat_onednn_layout *leat_onednn_dense_layout(leat_onednn *dn, leat_dtype dtype, int32_t rank,
                                                   const int64_t *dims, const int32_t *order)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t strides = { 0 };
    int64_t stride = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        strides[order[i]] = stride;
        stride *= dims[order[i]];
    }
    if (dnnl_memory_desc_init_by_strides(&md, rank, dims, data_type(dtype), strides) !=
        dnnl_success)
        return NULL;
    return intern(dn, &md);
}

size_t leat_onednn_layout_bytes(const leat_onednn_layout *layout)
{
    return dnnl_memory_desc_get_size(&layout->md);
}

bool leat_onednn_layout_same(const leat_onednn_layout *a, const leat_onednn_layout *b)
{
    return a == b || (a && b && dnnl_memory_desc_equal(&a->md, &b->md));
}

bool leat_onednn_layout_blocks(const leat_onednn_layout *layout, int64_t *blocks, int64_t *block)
{
    const dnnl_memory_desc_t *md = &layout->md;
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int64_t pixels = 1;
    if (md->format_kind != dnnl_blocked || md->ndims < 2 || md->offset0 != 0 ||
        md->data_type != dnnl_f32 || b->inner_nblks > 1 ||
        (b->inner_nblks == 1 && b->inner_idxs[0] != 1))
        return false;
    const bool innermost = b->inner_nblks == 0 && (md->dims[1] == 1 || b->strides[1] == 1);
    *block = b->inner_nblks == 1 ? b->inner_blks[0] : innermost ? md->dims[1] : 1;
    *blocks = md->padded_dims[1] / *block;
    for (int i = md->ndims - 1; i >= 2; i--) {
        if (md->dims[i] > 1 && b->strides[i] != *block * pixels)
            return false;
        pixels *= md->dims[i];
    }
    return (*blocks == 1 || b->strides[1] == *block * pixels) &&
           (md->dims[0] == 1 || b->strides[0] == *blocks * *block * pixels);
}

static dnnl_memory_desc_t any_layout(int rank, const int64_t *dims)
{
    dnnl_memory_desc_t md;
    memset(&md, 0, sizeof md);
    (void)dnnl_memory_desc_init_by_tag(&md, rank, dims, dnnl_f32, dnnl_format_tag_any);
    return md;
}

static dnnl_memory_desc_t plain(int64_t rows, int64_t n)
{
    dnnl_memory_desc_t md;
    memset(&md, 0, sizeof md);
    (void)dnnl_memory_desc_init_by_tag(&md, 2, (dnnl_dims_t){ rows, n }, dnnl_f32, dnnl_nc);
    return md;
}

static dnnl_memory_desc_t vector(int64_t n)
{
    dnnl_memory_desc_t md;
    memset(&md, 0, sizeof md);
    (void)dnnl_memory_desc_init_by_tag(&md, 1, (dnnl_dims_t){ n }, dnnl_f32, dnnl_x);
    return md;
}

static dnnl_memory_desc_t image(int64_t rows, int64_t channels, const int64_t size[2])
{
    return any_layout(4, (dnnl_dims_t){ rows, channels, size[0], size[1] });
}

/* --- making, binding, running ---------------------------------------------------------------- */

/* Finds the layouts of all arguments. An argument of no elements is no argument. */
static int find_layouts(leat_onednn_prim *prim, const_dnnl_primitive_desc_t pd)
{
    for (int i = 0; i < LEAT_DN_N_ARGS; i++) {
        const dnnl_memory_desc_t *md =
            i == LEAT_DN_SCRATCH ? dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0)
            : i == LEAT_DN_WORKSPACE
                ? dnnl_primitive_desc_query_md(pd, dnnl_query_workspace_md, 0)
                : dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg_numbers[i]);
        if (!md || md->ndims == 0 || dnnl_memory_desc_get_size(md) == 0)
            continue;
        prim->layouts[i] = intern(prim->dn, md);
        if (!prim->layouts[i])
            return LEAT_E_NOMEM;
    }
    return LEAT_OK;
}

/* Takes pd over. */
static int wrap(leat_onednn *dn, const char *what, dnnl_primitive_desc_t pd, leat_onednn_prim **out,
                leat_error *err)
{
    dnnl_status_t status = dnnl_out_of_memory;
    leat_onednn_prim *prim = calloc(1, sizeof *prim);
    if (!prim)
        goto fail;
    prim->dn = dn;
    if (find_layouts(prim, pd) < 0)
        goto fail;
    if ((status = dnnl_primitive_create(&prim->prim, pd)) != dnnl_success)
        goto fail;
    dnnl_primitive_desc_destroy(pd);
    const_dnnl_primitive_desc_t kept;
    if (dnnl_primitive_get_primitive_desc(prim->prim, &kept) == dnnl_success)
        (void)dnnl_primitive_desc_query(kept, dnnl_query_impl_info_str, 0, &prim->implementation);
    prim->next = dn->prims;
    prim->here = &dn->prims;
    if (prim->next)
        prim->next->here = &prim->next;
    dn->prims = prim;
    *out = prim;
    return LEAT_OK;
fail:
    free(prim);
    dnnl_primitive_desc_destroy(pd);
    return failed(err, what, status);
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
    status = dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0, 0);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*out, ops);
    dnnl_post_ops_destroy(ops);
    return status;
}

/* oneDNN keeps descriptors and compiled code in one cache for all threads, so a descriptor that one
 * thread asks for may have been made by another. Held while one is made and looked at. */
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

/* made: status of filling `desc`. forward: of backward primitives. relu: as a post-operation. */
static int make(leat_onednn *dn, const char *what, dnnl_status_t made, const_dnnl_op_desc_t desc,
                bool relu, const leat_onednn_prim *forward, leat_onednn_prim **out, leat_error *err)
{
    const_dnnl_primitive_desc_t hint = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    int rc;
    *out = NULL;
    pthread_mutex_lock(&cache_lock);
    if (made == dnnl_success && forward)
        made = dnnl_primitive_get_primitive_desc(forward->prim, &hint);
    if (made == dnnl_success)
        made = make_attributes(relu, &attr);
    if (made == dnnl_success)
        made = dnnl_primitive_desc_create(&pd, desc, attr, dn->engine, hint);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    rc = made == dnnl_success ? wrap(dn, what, pd, out, err) : failed(err, what, made);
    pthread_mutex_unlock(&cache_lock);
    return rc;
}

const leat_onednn_layout *leat_onednn_wants(const leat_onednn_prim *prim, leat_onednn_arg arg)
{
    return prim->layouts[arg];
}

int leat_onednn_bind(leat_onednn_prim *prim, leat_onednn_arg arg, void *data, leat_error *err)
{
    dnnl_status_t status;
    if (!prim->layouts[arg])
        return LEAT_OK;
    if (prim->memories[arg]) {
        status = dnnl_memory_set_data_handle(prim->memories[arg], data);
    } else {
        status = dnnl_memory_create(&prim->memories[arg], &prim->layouts[arg]->md, prim->dn->engine,
                                    data);
        if (status == dnnl_success)
            prim->args[prim->n_args++] = (dnnl_exec_arg_t){ arg_numbers[arg], prim->memories[arg] };
    }
    return status == dnnl_success ? LEAT_OK : failed(err, "memory", status);
}

int leat_onednn_run(leat_onednn_prim *prim, leat_error *err)
{
    const dnnl_status_t status =
        dnnl_primitive_execute(prim->prim, prim->dn->stream, prim->n_args, prim->args);
    return status == dnnl_success ? LEAT_OK : failed(err, prim->implementation, status);
}

const char *leat_onednn_implementation(const leat_onednn_prim *prim)
{
    return prim->implementation;
}

void leat_onednn_free(leat_onednn_prim **out)
{
    leat_onednn_prim *prim = *out;
    if (!prim)
        return;
    *prim->here = prim->next;
    if (prim->next)
        prim->next->here = prim->here;
    for (int i = 0; i < LEAT_DN_N_ARGS; i++)
        if (prim->memories[i])
            dnnl_memory_destroy(prim->memories[i]);
    dnnl_primitive_destroy(prim->prim);
    free(prim);
    *out = NULL;
}

/* The window's pairs as oneDNN's arrays. */
typedef struct window_dims {
    dnnl_dims_t size, stride, low, high;
} window_dims;

static window_dims dims_of(const leat_onednn_window *w)
{
    window_dims d = { 0 };
    for (int i = 0; i < 2; i++) {
        d.size[i] = w->size[i];
        d.stride[i] = w->stride[i];
        d.low[i] = w->pad_low[i];
        d.high[i] = w->pad_high[i];
    }
    return d;
}

static dnnl_prop_kind_t forward_kind(bool training)
{
    return training ? dnnl_forward_training : dnnl_forward_inference;
}

/* --- convolution ----------------------------------------------------------------------------- */

static dnnl_memory_desc_t conv_weights(const leat_onednn_window *w)
{
    return any_layout(4, (dnnl_dims_t){ w->out_channels, w->in_channels, w->size[0], w->size[1] });
}

int leat_onednn_conv(leat_onednn *dn, const leat_onednn_window *w, bool bias, bool relu,
                     bool training, const leat_onednn_layout *src,
                     const leat_onednn_layout *weights, leat_onednn_prim **out, leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t from = src ? src->md : image(w->rows, w->in_channels, w->in);
    const dnnl_memory_desc_t by = weights ? weights->md : conv_weights(w);
    const dnnl_memory_desc_t plus = vector(w->out_channels);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_convolution_desc_t desc;
    const dnnl_status_t made = dnnl_convolution_forward_desc_init(
        &desc, forward_kind(training), dnnl_convolution_direct, &from, &by, bias ? &plus : NULL,
        &to, d.stride, d.low, d.high);
    return make(dn, "convolution", made, &desc, relu, NULL, out, err);
}

int leat_onednn_conv_backward_data(leat_onednn *dn, const leat_onednn_window *w,
                                   const leat_onednn_prim *forward, leat_onednn_prim **out,
                                   leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t from = image(w->rows, w->in_channels, w->in);
    const dnnl_memory_desc_t by = conv_weights(w);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_convolution_desc_t desc;
    const dnnl_status_t made = dnnl_convolution_backward_data_desc_init(
        &desc, dnnl_convolution_direct, &from, &by, &to, d.stride, d.low, d.high);
    return make(dn, "convolution, gradient of data", made, &desc, false, forward, out, err);
}

int leat_onednn_conv_backward_weights(leat_onednn *dn, const leat_onednn_window *w, bool bias,
                                      const leat_onednn_layout *src,
                                      const leat_onednn_prim *forward, leat_onednn_prim **out,
                                      leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t from = src ? src->md : image(w->rows, w->in_channels, w->in);
    const dnnl_memory_desc_t by = conv_weights(w);
    const dnnl_memory_desc_t plus = vector(w->out_channels);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_convolution_desc_t desc;
    const dnnl_status_t made = dnnl_convolution_backward_weights_desc_init(
        &desc, dnnl_convolution_direct, &from, &by, bias ? &plus : NULL, &to, d.stride, d.low,
        d.high);
    return make(dn, "convolution, gradient of weights", made, &desc, false, forward, out, err);
}

/* --- dense ----------------------------------------------------------------------------------- */

int leat_onednn_dense(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out, bool bias,
                      bool relu, bool training, const leat_onednn_layout *weights,
                      leat_onednn_prim **out, leat_error *err)
{
    const dnnl_memory_desc_t from = plain(rows, n_in), to = plain(rows, n_out);
    const dnnl_memory_desc_t by =
        weights ? weights->md : any_layout(2, (dnnl_dims_t){ n_out, n_in });
    const dnnl_memory_desc_t plus = vector(n_out);
    dnnl_inner_product_desc_t desc;
    const dnnl_status_t made = dnnl_inner_product_forward_desc_init(
        &desc, forward_kind(training), &from, &by, bias ? &plus : NULL, &to);
    return make(dn, "dense", made, &desc, relu, NULL, out, err);
}

int leat_onednn_dense_backward_data(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out,
                                    const leat_onednn_prim *forward, leat_onednn_prim **out,
                                    leat_error *err)
{
    const dnnl_memory_desc_t from = plain(rows, n_in), to = plain(rows, n_out);
    const dnnl_memory_desc_t by = any_layout(2, (dnnl_dims_t){ n_out, n_in });
    dnnl_inner_product_desc_t desc;
    const dnnl_status_t made = dnnl_inner_product_backward_data_desc_init(&desc, &from, &by, &to);
    return make(dn, "dense, gradient of data", made, &desc, false, forward, out, err);
}

int leat_onednn_dense_backward_weights(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out,
                                       bool bias, const leat_onednn_prim *forward,
                                       leat_onednn_prim **out, leat_error *err)
{
    const dnnl_memory_desc_t from = plain(rows, n_in), to = plain(rows, n_out);
    const dnnl_memory_desc_t by = any_layout(2, (dnnl_dims_t){ n_out, n_in });
    const dnnl_memory_desc_t plus = vector(n_out);
    dnnl_inner_product_desc_t desc;
    const dnnl_status_t made =
        dnnl_inner_product_backward_weights_desc_init(&desc, &from, &by, bias ? &plus : NULL, &to);
    return make(dn, "dense, gradient of weights", made, &desc, false, forward, out, err);
}

/* --- pooling --------------------------------------------------------------------------------- */

static dnnl_alg_kind_t pooling(leat_onednn_pooling kind)
{
    return kind == LEAT_DN_POOL_MAX ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding;
}

int leat_onednn_pool(leat_onednn *dn, const leat_onednn_window *w, leat_onednn_pooling kind,
                     bool training, const leat_onednn_layout *src, leat_onednn_prim **out,
                     leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_pooling_desc_t desc;
    const dnnl_status_t made =
        dnnl_pooling_forward_desc_init(&desc, forward_kind(training), pooling(kind), &src->md, &to,
                                       d.stride, d.size, d.low, d.high);
    return make(dn, "pooling", made, &desc, false, NULL, out, err);
}

int leat_onednn_pool_backward(leat_onednn *dn, const leat_onednn_window *w,
                              leat_onednn_pooling kind, const leat_onednn_layout *diff_src,
                              const leat_onednn_prim *forward, leat_onednn_prim **out,
                              leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_pooling_desc_t desc;
    const dnnl_status_t made = dnnl_pooling_backward_desc_init(
        &desc, pooling(kind), &diff_src->md, &to, d.stride, d.size, d.low, d.high);
    return make(dn, "pooling, gradient", made, &desc, false, forward, out, err);
}

/* --- element by element, reorder ------------------------------------------------------------- */

static dnnl_alg_kind_t mapping(leat_onednn_map kind)
{
    return kind == LEAT_DN_RELU ? dnnl_eltwise_relu_use_dst_for_bwd
                                : dnnl_eltwise_logistic_use_dst_for_bwd;
}

int leat_onednn_elementwise(leat_onednn *dn, leat_onednn_map kind, bool training,
                            const leat_onednn_layout *layout, leat_onednn_prim **out,
                            leat_error *err)
{
    dnnl_eltwise_desc_t desc;
    const dnnl_status_t made = dnnl_eltwise_forward_desc_init(&desc, forward_kind(training),
                                                              mapping(kind), &layout->md, 0, 0);
    return make(dn, "elementwise", made, &desc, false, NULL, out, err);
}

int leat_onednn_elementwise_backward(leat_onednn *dn, leat_onednn_map kind,
                                     const leat_onednn_layout *layout,
                                     const leat_onednn_prim *forward, leat_onednn_prim **out,
                                     leat_error *err)
{
    dnnl_eltwise_desc_t desc;
    const dnnl_status_t made =
        dnnl_eltwise_backward_desc_init(&desc, mapping(kind), &layout->md, &layout->md, 0, 0);
    return make(dn, "elementwise, gradient", made, &desc, false, forward, out, err);
}

int leat_onednn_reorder(leat_onednn *dn, const leat_onednn_layout *from,
                        const leat_onednn_layout *to, leat_onednn_prim **out, leat_error *err)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    int rc;
    *out = NULL;
    pthread_mutex_lock(&cache_lock);
    dnnl_status_t status = make_attributes(false, &attr);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(&pd, &from->md, dn->engine, &to->md, dn->engine,
                                                    attr);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    rc =
        status == dnnl_success ? wrap(dn, "reorder", pd, out, err) : failed(err, "reorder", status);
    pthread_mutex_unlock(&cache_lock);
    return rc;
}
