/* SPDX-License-Identifier: MIT
 *
 * work.c: work of a known size on a device, for measuring: leat/experiment.h. It enqueues kernels and copies through
 * the device's table, like a training step, and takes the end from an event, so that a late wake-up of the
 * host does not count. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device_table.h"
#include "leat/experiment.h"

enum { A, B, C, N_ARRAYS };

struct leat_work {
    leat_device *device;
    leat_work_options options;
    size_t bytes; /* of an array */
    uint8_t *on_device[N_ARRAYS];
    uint8_t *host[N_ARRAYS]; /* NULL: not needed */
    leat_stream *stream;
    leat_event *done;
};

/* --- open and close ----------------------------------------------------------------------------- */

static int check(const leat_device *device, const leat_work_options *o, leat_error *err)
{
    const leat_device_table *table = device->table;
    if ((unsigned)o->kind > LEAT_WORK_COPY || (unsigned)o->precision > LEAT_PRECISION_BF16)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_work_open: there is no kind %d or precision %d", (int)o->kind,
                         (int)o->precision);
    if (o->n < 1 || o->parts < 0 || o->parts > o->n || o->repeats < 0 || o->on_host < 0 ||
        o->on_host > (o->repeats ? o->repeats : 1))
        return leat_fail(
            err, LEAT_E_ARGUMENT,
            "leat_work_open: n must be 1 or more, parts at most n, on_host at most repeats");
    if (o->n > (o->kind == LEAT_WORK_MATMUL ? INT64_C(1) << 20 : INT64_C(1) << 40))
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_work_open: n is too large");
    if ((o->kind == LEAT_WORK_MATMUL && !table->matmul) ||
        (o->kind == LEAT_WORK_ADD && !table->add))
        return leat_fail(err, LEAT_E_UNSUPPORTED, "%s has no kernel to measure %s with",
                         device->info.name,
                         o->kind == LEAT_WORK_MATMUL ? "a matrix product" : "a sum");
    return LEAT_OK;
}

static size_t array_bytes(const leat_work_options *o)
{
    const size_t n = (size_t)o->n;
    return o->kind == LEAT_WORK_MATMUL ? 4 * n * n : o->kind == LEAT_WORK_ADD ? 4 * n : n;
}

static uint8_t *host_alloc(leat_work *work)
{
    leat_device *device = work->device;
    return work->options.pageable ? leat_device_host_alloc(device, work->bytes)
                                  : device->table->pinned_alloc(device, work->bytes);
}

static void host_free(leat_work *work, uint8_t *memory)
{
    if (memory && work->options.pageable)
        leat_device_host_free(work->device, memory);
    else if (memory)
        work->device->table->pinned_free(work->device, memory);
}

/* Small numbers everywhere: no page is untouched, and products stay finite. */
static void fill(uint8_t *memory, size_t bytes)
{
    float *values = (float *)(void *)memory;
    for (size_t i = 0; i < bytes / sizeof *values; i++)
        values[i] = 0.001f * (float)(i % 7);
    memset(memory + bytes / sizeof *values * sizeof *values, 0, bytes % sizeof *values);
}

static bool uses_host(const leat_work_options *o, const leat_device_table *table)
{
    return o->kind == LEAT_WORK_COPY || o->on_host || (o->copies && !table->host_memory);
}

static int alloc(leat_work *work, leat_error *err)
{
    const leat_device_table *table = work->device->table;
    const bool host = uses_host(&work->options, table);
    const int n = work->options.kind == LEAT_WORK_COPY ? 1 : N_ARRAYS;
    for (int i = 0; i < n; i++) {
        work->on_device[i] = table->device_alloc(work->device, work->bytes);
        work->host[i] = host ? host_alloc(work) : NULL;
        if (!work->on_device[i] || (host && !work->host[i]))
            return leat_fail(err, LEAT_E_NOMEM, "work: %zu bytes for an array", work->bytes);
        if (table->host_memory)
            fill(work->on_device[i], work->bytes);
        if (host)
            fill(work->host[i], work->bytes);
    }
    return LEAT_OK;
}

/* Copies the operands to a device's own memory, which may be all zeros: a product of zeros takes less power than
 * others, so that a GPU computes it faster. */
static int upload(leat_work *work, leat_error *err)
{
    const leat_device_table *table = work->device->table;
    if (table->host_memory || work->device->info.simulated || work->options.kind == LEAT_WORK_COPY)
        return LEAT_OK;
    uint8_t *host = leat_device_host_alloc(work->device, work->bytes);
    int rc = host ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "work: %zu bytes", work->bytes);
    if (host)
        fill(host, work->bytes);
    for (int i = A; i <= B && rc == LEAT_OK; i++)
        if ((rc = table->copy_to_device(work->stream, work->on_device[i], host, work->bytes,
                                        false)) < 0)
            leat_fail(err, rc, "%s: operands cannot be copied", work->device->info.name);
    if (rc == LEAT_OK)
        rc = table->stream_sync(work->stream, err);
    if (host)
        leat_device_host_free(work->device, host);
    return rc;
}

int leat_work_open(leat_device *device, const leat_work_options *options, leat_work **out,
                   leat_error *err)
{
    if (!device || !options || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_work_open: device, options and out must be given");
    *out = NULL;
    int rc = check(device, options, err);
    if (rc < 0)
        return rc;
    leat_work *work = calloc(1, sizeof *work);
    if (!work)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *work);
    work->device = device;
    work->options = *options;
    work->options.parts += !options->parts;
    work->options.repeats += !options->repeats;
    work->bytes = array_bytes(options);
    if ((rc = alloc(work, err)) < 0 ||
        (rc = device->table->stream_open(device, &work->stream, err)) < 0 ||
        (rc = device->table->event_open(device, &work->done, err)) < 0 ||
        (rc = upload(work, err)) < 0)
        leat_work_close(&work);
    *out = work;
    return rc;
}

void leat_work_close(leat_work **at)
{
    if (!at || !*at)
        return;
    leat_work *work = *at;
    const leat_device_table *table = work->device->table;
    if (work->stream)
        table->stream_close(work->stream);
    if (work->done)
        table->event_close(work->done);
    for (int i = 0; i < N_ARRAYS; i++) {
        if (work->on_device[i])
            table->device_free(work->device, work->on_device[i]);
        host_free(work, work->host[i]);
    }
    free(work);
    *at = NULL;
}

/* --- run ---------------------------------------------------------------------------------------- */

static float *floats(uint8_t *memory, int64_t from)
{
    return (float *)(void *)memory + from;
}

/* The kernels of one repeat, by the functions of a table, on arrays that this table computes on. */
static int kernels(const leat_work *work, const leat_device_table *table, uint8_t *const *arrays)
{
    const leat_work_options *o = &work->options;
    int rc = LEAT_OK;
    for (int64_t i = 0; i < o->parts && rc == LEAT_OK; i++) {
        const int64_t from = o->n * i / o->parts, n = o->n * (i + 1) / o->parts - from;
        if (o->kind == LEAT_WORK_MATMUL)
            rc = table->matmul(work->stream, o->precision, floats(arrays[A], from * o->n),
                               floats(arrays[B], 0), floats(arrays[C], from * o->n), n, o->n);
        else
            rc = table->add(work->stream, floats(arrays[A], from), floats(arrays[B], from),
                            floats(arrays[C], from), n);
    }
    return rc;
}

static int send(const leat_work *work, int array)
{
    return work->device->table->copy_to_device(work->stream, work->on_device[array],
                                               work->host[array], work->bytes,
                                               !work->options.pageable);
}

static int fetch(const leat_work *work, int array)
{
    return work->device->table->copy_to_host(work->stream, work->host[array],
                                             work->on_device[array], work->bytes);
}

/* One repeat on the CPU instead: A comes to the host, C goes to the device. */
static int detour(const leat_work *work, leat_error *err)
{
    const leat_device_table *table = work->device->table;
    int rc;
    if (table->host_memory)
        return kernels(work, table, work->on_device);
    if ((rc = fetch(work, A)) < 0 || (rc = table->stream_sync(work->stream, err)) < 0 ||
        (rc = kernels(work, &leat_device_cpu, work->host)) < 0)
        return rc;
    return send(work, C);
}

static int once(const leat_work *work, bool on_host, leat_error *err)
{
    const leat_device_table *table = work->device->table;
    const bool copies = work->options.copies && !table->host_memory;
    int rc = LEAT_OK;
    if (work->options.kind == LEAT_WORK_COPY)
        return send(work, A);
    if (on_host)
        return detour(work, err);
    if (copies && ((rc = send(work, A)) < 0 || (rc = send(work, B)) < 0))
        return rc;
    rc = kernels(work, table, work->on_device);
    return rc == LEAT_OK && copies ? fetch(work, C) : rc;
}

int leat_work_run(leat_work *work, int64_t *ns, leat_error *err)
{
    if (!work || !ns)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_work_run: work and ns must be given");
    const leat_device_table *table = work->device->table;
    const leat_work_options *o = &work->options;
    const int64_t start_ns = leat_clock_ns();
    int rc = LEAT_OK;
    for (int64_t i = 0; i < o->repeats && rc == LEAT_OK;
         i++) /* Bresenham: on_host of them, evenly */
        rc = once(work, (i + 1) * o->on_host / o->repeats != i * o->on_host / o->repeats, err);
    if (rc == LEAT_OK && (rc = table->event_record(work->done, work->stream)) == LEAT_OK)
        rc = table->event_sync(work->done);
    if (rc < 0) {
        char why[256] = "";
        if (table->explain)
            table->explain(work->device, why, sizeof why);
        return leat_fail(err, rc, "%s: %s", work->device->info.name,
                         *why ? why : leat_code_text(rc));
    }
    *ns = table->event_ns(work->done) - start_ns;
    return LEAT_OK;
}
