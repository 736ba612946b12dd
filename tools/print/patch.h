/* SPDX-License-Identifier: MIT
 *
 * patch.h: the difference of two texts as a unified diff, for `patch FILE`. */
#ifndef LEAT_PATCH_H
#define LEAT_PATCH_H

/* before, after: lines that end with '\n', except perhaps the last.
 * path      of the file, in both heads
 * returns   in new memory; "" if the texts are equal; NULL: out of memory */
char *leat_patch_text(const char *before, const char *after, const char *path);

#endif
