/* SPDX-License-Identifier: MIT
 *
 * onednn_prim.c: oneDNN's primitives and the memory of their arguments.
 *
 * DESIGN. leat_onednn_make() turns the descriptor of an operation into a primitive with the layouts of all
 * its arguments, found by asking for each. Scratch memory is an argument like the others, so that no
 * primitive allocates when it runs. */
#include <pthread.h>
#include <stdlib.h>

#include "onednn_impl.h"

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
        prim->layouts[i] = leat_onednn_intern(prim->dn, md);
        if (!prim->layouts[i])
            return LEAT_E_NOMEM;
    }
    return LEAT_OK;
}

/* Takes ownership of pd. */
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
    return leat_onednn_fail(err, what, status);
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

int leat_onednn_make(leat_onednn *dn, const char *what, dnnl_status_t made,
                     const_dnnl_op_desc_t desc, bool relu, const leat_onednn_prim *forward,
                     leat_onednn_prim **out, leat_error *err)
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
    rc = made == dnnl_success ? wrap(dn, what, pd, out, err) : leat_onednn_fail(err, what, made);
    pthread_mutex_unlock(&cache_lock);
    return rc;
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
    rc = status == dnnl_success ? wrap(dn, "reorder", pd, out, err)
                                : leat_onednn_fail(err, "reorder", status);
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
    return status == dnnl_success ? LEAT_OK : leat_onednn_fail(err, "memory", status);
}

int leat_onednn_run(leat_onednn_prim *prim, leat_error *err)
{
    const dnnl_status_t status =
        dnnl_primitive_execute(prim->prim, prim->dn->stream, prim->n_args, prim->args);
    return status == dnnl_success ? LEAT_OK : leat_onednn_fail(err, prim->implementation, status);
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
