/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>
#include <stdlib.h>

#include "files.h"
#include "leat/error.h"

/* --- style -----------------------------------------------------------------------------------------*/

/* Colours on a light and on a dark page. The colours of the parts of a step can be told apart by colour-blind
 * people, too. */
static const struct {
    const char *kind, *property, *light, *dark;
} colours[] = {
    { "text", "fill", "#55544f", "#c3c2b7" },
    { ".strong", "fill", "#141413", "#f5f4ef" },
    { ".grid", "stroke", "#e2e1dc", "#3a3a37" },
    { ".axis", "stroke", "#8a8983", "#8a8983" },
    { ".track", "fill", "#f0efeb", "#2a2a28" },
    { ".whisker", "stroke", "#141413", "#f5f4ef" },
    { ".halo", "stroke", "#fcfcfb", "#1a1a19" },
    { ".wall", "stroke", "#b3261e", "#ff8f85" },
    { ".band", "fill", "#b3261e", "#ff8f85" },
    { ".busy", "fill", "#1a8577", "#12a386" },
    { ".input_wait", "fill", "#57a3f2", "#8fcaf7" },
    { ".exposed_copy", "fill", "#c64a12", "#ea6226" },
    { ".launch", "fill", "#e3b016", "#f2cb4f" },
    { ".sync", "fill", "#8f1d63", "#db6fb9" },
    { ".placement", "fill", "#6b8e23", "#a8c05a" },
    { ".other_host", "fill", "#3c35a5", "#6659f0" },
    { ".both", "fill", "#85847d", "#a3a29a" },
    { ".on", "fill", "#ffffff", "#10100f" },
    { ".unknown", "fill", "#b7b5ad", "#6d6c66" },
};

static const char *const runs[LEAT_CHART_COLOURS][2] = {
    { "#2a78d6", "#5aa9f5" }, { "#c64a12", "#ea6226" }, { "#1a8577", "#12a386" },
    { "#8f1d63", "#db6fb9" }, { "#9a7400", "#f2cb4f" }, { "#3c35a5", "#8b80ff" },
    { "#137c95", "#2bb0c4" }, { "#6f6e68", "#a3a29a" },
};

static void put_colours(FILE *out, int dark)
{
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        fprintf(out, ".chart %s{%s:%s}", colours[i].kind, colours[i].property,
                dark ? colours[i].dark : colours[i].light);
    for (int i = 0; i < LEAT_CHART_COLOURS; i++)
        fprintf(out, ".chart .r%d{stroke:%s}.chart .f%d{fill:%s}", i, runs[i][dark], i,
                runs[i][dark]);
}

void leat_chart_style(FILE *out)
{
    fputs(".chart text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;"
          "font-variant-numeric:tabular-nums}\n"
          ".chart .strong{font-weight:600}.chart .small{font-size:12px}\n"
          ".chart .line{fill:none;stroke-width:2;stroke-linejoin:round}\n"
          ".chart .fit{fill:none;stroke-width:1.5;stroke-dasharray:5 4}\n"
          ".chart .whisker{stroke-width:1.5}.chart .halo{stroke-width:5;opacity:.55}.chart "
          ".wall{stroke-width:1.5;stroke-dasharray:4 3}\n"
          ".chart .band{opacity:.12}.chart .odd{opacity:.6}\n",
          out);
    put_colours(out, 0);
    fputs("\n@media (prefers-color-scheme:dark){", out);
    put_colours(out, 1);
    fputs("}\n", out);
}

/* --- parts -----------------------------------------------------------------------------------------*/

void leat_chart_dot(FILE *out, const char *kind, int form, double x, double y)
{
    if (form == 1)
        fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", kind, x, y);
    else if (form == 2)
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fh8v8h-8z\"/>\n", kind, x - 4, y - 4);
    else if (form == 3)
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fl5 9h-10z\"/>\n", kind, x, y - 5.5);
    else
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\"/>\n", kind, x, y - 5);
}

double leat_chart_keys(FILE *out, const leat_chart_key *keys, int n, double width)
{
    double x = 0, height = 22;
    for (int i = 0; i < n; i++) {
        const double line = keys[i].dash ? 18 : 0;
        const double own = 18 + line + leat_svg_width(keys[i].name) + 16;
        if (x > 0 && x + own - 16 > width) {
            x = 0;
            height += 20;
        }
        if (keys[i].form)
            leat_chart_dot(out, keys[i].kind, keys[i].form, x + 6, height - 14);
        else
            leat_svg_rect(out, x, height - 20, 12, 12, keys[i].kind);
        if (keys[i].dash) /* kind: "f3" is filled, "r3" a line of that colour */
            fprintf(out, "<path class=\"line r%s\"%s d=\"M%.1f %.1fh18\"/>\n", keys[i].kind + 1,
                    keys[i].dash, x + 12, height - 14);
        leat_svg_name(out, x + 18 + line, height - 9.5, "", "start", width - 18 - line,
                      keys[i].name);
        x += own;
    }
    return height + 8;
}

void leat_chart_axis(FILE *out, const leat_axis *x, double top, double bottom, const char *name)
{
    double ticks[LEAT_AXIS_TICKS_MOST];
    const int n = leat_axis_ticks(x, ticks);
    for (int i = 0; i < n; i++) {
        const double at = leat_axis_place(x, ticks[i]);
        leat_svg_line(out, at, top, at, bottom + 4, "grid");
        leat_svg_text(out, at, bottom + 18, "small", at < 8 ? "start" : "middle",
                      leat_axis_tick(x, ticks[i]).text);
    }
    leat_svg_text(out, x->at + x->length / 2, bottom + 38, "small", "middle", name);
}

void leat_chart_whisker(FILE *out, double x1, double x2, double y)
{
    if (isnan(x1) || isnan(x2))
        return;
    leat_svg_line(out, x1, y, x2, y, "halo");
    leat_svg_line(out, x1, y, x2, y, "whisker");
    leat_svg_line(out, x1, y - 4, x1, y + 4, "whisker");
    leat_svg_line(out, x2, y - 4, x2, y + 4, "whisker");
}

/* --- tables ----------------------------------------------------------------------------------------*/

leat_chart_table leat_chart_table_open(FILE *out, const char *const *heads)
{
    leat_chart_table t = { .out = out };
    fputs("<div class=\"wide\"><table><thead><tr>", out);
    for (; heads[t.n_columns]; t.n_columns++)
        leat_svg_put(out, "<th scope=\"col\">%s</th>", heads[t.n_columns]);
    fputs("</tr></thead><tbody>\n", out);
    return t;
}

static void put_cell(leat_chart_table *t, const char *kind, const char *text)
{
    fprintf(t->out, "%s<td%s>", t->at ? "" : "<tr>", kind);
    leat_svg_escape(t->out, text);
    t->at = (t->at + 1) % t->n_columns;
    fputs(t->at ? "</td>" : "</td></tr>\n", t->out);
}

static void put_number(leat_chart_table *t, leat_figure figure)
{
    put_cell(t, " class=\"n\"", *figure.text ? figure.text : "–");
}

void leat_chart_cell_text(leat_chart_table *t, const char *text)
{
    put_cell(t, "", text ? text : "–");
}

void leat_chart_cell_number(leat_chart_table *t, double value)
{
    put_number(t, leat_figure_number(value));
}

void leat_chart_cell_percent(leat_chart_table *t, double share)
{
    put_number(t, leat_figure_percent(share));
}

void leat_chart_cell_range(leat_chart_table *t, double low, double high)
{
    put_number(t, leat_figure_range(low, high));
}

void leat_chart_table_close(leat_chart_table *t)
{
    fputs("</tbody></table></div>\n", t->out);
}

/* --- figures and files -----------------------------------------------------------------------------*/

/* The marks in new memory, and the height. NULL: out of memory. */
static char *draw(const leat_chart *chart, double width, double *height)
{
    char *text = NULL;
    size_t size;
    FILE *const out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    *height = chart->draw(out, chart->data, width);
    return leat_files_close_text(out, &text);
}

/* What is behind the title. */
static const char *simulated(const leat_chart *chart)
{
    return chart->simulated ? " (simulated)" : "";
}

static void put_words(FILE *out, const leat_chart *chart)
{
    leat_svg_put(out, "<title>%s%s</title><desc>%s</desc>\n", chart->title, simulated(chart),
                 chart->about);
}

static int put_svg(FILE *out, const leat_chart *chart, double width, const char *kind)
{
    double height = 0;
    char *const marks = draw(chart, width, &height);
    if (!marks)
        return LEAT_E_NOMEM;
    fprintf(out, "<svg class=\"chart %s\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">", kind, width,
            height);
    put_words(out, chart);
    fprintf(out, "%s</svg>\n", marks);
    free(marks);
    return LEAT_OK;
}

int leat_chart_figure(FILE *out, const leat_chart *chart)
{
    leat_svg_put(out, "<figure class=\"%s\">\n<figcaption><h3>%s%s</h3><p>%s</p></figcaption>\n",
                 chart->id, chart->title, simulated(chart), chart->about);
    if (put_svg(out, chart, LEAT_CHART_WIDE, "big") < 0 ||
        put_svg(out, chart, LEAT_CHART_NARROW, "phone") < 0)
        return LEAT_E_NOMEM;
    fputs("<details><summary>The data as a table</summary>\n", out);
    chart->table(out, chart->data);
    fputs("</details>\n</figure>\n", out);
    return LEAT_OK;
}

enum { EDGE = 20, HEAD = 34 };

/* A chart in a picture, below what is there already; *bottom is moved. Returns LEAT_OK or LEAT_E_NOMEM. */
static int put_below(FILE *out, const leat_chart *chart, int *bottom)
{
    double height = 0;
    char *const marks = draw(chart, LEAT_CHART_WIDE, &height);
    if (!marks)
        return LEAT_E_NOMEM;
    leat_svg_put(out,
                 "<text x=\"%d\" y=\"%d\" class=\"strong title\">%s%s</text>\n"
                 "<g transform=\"translate(%d %d)\">\n",
                 EDGE, *bottom + 14, chart->title, simulated(chart), EDGE, *bottom + HEAD);
    fprintf(out, "%s</g>\n", marks);
    *bottom += (int)ceil(height) + HEAD;
    free(marks);
    return LEAT_OK;
}

/* The charts of a picture in new memory, and where they end. NULL: out of memory. */
static char *draw_all(const leat_chart *charts, int n, int *bottom)
{
    char *text = NULL;
    size_t size;
    int rc = LEAT_OK;
    FILE *const out = open_memstream(&text, &size);
    for (int i = 0; out && rc == LEAT_OK && i < n; i++)
        rc = put_below(out, &charts[i], bottom);
    leat_files_close_text(out, &text);
    if (rc < 0) {
        free(text);
        text = NULL;
    }
    return text;
}

char *leat_chart_file(const leat_chart *charts, int n, size_t *size)
{
    char *text = NULL;
    int bottom = EDGE;
    char *const all = draw_all(charts, n, &bottom);
    FILE *const out = all ? open_memstream(&text, size) : NULL;
    if (out) {
        const int wide = LEAT_CHART_WIDE + 2 * EDGE, high = bottom + EDGE;
        fprintf(out,
                LEAT_FILES_SVG " chart\" viewBox=\"0 0 %d %d\" "
                               "width=\"%d\" height=\"%d\" role=\"img\">",
                wide, high, wide, high);
        put_words(out, charts);
        fputs("<style>\n.page{fill:#fcfcfb}.chart .title{font-size:15px}\n"
              "@media (prefers-color-scheme:dark){.page{fill:#1a1a19}}\n",
              out);
        leat_chart_style(out);
        fprintf(out,
                "</style>\n<rect class=\"page\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n%s</svg>\n",
                wide, high, all);
        leat_files_close_text(out, &text);
    }
    free(all);
    return text;
}
