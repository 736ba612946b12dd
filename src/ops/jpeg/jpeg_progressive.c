/* SPDX-License-Identifier: MIT
 *
 * jpeg_progressive.c: decodes the scans of a progressive file. DESIGN: each scan gives all blocks some bits of
 * some coefficients, so that all scans must be read before the first pixel. Coefficients are kept for the
 * blocks of the window; of the blocks above and beside it, scans after the first need to know which
 * coefficients are not 0 (jpeg_bands.inc), and of the blocks below it nothing. Each scan is decoded as far as
 * the window's last row; from there on only its markers are checked.
 *
 * libjpeg-turbo smooths pictures whose first coefficients are not exact at the end of the file, and warns
 * about scans that do not follow from those before. Both are left to it. */
#include "jpeg_bits.h"

#include <string.h>

enum { MOST_SCANS = 500, SMOOTHED = 10 /* the first coefficients, which libjpeg-turbo looks at */ };

/* One scan: all or some components. */
typedef struct pass {
    int32_t n, index[3];   /* components */
    int32_t first, last;   /* coefficients */
    int32_t before, shift; /* bits that are missing before (0 in a first scan) and after it */
    int32_t across, down;  /* MCUs, which are blocks if n is 1 */
    const leat_jpeg_table *dc[3];
    leat_jpeg_band band;
    int32_t dc_sum[3];
} pass;

/* Columns first … last - 1 and rows from `top` of a component are kept. */
typedef struct kept {
    int32_t first, last, top;
} kept;

typedef struct picture {
    leat_jpeg_scan *scan;
    const leat_jpeg *jpeg;
    leat_jpeg again; /* the header is read anew, up to each scan */
    leat_jpeg_header h;
    uint64_t *masks[3]; /* per component, of all blocks down to the window's last row */
    kept kept[3];
    int16_t *nowhere;      /* a block for what is not needed */
    int8_t missing[3][64]; /* bits of each coefficient that no scan gave; -1: all */
    leat_jpeg_table *tables[3];
    leat_error *err;
} picture;

static int refuse(const picture *p, const char *why)
{
    return leat_fail(p->err, LEAT_E_UNSUPPORTED, "jpeg: %s", why);
}

static int refuse_memory(const picture *p)
{
    return leat_fail(p->err, LEAT_E_NOMEM, "jpeg: no memory for %d x %d pixels", p->jpeg->width,
                     p->jpeg->height);
}

/* --- the header of a scan -------------------------------------------------------------------------- */

static int read_components(const picture *p, pass *s)
{
    const uint8_t *const spec = p->h.scan;
    s->n = p->h.n_scan ? spec[0] : 0;
    if (s->n < 1 || s->n > p->jpeg->n_components || p->h.n_scan != 4 + 2 * (size_t)s->n)
        return refuse(p, "bad scan header");
    for (int32_t i = 0, c = 0; i < s->n; i++, c++) {
        while (c < p->jpeg->n_components && p->h.id[c] != spec[1 + 2 * i])
            c++;
        if (c == p->jpeg->n_components || spec[2 + 2 * i] & 0xcc)
            return refuse(p, "bad scan header");
        s->index[i] = c;
    }
    return LEAT_OK;
}

/* Checks that the scan follows from those before it, and notes what it adds. */
static int read_band(picture *p, pass *s)
{
    const uint8_t *const spec = p->h.scan + 1 + 2 * s->n;
    s->first = spec[0];
    s->last = spec[1];
    s->before = spec[2] >> 4;
    s->shift = spec[2] & 15;
    if (s->last > 63 || s->first > s->last || (!s->first && s->last) || (s->first && s->n > 1) ||
        s->shift > 13 || (s->before && s->shift != s->before - 1))
        return refuse(p, "bad progression");
    for (int32_t i = 0; i < s->n; i++) {
        int8_t *const missing = p->missing[s->index[i]];
        if (s->first && missing[0] < 0)
            return refuse(p, "bad progression");
        for (int32_t k = s->first; k <= s->last; k++) {
            if (missing[k] < 0 ? s->before : !s->before || missing[k] != s->before)
                return refuse(p, "bad progression");
            missing[k] = (int8_t)s->shift;
        }
    }
    return LEAT_OK;
}

static int make_tables(picture *p, pass *s)
{
    for (int32_t i = 0; i < s->n; i++) {
        const int tables = p->h.scan[2 + 2 * i];
        const uint8_t *const spec =
            s->first ? p->h.huffman[1][tables & 3] : p->h.huffman[0][tables >> 4];
        if (!s->first && s->before)
            continue; /* single bits without a code */
        if (!spec)
            return refuse(p, "table missing");
        if (s->first ? leat_jpeg_table_band(p->tables[i], spec, s->before, s->shift)
                     : leat_jpeg_table_build(p->tables[i], spec, 1, p->jpeg->dsp))
            return refuse(p, "bad Huffman table");
        s->dc[i] = p->tables[i];
    }
    return LEAT_OK;
}

static int32_t blocks_of(int32_t samples)
{
    return (samples + 7) / 8;
}

static int read_pass(picture *p, pass *s)
{
    int rc = read_components(p, s);
    if (!rc)
        rc = read_band(p, s);
    if (!rc)
        rc = make_tables(p, s);
    const leat_jpeg_component *c = &p->jpeg->component[s->index[0]];
    s->across = s->n > 1 ? p->jpeg->mcus_x : blocks_of(c->width_px);
    s->down = s->n > 1 ? p->jpeg->mcus_y : blocks_of(c->height_px);
    s->band = (leat_jpeg_band){
        .table = p->tables[0], .first = s->first, .last = s->last, .shift = s->shift
    };
    return rc;
}

/* --- blocks ------------------------------------------------------------------------------------------ */

static inline int16_t *block_at(const picture *p, int32_t i, int32_t y, int32_t x)
{
    const kept *k = &p->kept[i];
    if (y < k->top || x < k->first || x >= k->last)
        return p->nowhere;
    return p->scan->planes[i] + 64 * ((ptrdiff_t)(y - k->top) * p->jpeg->component[i].n_across + x);
}

/* Reads a DC difference; INT32_MIN: no such code. */
static inline int32_t read_difference(leat_jpeg_bits *bits, const leat_jpeg_table *table)
{
    int length;
    refill_bits(bits);
    const uint64_t entry = table->fast[bits->word >> (64 - LEAT_JPEG_LOOKUP_BITS)];
    uint64_t word = bits->word;
    if (entry >> 56 != LEAT_JPEG_MISS) {
        bits->word <<= entry & 63;
        bits->n -= entry & 63;
        return leat_jpeg_coefficient(leat_jpeg_signed_bits(word, entry >> 8, entry >> 16));
    }
    const int size = search_code(table, word, &length);
    if (size < 0)
        return INT32_MIN;
    word <<= length;
    bits->word = word << size;
    bits->n -= (uint64_t)(length + size);
    return size ? (int32_t)(word >> (64 - size)) - (word >> 63 ? 0 : (1 << size) - 1) : 0;
}

/* Reads the DC value of a block, or one bit of it. Returns 0 if it is out of range. */
static inline int read_dc(const pass *s, leat_jpeg_bits *bits, int32_t *dc_sum,
                          const leat_jpeg_table *table, int16_t *block)
{
    if (s->before) {
        refill_bits(bits);
        *block = (int16_t)(*block + (int16_t)((bits->word >> 63) << s->shift));
        bits->word <<= 1;
        bits->n--;
        return 1;
    }
    const int32_t most = 32767 >> s->shift, difference = read_difference(bits, table);
    if (difference == INT32_MIN)
        return 0;
    *dc_sum += difference;
    *block = (int16_t)(*dc_sum * (1 << s->shift) + (*dc_sum >> 31));
    return *dc_sum >= -most && *dc_sum <= most;
}

/* Reads n MCUs of row y. */
static int read_dcs(const picture *p, pass *s, int32_t y, int32_t x, int32_t n)
{
    leat_jpeg_bits bits = s->band.bits;
    for (const int32_t end = x + n; x < end; x++)
        for (int32_t i = 0; i < s->n; i++) {
            const int32_t c = s->index[i];
            const int32_t h = s->n > 1 ? p->jpeg->component[c].h : 1;
            const int32_t v = s->n > 1 ? p->jpeg->component[c].v : 1;
            for (int32_t down = 0; down < v; down++)
                for (int32_t right = 0; right < h; right++)
                    if (bits.p > bits.limit ||
                        !read_dc(s, &bits, &s->dc_sum[i], s->dc[i],
                                 block_at(p, c, y * v + down, x * h + right)))
                        return -1;
        }
    s->band.bits = bits;
    return 0;
}

/* Reads n blocks of row y. */
static int read_blocks(const picture *p, pass *s, int32_t y, int32_t x, int32_t n)
{
    const int32_t i = s->index[0];
    const kept k = p->kept[i];
    uint64_t *const masks = p->masks[i] + (ptrdiff_t)y * p->jpeg->component[i].n_across;
    leat_jpeg_decode_band *const decode = s->before ? p->jpeg->dsp->refine : p->jpeg->dsp->band;
    for (const int32_t end = x + n; x < end;) {
        int16_t *const blocks = block_at(p, i, y, x);
        const int32_t edge = x < k.first ? k.first : x < k.last ? k.last : end;
        const int32_t stop = edge < end ? edge : end;
        if (decode(&s->band, masks + x, blocks, blocks == p->nowhere ? 0 : 64, stop - x))
            return -1;
        x = stop;
    }
    return 0;
}

/* --- a scan ------------------------------------------------------------------------------------------ */

/* The same bits, with the first one of each byte lowest. */
static void reverse_bits(uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v;
        memcpy(&v, bytes + i, 8);
        v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
        v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
        v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
        memcpy(bytes + i, &v, 8);
    }
}

static void start_segment(const picture *p, pass *s)
{
    leat_jpeg_scan *const scan = p->scan;
    const size_t n = p->jpeg->dsp->unstuff(scan->src, p->jpeg->end, scan->segment, &scan->src);
    memset(scan->segment + n, 0, LEAT_JPEG_BAND_PAD);
    if (s->first && s->before)
        reverse_bits(scan->segment, n);
    scan->segment_end = scan->segment + n;
    s->band.bits = (leat_jpeg_bits){ .p = scan->segment, .limit = scan->segment_end + 8 };
    s->band.eob_run = 0;
    memset(s->dc_sum, 0, sizeof s->dc_sum);
}

/* Passes the marker between two segments. */
static int pass_restart(const picture *p, unsigned n)
{
    const uint8_t *at = p->scan->src, *const end = p->jpeg->end;
    while (at < end && *at == 0xff)
        at++;
    if (at == p->scan->src || at == end || *at != 0xd0 + (n & 7))
        return refuse(p, "wrong restart marker");
    p->scan->src = at + 1;
    return LEAT_OK;
}

/* Decodes MCUs from `mcu` to before `stop`, in an open segment. */
static int read_mcus(const picture *p, pass *s, int64_t mcu, int64_t stop)
{
    while (mcu < stop) {
        const int32_t x = (int32_t)(mcu % s->across), y = (int32_t)(mcu / s->across);
        const int64_t left = stop - mcu;
        const int32_t n = left < s->across - x ? (int32_t)left : s->across - x;
        if ((s->first ? read_blocks : read_dcs)(p, s, y, x, n))
            return refuse(p, "bad code, or data ends early");
        mcu += n;
    }
    return LEAT_OK;
}

/* Checks how many bits of a segment are left: only those of its last byte, if it is_whole. */
static int check_end(const picture *p, const pass *s, int is_whole)
{
    const int64_t left = bits_left(&s->band.bits, p->scan->segment_end);
    if (left < 0)
        return refuse(p, "data ends early");
    return is_whole && left > 7 ? refuse(p, "data left at the end of a segment") : LEAT_OK;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Decodes a scan down to the window's last row, and leaves `src` behind it. */
static int read_scan(const picture *p, pass *s)
{
    const leat_jpeg_component *c = &p->jpeg->component[s->index[0]];
    const int64_t n = (int64_t)s->across * s->down, every = p->again.restart_mcus;
    const int64_t rows = s->n > 1 ? p->scan->window.y1 : p->scan->window.y1 * (int64_t)c->v;
    const int64_t stop = s->across * least(rows, s->down);
    int rc = LEAT_OK;
    unsigned n_restarts = 0;
    for (int64_t mcu = 0, end; mcu < n && !rc; mcu = end) {
        end = every ? least(mcu + every, n) : n;
        start_segment(p, s);
        rc = read_mcus(p, s, mcu, least(end, stop));
        if (!rc)
            rc = check_end(p, s, end <= stop);
        if (!rc && end < n)
            rc = pass_restart(p, n_restarts++);
    }
    return rc;
}

/* --- all scans ----------------------------------------------------------------------------------------- */

/* Memory for the window's blocks, which are cleared, and for masks. */
static int take_plane(picture *p, int32_t i, leat_scratch *scratch)
{
    const leat_jpeg_component *c = &p->jpeg->component[i];
    const leat_jpeg_window *w = &p->scan->window;
    const size_t across = (size_t)c->n_across, bytes = 64 * sizeof(int16_t);
    const size_t rows = (size_t)((w->y1 - w->y0) * c->v), down = (size_t)(w->y1 * c->v);
    const size_t first = (size_t)(w->x0 * c->h) & ~(size_t)3;
    const size_t last = ((size_t)(w->x1 * c->h) + 3) & ~(size_t)3;
    p->scan->planes[i] = leat_scratch_take(scratch, across * rows * bytes);
    p->masks[i] = leat_scratch_take(scratch, across * down * sizeof(uint64_t));
    p->kept[i] = (kept){ w->x0 * c->h, w->x1 * c->h, w->y0 * c->v };
    if (!p->scan->planes[i] || !p->masks[i])
        return -1;
    for (size_t y = 0; y < rows; y++)
        memset(p->scan->planes[i] + 64 * (y * across + first), 0, (last - first) * bytes);
    memset(p->masks[i], 0, across * down * sizeof(uint64_t));
    return 0;
}

static int take_memory(picture *p, leat_scratch *scratch)
{
    const size_t n = (size_t)(p->jpeg->end - p->jpeg->scan);
    int rc = 0;
    for (int32_t i = 0; i < p->jpeg->n_components && !rc; i++) {
        rc = take_plane(p, i, scratch);
        p->tables[i] = leat_scratch_take(scratch, sizeof *p->tables[i]);
        rc = p->tables[i] ? rc : -1;
    }
    p->nowhere = leat_scratch_take(scratch, 64 * sizeof(int16_t));
    p->scan->segment = leat_scratch_take(scratch, n + LEAT_JPEG_BAND_PAD);
    return rc || !p->nowhere || !p->scan->segment ? refuse_memory(p) : LEAT_OK;
}

static int check_complete(const picture *p)
{
    for (int32_t i = 0; i < p->jpeg->n_components; i++)
        for (int32_t k = 0; k < SMOOTHED; k++)
            if (p->missing[i][k])
                return refuse(p, "progressive without its last scans");
    return LEAT_OK;
}

int leat_jpeg_progressive_open(leat_jpeg_scan *scan, leat_scratch *scratch, leat_error *err)
{
    const leat_jpeg *const jpeg = scan->jpeg;
    picture p = { .scan = scan, .jpeg = jpeg, .err = err };
    if (scan->window.dc_only)
        return refuse(&p, "progressive");
    int rc = take_memory(&p, scratch);
    memset(p.missing, -1, sizeof p.missing);
    if (!rc)
        rc = leat_jpeg_header_open(&p.h, &p.again, jpeg->scan, (size_t)(jpeg->end - jpeg->scan),
                                   err);
    for (int n = 0; !rc; n++) {
        pass s = { 0 };
        rc = leat_jpeg_header_next(&p.h);
        if (rc || p.h.marker == 0xd9)
            break;
        rc = n < MOST_SCANS ? read_pass(&p, &s) : refuse(&p, "too many scans");
        scan->src = p.h.at;
        if (!rc)
            rc = read_scan(&p, &s);
        p.h.at = scan->src;
    }
    return rc ? rc : check_complete(&p);
}

int leat_jpeg_progressive_row(leat_jpeg_scan *scan, int32_t row)
{
    for (int32_t i = 0; i < scan->jpeg->n_components; i++) {
        const leat_jpeg_component *c = &scan->jpeg->component[i];
        scan->blocks[i] =
            scan->planes[i] + 64 * (ptrdiff_t)c->n_across * c->v * (row - scan->window.y0);
    }
    return LEAT_OK;
}
