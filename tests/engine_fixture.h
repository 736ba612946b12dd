/* SPDX-License-Identifier: MIT
 *
 * engine_fixture.h: what the engine's tests share: plans over rows in memory and over TFRecord files
 * written by the test, user ops that stall or fail, and digests of whole runs. */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/digest.h"
#include "formats/example.h"
#include "formats/tfrecord.h"
#include "leat/leat.h"

#define ROW_FLOATS 24

/* Rows whose every float says which record it is. */
static inline float *make_rows(uint64_t n)
{
    float *rows = malloc((n ? n : 1) * ROW_FLOATS * sizeof *rows);
    for (uint64_t i = 0; i < n * ROW_FLOATS; i++)
        rows[i] = (float)(i / ROW_FLOATS) + (float)(i % ROW_FLOATS) / 64;
    return rows;
}

/* A TFRecord file being written: what is added to `builder` is the next record. */
typedef struct record_writer {
    leat_tfrecord_writer *file;
    leat_example_builder *builder;
} record_writer;

static inline record_writer open_records(const char *path)
{
    leat_format_error err;
    record_writer to = { .builder = leat_example_builder_open() };
    assert_non_null(to.builder);
    assert_int_equal(leat_tfrecord_writer_open(&to.file, path, &err), 0);
    return to;
}

static inline void put_record(const record_writer *to)
{
    const uint8_t *bytes;
    size_t size;
    leat_format_error err;
    assert_int_equal(leat_example_builder_pack(to->builder, &bytes, &size, &err), 0);
    assert_int_equal(leat_tfrecord_writer_write(to->file, bytes, size, &err), 0);
    leat_example_builder_clear(to->builder);
}

static inline void close_records(record_writer *to)
{
    leat_format_error err;
    assert_int_equal(leat_tfrecord_writer_commit(to->file, &err), 0);
    leat_tfrecord_writer_close(&to->file);
    leat_example_builder_close(&to->builder);
}

/* Writes a TFRecord file: per record `x` (floats that say which record it is), `id` (int64) and
 * `blob` (bytes whose length depends on the record). first: id of the file's first record. */
static inline void write_records(const char *path, uint64_t first, uint64_t n, size_t blob_most)
{
    leat_format_error err;
    uint8_t *blob = malloc(blob_most + 1);
    record_writer to = open_records(path);
    for (uint64_t r = first; r < first + n; r++) {
        float x[ROW_FLOATS];
        const int64_t id = (int64_t)r;
        const size_t blob_size = blob_most ? (size_t)(r * 7919 % blob_most) + 1 : 0;
        for (int i = 0; i < ROW_FLOATS; i++)
            x[i] = (float)r + (float)i / 64;
        memset(blob, (int)(r & 0xff), blob_size);
        assert_int_equal(leat_example_add_floats(to.builder, "x", x, ROW_FLOATS, &err), 0);
        assert_int_equal(leat_example_add_int64s(to.builder, "id", &id, 1, &err), 0);
        if (blob_size)
            assert_int_equal(leat_example_add_bytes(to.builder, "blob", blob, blob_size, &err), 0);
        put_record(&to);
    }
    close_records(&to);
    free(blob);
}

static inline void check(int rc, const leat_error *err)
{
    if (rc < 0)
        fail_msg("%s: %s", leat_code_name(rc), err->message);
}

/* The plan of a config as text, which errors call test.yaml. */
static inline int open_text(const char *text, leat_plan **plan, leat_error *err)
{
    leat_config *config;
    *plan = NULL;
    int rc = leat_config_parse(text, "test.yaml", &config, err);
    if (rc < 0)
        return rc;
    rc = leat_plan_open(config, NULL, plan, err);
    leat_config_close(&config);
    return rc;
}

/* The same, which must open. */
static inline leat_plan *plan_of_text(const char *text)
{
    leat_plan *plan;
    leat_error err;
    check(open_text(text, &plan, &err), &err);
    return plan;
}

static inline leat_loader *open_loader(const leat_plan *plan, const leat_loader_options *options)
{
    leat_loader *loader;
    leat_error err;
    check(leat_loader_open(plan, options, &loader, &err), &err);
    return loader;
}

/* Takes all batches that are left: the chain of their digests; *n_batches their number. */
static inline uint64_t take_digest(leat_loader *loader, int64_t *n_batches)
{
    leat_batch *batch;
    leat_error err;
    uint64_t digest = 0;
    int rc;
    *n_batches = 0;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        digest = leat_digest_chain(digest, leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
        (*n_batches)++;
    }
    if (rc != LEAT_E_END)
        check(rc, &err);
    return digest;
}

/* Of a whole run. */
static inline uint64_t run_digest(const leat_plan *plan, const leat_loader_options *options,
                                  int64_t *n_batches)
{
    leat_loader *loader = open_loader(plan, options);
    const uint64_t digest = take_digest(loader, n_batches);
    leat_loader_close(&loader);
    return digest;
}

static inline void pause_ns(long ns)
{
    nanosleep(&(struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 }, NULL);
}

/* --- ops of tests: `stall` (1 sample in 64 takes up to 300 µs), `jitter` (random), `fail_at` ------- */

typedef struct fixture_options {
    int64_t record;
} fixture_options;

static inline int same_shape(const void *o, const leat_shape *in, leat_shape *out, leat_error *err)
{
    (void)o;
    (void)err;
    *out = *in;
    return LEAT_OK;
}

static inline int stall_apply(const void *o, const leat_plan64 *p, const leat_view *in,
                              const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const float first = *(const float *)in->data;
    (void)o;
    (void)p;
    (void)scratch;
    (void)err;
    if ((int64_t)first % 64 == 5)
        pause_ns(((long)first * 37 % 300) * 1000);
    if (out->data != in->data)
        memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_option no_options[] = { LEAT_OPTION_END };
static const leat_op stall_op = { .name = "stall",
                                  .help = "sleeps now and then",
                                  .options = no_options,
                                  .flags = LEAT_OP_IN_PLACE,
                                  .shape = same_shape,
                                  .apply = stall_apply };

static inline void jitter_plan(const void *o, leat_rng *rng, const leat_shape *in, leat_plan64 *out)
{
    const float drawn = leat_rng_f32(rng);
    (void)o;
    (void)in;
    memcpy(out, &drawn, sizeof drawn);
}

static inline int jitter_apply(const void *o, const leat_plan64 *p, const leat_view *in,
                               const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    float drawn;
    (void)o;
    (void)scratch;
    (void)err;
    memcpy(&drawn, p, sizeof drawn);
    for (int64_t i = 0; i < leat_shape_elements(&in->shape); i++)
        ((float *)out->data)[i] = ((const float *)in->data)[i] + drawn;
    return LEAT_OK;
}

static const leat_op jitter_op = { .name = "jitter",
                                   .help = "adds a random number",
                                   .options = no_options,
                                   .flags = LEAT_OP_IN_PLACE | LEAT_OP_RANDOM,
                                   .shape = same_shape,
                                   .plan = jitter_plan,
                                   .apply = jitter_apply };

static const leat_option fail_options[] = {
    LEAT_OPTION_I64(fixture_options, record, "0", 0, 1e9, "record that fails"), LEAT_OPTION_END
};

static inline int fail_apply(const void *o, const leat_plan64 *p, const leat_view *in,
                             const leat_view *out, leat_scratch *scratch, leat_error *err)
{
    const int64_t id = (int64_t) * (const float *)in->data;
    (void)p;
    (void)scratch;
    if (id == ((const fixture_options *)o)->record)
        return leat_fail(err, LEAT_E_DATA, "planted failure at %lld", (long long)id);
    if (out->data != in->data)
        memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    return LEAT_OK;
}

static const leat_op fail_op = { .name = "fail_at",
                                 .help = "fails on one record",
                                 .options_size = sizeof(fixture_options),
                                 .options = fail_options,
                                 .shape = same_shape,
                                 .apply = fail_apply };

#endif
