/* SPDX-License-Identifier: MIT
 *
 * onednn_ops.c: what leat takes from oneDNN (leat_dn_table of onednn.h): layouts, products of matrices, compiled operations,
 * convolutions. It is compiled once for each major version whose headers the build has, and ends in that version's table;
 * what differs between the versions is in onednn_version.h.
 *
 * DESIGN. A primitive is compiled once and run by any thread; the descriptions of its arguments' memory
 * belong to a thread, because their addresses change with every run. Scratch memory is an argument like the
 * others, so that no primitive allocates when it runs. */
#include <pthread.h>
#include <stdlib.h>

#include "base/machine.h"
#include "formats/figure.h"
#include "onednn_version.h"

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

enum { MAX_ARGS = 5 };

struct leat_dn_primitive {
    leat_dn *dn;
    dnnl_primitive_t prim;
    const char *implementation;
    int n_args;
    int numbers[MAX_ARGS];   /* DNNL_ARG_… */
    int data[MAX_ARGS];      /* of each: its place in the data of a run */
    dnnl_memory_t *memories; /* [thread * n_args + argument] */
    size_t scratch;
    const leat_dn_layout *weights_layout; /* of a convolution */
};

/* Fills *err with the name of oneDNN's status. */
static int fail(leat_error *err, const char *what, dnnl_status_t status)
{
    static const struct {
        int code;
        const char *text;
    } of[] = {
        [dnnl_success] = { LEAT_E_INTERNAL, "no error" },
        [dnnl_invalid_arguments] = { LEAT_E_INTERNAL, "invalid arguments" },
        [dnnl_unimplemented] = { LEAT_E_UNSUPPORTED,
                                 "oneDNN does not support this operation on this CPU" },
        [dnnl_runtime_error] = { LEAT_E_INTERNAL, "runtime error" },
        [dnnl_not_required] = { LEAT_E_INTERNAL, "not required" },
    };
    const size_t n = sizeof of / sizeof *of;
    if (status == dnnl_out_of_memory) {
        leat_machine machine;
        leat_machine_read("", &machine);
        return leat_fail(err, LEAT_E_NOMEM,
                         "no memory is left for oneDNN to make a %s: there are %s (%s); lower "
                         "pipeline.batch.size or train.threads, or raise the limit",
                         what, leat_figure_bytes((double)machine.memory_bytes).text,
                         machine.memory_why);
    }
    const size_t i = (size_t)status < n && of[status].text ? (size_t)status : dnnl_runtime_error;
    return leat_fail(err, of[i].code, "oneDNN %d.%d: %s: %s", leat_onednn.version()->major,
                     leat_onednn.version()->minor, what, of[i].text);
}

/* --- layouts --------------------------------------------------------------------------------- */

static const leat_dn_layout *intern_layout(leat_dn *dn, leat_dn_const_desc md)
{
    for (leat_dn_layout *layout = dn->layouts; layout; layout = layout->next)
        if (dnnl.memory_desc_equal(layout->md, md))
            return layout;
    leat_dn_layout *layout = calloc(1, sizeof *layout);
    if (!layout || leat_dn_desc_copy(&layout->md, md) != dnnl_success) {
        free(layout);
        return NULL;
    }
    layout->next = dn->layouts;
    dn->layouts = layout;
    return layout;
}

/* Logically [groups,] out, in, height, width, as oneDNN has it. */
static const leat_dn_layout *layout_plain(leat_dn *dn, const leat_shape *weight, int64_t groups)
{
    const int64_t height = weight->dims[0], width = weight->dims[1], in = weight->dims[2];
    const int64_t out = weight->dims[3];
    const dnnl_dims_t dims = { groups, out / groups, in, height, width };
    const dnnl_dims_t strides = { out / groups, 1, out, width * in * out, in * out };
    const int one = groups == 1;
    leat_dn_desc md;
    if (leat_dn_desc_by_strides(&md, 5 - one, dims + one, dnnl_f32, strides + one) != dnnl_success)
        return NULL;
    const leat_dn_layout *layout = intern_layout(dn, md);
    leat_dn_desc_free(md);
    return layout;
}

static size_t layout_bytes(const leat_dn_layout *layout)
{
    return dnnl.memory_desc_get_size(layout->md);
}

/* --- products of matrices -------------------------------------------------------------------- */

static int matmul(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                  const float *a, const float *b, float *c, leat_error *err)
{
    const dnnl_status_t status =
        leat_onednn.sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f, a,
                          transpose_a ? m : k, b, transpose_b ? k : n, 0.0f, c, n);
    return status == dnnl_success ? LEAT_OK : fail(err, "product of matrices", status);
}

/* --- engine ------------------------------------------------------------------------------------ */

static void engine_close(leat_dn **out)
{
    leat_dn *dn = *out;
    if (!dn)
        return;
    for (leat_dn_layout *layout; (layout = dn->layouts);) {
        dn->layouts = layout->next;
        leat_dn_desc_free(layout->md);
        free(layout);
    }
    for (int32_t i = 0; i < dn->n_threads; i++)
        dnnl.stream_destroy(dn->streams[i]);
    if (dn->engine)
        dnnl.engine_destroy(dn->engine);
    free(dn->streams);
    free(dn);
    *out = NULL;
}

/* Makes oneDNN compile its products of matrices: it does so at the first call of each kind, and ends the process if
 * memory is short then. */
static int compile_products(const leat_dn *dn, leat_error *err)
{
    static const int64_t sizes[][3] = { { 1, 1, 1 },   { 16, 1, 16 },  { 1, 16, 16 }, { 4, 3, 8 },
                                        { 48, 48, 8 }, { 48, 48, 48 }, { 96, 96, 96 } };
    enum { MOST = 96 * 96 };
    float *const zeros = calloc(3 * (size_t)MOST, sizeof *zeros);
    int rc = zeros ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "oneDNN: no memory for products");
    const int was = leat_dn_enter(dn);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 3 && rc == LEAT_OK; kind++)
            if ((rc = leat_dn_check_room(0, err)) == LEAT_OK)
                rc = matmul(kind == 2, kind == 1, sizes[i][0], sizes[i][1], sizes[i][2], zeros,
                            zeros + MOST, zeros + 2 * MOST, err);
    leat_dn_leave(dn, was);
    free(zeros);
    return rc;
}

static int engine_open(int32_t n_threads, leat_dn **out, leat_error *err)
{
    dnnl_status_t status;
    leat_dn *dn = calloc(1, sizeof *dn);
    if (!dn)
        return leat_fail(err, LEAT_E_NOMEM, "oneDNN: %zu bytes", sizeof *dn);
    dn->streams = calloc((size_t)n_threads, sizeof *dn->streams);
    status = dn->streams ? dnnl.engine_create(&dn->engine, dnnl_cpu, 0) : dnnl_out_of_memory;
    while (status == dnnl_success && dn->n_threads < n_threads) {
        status = dnnl.stream_create(&dn->streams[dn->n_threads], dn->engine, dnnl_stream_in_order);
        dn->n_threads += status == dnnl_success;
    }
    if (status != dnnl_success) {
        engine_close(&dn);
        return fail(err, "CPU engine", status);
    }
    const int rc = compile_products(dn, err);
    if (rc < 0)
        engine_close(&dn);
    *out = dn;
    return rc;
}

static bool has_bf16(void)
{
    /* a level has the bits of the levels that it contains */
    return (dnnl.get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
           dnnl_cpu_isa_avx512_core_bf16;
}

static void describe_library(char *text, size_t size)
{
    const dnnl_version_t *const version = leat_onednn.version();
    snprintf(text, size, "%d.%d.%d, instruction set %#x", version->major, version->minor,
             version->patch, (unsigned)dnnl.get_effective_cpu_isa());
}

/* --- primitives ------------------------------------------------------------------------------- */

/* How one is made. */
typedef struct making {
    const char *what; /* for messages */
    /* DNNL_ARG_… in the order of a run's data; what is no argument is left out */
    const int *numbers;
    int n_numbers;
    bool relu;
    dnnl_status_t (*describe)(leat_dn *dn, void *arg, const_dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t *out);
    void *arg; /* of describe() */
} making;

static dnnl_status_t make_memories(leat_dn_primitive *p, const_dnnl_primitive_desc_t pd)
{
    const size_t n = (size_t)p->n_args;
    p->memories = calloc(n * (size_t)p->dn->n_threads, sizeof *p->memories);
    if (!p->memories)
        return dnnl_out_of_memory;
    for (size_t i = 0; i < n * (size_t)p->dn->n_threads; i++) {
        leat_dn_const_desc md =
            dnnl.primitive_desc_query_md(pd, dnnl_query_exec_arg_md, p->numbers[i % n]);
        const dnnl_status_t status =
            dnnl.memory_create(&p->memories[i], md, p->dn->engine, DNNL_MEMORY_NONE);
        if (status != dnnl_success)
            return status;
    }
    return dnnl_success;
}

static void primitive_close(leat_dn_primitive **out)
{
    leat_dn_primitive *p = *out;
    if (!p)
        return;
    for (size_t i = 0; p->memories && i < (size_t)p->n_args * (size_t)p->dn->n_threads; i++)
        if (p->memories[i])
            dnnl.memory_destroy(p->memories[i]);
    free(p->memories);
    if (p->prim)
        dnnl.primitive_destroy(p->prim);
    free(p);
    *out = NULL;
}

static size_t primitive_scratch(const leat_dn_primitive *p)
{
    return p->scratch;
}

static dnnl_status_t make_attributes(bool relu, dnnl_primitive_attr_t *out)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl.primitive_attr_create(out);
    if (status == dnnl_success)
        status = dnnl.primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (status != dnnl_success || !relu)
        return status;
    if ((status = dnnl.post_ops_create(&ops)) != dnnl_success)
        return status;
    status = leat_dn_append_relu(ops);
    if (status == dnnl_success)
        status = dnnl.primitive_attr_set_post_ops(*out, ops);
    dnnl.post_ops_destroy(ops);
    return status;
}

static dnnl_status_t compile(leat_dn_primitive *p, const_dnnl_primitive_desc_t pd,
                             const making *how)
{
    dnnl_status_t status;
    for (int i = 0; i < how->n_numbers; i++) {
        leat_dn_const_desc md =
            dnnl.primitive_desc_query_md(pd, dnnl_query_exec_arg_md, how->numbers[i]);
        if (md && dnnl.memory_desc_get_size(md) > 0) {
            p->data[p->n_args] = i;
            p->numbers[p->n_args++] = how->numbers[i];
        }
        if (how->numbers[i] == DNNL_ARG_SCRATCHPAD && md)
            p->scratch = dnnl.memory_desc_get_size(md);
    }
    if ((status = dnnl.primitive_create(&p->prim, pd)) != dnnl_success ||
        (status = make_memories(p, pd)) != dnnl_success)
        return status;
    const_dnnl_primitive_desc_t kept;
    p->implementation = "primitive";
    if (dnnl.primitive_get_primitive_desc(p->prim, &kept) == dnnl_success)
        (void)dnnl.primitive_desc_query(kept, dnnl_query_impl_info_str, 0, &p->implementation);
    return dnnl_success;
}

/* oneDNN keeps descriptors and compiled code in one cache for all threads, so a descriptor that one thread asks for
 * may have been made by another. Held while one is made and read. */
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static dnnl_status_t make_locked(leat_dn *dn, const making *how, leat_dn_primitive *p)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = make_attributes(how->relu, &attr);
    if (status == dnnl_success)
        status = how->describe(dn, how->arg, attr, &pd);
    if (status == dnnl_success)
        status = compile(p, pd, how);
    if (pd)
        dnnl.primitive_desc_destroy(pd);
    if (attr)
        dnnl.primitive_attr_destroy(attr);
    return status;
}

static int primitive_open(leat_dn *dn, const making *how, leat_dn_primitive **out, leat_error *err)
{
    const int rc = leat_dn_check_room(0, err);
    *out = NULL;
    if (rc < 0)
        return rc;
    leat_dn_primitive *p = calloc(1, sizeof *p);
    if (!p)
        return leat_fail(err, LEAT_E_NOMEM, "oneDNN: %zu bytes", sizeof *p);
    p->dn = dn;
    pthread_mutex_lock(&cache_lock);
    const dnnl_status_t status = make_locked(dn, how, p);
    pthread_mutex_unlock(&cache_lock);
    if (status != dnnl_success) {
        primitive_close(&p);
        return fail(err, how->what, status);
    }
    *out = p;
    return LEAT_OK;
}

static int primitive_run(leat_dn_primitive *p, int32_t thread, void *const *data, leat_error *err)
{
    dnnl_memory_t *memories = p->memories + thread * p->n_args;
    dnnl_exec_arg_t args[MAX_ARGS];
    dnnl_status_t status = dnnl_success;
    for (int k = 0; k < p->n_args && status == dnnl_success; k++) {
        status = dnnl.memory_set_data_handle(memories[k], data[p->data[k]]);
        args[k] = (dnnl_exec_arg_t){ p->numbers[k], memories[k] };
    }
    if (status == dnnl_success)
        status = dnnl.primitive_execute(p->prim, p->dn->streams[thread], p->n_args, args);
    return status == dnnl_success ? LEAT_OK : fail(err, p->implementation, status);
}

/* --- products in bfloat16 -------------------------------------------------------------------- */

static dnnl_status_t describe_product(leat_dn *dn, void *spec, const_dnnl_primitive_attr_t attr,
                                      dnnl_primitive_desc_t *out)
{
    const leat_dn_product_spec *const s = spec;
    const dnnl_dims_t dims[3] = { { s->m, s->k }, { s->k, s->n }, { s->m, s->n } };
    const dnnl_format_tag_t tags[] = { s->transpose_a ? dnnl_ba : dnnl_ab,
                                       s->transpose_b ? dnnl_ba : dnnl_ab, dnnl_ab };
    leat_dn_desc descs[3] = { NULL };
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < 3 && status == dnnl_success; i++)
        status = leat_dn_desc_by_tag(&descs[i], 2, dims[i], i < 2 ? dnnl_bf16 : dnnl_f32, tags[i]);
    if (status == dnnl_success)
        status = leat_dn_product_desc(out, dn->engine, descs[0], descs[1], descs[2], attr);
    for (int i = 0; i < 3; i++)
        leat_dn_desc_free(descs[i]);
    return status;
}

static int product_open(leat_dn *dn, const leat_dn_product_spec *spec, leat_dn_primitive **out,
                        leat_error *err)
{
    static const int numbers[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
                                   DNNL_ARG_SCRATCHPAD };
    leat_dn_product_spec own = *spec;
    return primitive_open(dn,
                          &(making){ .what = "product of matrices",
                                     .numbers = numbers,
                                     .n_numbers = sizeof numbers / sizeof *numbers,
                                     .describe = describe_product,
                                     .arg = &own },
                          out, err);
}

static int product_run(leat_dn_primitive *product, int32_t thread, const void *a, const void *b,
                       float *c, void *scratch, leat_error *err)
{
    void *const data[] = { (void *)(uintptr_t)a, (void *)(uintptr_t)b, c, scratch };
    return primitive_run(product, thread, data, err);
}
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

/* oneDNN's AVX2 code for windows of 1 x 1 with a stride first gathers the pixels that it reads, in whole vectors: with
 * other numbers of channels it writes behind its scratch memory (seen in 2.6.3 with 1 and 3 channels, stride 2). */
static bool gathers_too_much(const leat_dn_conv_spec *s)
{
    const leat_sliding *w = &s->window;
    return w->size[0] == 1 && w->size[1] == 1 && (w->stride[0] > 1 || w->stride[1] > 1) &&
           s->in_channels % 16;
}

/* oneDNN's code for AMX takes too little scratch memory where a window is narrower than its stride, and computes wrong values
 * without a word (github.com/uxlfoundation/oneDNN/pull/5494: bf16, until 3.13; not its code for windows of 1 x 1); perhaps also
 * where strides lead to one column (github.com/pytorch/pytorch/pull/188426). */
static bool steps_over(const leat_dn_conv_spec *s)
{
    const leat_sliding *w = &s->window;
    return s->bf16 && (w->stride[0] > w->size[0] || w->stride[1] > w->size[1] ||
                       (w->out[1] == 1 && w->stride[1] > 1));
}

/* oneDNN's code by products of small matrices computes wrong values without a word: 2.6.3 where the taps of a row are two pixels
 * apart and reach over the edges of the image, 3.7.2 where strides lead to one column (seen with one channel, in float32; perhaps
 * github.com/pytorch/pytorch/pull/188426). test_onednn_windows.c found no other window of 2.6.3, 3.2 and 3.7.2, in 10,000 of each
 * with AVX-512 and 5,000 with AVX2. */
static bool misses_taps(const leat_dn_conv_spec *s)
{
    const leat_sliding *w = &s->window;
    return DNNL_VERSION_MAJOR == 2 ? w->dilation[1] > 1 && w->size[1] > 1
                                   : w->out[1] == 1 && w->stride[1] > 1;
}

/* oneDNN's gradient of weights in bfloat16 without products of small matrices is wrong without a word where the taps of a column
 * are some pixels apart and rows are longer than 28; where the stride is wider than the image, parts of it are memory that nobody
 * wrote (both seen in 2.6.3; not its code for windows of 1 x 1). test_onednn_windows.c found no other window in 30,000 of 2.6.3 and
 * 3,000 of 3.2 with AVX-512's instructions for bfloat16. */
static bool loses_gradient(const leat_dn_conv_spec *s)
{
    const leat_sliding *w = &s->window;
    return s->bf16 && s->pass == LEAT_DN_GRAD_WEIGHTS &&
           ((w->dilation[0] > 1 && w->out[1] > 28) ||
            (w->stride[1] > 1 && w->in[1] <= w->stride[1]));
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
    d->not_1x1 = gathers_too_much(s);
    d->not_amx = steps_over(s);
    d->not_brgemm = misses_taps(s);
    d->not_jit_bf16 = loses_gradient(s);
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
        dnnl.primitive_desc_destroy(hint);
    free_descs(&d);
    return status;
}

static const int conv_args[3][MAX_ARGS] = {
    { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD },
    { DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD },
    { DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST,
      DNNL_ARG_SCRATCHPAD },
};

/* A convolution that is being made. */
typedef struct conv_making {
    const leat_dn_conv_spec *spec;
    const leat_dn_layout *weights_layout;
} conv_making;

static dnnl_status_t describe_conv(leat_dn *dn, void *arg, const_dnnl_primitive_attr_t attr,
                                   dnnl_primitive_desc_t *out)
{
    conv_making *const conv = arg;
    const int weights = conv_args[conv->spec->pass][1];
    const dnnl_status_t status = make_desc(dn, conv->spec, attr, out);
    if (status != dnnl_success)
        return status;
    conv->weights_layout =
        intern_layout(dn, dnnl.primitive_desc_query_md(*out, dnnl_query_exec_arg_md, weights));
    return conv->weights_layout ? dnnl_success : dnnl_out_of_memory;
}

static int conv_open(leat_dn *dn, const leat_dn_conv_spec *spec, leat_dn_primitive **out,
                     leat_error *err)
{
    static const char *const passes[] = { "convolution", "convolution, gradient of data",
                                          "convolution, gradient of weights" };
    conv_making conv = { .spec = spec };
    const making how = { .what = passes[spec->pass],
                         .numbers = conv_args[spec->pass],
                         .n_numbers = MAX_ARGS,
                         .relu = spec->relu && spec->pass == LEAT_DN_FORWARD,
                         .describe = describe_conv,
                         .arg = &conv };
    const int rc = primitive_open(dn, &how, out, err);
    if (rc == LEAT_OK)
        (*out)->weights_layout = conv.weights_layout;
    return rc;
}

static const leat_dn_layout *conv_weights_layout(const leat_dn_primitive *conv)
{
    return conv->weights_layout;
}

static int conv_run(leat_dn_primitive *conv, int32_t thread, const leat_dn_conv_args *a,
                    leat_error *err)
{
    void *const data[MAX_ARGS] = { a->src, a->weights, a->bias, a->dst, a->scratch };
    return primitive_run(conv, thread, data, err);
}

/* --- copies ---------------------------------------------------------------------------------- */

static dnnl_status_t describe_copy(leat_dn *dn, void *arg, const_dnnl_primitive_attr_t attr,
                                   dnnl_primitive_desc_t *out)
{
    const leat_dn_layout *const *const layouts = arg;
    return dnnl.reorder_primitive_desc_create(out, layouts[0]->md, dn->engine, layouts[1]->md,
                                              dn->engine, attr);
}

static int copy_open(leat_dn *dn, const leat_dn_layout *from, const leat_dn_layout *to,
                     leat_dn_primitive **out, leat_error *err)
{
    static const int numbers[] = { DNNL_ARG_FROM, DNNL_ARG_TO, DNNL_ARG_SCRATCHPAD };
    const leat_dn_layout *layouts[] = { from, to };
    return primitive_open(dn,
                          &(making){ .what = "copy of weights",
                                     .numbers = numbers,
                                     .n_numbers = sizeof numbers / sizeof *numbers,
                                     .describe = describe_copy,
                                     .arg = layouts },
                          out, err);
}

static int copy_run(leat_dn_primitive *copy, int32_t thread, const void *from, void *to,
                    void *scratch, leat_error *err)
{
    void *const data[] = { (void *)(uintptr_t)from, to, scratch };
    return primitive_run(copy, thread, data, err);
}

/* --- the table --------------------------------------------------------------------------------- */

#define JOINED(a, b) a##b
#define JOIN(a, b)   JOINED(a, b)

const leat_dn_table JOIN(leat_dn_table_, DNNL_VERSION_MAJOR) = {
    .load = load_functions,
    .has_bf16 = has_bf16,
    .describe = describe_library,
    .open = engine_open,
    .close = engine_close,
    .primitive_close = primitive_close,
    .primitive_scratch = primitive_scratch,
    .conv_open = conv_open,
    .conv_weights_layout = conv_weights_layout,
    .conv_run = conv_run,
    .layout_bytes = layout_bytes,
    .layout_plain = layout_plain,
    .copy_open = copy_open,
    .copy_run = copy_run,
    .matmul = matmul,
    .product_open = product_open,
    .product_run = product_run,
};
