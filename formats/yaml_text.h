/* SPDX-License-Identifier: MIT
 *
 * yaml_text.h: writes texts as scalars of YAML, for configs that leat prints or makes. */
#ifndef LEAT_YAML_TEXT_H
#define LEAT_YAML_TEXT_H

#include <stddef.h>

typedef enum leat_yaml_kind {
    LEAT_YAML_VALUE, /* from a config: `true` and `1.5` need no quotes */
    LEAT_YAML_NAME, /* a name, which all readers of YAML must read as a text: "yes", "1.5", "null" */
} leat_yaml_kind;

/* Writes a text as a scalar that is valid in a block, in [..] and in {..}, as a key and as a value: plain where
 * YAML allows it, else in double quotes. Allocates nothing.
 *
 * text     UTF-8; other bytes cannot stand in YAML, and become U+FFFD
 * to       cut to fit; NULL if size is 0
 * returns  the length of the whole scalar */
size_t leat_yaml_text(const char *text, leat_yaml_kind kind, char *to, size_t size);

#endif
