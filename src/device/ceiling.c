/* SPDX-License-Identifier: MIT
 *
 * ceiling.c: the most that a device reaches, to compare what steps reach with: leat/experiment.h. */
#include <stdio.h>
#include <sys/resource.h>

#include "base/machine.h"
#include "device_table.h"
#include "leat/experiment.h"

/* REPEATS are enqueued at once, so that a launch does not count. */
enum { SMALLEST = 256, LARGEST = 4096, REPEATS = 4, RUNS = 3, TRIES = 12, COPY_BYTES = 32 << 20 };
static const int64_t ENOUGH_NS = 5000000; /* of a run: larger products are hardly faster */

/* How often the kernel took a CPU from a thread of this process, to give it to another. */
static long switches(void)
{
    struct rusage usage = { 0 };
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* The fastest of RUNS, after one that may load libraries. On a device that computes on the CPUs a run counts only if
 * nothing took a CPU from it; *alone: there was one, or an error. */
static int time_work(leat_device *device, const leat_work_options *options, int64_t *ns,
                     bool *alone, leat_error *err)
{
    leat_work *work = NULL;
    int64_t one = 0;
    int counted = 0;
    int rc = leat_work_open(device, options, &work, err);
    if (rc == LEAT_OK)
        rc = leat_work_run(work, ns, err);
    for (int i = 0; i < TRIES && counted < RUNS && rc == LEAT_OK; i++) {
        const long before = switches();
        if ((rc = leat_work_run(work, &one, err)) < 0)
            break;
        one = one > 1 ? one : 1;
        if (device->table->host_memory && switches() != before)
            continue;
        if (counted++ == 0 || one < *ns)
            *ns = one;
    }
    *alone = counted > 0 || rc < 0;
    leat_work_close(&work);
    return rc;
}

/* Whether three matrices, and as much for a library's copies, fit beside what the process has. */
static bool is_room(const leat_device *device, int64_t n, leat_ceiling *out)
{
    leat_machine machine;
    if (!device->table->host_memory)
        return true;
    leat_machine_read("", &machine);
    if (2 * 3 * 4 * n * n <= machine.memory_bytes)
        return true;
    snprintf(out->why, sizeof out->why, "no memory is left for a product (%.200s)",
             machine.memory_why);
    return false;
}

/* A size that fails, because memory ends there, leaves what smaller ones reached. */
static void measure_products(leat_device *device, leat_ceiling *out)
{
    leat_error err = { 0 };
    int64_t ns = 0;
    bool alone = true;
    int rc = LEAT_OK;
    for (int64_t n = SMALLEST; n <= LARGEST && ns < ENOUGH_NS && rc == LEAT_OK; n *= 2) {
        const leat_work_options o = {
            .kind = LEAT_WORK_MATMUL, .n = n, .repeats = REPEATS, .precision = out->precision
        };
        if (!is_room(device, n, out))
            break;
        if ((rc = time_work(device, &o, &ns, &alone, &err)) < 0)
            continue;
        if (!alone) { /* small products may fit between two switches, but they are slow */
            out->flops_per_s = 0;
            break;
        }
        const double rate = 2e9 * (double)n * (double)n * (double)n * REPEATS / (double)ns;
        out->flops_per_s = rate > out->flops_per_s ? rate : out->flops_per_s;
    }
    if (out->flops_per_s > 0)
        *out->why = '\0';
    else if (!*out->why && !alone)
        snprintf(out->why, sizeof out->why, "other programs ran while it was measured");
    else if (!*out->why)
        snprintf(out->why, sizeof out->why, "no product was timed: %.200s", err.message);
}

static void measure_copies(leat_device *device, leat_ceiling *out)
{
    const leat_work_options o = { .kind = LEAT_WORK_COPY, .n = COPY_BYTES, .repeats = REPEATS };
    leat_error err = { 0 };
    int64_t ns = 0;
    bool alone;
    if (time_work(device, &o, &ns, &alone, &err) == LEAT_OK)
        out->copied_bytes_per_s = 1e9 * COPY_BYTES * REPEATS / (double)ns;
    else if (!*out->why)
        snprintf(out->why, sizeof out->why, "no copy was timed: %.200s", err.message);
}

void leat_ceiling_measure(leat_device *device, leat_precision precision, leat_ceiling *out)
{
    if (!out)
        return;
    *out = (leat_ceiling){ .precision = precision };
    if (!device) {
        snprintf(out->why, sizeof out->why, "there is no device");
        return;
    }
    measure_products(device, out);
    if (!device->table->host_memory)
        measure_copies(device, out);
}
