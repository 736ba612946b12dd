/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_side.c: the index of JPEG files through the whole engine: batches are the same with it,
 * without it, and with every wrong one: of other records, another file, written anew, cut, flipped,
 * lying. And the loader says so. */
#include "fixtures/engine_fixture.h"
#include "fixtures/op_test.h"

#include "base/cpu.h"
#include "fixtures/format_test.h"
#include "formats/jpeg_index.h"
#include "formats/manifest.h"
#include "leat/jpeg_probe.h"
#include "pipeline/source/tfrecord_impl.h"

enum { N_RECORDS = 24, EPOCHS = 3 };

static const op_jpeg_how kinds[] = {
    { .h = 1, .v = 1 },
    { .h = 2, .v = 1 },
    { .h = 2, .v = 2 },
    { .h = 1, .v = 2 },
    { .h = 2, .v = 2, .restart = 4 },
    { .progressive = 1 },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_TABLES = N_RECORDS / N_KINDS * 4 };

static leat_scratch *scratch;

static const char *listed_in = "d.tfrecord"; /* what a plan names: the data file, or a manifest */

static const char *data_path(void)
{
    return in_folder("d.tfrecord");
}

static const char *side_path(void)
{
    return in_folder("d.tfrecord.jpg.idx");
}

/* Pictures of one size, so that only their bytes tell them apart. */
static leat_view picture_of(int i, int quality)
{
    op_jpeg_how how = kinds[i % N_KINDS];
    leat_view image = op_drawing(120, 150, 3);
    how.quality = quality;
    for (int64_t b = 0; b < 120 * 150 * 3; b++)
        ((uint8_t *)image.data)[b] = (uint8_t)(((uint8_t *)image.data)[b] + i * 5 + b * i / 3000);
    leat_view bytes = op_jpeg(image, how);
    free(image.data);
    return bytes;
}

/* The data file; `first` is the number of the picture in record 0. */
static void write_data(int first, int quality)
{
    record_writer to = open_records(data_path());
    for (int i = 0; i < N_RECORDS; i++) {
        const int64_t label = i;
        leat_view jpeg = picture_of((first + i) % N_RECORDS, quality);
        assert_int_equal(leat_example_add_bytes(to.builder, "image/encoded", jpeg.data,
                                                (size_t)jpeg.shape.dims[0], NULL),
                         0);
        assert_int_equal(leat_example_add_int64s(to.builder, "image/class/label", &label, 1, NULL),
                         0);
        put_record(&to);
        free(jpeg.data);
    }
    close_records(&to);
    unlink(in_folder("d.tfrecord.idx"));
}

/* The index of the data file; record r gets the table of record (r + lie) with its own id. */
static void write_side(int lie)
{
    static const leat_feature_key key = { "image/encoded", 13 };
    static struct {
        leat_jpeg_index_id id;
        uint8_t *table;
        size_t n;
    } all[N_RECORDS];
    leat_tfrecord_reader *reader;
    leat_jpeg_index_writer *writer;
    const uint8_t *payload, *jpeg;
    size_t size, n;
    assert_int_equal(leat_tfrecord_reader_open(&reader, data_path(), 0, NULL), 0);
    for (int i = 0; i < N_RECORDS; i++) {
        leat_feature found;
        const void *table;
        assert_int_equal(leat_tfrecord_reader_next(reader, &payload, &size, NULL), 0);
        assert_int_equal(leat_example_scan(payload, size, &key, 1, &found, NULL), 0);
        assert_int_equal(leat_feature_bytes(&found, 0, &jpeg, &n), 0);
        leat_scratch_reset(scratch);
        assert_int_equal(leat_jpeg_make_table(jpeg, n, 0, scratch, &table, &all[i].n, NULL), 0);
        all[i].id = (leat_jpeg_index_id){ size, leat_tfrecord_masked_crc(payload, size) };
        all[i].table = copy_of(all[i].n ? table : "", all[i].n);
    }
    assert_int_equal(leat_jpeg_index_writer_open(&writer, data_path(), "image/encoded", NULL), 0);
    for (int i = 0; i < N_RECORDS; i++) {
        const int other = (i + lie) % N_RECORDS;
        assert_int_equal(
            leat_jpeg_index_writer_add(writer, &all[i].id, all[other].table, all[other].n, NULL),
            0);
    }
    assert_int_equal(
        leat_jpeg_index_writer_commit(writer, leat_tfrecord_reader_file_size(reader), NULL), 0);
    leat_jpeg_index_writer_close(&writer);
    leat_tfrecord_reader_close(&reader);
    for (int i = 0; i < N_RECORDS; i++)
        free(all[i].table);
}

static int open_plan(const char *mode, bool fuse, int threads, leat_plan **plan, leat_error *err)
{
    char text[600];
    leat_config *config;
    snprintf(text, sizeof text,
             "seed: 5\nsource: {tfrecord: '%s'}\n"
             "engine: {digest: true, threads: %d, fuse: %s, jpeg_index: %s}\n"
             "pipeline: [shuffle, {map: {ops: [decode_jpeg, {random_resized_crop: 32}, "
             "random_flip, normalize]}}, {batch: 8}]\n",
             in_folder(listed_in), threads, fuse ? "true" : "false", mode);
    check(leat_config_parse(text, "side.yaml", &config, err), err);
    const int rc = leat_plan_open(config, NULL, plan, err);
    leat_config_close(&config);
    return rc;
}

typedef struct outcome {
    uint64_t digest;
    leat_loader_stats_info stats;
    char note[300]; /* the plan's */
} outcome;

static outcome run_with(const char *mode, bool fuse, int threads)
{
    outcome got = { 0 };
    leat_plan *plan;
    leat_batch *batch;
    leat_error err;
    int rc;
    check(open_plan(mode, fuse, threads, &plan, &err), &err);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = EPOCHS });
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        got.digest = leat_digest_chain(got.digest, leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
    }
    if (rc != LEAT_E_END)
        check(rc, &err);
    leat_loader_stats(loader, &got.stats);
    snprintf(got.note, sizeof got.note, "%s",
             leat_plan_note(plan, 0) ? leat_plan_note(plan, 0) : "");
    close_loader_and_plan(&loader, &plan);
    return got;
}

TEST(same_batches)
{
    write_data(0, 85);
    unlink(side_path());
    const outcome want = run_with("auto", true, 0);
    assert_int_equal(want.stats.n_seek + want.stats.n_seek_refused, 0);
    assert_string_equal(want.note, "");
    write_side(0);
    for (int level = 0; level <= leat_cpu_best(); level++)
        for (int threads = 0; threads <= 3; threads++)
            for (int fuse = 0; fuse < 2; fuse++)
                for (int off = 0; off < 2; off++) {
                    leat_cpu_use(level);
                    const outcome got = run_with(off ? "off" : "auto", fuse, threads);
                    assert_int_equal(got.digest, want.digest);
                    const bool used = fuse && !off && level >= LEAT_CPU_AVX2;
                    assert_int_equal(got.stats.n_seek, used ? EPOCHS * N_TABLES : 0);
                    assert_int_equal(got.stats.n_seek_refused, 0);
                    assert_string_equal(got.note, "");
                }
    leat_cpu_use(leat_cpu_best());
    assert_int_equal(run_with("require", true, 2).digest, want.digest);
}

/* Batches are those without an index; `refused` is the number of records whose table is found out. */
static void expect_same(uint64_t digest, uint64_t used, uint64_t refused, const char *note)
{
    const outcome got = run_with("auto", true, 2);
    assert_int_equal(got.digest, digest);
    assert_int_equal(got.stats.n_seek, leat_cpu_level() < LEAT_CPU_AVX2 ? 0 : EPOCHS * used);
    assert_int_equal(got.stats.n_seek_refused, EPOCHS * refused);
    if (note)
        assert_non_null(strstr(got.note, note));
    else
        assert_string_equal(got.note, "");
}

TEST(of_other_bytes)
{
    size_t size;
    write_data(0, 85);
    write_side(0);
    uint8_t *side = read_whole(side_path(), &size);
    /* The same records in another order: another file of the same size and count. */
    write_data(1, 85);
    expect_same(run_with("off", true, 2).digest, 0, N_RECORDS, NULL);
    /* Encoded anew. */
    write_data(0, 80);
    expect_same(run_with("off", true, 2).digest, 0, 0, "of another data file");
    /* The right data again, with the index cut short, and whole. */
    write_data(0, 85);
    const uint64_t digest = run_with("off", true, 2).digest;
    write_whole(side_path(), side, size - 1);
    expect_same(digest, 0, 0, "damaged or cut short");
    write_whole(side_path(), side, size);
    expect_same(digest, N_TABLES, 0, NULL);
    free(side);
}

/* Right identities, wrong tables: nobody knows before decoding, so each stretch that is read finds
 * out by itself. */
TEST(lying_tables)
{
    write_data(0, 85);
    const uint64_t digest = run_with("off", true, 0).digest;
    for (int lie = 1; lie <= 2 * N_KINDS; lie++) {
        write_side(lie);
        const outcome got = run_with("auto", true, 2);
        assert_int_equal(got.digest, digest);
        assert_true(got.stats.n_seek_refused > EPOCHS * N_RECORDS / 4 ||
                    leat_cpu_level() < LEAT_CPU_AVX2);
    }
}

TEST(flipped_anywhere)
{
    size_t size;
    int n_noted = 0, n_refused = 0;
    write_data(0, 85);
    write_side(0);
    const uint64_t digest = run_with("off", true, 0).digest;
    uint8_t *side = read_whole(side_path(), &size);
    for (size_t at = 0; at < size; at += 1 + size / 150) {
        side[at] ^= (uint8_t)(1u << at % 8);
        write_whole(side_path(), side, size);
        side[at] ^= (uint8_t)(1u << at % 8);
        const outcome got = run_with("auto", true, 0);
        assert_int_equal(got.digest, digest);
        n_noted += got.note[0] != 0;
        n_refused += got.stats.n_seek_refused == EPOCHS;
        assert_int_equal((got.note[0] != 0) + (got.stats.n_seek_refused == EPOCHS), 1);
    }
    assert_true(n_noted >= 2 && n_refused >= 100);
    free(side);
}

TEST(required)
{
    leat_plan *plan;
    leat_error err;
    leat_batch *batch;
    size_t size;
    write_data(0, 85);
    unlink(side_path());
    assert_int_equal(open_plan("require", true, 0, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "leat index --jpeg"));
    write_side(0);
    uint8_t *side = read_whole(side_path(), &size);
    write_whole(side_path(), side, size - 1);
    assert_int_equal(open_plan("require", true, 0, &plan, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "cut short"));
    side[size / 2] ^= 1; /* one record's table */
    write_whole(side_path(), side, size);
    check(open_plan("require", true, 0, &plan, &err), &err);
    leat_loader *loader = open_loader(plan, NULL);
    int rc = LEAT_OK;
    while (rc == LEAT_OK && (rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
        leat_batch_release(batch);
    assert_int_equal(rc, LEAT_E_DATA);
    assert_non_null(strstr(err.message, "d.tfrecord, record "));
    assert_non_null(strstr(err.message, "engine.jpeg_index: auto"));
    close_loader_and_plan(&loader, &plan);
    free(side);
}

/* A file of a long manifest is opened, with its index, when a record of it is needed. */
TEST(files_that_open_late)
{
    static const char late[] = "768 stay open";
    leat_manifest_shard shard = { .file = "d.tfrecord", .records = N_RECORDS };
    size_t size;
    write_data(0, 85);
    write_side(0);
    const uint64_t digest = run_with("off", true, 2).digest;
    free(read_whole(data_path(), &size));
    shard.bytes = size;
    assert_int_equal(leat_manifest_write(in_folder("manifest.json"), &shard, 1, NULL), 0);
    const uint64_t before = leat_tfrecord_late_from;
    leat_tfrecord_late_from = 1;
    listed_in = "manifest.json";
    expect_same(digest, N_TABLES, 0, late);
    uint8_t *side = read_whole(side_path(), &size);
    side[size / 2] ^= 1; /* one record's table */
    write_whole(side_path(), side, size);
    expect_same(digest, N_TABLES - 1, 1, late);
    write_whole(side_path(), side, size - 1);
    expect_same(digest, 0, 0, late);
    free(side);
    listed_in = "d.tfrecord";
    leat_tfrecord_late_from = before;
}

static int set_up(void **state)
{
    return make_folder(state) || leat_scratch_open(&scratch, 1 << 28, NULL);
}

static int tear_down(void **state)
{
    leat_scratch_close(&scratch);
    return remove_folder(state);
}

SUITE_FIXTURE(set_up, tear_down)
