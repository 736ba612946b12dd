/* SPDX-License-Identifier: MIT
 *
 * figure.h: numbers as people read them, in messages, reports and on the page. Each call returns its text by
 * value: printf("%s read\n", leat_figure_bytes(n).text). */
#ifndef LEAT_FIGURE_H
#define LEAT_FIGURE_H

#include <stdint.h>

typedef struct leat_figure {
    char text[36];
} leat_figure;

/* --- on terminals and in messages --- */

leat_figure leat_figure_count(uint64_t n);    /* "50,000" */
leat_figure leat_figure_rate(double per_s);   /* "34,100", "0.412"; 0 below zero */
leat_figure leat_figure_bytes(double bytes);  /* "12.3 MB" */
leat_figure leat_figure_scaled(double value); /* "12.3 G", for a unit behind */
leat_figure leat_figure_ms(double ms);        /* "2.84", "118"; without the unit */

/* --- on the page; NaN is "–" --- */

leat_figure leat_figure_number(double value); /* three digits or more: 0.0123, 4.16, 98.1, 10,464 */
leat_figure leat_figure_unit(double value, const char *unit); /* the same with a unit behind */
leat_figure leat_figure_percent(double share);                /* "28 %", "2.1 %" */
leat_figure leat_figure_times(double ratio);                  /* "1.40×" */
leat_figure leat_figure_range(double low, double high);       /* "low–high"; empty: no interval */

/* A number as it is written, with commas between its thousands. */
leat_figure leat_figure_group(const char *number);

#endif
