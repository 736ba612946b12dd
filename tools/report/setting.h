/* SPDX-License-Identifier: MIT
 *
 * setting.h: a changed value of a config, "engine.threads=8", as a person writes it. */
#ifndef LEAT_SETTING_H
#define LEAT_SETTING_H

#include <stddef.h>

/* " --set engine.threads=8", quoted if a shell needs it. Appends to `text`. */
void leat_setting_shell(const char *set, char *text, size_t size);

/* "engine: {threads: 8}"; of a stage "prefetch: {batches: 2} in pipeline". Returns `text`. */
const char *leat_setting_yaml(const char *set, char *text, size_t size);

#endif
