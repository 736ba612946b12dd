/* SPDX-License-Identifier: MIT
 *
 * plan_cache.h: texts on disk between runs, one file each, for the plans of cudnn_plan.c. Folder NULL: in memory, until the
 * process ends, so that a net which is opened again compiles nothing; from 64 MB on nothing more is stored. Any thread.
 *
 * A text belongs to a name and a version. A file of another version is not used, and the next store replaces
 * it. Files are written under another name first, so readers see whole ones; a digest finds accidental damage,
 * not forgery. A cache that cannot be read or written only costs time, so failures are silent. */
#ifndef LEAT_PLAN_CACHE_H
#define LEAT_PLAN_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes of a file are those of this name and version. *text: inside bytes, *n_text bytes long. */
bool leat_plan_cache_parse(const char *bytes, size_t n, const char *name, const char *version,
                           const char **text, size_t *n_text);
/* Returns the text, n bytes long with a 0 behind it, or NULL. The caller frees it. */
char *leat_plan_cache_load(const char *folder, const char *name, const char *version, size_t *n);
bool leat_plan_cache_store(const char *folder, const char *name, const char *version,
                           const char *text, size_t n);

#endif
