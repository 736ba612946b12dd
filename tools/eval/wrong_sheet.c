/* SPDX-License-Identifier: MIT */
#include "trained.h"

#include <stdlib.h>
#include <string.h>

#include "chart/chart.h"
#include "convert/image_encode.h"
#include "files.h"
#include "print/sheet.h"

enum {
    COLUMNS = 8, /* of leat_sheet_make() */
    GAP_PX = 2,
    CELL_PX = 128, /* of the picture */
    TEXT_PX = 40,
    MARGIN_PX = 8
};

int leat_wrong_sheet_open(leat_wrong_sheet *sheet, const leat_shape *shape, bool images,
                          leat_error *err)
{
    *sheet = (leat_wrong_sheet){ .shape = *shape };
    if (!images)
        return LEAT_OK;
    if (!leat_sheet_fits(shape))
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--sheet: the model reads no images of 1 or 3 channels");
    sheet->image_bytes = (size_t)leat_shape_bytes(shape);
    sheet->images = calloc(LEAT_WRONG_MOST, sheet->image_bytes);
    return sheet->images ? LEAT_OK
                         : leat_fail(err, LEAT_E_NOMEM, "--sheet: %zu bytes",
                                     LEAT_WRONG_MOST * sheet->image_bytes);
}

void leat_wrong_sheet_close(leat_wrong_sheet *sheet)
{
    free(sheet->images);
    *sheet = (leat_wrong_sheet){ 0 };
}

void leat_wrong_sheet_add(leat_wrong_sheet *sheet, const leat_wrong *wrong, const leat_view *batch)
{
    const bool full = sheet->n == LEAT_WRONG_MOST;
    if (full && wrong->probability <= sheet->list[sheet->n - 1].probability)
        return;
    const int32_t image = full ? sheet->list[--sheet->n].image : sheet->n;
    int32_t at = sheet->n++;
    for (; at > 0 && sheet->list[at - 1].probability < wrong->probability; at--)
        sheet->list[at] = sheet->list[at - 1];
    sheet->list[at] = *wrong;
    sheet->list[at].image = image;
    if (sheet->images)
        memcpy(sheet->images + (size_t)image * sheet->image_bytes,
               (const char *)batch->data + (size_t)wrong->row * sheet->image_bytes,
               sheet->image_bytes);
}

/* --- the picture -------------------------------------------------------------------------------*/

static void put_base64(FILE *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned a = bytes[i], b = i + 1 < n ? bytes[i + 1] : 0;
        const unsigned c = i + 2 < n ? bytes[i + 2] : 0;
        putc(digits[a >> 2], out);
        putc(digits[(a & 3) << 4 | b >> 4], out);
        putc(i + 1 < n ? digits[(b & 15) << 2 | c >> 6] : '=', out);
        putc(i + 2 < n ? digits[c & 63] : '=', out);
    }
}

/* Cut to about what fits in a cell. */
static void put_text(FILE *out, int x, int y, const char *before, const char *name)
{
    char cut[19];
    snprintf(cut, sizeof cut, "%s", name);
    fprintf(out, "<text x=\"%d\" y=\"%d\">%s", x, y, before);
    leat_svg_escape(out, cut);
    fputs("</text>\n", out);
}

static void put_cell(FILE *out, const leat_wrong *w, const leat_trained *t, const leat_sheet *drawn,
                     int32_t i, int32_t n)
{
    const int columns = n < COLUMNS ? n : COLUMNS, rows = (n + COLUMNS - 1) / COLUMNS;
    const int wide = (drawn->width + GAP_PX) / columns, tall = (drawn->height + GAP_PX) / rows;
    const int x = MARGIN_PX + i % COLUMNS * (CELL_PX + MARGIN_PX);
    const int y = MARGIN_PX + i / COLUMNS * (CELL_PX + TEXT_PX + MARGIN_PX);
    char text[24], before[32];
    fprintf(out,
            "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" viewBox=\"%d %d %d %d\"><use "
            "href=\"#sheet\"/></svg>\n",
            x, y, CELL_PX, CELL_PX, i % COLUMNS * wide, i / COLUMNS * tall, wide - GAP_PX,
            tall - GAP_PX);
    put_text(out, x, y + CELL_PX + 15, "", leat_trained_class(t, w->actual, text));
    snprintf(before, sizeof before, "%.0f %% ", (double)w->probability * 100);
    put_text(out, x, y + CELL_PX + 31, before, leat_trained_class(t, w->predicted, text));
}

static void put_picture(FILE *out, const leat_wrong_sheet *sheet, const leat_trained *t,
                        const leat_sheet *drawn, const uint8_t *png, size_t size)
{
    const int rows = (sheet->n + COLUMNS - 1) / COLUMNS;
    const int columns = sheet->n < COLUMNS ? sheet->n : COLUMNS;
    const int width = MARGIN_PX + columns * (CELL_PX + MARGIN_PX);
    const int height = MARGIN_PX + rows * (CELL_PX + TEXT_PX + MARGIN_PX);
    fprintf(out,
            LEAT_FILES_SVG
            "\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\">\n<title>classes, and what was predicted instead</title>\n<style>text { "
            "font-family: sans-serif; font-size: 13px } image { image-rendering: pixelated "
            "}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<defs><image "
            "id=\"sheet\" width=\"%d\" height=\"%d\" href=\"data:image/png;base64,",
            width, height, width, height, drawn->width, drawn->height);
    put_base64(out, png, size);
    fputs("\"/></defs>\n", out);
    for (int32_t i = 0; i < sheet->n; i++)
        put_cell(out, &sheet->list[i], t, drawn, i, sheet->n);
    fputs("</svg>\n", out);
}

/* The images in the order of the list, drawn together so that they have the same levels. */
static int draw(const leat_wrong_sheet *sheet, leat_sheet *drawn, leat_error *err)
{
    const int64_t *d = sheet->shape.dims;
    const int64_t dims[] = { sheet->n, d[0], d[1], d[2] };
    leat_view view = { .shape = leat_shape_make(sheet->shape.dtype, 4, dims) };
    char *sorted = malloc((size_t)sheet->n * sheet->image_bytes + 1);
    if (!sorted)
        return leat_fail(err, LEAT_E_NOMEM, "--sheet: out of memory");
    for (int32_t i = 0; i < sheet->n; i++)
        memcpy(sorted + (size_t)i * sheet->image_bytes,
               sheet->images + (size_t)sheet->list[i].image * sheet->image_bytes,
               sheet->image_bytes);
    view.data = sorted;
    const int rc = leat_sheet_make(&view, drawn);
    free(sorted);
    return rc < 0 ? leat_fail(err, rc, "--sheet: %s", leat_code_text(rc)) : rc;
}

static int write_svg(const leat_wrong_sheet *sheet, const leat_trained *t, const leat_sheet *drawn,
                     const char *path, leat_error *err)
{
    char *text = NULL;
    uint8_t *png = NULL;
    size_t length = 0, size = 0;
    int rc = leat_image_encode_png(drawn->pixels, drawn->height, drawn->width, &png, &size, err);
    FILE *out = rc == LEAT_OK ? open_memstream(&text, &length) : NULL;
    if (out)
        put_picture(out, sheet, t, drawn, png, size);
    if (rc == LEAT_OK)
        rc = leat_files_close_text(out, &text)
                 ? leat_files_write(path, text, length, err)
                 : leat_fail(err, LEAT_E_NOMEM, "--sheet: out of memory");
    free(png);
    free(text);
    return rc;
}

int leat_wrong_sheet_write(const leat_wrong_sheet *sheet, const leat_trained *t, const char *path,
                           leat_error *err)
{
    leat_sheet drawn = { 0 };
    int rc = draw(sheet, &drawn, err);
    if (rc == LEAT_OK)
        rc = write_svg(sheet, t, &drawn, path, err);
    free(drawn.pixels);
    return rc;
}
