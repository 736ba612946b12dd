/* SPDX-License-Identifier: MIT
 *
 * curves.h: draws curves as a self-contained SVG picture, for light and dark screens: panels one below another
 * with one horizontal axis. A colour is a run, a dash pattern is a key. */
#ifndef LEAT_CURVES_H
#define LEAT_CURVES_H

#include <stddef.h>

#include "leat/error.h"

enum {
    LEAT_CURVES_RUNS_MOST = 8, /* more colours cannot be told apart */
    LEAT_CURVES_KEYS_MOST = 4
};

typedef struct leat_curve {
    int run, key;  /* which colour and pattern */
    double *x, *y; /* below 1e300 in size */
    size_t n;
} leat_curve;

typedef struct leat_curves_panel {
    const char *keys[LEAT_CURVES_KEYS_MOST];
    int n_keys;
    leat_curve *curves;
    int n_curves;
} leat_curves_panel;

typedef struct leat_curves_picture {
    const char *x_name;
    const char *runs[LEAT_CURVES_RUNS_MOST];
    int n_runs;
    leat_curves_panel *panels;
    int n_panels;
} leat_curves_picture;

/* The picture as text in new memory; free() it. NULL: out of memory. */
char *leat_curves_draw(const leat_curves_picture *picture, size_t *size);

#endif
