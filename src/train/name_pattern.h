/* SPDX-License-Identifier: MIT
 *
 * name_pattern.h: names of layers and parameters, or patterns for them with `*`, `?` and `[...]`. rules.c and pretrained.c use
 * it. */
#ifndef LEAT_NAME_PATTERN_H
#define LEAT_NAME_PATTERN_H

#include <stdbool.h>

#include "config/nearest.h"

enum { LEAT_NAME_PATTERN_BYTES = 256 };

/* Whether a key is a pattern, and not a name. */
bool leat_name_pattern_is(const char *key);
/* Whether a key names this or is a pattern for it. A `*` passes over dots. */
bool leat_name_pattern_fits(const char *key, const char *name);
/* Offers a name as what `near->word` may have meant; for a pattern, the pattern with the name's words before its first
 * wildcard. best: memory of near->best. */
void leat_name_pattern_offer(leat_nearest_word *near, const char *name,
                             char best[LEAT_NAME_PATTERN_BYTES]);

#endif
