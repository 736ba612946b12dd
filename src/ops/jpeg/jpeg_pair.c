/* SPDX-License-Identifier: MIT
 *
 * jpeg_pair.c: decodes two rows of MCUs at the same time, with an index. jpeg_scan.c calls it. DESIGN: each step of
 * the Huffman loop waits for the one before it, so two places of the file take less than twice the time of one. The
 * window's part of each row starts at a point, so the row below does not need the row above. It is decoded by a scan of
 * its own, with blocks of its own, which change places with the scan's own when their row is asked for. */
#include "jpeg_pair.h"

int leat_jpeg_pair_open(leat_jpeg_scan *scan, leat_scratch *scratch)
{
    const leat_jpeg *const jpeg = scan->jpeg;
    const leat_jpeg_window *const w = &scan->window;
    if (!jpeg->points || !jpeg->dsp->pair || w->dc_only || w->y1 - w->y0 < 2 ||
        scan->nodes != scan->skip_nodes)
        return 0;
    leat_jpeg_scan *const below = leat_scratch_take(scratch, sizeof *below);
    if (!below)
        return -1;
    *below = *scan;
    if (leat_jpeg_scan_memory(below, scratch))
        return -1;
    scan->below = below;
    scan->below_row = -1;
    return 0;
}

int leat_jpeg_pair_take(leat_jpeg_scan *scan, int32_t row)
{
    leat_jpeg_scan *const below = scan->below;
    if (!below || scan->below_row != row)
        return 0;
    for (int i = 0; i < 3; i++) {
        int16_t *const blocks = scan->blocks[i];
        scan->blocks[i] = below->blocks[i];
        below->blocks[i] = blocks;
    }
    leat_jpeg_node *const nodes = scan->nodes;
    scan->nodes = scan->skip_nodes = below->nodes;
    below->nodes = below->skip_nodes = nodes;
    scan->below_row = -1;
    return 1;
}

/* A scan with the run that it is decoding, up to MCU `upto`; upto 0: none. */
typedef struct runner {
    leat_jpeg_scan *scan;
    leat_jpeg_block_run run;
    uint64_t stop, upto;
} runner;

static int begin(runner *r, leat_error *err)
{
    int rc;
    if (r->upto || r->scan->mcu >= r->stop)
        return LEAT_OK;
    if ((rc = leat_jpeg_scan_begin(r->scan, r->stop, &r->upto, err)))
        return rc;
    r->run = leat_jpeg_nodes_begin(r->scan, r->scan->nodes, (int32_t)(r->upto - r->scan->mcu));
    return LEAT_OK;
}

static int end(runner *r, leat_error *err)
{
    if (!r->upto || r->run.node < r->run.stop)
        return LEAT_OK;
    const uint64_t upto = r->upto;
    r->upto = 0;
    r->scan->bits = r->run.bits;
    return leat_jpeg_scan_end(r->scan, upto, err);
}

/* Until one of the two, or the only one, has come to the end of its run. Returns 0 or -1. */
static int decode(runner *a, runner *b)
{
    const leat_jpeg_dsp *const dsp = a->scan->jpeg->dsp;
    if (a->upto && b->upto)
        return dsp->pair(&a->run, &b->run);
    leat_jpeg_block_run *const s = a->upto ? &a->run : &b->run;
    const int rc = dsp->flat(&s->bits, s->node, s->stop, s->at, s->table);
    s->node = s->stop;
    return rc;
}

int leat_jpeg_pair_rows(leat_jpeg_scan *scan, int32_t row, leat_error *err)
{
    const uint64_t across = (uint64_t)scan->jpeg->mcus_x;
    runner a = { .scan = scan }, b = { .scan = scan->below };
    int rc;
    a.stop = (uint64_t)row * across + (uint64_t)scan->window.x1;
    b.stop = a.stop + across;
    b.scan->mcu = b.scan->segment_stop = 0; /* no segment is open */
    if ((rc = leat_jpeg_scan_seek_row(a.scan, row, err)) ||
        (rc = leat_jpeg_scan_seek_row(b.scan, row + 1, err)))
        return rc;
    while (a.scan->mcu < a.stop || b.scan->mcu < b.stop) {
        if ((rc = begin(&a, err)) || (rc = begin(&b, err)))
            return rc;
        if (decode(&a, &b))
            return leat_fail(err, LEAT_E_UNSUPPORTED, "jpeg: bad code, or data ends early");
        if ((rc = end(&a, err)) || (rc = end(&b, err)))
            return rc;
    }
    leat_jpeg_scan_clear_beside(a.scan);
    leat_jpeg_scan_clear_beside(b.scan);
    scan->below_row = row + 1;
    return LEAT_OK;
}
