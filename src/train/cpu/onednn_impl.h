/* SPDX-License-Identifier: MIT
 *
 * onednn_impl.h: shared by the files that use oneDNN's API (2.x): onednn.c (engine, threads, layouts),
 * onednn_prim.c (primitives and their memories), onednn_ops.c (a constructor for each operation). */
#ifndef LEAT_ONEDNN_IMPL_H
#define LEAT_ONEDNN_IMPL_H

#include <oneapi/dnnl/dnnl.h>

#include "onednn.h"

#if DNNL_VERSION_MAJOR != 2
#error "onednn*.c are written for oneDNN 2.x"
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

/* --- onednn.c ---------------------------------------------------------------------------------- */
/* Fills *err with the name of oneDNN's status. */
int leat_onednn_fail(leat_error *err, const char *what, dnnl_status_t status);
/* The layout of that description, of which each leat_onednn has one. NULL: out of memory. */
const leat_onednn_layout *leat_onednn_intern(leat_onednn *dn, const dnnl_memory_desc_t *md);

/* --- onednn_prim.c ----------------------------------------------------------------------------- */
/* made: status of filling `desc`. forward: of backward primitives. relu: as a post-operation. */
int leat_onednn_make(leat_onednn *dn, const char *what, dnnl_status_t made,
                     const_dnnl_op_desc_t desc, bool relu, const leat_onednn_prim *forward,
                     leat_onednn_prim **out, leat_error *err);

#endif
