/* SPDX-License-Identifier: MIT
 *
 * test_tfrecord_scatter.c: large values of records go from the file straight into their rows. Batches are the same as
 * when each record is read whole: for every order and batch size, with records that are built differently, have
 * other sizes, or are damaged in any of their parts. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "pipeline/plan/plan_impl.h"
#include "pipeline/source/tfrecord_impl.h"

enum { N = 60, A = 20000, B = 16384, SMALL = 100 };

/* Record r, to be damaged later. odd: 0: as the others; 1: a label of two bytes; 2: one more byte in `a`. */
static void put(const record_writer *to, int r, int odd)
{
    static uint8_t bytes[A + 1];
    const int64_t label = odd == 1 ? 300 : r;
    const float x[] = { (float)r, 0.5f };
    for (int i = 0; i <= A; i++)
        bytes[i] = (uint8_t)(i * 7 + r * 13 + i / 251);
    assert_int_equal(leat_example_add_bytes(to->builder, "a", bytes, odd == 2 ? A + 1 : A, NULL),
                     0);
    assert_int_equal(leat_example_add_bytes(to->builder, "b", bytes + 5, B, NULL), 0);
    assert_int_equal(leat_example_add_bytes(to->builder, "c", bytes + 9, SMALL, NULL), 0);
    assert_int_equal(leat_example_add_int64s(to->builder, "label", &label, 1, NULL), 0);
    assert_int_equal(leat_example_add_floats(to->builder, "x", x, 2, NULL), 0);
    put_record(to);
}

/* odd: kind of record ODD. */
enum { ODD = 33 };
static void write_file(const char *name, int odd)
{
    record_writer to = open_records(in_folder(name));
    for (int r = 0; r < N; r++)
        put(&to, r, r == ODD ? odd : 0);
    close_records(&to);
}

static const char *const wanted[] = {
    "{a: {}, b: {}, c: {}, label: {}, x: {}}", "{b: {}}", "{label: {}, a: {}, x: {}}",
    "{a: {}, twin: {key: a}, label: {}}" /* one value for two tensors */
};

/* The op of `a` and others: whole, which is a copy; or that and one that changes nothing. */
static leat_plan *plan_of(const char *name, const char *features, bool is_copy, const char *more)
{
    static const struct {
        const char *tensor;
        int size;
    } raw[] = { { "a:", A }, { "twin:", A }, { "b:", B }, { "c:", SMALL } };
    char text[2000];
    int n = snprintf(text, sizeof text,
                     "source: {tfrecord: {files: '%s', features: %s}}\n"
                     "engine: {reader: pread, threads: 2, digest: true}\npipeline:\n",
                     in_folder(name), features);
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++)
        if (strstr(features, raw[i].tensor))
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "  - map: {tensor: %.*s, ops: [{decode_raw: {shape: [%d]}}%s]}\n",
                          (int)strlen(raw[i].tensor) - 1, raw[i].tensor, raw[i].size,
                          is_copy ? "" : ", {reshape: [-1]}");
    snprintf(text + n, sizeof text - (size_t)n, "%s", more);
    return plan_of_text(text);
}

static uint64_t digest_of(const char *name, const char *features, bool is_copy, const char *more)
{
    int64_t n;
    const uint64_t digest = digest_and_close(plan_of(name, features, is_copy, more), 2, &n);
    assert_true(n > 0);
    return digest;
}

static void compare_all(const char *name, const char *on_error)
{
    static const char *const stages[] = { "  - batch: 32\n", "  - batch: 1\n",
                                          "  - shuffle\n  - batch: 7\n",
                                          "  - take: 40\n  - batch: 64\n" };
    for (size_t f = 0; f < sizeof wanted / sizeof *wanted; f++)
        for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
            char more[100];
            snprintf(more, sizeof more, "%s%s", on_error, stages[s]);
            if (digest_of(name, wanted[f], true, more) != digest_of(name, wanted[f], false, more))
                fail_msg("%s, features %zu, stages %zu", name, f, s);
        }
}

TEST(batches_are_the_same)
{
    write_file("same.tfrecord", 0);
    write_file("label.tfrecord", 1);
    write_file("longer.tfrecord", 2);
    compare_all("same.tfrecord", "");
    compare_all("label.tfrecord", "");
    compare_all("longer.tfrecord", "  - on_error: mask\n");
    compare_all("*.tfrecord", "  - on_error: mask\n");
}

/* --- damage ------------------------------------------------------------------------------------- */

/* Changes a byte of record ODD, after its index was made. at: from the start of the record. */
static void damage(const char *name, size_t record_bytes, size_t at)
{
    FILE *const file = fopen(in_folder(name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(ODD * record_bytes + at), SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    fputc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

static int error_of(bool is_copy, leat_error *err)
{
    leat_plan *plan = plan_of("damaged.tfrecord", wanted[0], is_copy, "  - batch: 16\n");
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, err)) == LEAT_OK)
        leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_plan_close(&plan);
    return rc;
}

/* A changed byte, wherever it is, makes the same error as for a record that is read whole; and masks one row. */
TEST(damage_is_found_in_every_part)
{
    write_file("damaged.tfrecord", 0);
    leat_plan *plan = plan_of("damaged.tfrecord", wanted[0], true, "  - batch: 16\n");
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)plan->source;
    const size_t bytes = source->scatter.record_bytes;
    leat_plan_close(&plan);
    for (size_t at = 12; at < bytes; at += at < 60 || at + 120 > bytes ? 1 : 1999) {
        leat_error err[2] = { 0 };
        damage("damaged.tfrecord", bytes, at);
        assert_int_equal(error_of(true, &err[0]), LEAT_E_DATA);
        assert_int_equal(error_of(false, &err[1]), LEAT_E_DATA);
        assert_string_equal(err[0].message, err[1].message);
        assert_non_null(strstr(err[0].message, "record 33"));
        if (at % 7 == 0)
            compare_all("damaged.tfrecord", "  - on_error: mask\n");
        damage("damaged.tfrecord", bytes, at);
    }
}

/* --- one read -------------------------------------------------------------------------------------- */

/* Says how many rows one read makes, from record `first` on. */
static uint64_t read_some(const leat_tfrecord_source *source, uint64_t first, bool *waited)
{
    static uint8_t rows[3][N * A];
    static const int sizes[] = { A, B, SMALL };
    leat_tfrecord_place places[N];
    leat_scratch *scratch;
    leat_gather g = { .n = N - first, .n_tensors = 3 };
    assert_int_equal(leat_scratch_open(&scratch, 1 << 20, NULL), LEAT_OK);
    g.scratch = scratch;
    for (int k = 0; k < 3; k++) {
        g.features[k] = k;
        g.rows[k] = rows[k];
        g.row_bytes[k] = (size_t)sizes[k];
    }
    for (uint64_t i = 0; i < N - first; i++) {
        leat_extent at;
        assert_int_equal(source->base.table->locate(&source->base, first + i, &at, NULL), LEAT_OK);
        places[i] =
            (leat_tfrecord_place){ .shard = source->shards, .offset = at.offset, .size = at.size };
    }
    const uint64_t n = leat_tfrecord_scatter_read(source, &g, places, 0, N - first);
    for (uint64_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            const int from = (int[]){ 0, 5, 9 }[k], r = (int)(first + i);
            for (int b = 0; b < sizes[k]; b++)
                if (rows[k][i * (size_t)sizes[k] + (size_t)b] !=
                    (uint8_t)((b + from) * 7 + r * 13 + (b + from) / 251))
                    fail_msg("record %d, tensor %d, byte %d", r, k, b);
        }
    *waited = g.waited;
    leat_scratch_close(&scratch);
    return n;
}

/* Neighbours share a read of a megabyte at most, which ends before a record that is built differently. */
TEST(neighbours_share_a_read)
{
    bool waited;
    write_file("read.tfrecord", 1);
    leat_plan *plan = plan_of("read.tfrecord", "{a: {}, b: {}, c: {}}", true, "  - batch: 16\n");
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)plan->source;
    const uint64_t most = (1 << 20) / source->scatter.record_bytes;
    assert_int_equal(source->scatter.n_values, 2);
    assert_true(most > 20 && most < ODD);
    const uint64_t n = read_some(source, 0, &waited);
    if (waited) /* this file system cannot say what is in the page cache */
        skip();
    assert_int_equal(n, most);
    assert_int_equal(read_some(source, ODD - 3, &waited), 3);
    assert_int_equal(read_some(source, ODD, &waited), 0);
    assert_int_equal(read_some(source, N - 2, &waited), 2);
    leat_plan_close(&plan);
}

SUITE_FIXTURE(make_folder, remove_folder)
