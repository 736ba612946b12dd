/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include "formats/figure.h"

void leat_table_open(FILE *out, const char *const *heads)
{
    fputs("<div class=\"wide\"><table><thead><tr>", out);
    for (; *heads; heads++) {
        fputs("<th scope=\"col\">", out);
        leat_svg_escape(out, *heads);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
}

void leat_table_row(FILE *out)
{
    fputs("<tr>", out);
}

void leat_table_row_end(FILE *out)
{
    fputs("</tr>\n", out);
}

void leat_table_text(FILE *out, const char *text)
{
    fputs("<td>", out);
    leat_svg_escape(out, text ? text : "–");
    fputs("</td>", out);
}

static void put_number(FILE *out, const char *text)
{
    fprintf(out, "<td class=\"n\">%s</td>", *text ? text : "–");
}

void leat_table_number(FILE *out, double value)
{
    put_number(out, leat_figure_number(value).text);
}

void leat_table_percent(FILE *out, double share)
{
    put_number(out, leat_figure_percent(share).text);
}

void leat_table_range(FILE *out, double low, double high)
{
    put_number(out, leat_figure_range(low, high).text);
}

void leat_table_close(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}
