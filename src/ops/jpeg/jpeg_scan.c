/* SPDX-License-Identifier: MIT
 *
 * jpeg_scan.c: the entropy-coded part, one row of MCUs at a time. DESIGN: a segment (what lies
 * between two markers) is copied without its stuffed zeros, then the flat loop runs over the nodes
 * of a row, or as far as the segment goes. The nodes say where each block of the scan lies among
 * the blocks of its component, and stay the same for all rows. A segment must end within its last
 * byte and the marker that is due must follow; all else is left to libjpeg-turbo. */
#include "jpeg_impl.h"

#include <string.h>

static int refuse(leat_error *err, const char *why)
{
    return leat_fail(err, LEAT_E_UNSUPPORTED, "jpeg: %s", why);
}

static int take_memory(leat_jpeg_scan *scan, leat_scratch *scratch, leat_error *err)
{
    const leat_jpeg *jpeg = scan->jpeg;
    const size_t file_bytes = (size_t)(jpeg->end - jpeg->scan);
    const size_t n_nodes = (size_t)jpeg->mcus_x * (size_t)jpeg->blocks_per_mcu;
    for (int i = 0; i < jpeg->n_components; i++)
        scan->blocks_bytes += (size_t)jpeg->component[i].n_across * (size_t)jpeg->component[i].v *
                              64 * sizeof(int16_t);
    scan->tables =
        leat_scratch_take(scratch, 2 * (size_t)jpeg->n_components * sizeof *scan->tables);
    scan->nodes = leat_scratch_take(scratch, n_nodes * sizeof *scan->nodes);
    scan->first_block = leat_scratch_take(scratch, scan->blocks_bytes);
    scan->segment = leat_scratch_take(scratch, file_bytes + LEAT_JPEG_PAD);
    if (!scan->tables || !scan->nodes || !scan->first_block || !scan->segment)
        return leat_fail(err, LEAT_E_NOMEM, "jpeg: no memory for %d x %d pixels", jpeg->width,
                         jpeg->height);
    return LEAT_OK;
}

static void link_nodes(leat_jpeg_scan *scan)
{
    const leat_jpeg *jpeg = scan->jpeg;
    leat_jpeg_node *node = scan->nodes, *previous = NULL;
    for (int32_t mcu = 0; mcu < jpeg->mcus_x; mcu++)
        for (int i = 0; i < jpeg->n_components; i++) {
            const leat_jpeg_component *c = &jpeg->component[i];
            for (int32_t b = 0; b < c->h * c->v; b++, previous = node++) {
                const int32_t index = b / c->h * c->n_across + mcu * c->h + b % c->h;
                int16_t *block = scan->blocks[i] + 64 * (ptrdiff_t)index;
                node->end = block + 64;
                node->ac = scan->tables[2 * i + 1].fast;
                node->after = node + 1;
                if (previous) {
                    previous->next = block;
                    previous->next_dc = scan->tables[2 * i].fast;
                }
            }
        }
    previous->next = scan->first_block; /* the row below starts where this one did */
    previous->next_dc = scan->tables[0].fast;
}

int leat_jpeg_scan_open(leat_jpeg_scan *scan, const leat_jpeg *jpeg, leat_scratch *scratch,
                        leat_error *err)
{
    *scan = (leat_jpeg_scan){ .jpeg = jpeg, .src = jpeg->scan };
    const int rc = take_memory(scan, scratch, err);
    if (rc)
        return rc;
    int16_t *blocks = scan->first_block;
    for (int i = 0; i < jpeg->n_components; i++) {
        const leat_jpeg_component *c = &jpeg->component[i];
        if (leat_jpeg_table_build(&scan->tables[2 * i], c->dc, 1) ||
            leat_jpeg_table_build(&scan->tables[2 * i + 1], c->ac, 0))
            return refuse(err, "bad Huffman table");
        scan->blocks[i] = blocks;
        blocks += (ptrdiff_t)c->n_across * c->v * 64;
    }
    link_nodes(scan);
    scan->mcus_left = (uint64_t)jpeg->mcus_x * (uint64_t)jpeg->mcus_y;
    return LEAT_OK;
}

static void start_segment(leat_jpeg_scan *scan)
{
    const leat_jpeg *jpeg = scan->jpeg;
    const size_t n = jpeg->dsp->unstuff(scan->src, jpeg->end, scan->segment, &scan->src);
    uint32_t mcus = jpeg->restart_mcus;
    if (!mcus || mcus > scan->mcus_left)
        mcus = (uint32_t)scan->mcus_left;
    memset(scan->segment + n, 0, LEAT_JPEG_PAD);
    scan->segment_end = scan->segment + n;
    scan->bits = (leat_jpeg_bits){ .p = scan->segment, .limit = scan->segment_end + 8 };
    scan->segment_left = mcus;
    scan->mcus_left -= mcus;
    memset(scan->dc, 0, sizeof scan->dc);
}

/* The bits must be used up, and the marker must be the one that is due. */
static int finish_segment(leat_jpeg_scan *scan, leat_error *err)
{
    const int64_t bits_left =
        8 * (int64_t)(scan->segment_end - scan->bits.p) + (int64_t)(scan->bits.n & 63);
    const uint8_t *p = scan->src, *const end = scan->jpeg->end;
    if (bits_left < 0 || bits_left > 7)
        return refuse(err, bits_left < 0 ? "data end early" : "data left at the end of a segment");
    while (p < end && *p == 0xff)
        p++;
    const int due = scan->mcus_left ? 0xd0 + (int)(scan->n_restarts++ & 7) : 0xd9;
    if (p == scan->src || p == end || *p != due)
        return refuse(err, due == 0xd9 ? "no end marker after the scan" : "wrong restart marker");
    scan->src = p + 1;
    return LEAT_OK;
}

/* Differences to DC values, as coefficients are stored. Returns 0 if one does not fit. */
static int sum_dc(leat_jpeg_scan *scan, const leat_jpeg_node *node, int32_t n_mcus)
{
    const leat_jpeg *jpeg = scan->jpeg;
    uint32_t beyond = 0;
    for (; n_mcus; n_mcus--)
        for (int i = 0; i < jpeg->n_components; i++) {
            int32_t dc = scan->dc[i];
            for (int32_t b = jpeg->component[i].h * jpeg->component[i].v; b; b--, node++) {
                int16_t *const at = node->end - 64;
                dc += leat_jpeg_coefficient(*at);
                beyond |= (uint32_t)(dc + 32767) > 65534;
                *at = (int16_t)(dc - (dc < 0));
            }
            scan->dc[i] = dc;
        }
    return !beyond;
}

int leat_jpeg_scan_row(leat_jpeg_scan *scan, leat_error *err)
{
    const leat_jpeg *jpeg = scan->jpeg;
    memset(scan->first_block, 0, scan->blocks_bytes);
    for (int32_t mcu = 0; mcu < jpeg->mcus_x;) {
        if (!scan->segment_left)
            start_segment(scan);
        const int32_t in_row = jpeg->mcus_x - mcu;
        const int32_t n_mcus =
            scan->segment_left < (uint32_t)in_row ? (int32_t)scan->segment_left : in_row;
        const leat_jpeg_node *node = scan->nodes + (ptrdiff_t)mcu * jpeg->blocks_per_mcu;
        const leat_jpeg_node *stop = node + (ptrdiff_t)n_mcus * jpeg->blocks_per_mcu;
        if (jpeg->dsp->flat(&scan->bits, node, stop, node->end - 64, scan->tables[0].fast))
            return refuse(err, "bad code, or data end early");
        if (!sum_dc(scan, node, n_mcus))
            return refuse(err, "DC value out of range");
        mcu += n_mcus;
        scan->segment_left -= (uint32_t)n_mcus;
        const int rc = scan->segment_left ? LEAT_OK : finish_segment(scan, err);
        if (rc)
            return rc;
    }
    return LEAT_OK;
}
