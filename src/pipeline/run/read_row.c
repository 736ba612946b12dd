/* SPDX-License-Identifier: MIT
 *
 * read_row.c: makes one read, in a thread of the reader (reader_threads.h): the first call asks the disk for what the
 * page cache lacks, the second waits for it. Invariant: it changes nothing but the row, so it needs no lock. */
#include <errno.h>

#include "engine.h"

int leat_read_row_now(void *arg, leat_row_read *row)
{
    const leat_plan *const plan = ((const leat_loader *)arg)->plan;
    uint8_t *const to = leat_row_read_to(row);
    const bool again = row->waited;
    int rc = LEAT_OK;
    if (!row->is_entry) {
        rc = plan->source->table->read(plan->source, leat_order_record(&plan->order, row->sample),
                                       to, row->length, &row->fd);
        row->waited |= row->fd >= 0;
    } else if (again) {
        rc = leat_source_pread(row->fd, to, row->length, row->from, NULL, NULL);
    } else {
        row->waited = !leat_source_pread_begin(row->fd, to, row->length, row->from);
    }
    if (rc < 0)
        return rc == LEAT_E_AGAIN ? EMFILE : EIO;
    return row->waited && !again ? EINPROGRESS : 0;
}
