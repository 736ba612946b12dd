/* SPDX-License-Identifier: MIT
 *
 * onednn.c: oneDNN's engine, threads and layouts.
 *
 * DESIGN. The caller manages threads, so oneDNN may use only one. The OpenMP functions for that are looked
 * up at run time, because the OpenMP library of oneDNN (if any) is not known at build time. A
 * layout is kept once, so that the same layout is the same pointer. */
#include <dlfcn.h>
#include <stdlib.h>

#include "base/cores.h"
#include "onednn_impl.h"

int leat_onednn_fail(leat_error *err, const char *what, dnnl_status_t status)
{
    static const struct {
        int code;
        const char *text;
    } of[] = {
        [dnnl_success] = { LEAT_E_INTERNAL, "no error" },
        [dnnl_out_of_memory] = { LEAT_E_NOMEM, "out of memory" },
        [dnnl_invalid_arguments] = { LEAT_E_INTERNAL, "invalid arguments" },
        [dnnl_unimplemented] = { LEAT_E_UNSUPPORTED,
                                 "oneDNN does not support this operation on this CPU" },
        [dnnl_iterator_ends] = { LEAT_E_UNSUPPORTED, "oneDNN has no other implementation" },
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
        return leat_onednn_fail(err, "CPU engine", status);
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

const leat_onednn_layout *leat_onednn_intern(leat_onednn *dn, const dnnl_memory_desc_t *md)
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
    return leat_onednn_intern(dn, &md);
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
