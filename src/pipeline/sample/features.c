/* SPDX-License-Identifier: MIT
 *
 * features.c: gets a record's features, the first step of a sample. sample.c calls it.
 *
 * DESIGN. There are three ways, chosen for each record: the engine has read its bytes; or the source locates
 * them and the worker reads them here, with the source's `read` if the record is a file of its own; or the source
 * loads the record itself. */
#include "base/scratch.h"
#include "pipeline/source/pread_once.h"
#include "sample_impl.h"

#define ASKED_BYTES 4096 /* for smaller records the page-cache test costs more than it gains: */
#define ASKED_EVERY 16   /* ask for one in 16 */

/* Reads a located record into scratch. */
static int read_record(leat_worker *worker, const leat_extent *at, const uint8_t **out,
                       leat_error *err)
{
    uint8_t *const memory = leat_scratch_take(worker->scratch, at->size);
    if (!memory)
        return leat_fail(err, LEAT_E_NOMEM, "a record of %zu bytes does not fit in scratch",
                         at->size);
    *out = memory;
    if (at->size >= ASKED_BYTES || worker->n_small++ % ASKED_EVERY == 0) {
        if (leat_source_pread_cached(at->fd, memory, at->size, at->offset))
            return LEAT_OK;
        worker->read_waited = true;
    }
    return leat_pread_once(at->fd, memory, at->size, at->offset)
               ? LEAT_OK
               : leat_source_pread(at->fd, memory, at->size, at->offset, NULL, err);
}

/* Reads a record that is a file into scratch. NULL: it cannot; the source then says why, or can `load` it. */
static const uint8_t *read_file(const leat_source *source, leat_worker *worker, uint64_t record,
                                size_t size)
{
    const size_t mark = leat_scratch_mark(worker->scratch);
    uint8_t *const memory =
        source->table->read && size ? leat_scratch_take(worker->scratch, size) : NULL;
    int fd = -1, rc = memory ? source->table->read(source, record, memory, size, &fd) : LEAT_E_DATA;
    if (fd >= 0) {
        worker->n_files_waited++;
        rc = source->table->read(source, record, memory, size, &fd);
    }
    if (rc >= 0)
        return memory;
    leat_scratch_rewind(worker->scratch, mark);
    return NULL;
}

static int fetch(const leat_plan *plan, leat_worker *worker, uint64_t record,
                 const leat_stored *stored, leat_view *features, leat_stopwatch *stopwatch,
                 leat_error *err)
{
    const uint8_t *bytes = stored->is_entry ? NULL : stored->bytes;
    size_t size = stored->size;
    const leat_source *const source = plan->source;
    leat_trace_stage *const stages = worker->trace.stages;
    leat_extent extent = { .fd = -1 };
    int rc = LEAT_OK;
    if (!bytes && source->table->locate &&
        (rc = source->table->locate(source, record, &extent, err)) < 0)
        return rc;
    const uint8_t *const file =
        !bytes && extent.fd < 0 ? read_file(source, worker, record, extent.size) : NULL;
    if (!bytes && !file && extent.fd < 0) {
        size_t n_read = 0;
        rc = source->table->load(source, record, worker->scratch, features, &n_read, err);
        leat_trace_count(&stages[LEAT_STAGE_READ], 1, n_read);
        leat_timing_charge(&stages[LEAT_STAGE_READ], stopwatch);
        return rc;
    }
    if (!bytes) {
        bytes = file;
        if (!file && (rc = read_record(worker, &extent, &bytes, err)) < 0)
            return rc;
        size = extent.size;
        leat_trace_count(&stages[LEAT_STAGE_READ], 1, size);
        leat_timing_charge(&stages[LEAT_STAGE_READ], stopwatch);
    }
    rc = source->table->parse(source, record, bytes, size, worker->scratch, features, err);
    leat_trace_count(&stages[LEAT_STAGE_PARSE], 1, size);
    leat_timing_charge(&stages[LEAT_STAGE_PARSE], stopwatch);
    return rc;
}

/* Drops the JPEG tables of features, or requires them, as engine.jpeg_index says. */
static int take_seeks(const leat_plan *plan, leat_view *features, leat_error *err)
{
    for (int32_t i = 0; i < plan->source->n_features; i++) {
        const leat_seek *const seek = features[i].seek;
        if (plan->engine.jpeg_index == LEAT_JPEG_INDEX_OFF)
            features[i].seek = NULL;
        else if (plan->engine.jpeg_index == LEAT_JPEG_INDEX_REQUIRE && seek && seek->refused)
            return leat_fail(err, LEAT_E_DATA,
                             "the index of JPEG files is damaged or of other bytes: rebuild it "
                             "with `leat index --jpeg --rebuild`, or set engine.jpeg_index: auto");
    }
    return LEAT_OK;
}

int leat_features_fetch(const leat_plan *plan, leat_worker *worker, uint64_t record,
                        const leat_stored *stored, leat_view *features, leat_stopwatch *stopwatch,
                        leat_error *err)
{
    for (int32_t i = 0; i < plan->source->n_features; i++)
        features[i].seek = NULL; /* most sources have none */
    const int rc = fetch(plan, worker, record, stored, features, stopwatch, err);
    return rc < 0 ? rc : take_seeks(plan, features, err);
}
