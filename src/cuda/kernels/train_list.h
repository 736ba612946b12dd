/* SPDX-License-Identifier: MIT
 *
 * train_list.h: the kernels of training. Like kernel_list.h it has no include guard: the tests' fake GPU includes
 * it a second time for its table. */
#include "train_each.h"
#include "train_loss.h"
#include "train_norm.h"
#include "train_pool.h"
#include "train_update.h"
