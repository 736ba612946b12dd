/* SPDX-License-Identifier: MIT
 *
 * train_lib.c: the libraries of training; see train_lib.h. */
#include "train_lib.h"

#include "gpu.h"

static int lib_open(const leat_gpu_lib_options *options, leat_gpu_lib **out, leat_error *err)
{
    (void)options;
    *out = NULL;
    return leat_gpu_fail(err, LEAT_E_UNSUPPORTED,
                         "this build of the CUDA plugin has no training libraries");
}

const leat_gpu_lib_table leat_gpu_lib_functions = {
    .name = "no library",
    .open = lib_open,
};
