/* SPDX-License-Identifier: MIT
 *
 * onednn_impl.h: shared by the files that use oneDNN's API (2.x): onednn.c (engine, threads, layouts, products) and
 * onednn_conv.c (convolutions and copies). */
#ifndef LEAT_ONEDNN_IMPL_H
#define LEAT_ONEDNN_IMPL_H

#include <oneapi/dnnl/dnnl.h>

#include "onednn.h"

#if DNNL_VERSION_MAJOR != 2
#error "onednn*.c are written for oneDNN 2.x"
#endif

struct leat_dn_layout {
    leat_dn_layout *next;
    dnnl_memory_desc_t md;
};

struct leat_dn {
    dnnl_engine_t engine;
    int32_t n_threads;
    dnnl_stream_t *streams; /* one for each thread */
    leat_dn_layout *layouts;
    int (*omp_get_max)(void);
    void (*omp_set)(int);
};

/* onednn.c: fills *err with the name of oneDNN's status. */
int leat_dn_fail(leat_error *err, const char *what, dnnl_status_t status);
/* The layout of that description. NULL: out of memory. */
const leat_dn_layout *leat_dn_intern(leat_dn *dn, const dnnl_memory_desc_t *md);

#endif
