/* SPDX-License-Identifier: MIT
 *
 * jpeg_nodes.c: the blocks of a row of MCUs, for the loop of jpeg_flat.h. A node tells where a block of the scan is
 * among the blocks of its component. Nodes are the same for all rows. jpeg_scan.c calls it. */
#include "jpeg_impl.h"

/* Links the nodes of a row. Blocks in columns x0 … x1 - 1 are decoded, the others skipped. */
static void link_nodes(leat_jpeg_scan *scan, leat_jpeg_node *node, int32_t x0, int32_t x1)
{
    const leat_jpeg *jpeg = scan->jpeg;
    leat_jpeg_node *previous = NULL;
    for (int32_t mcu = 0; mcu < jpeg->mcus_x; mcu++)
        for (int i = 0; i < jpeg->n_components; i++) {
            const leat_jpeg_component *c = &jpeg->component[i];
            for (int32_t b = 0; b < c->h * c->v; b++, previous = node++) {
                const int32_t index = b / c->h * c->n_across + mcu * c->h + b % c->h;
                int16_t *block = scan->blocks[i] + 64 * (ptrdiff_t)index;
                const leat_jpeg_table *skip = scan->table[LEAT_JPEG_SKIP][i];
                node->end = block + 64;
                node->ac =
                    (skip && (mcu < x0 || mcu >= x1) ? skip : scan->table[LEAT_JPEG_AC][i])->fast;
                node->after = node + 1;
                if (previous) {
                    previous->next = block;
                    previous->next_dc = scan->table[LEAT_JPEG_DC][i]->fast;
                }
            }
        }
    previous->next = scan->blocks[0]; /* the row below starts where this one did */
    previous->next_dc = scan->table[LEAT_JPEG_DC][0]->fast;
}

int leat_jpeg_nodes_open(leat_jpeg_scan *scan, leat_scratch *scratch)
{
    const leat_jpeg *jpeg = scan->jpeg;
    const size_t n = (size_t)jpeg->mcus_x * (size_t)jpeg->blocks_per_mcu;
    const int skips = scan->table[LEAT_JPEG_SKIP][0] != NULL;
    scan->nodes = leat_scratch_take(scratch, n * sizeof *scan->nodes);
    scan->skip_nodes = skips ? leat_scratch_take(scratch, n * sizeof *scan->nodes) : scan->nodes;
    if (!scan->nodes || !scan->skip_nodes)
        return -1;
    link_nodes(scan, scan->nodes, scan->window.x0, scan->window.x1);
    if (skips)
        link_nodes(scan, scan->skip_nodes, 0, 0);
    return 0;
}

/* Sums DC differences of component i to DC values in stored form; `node` is its first. Returns 1 if one is
 * out of range. */
static uint32_t sum_dc(leat_jpeg_scan *scan, int i, const leat_jpeg_node *node, int32_t n_mcus)
{
    const int32_t n = scan->jpeg->component[i].h * scan->jpeg->component[i].v;
    const int32_t step = scan->jpeg->blocks_per_mcu;
    int32_t dc = scan->dc_sum[i];
    uint32_t beyond = 0;
    for (; n_mcus; n_mcus--, node += step)
        for (int32_t b = 0; b < n; b++) {
            int16_t *const at = node[b].end - 64;
            dc += leat_jpeg_coefficient(*at);
            beyond |= (uint32_t)(dc + 32767) > 65534;
            *at = (int16_t)(dc + (dc >> 31));
        }
    scan->dc_sum[i] = dc;
    return beyond;
}

/* The same for all components. Returns 1 if all are in range. */
static int sum_all_dc(leat_jpeg_scan *scan, const leat_jpeg_node *node, int32_t n_mcus)
{
    uint32_t beyond = 0;
    for (int i = 0; i < scan->jpeg->n_components; i++) {
        beyond |= sum_dc(scan, i, node, n_mcus);
        node += scan->jpeg->component[i].h * scan->jpeg->component[i].v;
    }
    return !beyond;
}

leat_jpeg_block_run leat_jpeg_nodes_begin(const leat_jpeg_scan *scan, const leat_jpeg_node *nodes,
                                          int32_t n_mcus)
{
    const leat_jpeg *const jpeg = scan->jpeg;
    const ptrdiff_t column = (ptrdiff_t)(scan->mcu % (uint64_t)jpeg->mcus_x);
    const leat_jpeg_node *const first = nodes + column * jpeg->blocks_per_mcu;
    return (leat_jpeg_block_run){ .bits = scan->bits,
                                  .node = first,
                                  .stop = first + (ptrdiff_t)n_mcus * jpeg->blocks_per_mcu,
                                  .at = first->end - 64,
                                  .table = scan->table[LEAT_JPEG_DC][0]->fast };
}

int leat_jpeg_nodes_end(leat_jpeg_scan *scan, const leat_jpeg_node *nodes, int32_t column,
                        int32_t n_mcus)
{
    return sum_all_dc(scan, nodes + (ptrdiff_t)column * scan->jpeg->blocks_per_mcu, n_mcus) ? 0
                                                                                            : -1;
}

int leat_jpeg_nodes_decode(leat_jpeg_scan *scan, const leat_jpeg_node *nodes, int32_t column,
                           int32_t n_mcus)
{
    const leat_jpeg_dsp *const dsp = scan->jpeg->dsp;
    const leat_jpeg_block_run s = leat_jpeg_nodes_begin(scan, nodes, n_mcus);
    if ((nodes == scan->nodes ? dsp->flat : dsp->skip)(&scan->bits, s.node, s.stop, s.at, s.table))
        return -1;
    return leat_jpeg_nodes_end(scan, nodes, column, n_mcus);
}
