/* SPDX-License-Identifier: MIT
 *
 * table.h: writes a table of HTML, a cell at a time. */
#ifndef LEAT_TABLE_H
#define LEAT_TABLE_H

#include <stdio.h>

/* heads: names of the columns, NULL at the end. */
void leat_table_open(FILE *out, const char *const *heads);
void leat_table_row(FILE *out);
void leat_table_row_end(FILE *out);
void leat_table_text(FILE *out, const char *text);
void leat_table_number(FILE *out, double value);
void leat_table_percent(FILE *out, double share);
void leat_table_range(FILE *out, double low, double high);
void leat_table_close(FILE *out);

#endif
