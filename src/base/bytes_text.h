/* SPDX-License-Identifier: MIT
 *
 * bytes_text.h: a number of bytes as people read it. */
#ifndef LEAT_BYTES_TEXT_H
#define LEAT_BYTES_TEXT_H

#include <stdint.h>

/* "64 B", "1.34 kB", "12.5 MB": three digits, in units of 1000, the same in every locale. Returns text. */
const char *leat_bytes_text(int64_t bytes, char text[32]);

#endif
