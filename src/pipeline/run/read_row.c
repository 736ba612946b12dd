/* SPDX-License-Identifier: MIT
 *
 * read_row.c: makes one read at once, in a thread of the reader (reader_threads.h). Invariant: it changes nothing but
 * the row, so it needs no lock. */
#include <errno.h>

#include "engine.h"

int leat_read_row_now(void *arg, leat_row_read *row)
{
    const leat_plan *const plan = ((const leat_loader *)arg)->plan;
    uint8_t *const to = leat_row_read_to(row);
    int rc = LEAT_OK;
    row->waited = false;
    if (row->fd < 0) {
        rc = plan->source->table->read(plan->source, leat_order_record(&plan->order, row->sample),
                                       to, row->length, &row->waited);
    } else if (!leat_source_pread_cached(row->fd, to, row->length, row->from)) {
        row->waited = true; /* entries of a cache's file */
        rc = leat_source_pread(row->fd, to, row->length, row->from, NULL, NULL);
    }
    return rc == LEAT_E_AGAIN ? EMFILE : rc < 0 ? EIO : 0;
}
