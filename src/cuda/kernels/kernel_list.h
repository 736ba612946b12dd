/* SPDX-License-Identifier: MIT
 *
 * kernel_list.h: the ops that run on a GPU, one line each. The GPU side of an op is the file op_<name>.h
 * and its line here; the op itself sets LEAT_OP_KERNEL in its flags. An op_<name>.h holds the functions
 * of one element and, behind its include guard, LEAT_KERNEL for each kernel and LEAT_KERNEL_OP for the op.
 *
 * This list has no include guard. gpu_launch.c and the tests' fake GPU include it a second time, with
 * those macros defined as rows of their tables. */
#include "kernel_device_cache.h"
#include "op_cast.h"
#include "op_center_crop.h"
#include "op_color_jitter.h"
#include "op_normalize.h"
#include "op_random_brightness.h"
#include "op_random_contrast.h"
#include "op_random_crop.h"
#include "op_random_erasing.h"
#include "op_random_flip.h"
#include "op_random_hue.h"
#include "op_random_resized_crop.h"
#include "op_random_saturation.h"
#include "op_resize.h"
#include "op_scale.h"
