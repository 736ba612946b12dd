/* SPDX-License-Identifier: MIT
 *
 * random_flip.h: what the op's options and plans say, for others that do its work on the way. */
#ifndef LEAT_RANDOM_FLIP_H
#define LEAT_RANDOM_FLIP_H

#include <stdbool.h>

#include "leat/op.h"

/* Left to right, not top to bottom. */
bool leat_random_flip_is_horizontal(const void *options);
bool leat_random_flip_mirrors(const leat_plan64 *plan);

#endif
