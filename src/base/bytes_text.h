/* SPDX-License-Identifier: MIT
 *
 * bytes_text.h: formats a number of bytes for people. Messages and reports call it. */
#ifndef LEAT_BYTES_TEXT_H
#define LEAT_BYTES_TEXT_H

#include <stdint.h>

/* Writes "64 B", "1.34 kB" or "12.5 MB": three digits, units of 1000, in any locale. Returns text. */
const char *leat_bytes_text(int64_t bytes, char text[32]);

#endif
