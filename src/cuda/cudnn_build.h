/* SPDX-License-Identifier: MIT
 *
 * cudnn_build.h: descriptors of cuDNN's graph API, for cudnn_ops.c and cudnn_plan.c. A builder owns all that it
 * makes and remembers the first failure; after that its functions do nothing, so that only the end has to look. */
#ifndef LEAT_CUDNN_BUILD_H
#define LEAT_CUDNN_BUILD_H

#include <stdbool.h>

#include "cudnn_api.h"
#include "train_lib.h"

/* Unique ids of tensors: those of pointers in leat_gpu_lib_args, scalars on the host, and what exists only inside
 * a graph. X(member of leat_gpu_lib_args) */
#define CUDNN_TENSORS(X)                                                                           \
    X(x)                                                                                           \
    X(dy)                                                                                          \
    X(w)                                                                                           \
    X(bias)                                                                                        \
    X(add)                                                                                         \
    X(scale)                                                                                       \
    X(shift)                                                                                       \
    X(y)                                                                                           \
    X(dx)                                                                                          \
    X(dw)                                                                                          \
    X(dadd)                                                                                        \
    X(dscale)                                                                                      \
    X(dshift)                                                                                      \
    X(mean)                                                                                        \
    X(inverse)                                                                                     \
    X(mask)

enum {
    CUDNN_ID_NONE,
#define CUDNN_ID(name) CUDNN_ID_##name,
    CUDNN_TENSORS(CUDNN_ID)
#undef CUDNN_ID
        CUDNN_ID_EPSILON,
    CUDNN_ID_ZERO,
    CUDNN_ID_INSIDE, /* and what follows */
    CUDNN_MADE = 64,
    CUDNN_OPS = 8,
};

typedef struct leat_cudnn_build {
    const leat_cudnn_api *api;
    void *made[CUDNN_MADE];
    int n_made;
    void *ops[CUDNN_OPS];
    int n_ops;
    int64_t ids[CUDNN_ID_INSIDE]; /* tensors with memory */
    int n_ids;
    int64_t n_inside;
    int status;     /* of the first failure; 0: none */
    char what[900]; /* that failure, with all that the library says of it */
} leat_cudnn_build;

/* Returns an empty descriptor, or NULL after a failure. */
void *leat_cudnn_make(leat_cudnn_build *b, int kind);
void leat_cudnn_set(leat_cudnn_build *b, void *d, int name, int type, int64_t n,
                    const void *values);
void leat_cudnn_set_int(leat_cudnn_build *b, void *d, int name, int type, int value);
void leat_cudnn_set_desc(leat_cudnn_build *b, void *d, int name, void *value);
/* Returns d, ready for use. */
void *leat_cudnn_finalize(leat_cudnn_build *b, void *d);
void leat_cudnn_close(leat_cudnn_build *b);
/* Stores cuDNN's own words about its last failure. */
void leat_cudnn_failed(leat_cudnn_build *b, int status, const char *what);

/* Makes b->ops from the spec. LEAT_E_UNSUPPORTED: no such kind in cuDNN. */
int leat_cudnn_ops(leat_cudnn_build *b, const leat_gpu_lib_spec *spec);

#endif
