/* SPDX-License-Identifier: MIT
 *
 * gpu_kernels.cu: all kernels, from the op_<name>.h and train_<name>.h files. nvcc compiles it to a fat binary,
 * which the plugin holds as bytes, so that no C++ is linked. */
#include "kernel_list.h"
#include "measure_add.h"
#include "synthetic_work.h"
#include "train_list.h"
