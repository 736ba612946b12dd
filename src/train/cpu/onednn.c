/* SPDX-License-Identifier: MIT
 *
 * onednn.c: oneDNN's engine, threads, layouts and products of matrices. See onednn.h.
 *
 * DESIGN. The caller manages threads, so oneDNN may use only one. The OpenMP functions for that are those of the
 * OpenMP library of oneDNN, if it has one (device/onednn_calls.h).
 *
 * oneDNN does not check every allocation of its code generator: where memory is short, it crashes or ends the process.
 * So before it compiles anything, the largest part that it takes at once is mapped as a probe, and given back. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cores.h"
#include "base/machine.h"
#include "formats/figure.h"
#include "onednn_impl.h"

int leat_dn_fail(leat_error *err, const char *what, dnnl_status_t status)
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

/* --- room for oneDNN's own memory ------------------------------------------------------------ */

int leat_dn_check_room(size_t more_bytes, leat_error *err)
{
    const size_t bytes = more_bytes + LEAT_DN_OWN_BYTES;
    void *const room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char needs[64];
    if (room != MAP_FAILED) {
        munmap(room, bytes);
        return LEAT_OK;
    }
    leat_machine machine;
    leat_machine_read("", &machine);
    snprintf(needs, sizeof needs, "%s and ", leat_figure_bytes((double)more_bytes).text);
    return leat_fail(err, LEAT_E_NOMEM,
                     "training needs %s%s for oneDNN's compiled code, but there are %s (%s): raise "
                     "the memory limit of the process (ulimit -v, ulimit -d), or lower "
                     "pipeline.batch.size",
                     more_bytes ? needs : "", leat_figure_bytes(LEAT_DN_OWN_BYTES).text,
                     leat_figure_bytes((double)machine.memory_bytes).text, machine.memory_why);
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
                rc = leat_dn_matmul(kind == 2, kind == 1, sizes[i][0], sizes[i][1], sizes[i][2],
                                    zeros, zeros + MOST, zeros + 2 * MOST, err);
    leat_dn_leave(dn, was);
    free(zeros);
    return rc;
}

/* --- open, close, threads -------------------------------------------------------------------- */

int leat_dn_find(leat_error *err)
{
    return leat_onednn_calls_open(err);
}

int leat_dn_open(int32_t n_threads, leat_dn **out, leat_error *err)
{
    dnnl_status_t status;
    int rc;
    *out = NULL;
    if ((rc = leat_dn_check_room(0, err)) < 0 || (rc = leat_dn_find(err)) < 0)
        return rc;
    leat_dn *dn = calloc(1, sizeof *dn);
    if (!dn)
        return leat_fail(err, LEAT_E_NOMEM, "oneDNN: %zu bytes", sizeof *dn);
    dn->streams = calloc((size_t)n_threads, sizeof *dn->streams);
    status = dn->streams ? leat_onednn.engine_create(&dn->engine, dnnl_cpu, 0) : dnnl_out_of_memory;
    while (status == dnnl_success && dn->n_threads < n_threads) {
        status = leat_onednn.stream_create(&dn->streams[dn->n_threads], dn->engine,
                                           dnnl_stream_in_order);
        dn->n_threads += status == dnnl_success;
    }
    if (status != dnnl_success) {
        leat_dn_close(&dn);
        return leat_dn_fail(err, "CPU engine", status);
    }
    if ((rc = compile_products(dn, err)) < 0)
        leat_dn_close(&dn);
    *out = dn;
    return rc;
}

void leat_dn_close(leat_dn **out)
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
        leat_onednn.stream_destroy(dn->streams[i]);
    if (dn->engine)
        leat_onednn.engine_destroy(dn->engine);
    free(dn->streams);
    free(dn);
    *out = NULL;
}

int32_t leat_dn_threads(int32_t most)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    const int32_t threads = asked ? (int32_t)strtol(asked, NULL, 10) : 0;
    if (threads > 0)
        return threads < 1024 ? threads : 1024;
    return leat_cores_count() < most ? leat_cores_count() : most;
}

int leat_dn_enter(const leat_dn *dn)
{
    (void)dn;
    if (!leat_onednn.omp_set_num_threads)
        return 1;
    const int was = leat_onednn.omp_get_max_threads();
    if (was != 1)
        leat_onednn.omp_set_num_threads(1);
    return was;
}

void leat_dn_leave(const leat_dn *dn, int was)
{
    (void)dn;
    if (leat_onednn.omp_set_num_threads && was != 1)
        leat_onednn.omp_set_num_threads(was);
}

bool leat_dn_has_bf16(void)
{
    /* a level has the bits of the levels that it contains */
    return leat_dn_find(NULL) == LEAT_OK &&
           (leat_onednn.get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
               dnnl_cpu_isa_avx512_core_bf16;
}

void leat_dn_describe(char *text, size_t size)
{
    if (leat_dn_find(NULL) < 0)
        snprintf(text, size, "none");
    else
        snprintf(text, size, "%d.%d.%d, instruction set %#x", leat_onednn.version()->major,
                 leat_onednn.version()->minor, leat_onednn.version()->patch,
                 (unsigned)leat_onednn.get_effective_cpu_isa());
}

/* --- layouts --------------------------------------------------------------------------------- */

const leat_dn_layout *leat_dn_intern(leat_dn *dn, leat_dn_const_desc md)
{
    for (leat_dn_layout *layout = dn->layouts; layout; layout = layout->next)
        if (leat_onednn.memory_desc_equal(layout->md, md))
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
const leat_dn_layout *leat_dn_layout_plain(leat_dn *dn, const leat_shape *weight, int64_t groups)
{
    const int64_t height = weight->dims[0], width = weight->dims[1], in = weight->dims[2];
    const int64_t out = weight->dims[3];
    const dnnl_dims_t dims = { groups, out / groups, in, height, width };
    const dnnl_dims_t strides = { out / groups, 1, out, width * in * out, in * out };
    const int one = groups == 1;
    leat_dn_desc md;
    if (leat_dn_desc_by_strides(&md, 5 - one, dims + one, dnnl_f32, strides + one) != dnnl_success)
        return NULL;
    const leat_dn_layout *layout = leat_dn_intern(dn, md);
    leat_dn_desc_free(md);
    return layout;
}

size_t leat_dn_layout_bytes(const leat_dn_layout *layout)
{
    return leat_onednn.memory_desc_get_size(layout->md);
}

/* --- products of matrices -------------------------------------------------------------------- */

int leat_dn_matmul(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                   const float *a, const float *b, float *c, leat_error *err)
{
    const dnnl_status_t status =
        leat_onednn.sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f, a,
                          transpose_a ? m : k, b, transpose_b ? k : n, 0.0f, c, n);
    return status == dnnl_success ? LEAT_OK : leat_dn_fail(err, "product of matrices", status);
}
