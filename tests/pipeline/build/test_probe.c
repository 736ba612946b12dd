/* SPDX-License-Identifier: MIT
 *
 * test_probe.c: the first readable record decides names, types and shapes. A damaged first record is a bad
 * record like any other, and messages about it say what was found. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#define N     100
#define BATCH 10

/* Records of one float `x` and one int64 `id`; those below n_bad as `bad` writes them. */
typedef void write_bad(const record_writer *to, int64_t id);

/* A list of floats in two pieces, which protobuf would join. */
static void write_split(const record_writer *to, int64_t id)
{
    static const uint8_t example[] = {
        0x0a, 23, 0x0a, 21,             /* features, an entry */
        0x0a, 1,  'x',                  /* its name */
        0x12, 16, 0x12, 6,              /* its value: a list of floats */
        0x0a, 4,  0,    0,  0x80, 0x3f, /* 1.0 */
        0x12, 6,                        /* and another */
        0x0a, 4,  0,    0,  0,    0x40, /* 2.0 */
    };
    leat_format_error err;
    assert_int_equal(leat_tfrecord_writer_write(to->file, example, sizeof example, &err), 0);
}

static void write_without(const record_writer *to, int64_t id)
{
    static const float y[3] = { 1, 2, 3 };
    leat_format_error err;
    assert_int_equal(leat_example_add_floats(to->builder, "y", y, 3, &err), 0);
    assert_int_equal(leat_example_add_int64s(to->builder, "id", &id, 1, &err), 0);
    put_record(to);
}

static void write_sound(const record_writer *to, int64_t id)
{
    const float x = (float)id;
    leat_format_error err;
    assert_int_equal(leat_example_add_floats(to->builder, "x", &x, 1, &err), 0);
    assert_int_equal(leat_example_add_int64s(to->builder, "id", &id, 1, &err), 0);
    put_record(to);
}

/* Turns a byte in the payload of the first n records; all are of one size. */
static void damage(const char *path, int n)
{
    uint64_t size;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fread(&size, 8, 1, file), 1);
    for (int i = 0; i < n; i++) {
        const long at = i * (long)(16 + size) + 12 + 3;
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        const int byte = fgetc(file);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        fputc(byte ^ 0x20, file);
    }
    fclose(file);
}

static const char *write_file(int n_bad, write_bad *bad)
{
    const char *const path = in_folder("a.tfrecord");
    record_writer to = open_records(path);
    for (int64_t id = 0; id < N; id++)
        (id < n_bad && bad ? bad : write_sound)(&to, id);
    close_records(&to);
    if (!bad)
        damage(path, n_bad);
    return path;
}

static int open_file(const char *path, const char *x, const char *policy, leat_plan **plan,
                     leat_error *err)
{
    char text[800];
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: '%s', features: {x: %s}}}\n"
             "pipeline: [{on_error: {policy: %s, max_errors: unlimited}}, {batch: %d}]\n",
             path, x, policy, BATCH);
    return open_text(text, plan, err);
}

static void expect(const leat_error *err, const char *text)
{
    if (!strstr(err->message, text))
        fail_msg("'%s' lacks '%s'", err->message, text);
}

/* The bad ones are masked, the others are there. */
static void run_masked(const leat_plan *plan, int n_bad)
{
    leat_loader *loader = open_loader(plan, NULL);
    leat_loader_stats_info stats;
    leat_batch *batch;
    int record = 0;
    while (leat_loader_next(loader, &batch, NULL) == LEAT_OK) {
        const float *const x = leat_batch_tensor(batch, 0).data;
        for (int i = 0; i < BATCH; i++, record++)
            assert_true(x[i] == (record < n_bad ? 0 : (float)record));
        leat_batch_release(batch);
    }
    leat_loader_stats(loader, &stats);
    leat_loader_close(&loader);
    assert_int_equal(record, N);
    assert_int_equal(stats.n_masked, n_bad);
}

TEST(a_bad_first_record_is_masked)
{
    static const char *const given[] = { "{}", "{type: float}", "{type: float, shape: []}" };
    static const struct {
        int n_bad;
        write_bad *bad;
        const char *found;
    } cases[] = {
        { 1, NULL, "CRC" },
        { 10, NULL, "CRC" },
        { 60, NULL, "CRC" },
        { 1, write_split, "pieces" },
    };
    leat_plan *plan;
    leat_error err;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t g = 0; g < sizeof given / sizeof *given; g++) {
            const char *const path = write_file(cases[c].n_bad, cases[c].bad);
            check(open_file(path, given[g], "mask", &plan, &err), &err);
            assert_non_null(leat_plan_note(plan, 0));
            snprintf(err.message, sizeof err.message, "%s", leat_plan_note(plan, 0));
            expect(&err, "the first record cannot be read");
            expect(&err, cases[c].found);
            run_masked(plan, cases[c].n_bad);
            leat_plan_close(&plan);
            /* where errors stop the run, this one does at once, by its name */
            assert_int_equal(open_file(path, given[g], "fail", &plan, &err), LEAT_E_DATA);
            expect(&err, "a.tfrecord, record 0 (byte 0)");
            expect(&err, cases[c].found);
        }
}

TEST(a_file_of_damaged_records_is_an_error)
{
    leat_plan *plan;
    leat_error err;
    assert_int_equal(open_file(write_file(N, NULL), "{}", "mask", &plan, &err), LEAT_E_DATA);
    expect(&err, "a.tfrecord, record 0 (byte 0)");
    expect(&err, "CRC");
}

/* That is no damage: the config does not fit the data, and the message tells what they have. */
TEST(what_a_record_has_instead_is_said)
{
    leat_plan *plan;
    leat_error err;
    const char *const path = write_file(N, write_without);
    assert_int_equal(open_file(path, "{}", "mask", &plan, &err), LEAT_E_CONFIG);
    expect(&err, "a.tfrecord, record 0 (byte 0) has no feature 'x'");
    expect(&err, "y (float, 3 values)");
    expect(&err, "id (int64, 1 value)");
    assert_int_equal(open_file(path, "{key: y, type: int64}", "mask", &plan, &err), LEAT_E_CONFIG);
    expect(&err, "feature 'y' holds float in ");
    assert_int_equal(open_file(path, "{key: y, shape: [2]}", "mask", &plan, &err), LEAT_E_CONFIG);
    expect(&err, "feature 'y' has 3 in ");
}

SUITE_FIXTURE(make_folder, remove_folder)
