/* SPDX-License-Identifier: MIT
 *
 * gpu_kernels.cu: the kernels; what they do stands in op_*.h. Compiled to a fat binary, which the
 * plugin carries as bytes: no C++ is linked. */
#include "kernel_list.h"
#include "plant.h"
