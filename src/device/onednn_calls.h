/* SPDX-License-Identifier: MIT
 *
 * onednn_calls.h: the functions of oneDNN that leat calls. The library is opened when a trainer (or a measurement of
 * matrix products) first needs it, so that nothing else needs it: a build has only its headers. What the headers say
 * of its version decides which functions there are; a library of another major version is refused.
 *
 * Searched in this order: the file or folder that the environment variable LEAT_ONEDNN names, and then nothing else;
 * the path of the dynamic loader; the folders above this library, where packages of Python put theirs. */
#ifndef LEAT_ONEDNN_CALLS_H
#define LEAT_ONEDNN_CALLS_H

#include <oneapi/dnnl/dnnl.h>

#include "leat/error.h"

/* X(name without dnnl_) */
#define LEAT_ONEDNN_BOTH(X)                                                                        \
    X(version)                                                                                     \
    X(get_effective_cpu_isa)                                                                       \
    X(engine_create)                                                                               \
    X(engine_destroy)                                                                              \
    X(stream_create)                                                                               \
    X(stream_destroy)                                                                              \
    X(sgemm)                                                                                       \
    X(memory_create)                                                                               \
    X(memory_destroy)                                                                              \
    X(memory_set_data_handle)                                                                      \
    X(memory_desc_equal)                                                                           \
    X(memory_desc_get_size)                                                                        \
    X(primitive_create)                                                                            \
    X(primitive_destroy)                                                                           \
    X(primitive_execute)                                                                           \
    X(primitive_get_primitive_desc)                                                                \
    X(primitive_desc_destroy)                                                                      \
    X(primitive_desc_query)                                                                        \
    X(primitive_desc_query_md)                                                                     \
    X(primitive_attr_create)                                                                       \
    X(primitive_attr_destroy)                                                                      \
    X(primitive_attr_set_scratchpad_mode)                                                          \
    X(primitive_attr_set_post_ops)                                                                 \
    X(post_ops_create)                                                                             \
    X(post_ops_destroy)                                                                            \
    X(post_ops_append_eltwise)                                                                     \
    X(reorder_primitive_desc_create)

#if DNNL_VERSION_MAJOR == 2
#define LEAT_ONEDNN_LIST(X)                                                                        \
    LEAT_ONEDNN_BOTH(X)                                                                            \
    X(memory_desc_init_by_tag)                                                                     \
    X(memory_desc_init_by_strides)                                                                 \
    X(primitive_desc_create)                                                                       \
    X(primitive_desc_iterator_create)                                                              \
    X(primitive_desc_iterator_fetch)                                                               \
    X(primitive_desc_iterator_next)                                                                \
    X(primitive_desc_iterator_destroy)                                                             \
    X(dilated_convolution_forward_desc_init)                                                       \
    X(dilated_convolution_backward_data_desc_init)                                                 \
    X(dilated_convolution_backward_weights_desc_init)                                              \
    X(matmul_desc_init)
#else
#define LEAT_ONEDNN_LIST(X)                                                                        \
    LEAT_ONEDNN_BOTH(X)                                                                            \
    X(memory_desc_create_with_tag)                                                                 \
    X(memory_desc_create_with_strides)                                                             \
    X(memory_desc_clone)                                                                           \
    X(memory_desc_destroy)                                                                         \
    X(primitive_desc_next_impl)                                                                    \
    X(convolution_forward_primitive_desc_create)                                                   \
    X(convolution_backward_data_primitive_desc_create)                                             \
    X(convolution_backward_weights_primitive_desc_create)                                          \
    X(matmul_primitive_desc_create)
#endif

typedef struct leat_onednn_table {
#define LEAT_ONEDNN_MEMBER(name) __typeof__(&dnnl_##name) name;
    LEAT_ONEDNN_LIST(LEAT_ONEDNN_MEMBER)
#undef LEAT_ONEDNN_MEMBER
    /* Of the OpenMP library that oneDNN uses; both NULL if it uses none. */
    int (*omp_get_max_threads)(void);
    void (*omp_set_num_threads)(int);
} leat_onednn_table;

/* [const after leat_onednn_calls_open() returned LEAT_OK] */
extern leat_onednn_table leat_onednn;

/* Opens the library, once in a process; it is never closed. LEAT_E_UNSUPPORTED: it is not there, or another version;
 * the message says what to install. LEAT_E_NOMEM. Any thread. */
int leat_onednn_calls_open(leat_error *err);

#endif
