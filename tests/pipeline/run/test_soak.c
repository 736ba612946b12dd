/* SPDX-License-Identifier: MIT
 *
 * test_soak.c: runs many epochs: resident memory does not grow after the first ones, with every reader and
 * also when all reads fail. bench/soak.c is the long version. */
#include "fixtures/engine_fixture.h"

#include <unistd.h>

#include "fixtures/counting_malloc.h"
#include "fixtures/record_file.h"
#include "pipeline/read/reader.h"

#define N_RECORDS 1500
#define EPOCHS    60
#define EARLY     15
#define SLACK     (1 << 20) /* bytes that a heap or a stack may move by */

#ifdef COUNTING_MALLOC
static int64_t resident(void)
{
    long long pages = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*s %lld", &pages), 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void take_epoch(leat_loader *loader)
{
    uint8_t seen[N_RECORDS] = { 0 };
    for (int64_t n = 0; n < N_RECORDS;) {
        leat_batch *batch;
        leat_error err;
        check(leat_loader_next(loader, &batch, &err), &err);
        const leat_view id = leat_batch_tensor(batch, 1);
        for (int64_t i = 0; i < id.shape.dims[0]; i++)
            assert_int_equal(seen[((const int64_t *)id.data)[i]]++, 0);
        n += id.shape.dims[0];
        leat_batch_release(batch);
    }
}

TEST(memory_does_not_grow)
{
    static const struct {
        const char *engine;
        leat_reader_faults faults;
    } cases[] = {
        { "{threads: 2}", { 0 } },
        { "{threads: 3, reader: pread}", { 0 } },
        { "{threads: 0, read_bytes: 32 KiB}", { 0 } },
        { "{threads: 2, run: 1, read_bytes: 4 MiB}", { .error_every = 2 } },
        { "{threads: 2, spans: 65536, read_bytes: 4 MiB}", { .short_every = 3 } },
    };
    const leat_loader_options options = { .epochs = -1 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        leat_plan *plan =
            plan_format("source: {tfrecord: {files: '%s', features: {x: {}, id: {}}}}\n"
                        "engine: %s\npipeline: [shuffle, {batch: 50}]\n",
                        path, cases[c].engine);
        leat_reader_fault = cases[c].faults;
        leat_loader *loader = open_loader(plan, &options);
        int64_t early = 0, most = 0;
        for (int e = 0; e < EPOCHS; e++) {
            take_epoch(loader);
            most = resident() > most ? resident() : most;
            early = e < EARLY ? most : early;
        }
        leat_loader_stats_info stats;
        leat_loader_stats(loader, &stats);
        /* a ring of spans that is not full yet fills up, and is part of what was planned */
        const int64_t allowed = SLACK + (strstr(cases[c].engine, "65536") ? stats.memory_bytes : 0);
        if (most - early > allowed)
            fail_msg("%s: %lld bytes more", cases[c].engine, (long long)(most - early));
        close_loader_and_plan(&loader, &plan);
        leat_reader_fault = (leat_reader_faults){ 0 };
    }
}
#endif

static int make_file(void **state)
{
    return make_record_file(N_RECORDS, 1200);
}

SUITE_FIXTURE(make_file, remove_file)

int main(void)
{
#ifndef COUNTING_MALLOC
    (void)make_file;
    (void)remove_file;
    printf("skipped: sanitizers keep what is freed\n");
    return 0;
#else
    return unit_run();
#endif
}
