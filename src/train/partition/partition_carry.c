/* SPDX-License-Identifier: MIT
 *
 * partition_carry.c: moves rows between the devices of a model, and takes times. See partition.h. */
#include <string.h>

#include "base/clock.h"
#include "partition.h"

/* --- times ----------------------------------------------------------------------------------- */

int leat_partition_span_open(leat_partition_span *s, const leat_place *on, leat_error *err)
{
    s->on = on;
    if (on->table->host_memory)
        return LEAT_OK;
    const int rc = on->table->event_open(on->device, &s->start, err);
    return rc < 0 ? rc : on->table->event_open(on->device, &s->end, err);
}

void leat_partition_span_close(leat_partition_span *s)
{
    if (s->start)
        s->on->table->event_close(s->start);
    if (s->end)
        s->on->table->event_close(s->end);
}

static int record(const leat_partition_span *s, leat_event *event, leat_error *err)
{
    const int rc = event ? s->on->table->event_record(event, s->on->stream) : LEAT_OK;
    return rc < 0 ? leat_fail(err, rc, "%s: cannot enqueue an event", s->on->device->info.name)
                  : rc;
}

int leat_partition_span_begin(leat_partition_span *s, leat_error *err)
{
    s->from_ns = leat_clock_ns();
    return record(s, s->start, err);
}

int leat_partition_span_end(leat_partition_span *s, uint64_t step, leat_error *err)
{
    s->step = step;
    s->ns = s->start ? -1 : leat_clock_ns() - s->from_ns;
    return record(s, s->end, err);
}

int64_t leat_partition_span_ns(const leat_partition_span *s, uint64_t step)
{
    if (s->step != step)
        return 0;
    return s->ns >= 0 ? s->ns : s->on->table->event_ns(s->end) - s->on->table->event_ns(s->start);
}

/* --- memory ---------------------------------------------------------------------------------- */

static const leat_place *pinned_by(const leat_carry *c)
{
    return c->from->table->host_memory ? c->to : c->from;
}

leat_carry leat_carry_plan(const leat_place *from, const leat_place *to, size_t row_bytes,
                           int64_t rows, bool made)
{
    return (leat_carry){ .from = from,
                         .to = to,
                         .row_bytes = row_bytes,
                         .bytes = made || from != to ? row_bytes * (size_t)rows : 0,
                         .made = made };
}

/* Simulated devices write nothing, so all begins with zeros. */
static int clear(const leat_carry *c, leat_error *err)
{
    memset(c->host, 0, c->bytes);
    if (!c->there)
        return LEAT_OK;
    const int rc = c->from->table->copy_to_device(c->from->own, c->there, c->host, c->bytes, true);
    return rc < 0 ? leat_fail(err, rc, "%s: cannot copy", c->from->device->info.name)
                  : c->from->table->stream_sync(c->from->own, err);
}

int leat_carry_open(leat_carry *c, leat_error *err)
{
    const leat_place *const from = c->from, *const to = c->to;
    if (!c->bytes)
        return LEAT_OK;
    const bool there = c->made && !from->table->host_memory;
    const bool here = leat_carry_crosses(c) && !to->table->host_memory;
    c->host = pinned_by(c)->table->pinned_alloc(pinned_by(c)->device, c->bytes);
    c->there = there ? from->table->device_alloc(from->device, c->bytes) : NULL;
    c->here = here ? to->table->device_alloc(to->device, c->bytes) : NULL;
    if (!c->host || (there && !c->there) || (here && !c->here))
        return leat_fail(err, LEAT_E_NOMEM,
                         "no memory for the %zu bytes of a batch that go from %s to %s: lower "
                         "pipeline.batch.size, or give these layers one `device`",
                         c->bytes, from->device->info.name, to->device->info.name);
    int rc = clear(c, err);
    if (rc == LEAT_OK)
        rc = leat_partition_span_open(&c->down, from, err);
    return rc < 0 ? rc : leat_partition_span_open(&c->up, to, err);
}

void leat_carry_close(leat_carry *c)
{
    if (c->host)
        pinned_by(c)->table->pinned_free(pinned_by(c)->device, c->host);
    if (c->there)
        c->from->table->device_free(c->from->device, c->there);
    if (c->here)
        c->to->table->device_free(c->to->device, c->here);
    leat_partition_span_close(&c->down);
    leat_partition_span_close(&c->up);
}

float *leat_carry_buffer(const leat_carry *c)
{
    return (float *)(void *)(c->there ? c->there : c->host);
}

/* --- crossings ------------------------------------------------------------------------------- */

static int to_host(leat_carry *c, uint64_t step, const void *from, size_t bytes, leat_error *err)
{
    int rc = leat_partition_span_begin(&c->down, err);
    if (rc == LEAT_OK)
        rc = c->from->table->copy_to_host(c->from->stream, c->host, from, bytes);
    if (rc == LEAT_OK)
        rc = leat_partition_span_end(&c->down, step, err);
    return rc < 0 ? rc : c->from->table->stream_sync(c->from->stream, err);
}

static int to_device(leat_carry *c, uint64_t step, const void *from, size_t bytes, leat_error *err)
{
    const bool pinned = from == c->host;
    int rc = leat_partition_span_begin(&c->up, err);
    if (rc == LEAT_OK)
        rc = c->to->table->copy_to_device(c->to->stream, c->here, from, bytes, pinned);
    return rc < 0 ? rc : leat_partition_span_end(&c->up, step, err);
}

int leat_carry_run(leat_carry *c, uint64_t step, const void **data, int64_t rows,
                   leat_step_times *times, leat_error *err)
{
    const size_t bytes = c->row_bytes * (size_t)rows;
    int rc = LEAT_OK;
    if (!*data || !leat_carry_crosses(c))
        return LEAT_OK;
    times->crossings++;
    times->crossed_bytes += (int64_t)bytes;
    if (!c->from->table->host_memory) {
        rc = to_host(c, step, *data, bytes, err);
        *data = c->host;
    }
    if (rc == LEAT_OK && !c->to->table->host_memory) {
        rc = to_device(c, step, *data, bytes, err);
        *data = c->here;
    }
    return rc < 0
               ? leat_fail(err, rc, "cannot copy %zu bytes from %s to %s: %s", bytes,
                           c->from->device->info.name, c->to->device->info.name, leat_code_text(rc))
               : LEAT_OK;
}
