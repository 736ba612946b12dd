/* SPDX-License-Identifier: MIT
 *
 * test_compressed.c: the source `tfrecord` over compressed files gives the batches of the plain ones, in any
 * order, with any threads, and from any batch on. */
#include <fcntl.h>
#include <pthread.h>

#include "fixtures/compressed.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "pipeline/source/tfrecord_shard.h"

enum { N = 3000, N_FILES = 3 };

/* f0 … f2.tfrecord are plain; their compressed twins are g0 … g2: GZIP in members, ZLIB, and plain. */
static int make_files(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < N_FILES; i++) {
        char name[32];
        size_t size, packed_size;
        snprintf(name, sizeof name, "f%d.tfrecord", i);
        write_records(in_folder(name), (uint64_t)i * N, N, i == 2 ? 100 : 6000);
        uint8_t *const bytes = read_whole(in_folder(name), &size);
        uint8_t *const packed =
            compressed(bytes, size, i == 1, i == 1 ? size : 1234567, &packed_size);
        if (!bytes || !packed)
            return -1;
        name[0] = 'g';
        write_whole(in_folder(name), i == 2 ? bytes : packed, i == 2 ? size : packed_size);
        free(bytes);
        free(packed);
    }
    return 0;
}

static leat_plan *plan_with(char files, const char *stages, const char *engine)
{
    return plan_format("source: {tfrecord: {files: '%s/%c*.tfrecord', features: {x: {}, id: {}}}}\n"
                       "engine: %s\npipeline: [%s {batch: 64}, {prefetch: 2}]\n",
                       test_folder, files, engine, stages);
}

static uint64_t digest_with(char files, const char *stages, const char *engine)
{
    int64_t n;
    leat_plan *plan = plan_with(files, stages, engine);
    leat_loader *loader = open_loader(plan, NULL);
    const uint64_t digest = take_digest(loader, &n);
    assert_true(n > 0);
    close_loader_and_plan(&loader, &plan);
    return digest;
}

TEST(batches_are_those_of_plain_files)
{
    static const char *const stages[] = { "", "{shuffle: {window: 512}},", "shuffle,",
                                          "{filter: {feature: id, min: 2000, max: 7000}}, shuffle,",
                                          "{cache: {}}, {repeat: 2}," };
    static const char *const engines[] = { "{threads: 0, digest: true}",
                                           "{threads: 4, digest: true}",
                                           "{threads: 3, reader: pread, digest: true}" };
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
        const uint64_t want = digest_with('f', stages[s], engines[1]);
        for (size_t e = 0; e < sizeof engines / sizeof *engines; e++)
            assert_true(digest_with('g', stages[s], engines[e]) == want);
    }
}

/* As parts of other sources, which ask for their records in their own ways. */
TEST(parts_of_other_sources)
{
    static const char *const names[] = { "concat", "interleave", "zip" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t digests[2];
        for (int k = 0; k < 2; k++) {
            int64_t n;
            const char c = k ? 'g' : 'f';
            leat_plan *plan = plan_format(
                "source: {%s: {sources: [\n"
                "  {tfrecord: {files: '%s/%c0.tfrecord', features: {x: {}, id: {}}}},\n"
                "  {tfrecord: {files: '%s/%c1.tfrecord', features: {%s: {key: x}, %s: {key: "
                "id}}}}]}}\n"
                "engine: {threads: 3, digest: true}\n"
                "pipeline: [{shuffle: {window: 300}}, {batch: 64}]\n",
                names[i], test_folder, c, test_folder, c, i == 2 ? "x2" : "x",
                i == 2 ? "id2" : "id");
            leat_loader *loader = open_loader(plan, NULL);
            digests[k] = take_digest(loader, &n);
            assert_int_equal(n, leat_plan_get_info(plan)->n_batches);
            close_loader_and_plan(&loader, &plan);
        }
        assert_true(digests[0] == digests[1]);
    }
}

TEST(ranks_and_resuming)
{
    static const char engine[] = "{threads: 2, digest: true, ranks: 2, rank: 1}";
    const leat_loader_options from = { .first_batch = 70 };
    uint64_t digests[2];
    for (int k = 0; k < 2; k++) {
        int64_t n;
        leat_plan *plan = plan_with(k ? 'g' : 'f', "shuffle,", engine);
        leat_loader *loader = open_loader(plan, &from);
        digests[k] = take_digest(loader, &n);
        assert_int_equal(n, leat_plan_get_info(plan)->n_batches - 70);
        close_loader_and_plan(&loader, &plan);
    }
    assert_true(digests[0] == digests[1]);
}

TEST(a_note_says_what_it_costs)
{
    leat_plan *plan = plan_with('g', "", "{}");
    assert_non_null(strstr(leat_plan_note(plan, 0), "GZIP-compressed"));
    assert_non_null(strstr(leat_plan_note(plan, 0), "leat convert tfrecord"));
    assert_non_null(strstr(leat_plan_note(plan, 0), "makes plain files"));
    leat_plan_close(&plan);
    plan = plan_with('f', "", "{}");
    assert_null(leat_plan_note(plan, 0));
    leat_plan_close(&plan);
}

TEST(bytes_are_as_stored_and_a_record_is_decompressed)
{
    leat_source_info plain, packed;
    uint64_t bytes = 0;
    leat_plan *plan = plan_with('f', "", "{}");
    leat_plan_source(plan, &plain);
    leat_plan_close(&plan);
    plan = plan_with('g', "", "{}");
    leat_plan_source(plan, &packed);
    leat_plan_close(&plan);
    for (int i = 0; i < N_FILES; i++) {
        char name[32];
        size_t size;
        snprintf(name, sizeof name, "g%d.tfrecord", i);
        free(read_whole(in_folder(name), &size));
        bytes += size;
    }
    assert_true(bytes != plain.n_bytes);
    assert_int_equal(packed.n_bytes, bytes);
    assert_int_equal(packed.mean_bytes, plain.mean_bytes);
    assert_true(packed.sample_bytes == (double)bytes / (N * N_FILES));
    assert_true(plain.sample_bytes == (double)plain.n_bytes / (N * N_FILES));
}

/* The memory of points, places and chunks is in the plan. */
TEST(memory_is_planned)
{
    leat_tfrecord_shard shard;
    leat_open_files files = { 0 }; /* all stay open */
    leat_source source = { 0 };
    const leat_tfrecord_features features = { 0 };
    leat_error err;
    const leat_tfrecord_listed listed = { .path = (char *)(uintptr_t)in_folder("g0.tfrecord") };
    leat_tfrecord_shard_init(&shard, &listed);
    check(leat_tfrecord_shard_open(&shard, shard.path, &files, false, &source, &features, &err),
          &err);
    const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(&shard);
    const leat_decompress_index *const index = &opened->compressed.index;
    assert_string_equal(opened->compression, "GZIP");
    assert_int_equal(shard.n_records, N);
    assert_int_equal(index->n_chunks, index->data_bytes / LEAT_COMPRESSED_CHUNK + 1);
    assert_int_equal(source.memory_bytes, index->memory_bytes);
    assert_true(source.memory_bytes >=
                (N + 1) * 8 + index->n_chunks * leat_decompress_point_bytes());
    leat_tfrecord_shard_close(&shard);
}

/* --- chunks, fewer than are asked for ------------------------------------------------------------- */

typedef struct reading {
    leat_compressed *chunks;
    const leat_compressed_file *files;
    const uint8_t *plain[2];
    uint64_t seed;
    int failed;
} reading;

static void *read_ranges(void *arg)
{
    reading *const r = arg;
    uint8_t to[20000];
    leat_error err;
    leat_rng rng = leat_rng_make(r->seed, 0, 0, 0);
    for (int i = 0; i < 400; i++) {
        const uint32_t k = leat_rng_below(&rng, 2);
        const uint64_t bytes = r->files[k].index.data_bytes;
        const size_t size = leat_rng_below(&rng, sizeof to);
        const uint64_t at = leat_rng_below(&rng, (uint32_t)(bytes - size));
        r->failed += leat_compressed_read(r->chunks, &r->files[k], at, size, to, &err) < 0 ||
                     memcmp(to, r->plain[k] + at, size) != 0;
    }
    return NULL;
}

TEST(many_threads_few_chunks)
{
    static const char *const names[] = { "0.tfrecord", "1.tfrecord" };
    enum { THREADS = 6, CHUNK = 100003 };
    leat_compressed_file files[2];
    leat_open_file opened[2] = { 0 };
    reading of[THREADS];
    pthread_t threads[THREADS];
    leat_error err;
    for (int k = 0; k < 2; k++) {
        char name[32];
        size_t size;
        snprintf(name, sizeof name, "g%s", names[k]);
        opened[k].fd = open(in_folder(name), O_RDONLY);
        files[k].file = &opened[k];
        assert_int_equal(leat_decompress_index_build(opened[k].fd, k ? "ZLIB" : "GZIP", CHUNK,
                                                     &files[k].index, NULL),
                         LEAT_FORMAT_OK);
        name[0] = 'f';
        of[0].plain[k] = read_whole(in_folder(name), &size);
        assert_int_equal(files[k].index.data_bytes, size);
    }
    for (size_t n_chunks = 1; n_chunks <= 4; n_chunks += 3) { /* and so many in memory */
        leat_compressed *chunks;
        check(leat_compressed_open(&chunks, n_chunks, CHUNK, &err), &err);
        for (int i = 0; i < THREADS; i++) {
            of[i] = (reading){ chunks, files, { of[0].plain[0], of[0].plain[1] }, (uint64_t)i, 0 };
            assert_int_equal(pthread_create(&threads[i], NULL, read_ranges, &of[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(of[i].failed, 0);
        }
        leat_compressed_close(&chunks);
    }
    for (int k = 0; k < 2; k++) {
        leat_decompress_index_close(&files[k].index);
        close(opened[k].fd);
        free((void *)(uintptr_t)of[0].plain[k]);
    }
}

static void expect_error(const char *name, const char *part)
{
    char text[400];
    leat_plan *plan;
    leat_error err;
    snprintf(text, sizeof text, "{source: {tfrecord: '%s'}, pipeline: [on_error: mask, batch: 8]}",
             in_folder(name));
    assert_int_equal(open_text(text, &plan, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, in_folder(name)));
    if (!strstr(err.message, part))
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

TEST(damage_is_said_at_open)
{
    size_t size;
    uint8_t *const bytes = read_whole(in_folder("g0.tfrecord"), &size);
    write_whole(in_folder("x.tfrecord"), bytes, size / 2);
    expect_error("x.tfrecord", "GZIP: truncated: the file ends at byte ");
    bytes[size - 2] ^= 1;
    write_whole(in_folder("x.tfrecord"), bytes, size);
    expect_error("x.tfrecord", "checksum or length");
    expect_error("x.tfrecord",
                 "on_error cannot leave out a part of a compressed file: `leat repair`");
    free(bytes);
}

/* A file that is written to while it is in use is an error that says so, not wrong records. */
TEST(a_file_that_changes)
{
    size_t size;
    leat_error err;
    leat_batch *batch;
    int rc;
    uint8_t *const bytes = read_whole(in_folder("g0.tfrecord"), &size);
    write_whole(in_folder("h0.tfrecord"), bytes, size);
    leat_plan *plan = plan_with('h', "{repeat: 2},", "{threads: 0}");
    FILE *const file = fopen(in_folder("h0.tfrecord"), "r+b");
    assert_non_null(file);
    memset(bytes, 0xee, size);
    assert_int_equal(fwrite(bytes, 1, size / 2, file), size / 2);
    assert_int_equal(fclose(file), 0);
    leat_loader *loader = open_loader(plan, NULL);
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
        leat_batch_release(batch);
    assert_int_equal(rc, LEAT_E_DATA);
    assert_non_null(strstr(err.message, "changed while it was in use"));
    close_loader_and_plan(&loader, &plan);
    free(bytes);
}

SUITE_FIXTURE(make_files, remove_folder)
