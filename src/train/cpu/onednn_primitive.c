/* SPDX-License-Identifier: MIT
 *
 * onednn_primitive.c: compiled operations of oneDNN, and products of matrices in bfloat16. See onednn.h.
 *
 * DESIGN. A primitive is compiled once and run by any thread; the descriptions of its arguments' memory
 * belong to a thread, because their addresses change with every run. Scratch memory is an argument like the
 * others, so that no primitive allocates when it runs. */
#include <pthread.h>
#include <stdlib.h>

#include "onednn_impl.h"

static dnnl_status_t make_memories(leat_dn_primitive *p, const_dnnl_primitive_desc_t pd)
{
    const size_t n = (size_t)p->n_args;
    p->memories = calloc(n * (size_t)p->dn->n_threads, sizeof *p->memories);
    if (!p->memories)
        return dnnl_out_of_memory;
    for (size_t i = 0; i < n * (size_t)p->dn->n_threads; i++) {
        leat_dn_const_desc md =
            leat_onednn.primitive_desc_query_md(pd, dnnl_query_exec_arg_md, p->numbers[i % n]);
        const dnnl_status_t status =
            leat_onednn.memory_create(&p->memories[i], md, p->dn->engine, DNNL_MEMORY_NONE);
        if (status != dnnl_success)
            return status;
    }
    return dnnl_success;
}

void leat_dn_primitive_close(leat_dn_primitive **out)
{
    leat_dn_primitive *p = *out;
    if (!p)
        return;
    for (size_t i = 0; p->memories && i < (size_t)p->n_args * (size_t)p->dn->n_threads; i++)
        if (p->memories[i])
            leat_onednn.memory_destroy(p->memories[i]);
    free(p->memories);
    if (p->prim)
        leat_onednn.primitive_destroy(p->prim);
    free(p);
    *out = NULL;
}

size_t leat_dn_primitive_scratch(const leat_dn_primitive *p)
{
    return p->scratch;
}

static dnnl_status_t make_attributes(bool relu, dnnl_primitive_attr_t *out)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = leat_onednn.primitive_attr_create(out);
    if (status == dnnl_success)
        status = leat_onednn.primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (status != dnnl_success || !relu)
        return status;
    if ((status = leat_onednn.post_ops_create(&ops)) != dnnl_success)
        return status;
    status = leat_dn_append_relu(ops);
    if (status == dnnl_success)
        status = leat_onednn.primitive_attr_set_post_ops(*out, ops);
    leat_onednn.post_ops_destroy(ops);
    return status;
}

static dnnl_status_t compile(leat_dn_primitive *p, const_dnnl_primitive_desc_t pd,
                             const leat_dn_making *how)
{
    dnnl_status_t status;
    for (int i = 0; i < how->n_numbers; i++) {
        leat_dn_const_desc md =
            leat_onednn.primitive_desc_query_md(pd, dnnl_query_exec_arg_md, how->numbers[i]);
        if (md && leat_onednn.memory_desc_get_size(md) > 0) {
            p->data[p->n_args] = i;
            p->numbers[p->n_args++] = how->numbers[i];
        }
        if (how->numbers[i] == DNNL_ARG_SCRATCHPAD && md)
            p->scratch = leat_onednn.memory_desc_get_size(md);
    }
    if ((status = leat_onednn.primitive_create(&p->prim, pd)) != dnnl_success ||
        (status = make_memories(p, pd)) != dnnl_success)
        return status;
    const_dnnl_primitive_desc_t kept;
    p->implementation = "primitive";
    if (leat_onednn.primitive_get_primitive_desc(p->prim, &kept) == dnnl_success)
        (void)leat_onednn.primitive_desc_query(kept, dnnl_query_impl_info_str, 0,
                                               &p->implementation);
    return dnnl_success;
}

/* oneDNN keeps descriptors and compiled code in one cache for all threads, so a descriptor that one thread asks for
 * may have been made by another. Held while one is made and read. */
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static dnnl_status_t make_locked(leat_dn *dn, const leat_dn_making *how, leat_dn_primitive *p)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = make_attributes(how->relu, &attr);
    if (status == dnnl_success)
        status = how->describe(dn, how->arg, attr, &pd);
    if (status == dnnl_success)
        status = compile(p, pd, how);
    if (pd)
        leat_onednn.primitive_desc_destroy(pd);
    if (attr)
        leat_onednn.primitive_attr_destroy(attr);
    return status;
}

int leat_dn_primitive_open(leat_dn *dn, const leat_dn_making *how, leat_dn_primitive **out,
                           leat_error *err)
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
        leat_dn_primitive_close(&p);
        return leat_dn_fail(err, how->what, status);
    }
    *out = p;
    return LEAT_OK;
}

int leat_dn_primitive_run(leat_dn_primitive *p, int32_t thread, void *const *data, leat_error *err)
{
    dnnl_memory_t *memories = p->memories + thread * p->n_args;
    dnnl_exec_arg_t args[LEAT_DN_MAX_ARGS];
    dnnl_status_t status = dnnl_success;
    for (int k = 0; k < p->n_args && status == dnnl_success; k++) {
        status = leat_onednn.memory_set_data_handle(memories[k], data[p->data[k]]);
        args[k] = (dnnl_exec_arg_t){ p->numbers[k], memories[k] };
    }
    if (status == dnnl_success)
        status = leat_onednn.primitive_execute(p->prim, p->dn->streams[thread], p->n_args, args);
    return status == dnnl_success ? LEAT_OK : leat_dn_fail(err, p->implementation, status);
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

int leat_dn_product_open(leat_dn *dn, const leat_dn_product_spec *spec, leat_dn_primitive **out,
                         leat_error *err)
{
    static const int numbers[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
                                   DNNL_ARG_SCRATCHPAD };
    leat_dn_product_spec own = *spec;
    return leat_dn_primitive_open(dn,
                                  &(leat_dn_making){ .what = "product of matrices",
                                                     .numbers = numbers,
                                                     .n_numbers = sizeof numbers / sizeof *numbers,
                                                     .describe = describe_product,
                                                     .arg = &own },
                                  out, err);
}

int leat_dn_product_run(leat_dn_primitive *product, int32_t thread, const void *a, const void *b,
                        float *c, void *scratch, leat_error *err)
{
    void *const data[] = { (void *)(uintptr_t)a, (void *)(uintptr_t)b, c, scratch };
    return leat_dn_primitive_run(product, thread, data, err);
}
