/* SPDX-License-Identifier: MIT
 *
 * jpeg_scan.c: decodes the entropy-coded part, one row of MCUs at a time. DESIGN: a segment (the bytes
 * between two markers) is copied without stuffed zeros. Then a Huffman loop decodes a row, or to the end of
 * the segment: jpeg_nodes.c all values, jpeg_skim.c only DC values. A segment must end within its last
 * byte, and the expected marker must follow. Everything else is left to libjpeg-turbo.
 *
 * Blocks outside of the window must be read, since codes have no fixed length, but their values do not
 * matter. Their nodes use tables with up to three symbols per entry. The same loop then runs faster, and
 * only the DC differences, which use the normal tables, are right. Whole segments outside of the window
 * are skipped from marker to marker. */
#include "jpeg_bits.h"
#include "jpeg_pair.h"

#include <string.h>

#include "base/check.h"
#include "huffman/jpeg_usual.h"

static int refuse(leat_error *err, const char *why)
{
    return leat_fail(err, LEAT_E_UNSUPPORTED, "jpeg: %s", why);
}

static int refuse_memory(leat_error *err, const leat_jpeg *jpeg)
{
    return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory for %d x %d pixels", jpeg->width,
                     jpeg->height);
}

/* MCUs between places where decoding can start; 0: only at the first MCU. */
static uint32_t interval_of(const leat_jpeg *jpeg)
{
    return jpeg->points ? jpeg->point_mcus : jpeg->restart_mcus;
}

/* Tables for skipping are not worth building if markers are so dense that little is skipped. */
static int skips_some(const leat_jpeg_scan *scan)
{
    const leat_jpeg_window *w = &scan->window;
    const uint32_t n = interval_of(scan->jpeg);
    return !w->dc_only &&
           ((w->x0 > 0 || w->y0 > 0 || w->x1 < scan->jpeg->mcus_x) && (!n || n > 16));
}

static const uint8_t *spec_of(const leat_jpeg_scan *scan, int kind, int i)
{
    const leat_jpeg_component *c = &scan->jpeg->component[i];
    return kind == LEAT_JPEG_DC ? c->dc : c->ac;
}

/* Uses a usual table, or that of an earlier component with the same table in the file, or builds one. */
static int make_table(leat_jpeg_scan *scan, int kind, int i, leat_scratch *scratch, leat_error *err)
{
    const uint8_t *spec = spec_of(scan, kind, i);
    const leat_jpeg_dsp *dsp = scan->jpeg->dsp;
    if ((scan->table[kind][i] = leat_jpeg_usual_find(kind, spec)))
        return LEAT_OK;
    for (int other = 0; other < i; other++)
        if (spec_of(scan, kind, other) == spec) {
            scan->table[kind][i] = scan->table[kind][other];
            return LEAT_OK;
        }
    leat_jpeg_table *table = leat_scratch_take(scratch, sizeof *table);
    if (!table)
        return refuse_memory(err, scan->jpeg);
    table->is_dc = kind == LEAT_JPEG_DC;
    if (kind == LEAT_JPEG_SKIP)
        leat_jpeg_table_join(table, scan->table[LEAT_JPEG_AC][i], dsp);
    else if (scan->window.dc_only && kind == LEAT_JPEG_AC
                 ? leat_jpeg_table_codes(table, spec) < 0
                 : leat_jpeg_table_build(table, spec, kind == LEAT_JPEG_DC, dsp))
        return refuse(err, "bad Huffman table");
    scan->table[kind][i] = table;
    return LEAT_OK;
}

static int make_tables(leat_jpeg_scan *scan, leat_scratch *scratch, leat_error *err)
{
    const int n_kinds = skips_some(scan) ? LEAT_JPEG_N_TABLES : LEAT_JPEG_SKIP;
    int rc = LEAT_OK;
    for (int kind = 0; kind < n_kinds; kind++)
        for (int i = 0; i < scan->jpeg->n_components && !rc; i++)
            rc = make_table(scan, kind, i, scratch, err);
    return rc;
}

int leat_jpeg_scan_memory(leat_jpeg_scan *scan, leat_scratch *scratch)
{
    const leat_jpeg *jpeg = scan->jpeg;
    scan->segment = leat_scratch_take(scratch, (size_t)(jpeg->end - jpeg->scan) + LEAT_JPEG_PAD);
    if (!scan->segment)
        return -1;
    if (scan->window.dc_only)
        return leat_jpeg_skim_open(scan, scratch);
    for (int i = 0; i < jpeg->n_components; i++) {
        const leat_jpeg_component *c = &jpeg->component[i];
        const size_t n = 64 * (size_t)c->n_across * (size_t)c->v;
        scan->blocks[i] = leat_scratch_take(scratch, n * sizeof(int16_t));
        if (!scan->blocks[i])
            return -1;
    }
    return leat_jpeg_nodes_open(scan, scratch);
}

int leat_jpeg_scan_open(leat_jpeg_scan *scan, const leat_jpeg *jpeg, const leat_jpeg_window *window,
                        leat_scratch *scratch, leat_error *err)
{
    *scan = (leat_jpeg_scan){ .jpeg = jpeg, .window = *window, .src = jpeg->scan };
    if (jpeg->is_progressive)
        return leat_jpeg_progressive_open(scan, scratch, err);
    if (window->dc_only && jpeg->end - jpeg->scan > UINT32_MAX) /* jpeg_skim.c counts in 32 bits */
        return refuse(err, "the scan is longer than 4 GiB");
    const int rc = make_tables(scan, scratch, err);
    if (rc)
        return rc;
    scan->n_mcus = (uint64_t)jpeg->mcus_x * (uint64_t)jpeg->mcus_y;
    if (leat_jpeg_scan_memory(scan, scratch) || leat_jpeg_pair_open(scan, scratch))
        return refuse_memory(err, jpeg);
    return LEAT_OK;
}

/* The first MCU after the segment that starts at `mcu`. */
static uint64_t stop_of(const leat_jpeg_scan *scan, uint64_t mcu)
{
    const uint32_t n = interval_of(scan->jpeg);
    return n && n < scan->n_mcus - mcu ? mcu + n : scan->n_mcus;
}

/* Starts reading the `n` bytes of the segment, after `skip` bits (at most 7). */
static void set_bits(leat_jpeg_scan *scan, size_t n, unsigned skip)
{
    const uint64_t first = (uint64_t)scan->segment[0] << (56 + skip);
    memset(scan->segment + n, 0, LEAT_JPEG_PAD);
    scan->segment_end = scan->segment + n;
    scan->bits = (leat_jpeg_bits){ .p = scan->segment, .limit = scan->segment_end + 8 };
    if (n && skip)
        scan->bits = (leat_jpeg_bits){ first, 8 - skip, scan->segment + 1, scan->bits.limit };
}

static int is_start(const leat_jpeg_point *point)
{
    return !point->byte && !point->bit && !point->dc[0] && !point->dc[1] && !point->dc[2];
}

/* Returns 0 if the points are wrong. The segment includes the byte of the next point (two bytes in the file
 * if the first is FF), so that it contains segment_bits. */
static int start_at_point(leat_jpeg_scan *scan)
{
    const leat_jpeg *jpeg = scan->jpeg;
    const leat_jpeg_point *point = &jpeg->points[scan->mcu / jpeg->point_mcus];
    const size_t n_file = (size_t)(jpeg->end - jpeg->scan);
    const int is_last = stop_of(scan, scan->mcu) == scan->n_mcus;
    const uint8_t *stop;
    size_t n;
    if (point->byte > n_file || point->bit > 7 || (!scan->mcu && !is_start(point)) ||
        (!is_last && (point[1].byte < point->byte || point[1].byte > n_file)))
        return 0;
    scan->src = jpeg->scan + point->byte;
    if (is_last) {
        n = jpeg->dsp->unstuff(scan->src, jpeg->end, scan->segment, &scan->src);
    } else {
        const uint8_t *next = jpeg->scan + point[1].byte;
        const uint8_t *end = jpeg->end - next < 2 ? jpeg->end : next + 2;
        n = jpeg->dsp->unstuff(scan->src, next, scan->segment, &stop);
        scan->segment_bits = 8 * (uint64_t)n + point[1].bit;
        n += jpeg->dsp->unstuff(next, end, scan->segment + n, &stop);
    }
    set_bits(scan, n, point->bit);
    for (int i = 0; i < 3; i++)
        scan->dc_sum[i] = point->dc[i];
    return 1;
}

static int start_segment(leat_jpeg_scan *scan, leat_error *err)
{
    const leat_jpeg *jpeg = scan->jpeg;
    if (jpeg->points) {
        if (!start_at_point(scan))
            return refuse(err, "the index belongs to another file");
    } else {
        set_bits(scan, jpeg->dsp->unstuff(scan->src, jpeg->end, scan->segment, &scan->src), 0);
        memset(scan->dc_sum, 0, sizeof scan->dc_sum);
    }
    scan->segment_stop = stop_of(scan, scan->mcu);
    return LEAT_OK;
}

/* Checks that the marker at src is the one that must follow the segment. */
static int pass_marker(leat_jpeg_scan *scan, leat_error *err)
{
    const uint8_t *p = scan->src, *const end = scan->jpeg->end;
    const int is_last = scan->segment_stop == scan->n_mcus;
    const int due = is_last ? 0xd9 : 0xd0 + (int)(scan->n_restarts++ & 7);
    while (p < end && *p == 0xff)
        p++;
    if (p == scan->src || p == end || *p != due)
        return refuse(err, is_last ? "no end marker after the scan" : "wrong restart marker");
    scan->src = p + 1;
    return LEAT_OK;
}

/* Bits of the segment that have been decoded. */
static int64_t bits_used(const leat_jpeg_scan *scan)
{
    return 8 * (int64_t)(scan->bits.p - scan->segment) - (int64_t)(scan->bits.n & 63);
}

/* Checks that decoding has reached the position and the DC values of the next point. */
static int check_point(const leat_jpeg_scan *scan, leat_error *err)
{
    const leat_jpeg_point *point = &scan->jpeg->points[scan->mcu / scan->jpeg->point_mcus];
    int fits = bits_used(scan) == (int64_t)scan->segment_bits;
    for (int i = 0; i < scan->jpeg->n_components; i++)
        fits &= scan->dc_sum[i] == point->dc[i];
    return fits ? LEAT_OK : refuse(err, "the index belongs to another file");
}

static int finish_segment(leat_jpeg_scan *scan, leat_error *err)
{
    if (scan->jpeg->points && scan->mcu < scan->n_mcus)
        return check_point(scan, err);
    const int64_t left = bits_left(&scan->bits, scan->segment_end);
    if (left < 0 || left > 7)
        return refuse(err, left < 0 ? "data ends early" : "data left at the end of a segment");
    return pass_marker(scan, err);
}

/* The next FF that is not the last byte and not followed by a stuffed zero; else the end. */
static const uint8_t *find_marker(const uint8_t *p, const uint8_t *end)
{
    while ((p = memchr(p, 0xff, (size_t)(end - p))) && p + 1 < end && !p[1])
        p += 2;
    return p ? p : end;
}

/* Skips whole segments, so that `mcu` is in the open segment or in the next one. */
static int seek(leat_jpeg_scan *scan, uint64_t mcu, leat_error *err)
{
    if (mcu < scan->segment_stop)
        return LEAT_OK;
    if (scan->jpeg->points) {
        scan->mcu = scan->segment_stop = mcu - mcu % scan->jpeg->point_mcus;
        return LEAT_OK;
    }
    int rc = scan->mcu < scan->segment_stop ? pass_marker(scan, err) : LEAT_OK;
    scan->mcu = scan->segment_stop;
    while (!rc && mcu >= stop_of(scan, scan->mcu)) {
        scan->src = find_marker(scan->src, scan->jpeg->end);
        scan->mcu = scan->segment_stop = stop_of(scan, scan->mcu);
        rc = pass_marker(scan, err);
    }
    return rc;
}

int leat_jpeg_scan_begin(leat_jpeg_scan *scan, uint64_t stop, uint64_t *upto, leat_error *err)
{
    const int rc = scan->mcu == scan->segment_stop ? start_segment(scan, err) : LEAT_OK;
    *upto = stop < scan->segment_stop ? stop : scan->segment_stop;
    return rc;
}

/* The MCUs before `upto` are done. */
static int pass(leat_jpeg_scan *scan, uint64_t upto, leat_error *err)
{
    scan->mcu = upto;
    return upto < scan->segment_stop ? LEAT_OK : finish_segment(scan, err);
}

static int refuse_code(leat_error *err)
{
    return refuse(err, "bad code or DC value, or data ends early");
}

int leat_jpeg_scan_end(leat_jpeg_scan *scan, uint64_t upto, leat_error *err)
{
    const int32_t column = (int32_t)(scan->mcu % (uint64_t)scan->jpeg->mcus_x);
    if (leat_jpeg_nodes_end(scan, scan->nodes, column, (int32_t)(upto - scan->mcu)))
        return refuse_code(err);
    return pass(scan, upto, err);
}

/* Decodes from the next MCU to before `stop`, inside one row of MCUs. */
static int decode_mcus(leat_jpeg_scan *scan, leat_jpeg_node *nodes, uint64_t stop, leat_error *err)
{
    const leat_jpeg *jpeg = scan->jpeg;
    leat_check(scan->mcu <= scan->segment_stop && stop <= scan->n_mcus);
    while (scan->mcu < stop) {
        uint64_t upto;
        int rc = leat_jpeg_scan_begin(scan, stop, &upto, err);
        if (rc)
            return rc;
        const int32_t n_mcus = (int32_t)(upto - scan->mcu);
        const int32_t column = (int32_t)(scan->mcu % (uint64_t)jpeg->mcus_x);
        if (nodes ? leat_jpeg_nodes_decode(scan, nodes, column, n_mcus)
                  : leat_jpeg_skim(scan, column, n_mcus))
            return refuse_code(err);
        if ((rc = pass(scan, upto, err)))
            return rc;
    }
    return LEAT_OK;
}

/* Clears blocks first … last - 1 of each row of blocks of a component. */
static void clear(const leat_jpeg_scan *scan, int i, int32_t first, int32_t last)
{
    const leat_jpeg_component *c = &scan->jpeg->component[i];
    for (int32_t v = 0; v < c->v; v++)
        memset(scan->blocks[i] + 64 * (v * (ptrdiff_t)c->n_across + first), 0,
               (size_t)(last - first) * 64 * sizeof(int16_t));
}

static void clear_window(const leat_jpeg_scan *scan)
{
    for (int i = 0; i < scan->jpeg->n_components; i++) {
        const int32_t h = scan->jpeg->component[i].h;
        clear(scan, i, scan->window.x0 * h, scan->window.x1 * h);
    }
}

/* Clears blocks next to the window that are transformed together with blocks in it. */
void leat_jpeg_scan_clear_beside(const leat_jpeg_scan *scan)
{
    for (int i = 0; i < scan->jpeg->n_components; i++) {
        const int32_t h = scan->jpeg->component[i].h;
        const int32_t first = scan->window.x0 * h, last = scan->window.x1 * h;
        clear(scan, i, first & ~3, first);
        clear(scan, i, last, (last + 3) & ~3);
    }
}

int leat_jpeg_scan_seek_row(leat_jpeg_scan *scan, int32_t row, leat_error *err)
{
    const uint64_t n_across = (uint64_t)scan->jpeg->mcus_x;
    const uint64_t row_start = (uint64_t)row * n_across;
    int rc = seek(scan, row_start + (uint64_t)scan->window.x0, err);
    while (!rc && scan->mcu < row_start) {
        const uint64_t row_end = (scan->mcu / n_across + 1) * n_across;
        rc = decode_mcus(scan, scan->skip_nodes, row_end, err);
    }
    if (!rc && !scan->window.dc_only)
        clear_window(scan);
    return rc;
}

int leat_jpeg_scan_row(leat_jpeg_scan *scan, int32_t row, leat_error *err)
{
    if (scan->jpeg->is_progressive)
        return leat_jpeg_progressive_row(scan, row);
    if (leat_jpeg_pair_take(scan, row))
        return LEAT_OK;
    if (scan->below && row + 1 < scan->window.y1)
        return leat_jpeg_pair_rows(scan, row, err);
    const uint64_t row_start = (uint64_t)row * (uint64_t)scan->jpeg->mcus_x;
    int rc = leat_jpeg_scan_seek_row(scan, row, err);
    if (rc)
        return rc;
    if (scan->window.dc_only)
        return decode_mcus(scan, scan->skip_nodes, row_start + (uint64_t)scan->jpeg->mcus_x, err);
    rc = decode_mcus(scan, scan->nodes, row_start + (uint64_t)scan->window.x1, err);
    leat_jpeg_scan_clear_beside(scan);
    return rc;
}

int leat_jpeg_scan_pass(leat_jpeg_scan *scan, uint64_t stop, leat_error *err)
{
    return decode_mcus(scan, scan->skip_nodes, stop, err);
}

int leat_jpeg_scan_finish(leat_jpeg_scan *scan, leat_error *err)
{
    if (scan->jpeg->points || scan->jpeg->is_progressive || scan->mcu == scan->n_mcus)
        return LEAT_OK;
    if (scan->mcu < scan->segment_stop && bits_left(&scan->bits, scan->segment_end) < 0)
        return refuse(err, "data ends early");
    const int rc = seek(scan, scan->n_mcus - 1, err);
    if (rc)
        return rc;
    if (scan->mcu == scan->segment_stop) { /* the last segment has not been opened */
        scan->src = find_marker(scan->src, scan->jpeg->end);
        scan->segment_stop = scan->n_mcus;
    }
    return pass_marker(scan, err);
}

/* Reads the whole scan into the segment. Returns where the bytes from `middle` on are there, or NULL: the scan
 * has a marker before it, or it is inside a stuffed pair. */
static uint8_t *read_halves(leat_jpeg_scan *scan, const uint8_t *middle)
{
    const leat_jpeg *jpeg = scan->jpeg;
    const uint8_t *stop;
    const size_t n = jpeg->dsp->unstuff(jpeg->scan, middle, scan->segment, &stop);
    if (stop != middle)
        return NULL;
    set_bits(scan, n + jpeg->dsp->unstuff(middle, jpeg->end, scan->segment + n, &scan->src), 0);
    return scan->segment + n;
}

int leat_jpeg_scan_halve(leat_jpeg_scan *scans, int32_t row, leat_scratch *scratch, leat_error *err)
{
    const leat_jpeg *jpeg = scans->jpeg;
    const uint64_t across = (uint64_t)jpeg->mcus_x, first = (uint64_t)row * across;
    const leat_jpeg_point *point = &jpeg->points[first / jpeg->point_mcus];
    const int is_inside = point->byte <= (size_t)(jpeg->end - jpeg->scan) && point->bit < 8;
    const uint8_t *at = is_inside ? read_halves(scans, jpeg->scan + point->byte) : NULL;
    if (!at)
        return refuse(err, "the index belongs to another file");
    scans[1] = scans[0];
    scans[0].segment_stop = first;
    scans[1].segment_stop = scans->n_mcus;
    if (leat_jpeg_skim_memory(&scans[1], scratch))
        return refuse_memory(err, jpeg);
    scans[1].bits = (leat_jpeg_bits){ (uint64_t)*at << (56 + point->bit), 8u - point->bit, at + 1,
                                      scans->bits.limit };
    for (int i = 0; i < 3; i++)
        scans[1].dc_sum[i] = point->dc[i];
    for (scans[1].mcu = first - first % jpeg->point_mcus; scans[1].mcu < first;) {
        const uint64_t left = first - scans[1].mcu, n = left < across ? left : across;
        if (leat_jpeg_skim(&scans[1], 0, (int32_t)n))
            return refuse(err, "the index belongs to another file");
        scans[1].mcu += n;
    }
    return LEAT_OK;
}

int leat_jpeg_scan_either(leat_jpeg_scan *scans, int *which, leat_error *err)
{
    *which = leat_jpeg_skim_rows(scans);
    if (*which < 0)
        return refuse(err, "bad code or DC value, or data ends early");
    return *which && scans[1].mcu == scans->n_mcus ? finish_segment(&scans[1], err) : LEAT_OK;
}

int leat_jpeg_scan_meet(const leat_jpeg_scan *scan, const leat_jpeg_scan *other, leat_error *err)
{
    const int meets = scan->mcu == other->mcu && bits_used(scan) == bits_used(other) &&
                      !memcmp(scan->dc_sum, other->dc_sum, sizeof scan->dc_sum);
    return meets ? LEAT_OK : refuse(err, "the index belongs to another file");
}
