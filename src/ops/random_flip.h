/* SPDX-License-Identifier: MIT
 *
 * random_flip.h: reads the options and plans of random_flip, for fused functions that mirror too. */
#ifndef LEAT_RANDOM_FLIP_H
#define LEAT_RANDOM_FLIP_H

#include <stdbool.h>

#include "leat/op.h"

/* True if the op mirrors left to right, false if top to bottom. */
bool leat_random_flip_is_horizontal(const void *options);
bool leat_random_flip_mirrors(const leat_plan64 *plan);

#endif
