/* SPDX-License-Identifier: MIT
 *
 * cublaslt.h: products of matrices by cuBLASLt for the DENSE primitives of train_lib.h.
 *
 * DESIGN: a row-major matrix is the transpose of a column-major one in the same memory, so the products are
 * written for the transposes, and nothing is copied:
 *     forward        y' [out, rows] = w' [out, in] · x' [in, rows]; bias and relu in its epilogue
 *     data           dx' [in, rows] = (w')' · dy' [out, rows]
 *     weights        dw' [out, in] = dy' [out, rows] · (x')'; the bias's gradient is the sum over dy'
 * A matmul can be described without a GPU; only choosing and running it need one. */
#ifndef LEAT_CUBLASLT_H
#define LEAT_CUBLASLT_H

#include "train_lib.h"

struct leat_cublaslt_api;
struct leat_cublaslt_choice;
typedef struct leat_cublaslt_matmul leat_cublaslt_matmul;

int leat_cublaslt_open(const struct leat_cublaslt_api *api, const leat_gpu_lib_spec *spec,
                       leat_cublaslt_matmul **out, leat_error *err);
/* Asks the heuristics for up to `most` ways, best first. LEAT_E_UNSUPPORTED: there is none. */
int leat_cublaslt_ways(leat_cublaslt_matmul *m, void *handle, int most,
                       struct leat_cublaslt_choice *ways, int *n, leat_error *err);
/* Takes one of them; returns its workspace in bytes. */
size_t leat_cublaslt_take(leat_cublaslt_matmul *m, const struct leat_cublaslt_choice *way);
size_t leat_cublaslt_workspace(const leat_cublaslt_matmul *m); /* of the way that was taken */
/* Enqueues the way that was taken. */
int leat_cublaslt_run(leat_cublaslt_matmul *m, void *handle, cudaStream_t stream,
                      const leat_gpu_lib_args *args, leat_error *err);
void leat_cublaslt_close(leat_cublaslt_matmul **matmul);

#endif
