/* SPDX-License-Identifier: MIT
 *
 * setting.h: a changed value of a config, "engine.threads=8", as a person writes it. */
#ifndef LEAT_SETTING_H
#define LEAT_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#include "leat/config.h"

/* " --set engine.threads=8", quoted if a shell needs it. Appends to `text`. */
void leat_setting_shell(const char *set, char *text, size_t size);

/* True of "pipeline.prefetch.batches=2": the value is written at that stage, in the list `pipeline`. */
bool leat_setting_of_stage(const char *set);

/* "engine: {threads: 8}"; of a stage "prefetch: {batches: 2}". Returns `text`. */
const char *leat_setting_yaml(const char *set, char *text, size_t size);

/* What to write where: "under `engine:`, change `threads: 2` to `threads: 8`". config: as the file is. Returns `text`. */
const char *leat_setting_write(const leat_config *config, const char *set, char *text, size_t size);

#endif
