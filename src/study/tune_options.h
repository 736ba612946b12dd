/* SPDX-License-Identifier: MIT
 *
 * tune_options.h: the table of options that may be tuned, and settings of them. */
#ifndef LEAT_TUNE_OPTIONS_H
#define LEAT_TUNE_OPTIONS_H

#include "leat/tune.h"

enum { LEAT_TUNE_OPTIONS = 9, LEAT_TUNE_VALUES = 8 };

/* An option. Its values are texts, or numbers of threads. */
typedef struct leat_tune_row {
    const char *path; /* "engine.threads" */
    /* "": always; "cpu": training on the CPU; "device": on others; "gpu": on a GPU. */
    const char *when;
    const char *values[LEAT_TUNE_VALUES];
    /* Numbers of threads as multiples of the cores, at least 1. */
    double of_cores[LEAT_TUNE_VALUES];
    const char *initial; /* value if the config does not set it; "cores": their number */
    const char *needs;   /* what the config must have; NULL: nothing */
    const char *unless;  /* a setting under which the option means nothing; NULL: none */
    const char *stage; /* to add where the config has none: then the value is 0; NULL: it has it */
} leat_tune_row;

/* Most important first. */
extern const leat_tune_row leat_tune_rows[LEAT_TUNE_OPTIONS];

/* The i-th option has values[i]; "": as the config says. */
typedef struct leat_tune_settings {
    char values[LEAT_TUNE_OPTIONS][32];
} leat_tune_settings;

/* The values to try of an option, without the present one. cores: of this machine. Returns how many there are. */
size_t leat_tune_settings_others(const leat_tune_settings *s, const leat_config *config,
                                 size_t option, int32_t cores, char values[LEAT_TUNE_VALUES][32]);
/* "engine.threads=2", for leat_config_set(): how the config gets the value. */
void leat_tune_settings_line(const leat_config *config, size_t option, const char *value,
                             char *text, size_t size);
int leat_tune_settings_apply(const leat_tune_settings *s, leat_config *config, leat_error *err);
/* Such lines with "; " between them. */
void leat_tune_settings_text(const leat_tune_settings *s, const leat_config *config, char *text,
                             size_t size);

#endif
