/* SPDX-License-Identifier: MIT
 *
 * bench_input.c: see bench_input.h. */
#include "bench_input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_common.h"
#include "formats/example.h"
#include "formats/tfrecord.h"

void bench_records_write(const char *path, int64_t n, size_t bytes)
{
    leat_tfrecord_writer *writer;
    leat_example_builder *builder = leat_example_builder_open();
    uint8_t *const blob = malloc(bytes);
    leat_format_error err;
    int rc = leat_tfrecord_writer_open(&writer, path, 0, &err);
    for (int64_t r = 0; r < n && rc >= 0; r++) {
        const uint8_t *packed;
        size_t size;
        memset(blob, (int)(r & 255), bytes);
        leat_example_builder_clear(builder);
        if ((rc = leat_example_add_bytes(builder, "x", blob, bytes, &err)) >= 0 &&
            (rc = leat_example_builder_pack(builder, &packed, &size, &err)) >= 0)
            rc = leat_tfrecord_writer_write(writer, packed, size, &err);
    }
    if (rc >= 0)
        rc = leat_tfrecord_writer_commit(writer, &err);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(1);
    }
    leat_tfrecord_writer_close(&writer);
    leat_example_builder_close(&builder);
    free(blob);
}

void bench_file_cached(const char *path, bool cached)
{
    static uint8_t block[1 << 20];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (!cached)
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    while (cached && read(fd, block, sizeof block) > 0) {
    }
    close(fd);
}

leat_plan *bench_plan_open(const char *text)
{
    leat_config *config = NULL;
    leat_plan *plan = NULL;
    leat_error err;
    if (leat_config_parse(text, "bench.yaml", &config, &err) < 0 ||
        leat_plan_open(config, NULL, &plan, &err) < 0)
        leat_error_print(&err, stderr);
    leat_config_close(&config);
    return plan;
}

int64_t bench_epochs_run(const leat_plan *plan, int64_t epochs)
{
    leat_loader *loader = NULL;
    leat_batch *batch;
    leat_error err;
    const leat_loader_options options = { .epochs = epochs };
    const int64_t start = bench_now_ns();
    int rc = leat_loader_open(plan, &options, &loader, &err);
    while (rc == LEAT_OK && (rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
        leat_batch_release(batch);
    const int64_t ns = bench_now_ns() - start;
    if (rc != LEAT_E_END)
        leat_error_print(&err, stderr);
    leat_loader_close(&loader);
    return rc == LEAT_E_END ? ns : -1;
}
