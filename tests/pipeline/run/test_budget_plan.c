/* SPDX-License-Identifier: MIT
 *
 * test_budget_plan.c: the budget counts the memory that a plan holds before a loader is opened: sets of
 * filters and buckets, file names, indexes. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#include "formats/file_list.h"
#include "formats/jpeg_index.h"
#include "pipeline/order/bitset.h"
#include "pipeline/plan/plan_impl.h"
#include "pipeline/source/tfrecord_impl.h"

#define N_RECORDS 3000
#define N_IMAGES  40

static char data[64];

static int make(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    snprintf(data, sizeof data, "%s/a.tfrecord", test_folder);
    write_records(data, 0, N_RECORDS, 40);
    for (int i = 0; i < N_IMAGES; i++) {
        char name[32];
        snprintf(name, sizeof name, "images/class/%02d.jpg", i);
        put_text(name, "P6 x"); /* begins as an image does */
    }
    return 0;
}

/* source, stages: DATA stands for the file with its features. */
static leat_plan *plan_of(const char *source, const char *stages, const char *memory)
{
    static const char features[] = "features: {id: {shape: []}, blob: {type: bytes}}}}";
    char whole[2000] = "";
    for (const char *at = source; *at; at++) {
        const size_t n = strlen(whole);
        if (!strncmp(at, "DATA", 4)) {
            snprintf(whole + n, sizeof whole - n, "{tfrecord: {files: '%s', %s", data, features);
            at += 3;
        } else {
            whole[n] = *at;
        }
    }
    return plan_format("source: %s\nengine: {threads: 1, memory: %s}\npipeline: [%s]\n", whole,
                       memory, stages);
}

static const leat_budget_row *row_of(const leat_budget *budget, const char *name)
{
    for (int32_t i = 0; i < budget->n_rows; i++)
        if (!strcmp(budget->rows[i].name, name))
            return &budget->rows[i];
    return NULL;
}

static leat_budget budget_of(const leat_plan *plan)
{
    leat_budget budget;
    leat_error err;
    check(leat_plan_budget(plan, NULL, &budget, &err), &err);
    return budget;
}

/* --- sets ---------------------------------------------------------------------------------------- */

TEST(sets_are_counted)
{
    static const struct {
        const char *source, *stages;
        int n; /* sets of all records */
    } cases[] = {
        { "DATA", "{padded_batch: 8}", 0 },
        { "DATA", "{filter: {feature: id, min: 0}}, {padded_batch: 8}", 1 },
        { "DATA",
          "{filter: {feature: id, min: 0}}, {filter: {feature: id, min: 0}}, {padded_batch: 8}",
          2 },
        { "DATA", "{bucket_by_length: {feature: blob, boundaries: [40], sizes: 8}}", 1 },
        { "DATA",
          "{filter: {feature: id, min: 0}}, {bucket_by_length: {feature: blob, boundaries: [40], "
          "sizes: 8}}",
          2 },
        { "{concat: [{tfrecord: {files: F, features: {id: {shape: []}}}, pipeline: [{filter: "
          "{feature: id, min: 0}}]}]}",
          "{padded_batch: 8}", 1 },
        { "{mix: [{concat: [{tfrecord: {files: F, features: {id: {shape: []}}}, pipeline: "
          "[{filter: {feature: id, min: 0}}]}]}]}",
          "{padded_batch: 8}", 1 },
        { "{zip: [{tfrecord: {files: F, features: {id: {shape: []}}}, pipeline: [{filter: "
          "{feature: id, min: 0}}]}]}",
          "{padded_batch: 8}", 1 },
    };
    leat_bitset *all;
    leat_error err;
    check(leat_bitset_open(&all, N_RECORDS, &err), &err);
    for (uint64_t i = 0; i < N_RECORDS; i++)
        leat_bitset_add(all, i);
    check(leat_bitset_finish(all, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[400], memory[32];
        const char *const name = strstr(cases[i].source, "files: F");
        if (name)
            snprintf(source, sizeof source, "%.*s'%s'%s", (int)(name - cases[i].source) + 7,
                     cases[i].source, data, name + 8);
        else
            snprintf(source, sizeof source, "%s", cases[i].source);
        leat_plan *plan = plan_of(source, cases[i].stages, "1 GiB");
        const leat_budget budget = budget_of(plan);
        const leat_budget_row *const row = row_of(&budget, "sets");
        const bool buckets = strstr(cases[i].stages, "bucket") != NULL;
        const int64_t want = cases[i].n * (int64_t)leat_bitset_bytes(all) +
                             (buckets ? (int64_t)sizeof(leat_buckets) : 0);
        if ((row ? row->bytes : 0) != want)
            fail_msg("case %zu: %lld, not %lld", i, (long long)(row ? row->bytes : 0),
                     (long long)want);
        assert_true(!row || row->kind == LEAT_MEMORY_HOST);
        leat_plan_close(&plan);
        /* They are part of the sum, and the least that works has room for them. */
        int64_t sum = 0;
        for (int32_t r = 0; r < budget.n_rows; r++)
            sum += budget.rows[r].kind == LEAT_MEMORY_MAPPED ? 0 : budget.rows[r].bytes;
        assert_int_equal(sum, budget.total_bytes);
        snprintf(memory, sizeof memory, "%lld", (long long)budget.least_bytes - 1);
        plan = plan_of(source, cases[i].stages, memory);
        leat_budget less;
        assert_int_equal(leat_plan_budget(plan, NULL, &less, &err), LEAT_E_CONFIG);
        assert_int_equal(less.least_bytes, budget.least_bytes);
        leat_plan_close(&plan);
    }
    leat_bitset_close(&all);
}

/* --- indexes and names ----------------------------------------------------------------------------- */

static int64_t bytes_of(const char *name, const char *source, leat_memory_kind kind)
{
    leat_plan *plan = plan_of(source, "{padded_batch: 8}", "1 GiB");
    const leat_budget budget = budget_of(plan);
    const leat_budget_row *const row = row_of(&budget, name);
    leat_plan_close(&plan);
    assert_true(!row || row->kind == kind);
    return row ? row->bytes : 0;
}

/* What a file of a set takes beside its index. */
enum {
    FILE_LEAST = sizeof(leat_tfrecord_shard) + sizeof(leat_tfrecord_opened),
    FILE_MOST = FILE_LEAST + 300
};

TEST(files_of_a_set_are_counted)
{
    enum { N_FILES = 50 };
    char name[40], source[200];
    for (int i = 0; i < N_FILES; i++) {
        snprintf(name, sizeof name, "part-%02d", i);
        write_records(in_folder(name), 0, 1, 40);
    }
    snprintf(source, sizeof source, "{tfrecord: {files: '%s/part-*', features: {blob: {}}}}",
             test_folder);
    const int64_t bytes = bytes_of("source", source, LEAT_MEMORY_HOST);
    assert_in_range(bytes, N_FILES * FILE_LEAST, N_FILES * FILE_MOST);
}

/* Labels and lines of a list, beside what its files take. */
TEST(entries_of_a_list_are_counted)
{
    enum { COLUMNS = 7 };
    char list[8000] = "", sources[2][300];
    for (int i = 0; i < N_IMAGES; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list),
                 "images/class/%02d.jpg,1,2,3,4,5,6,7\n", i);
    put_text("list.csv", list);
    snprintf(sources[0], sizeof sources[0], "{images: %s/images}", test_folder);
    snprintf(sources[1], sizeof sources[1],
             "{images: {path: %s/list.csv, header: false, label: ['1', '2', '3', '4', '5', '6', "
             "'7']}}",
             test_folder);
    int64_t bytes[2];
    for (int i = 0; i < 2; i++) {
        leat_plan *plan = plan_of(
            sources[i],
            "{map: {tensor: image, ops: [{parse_csv: {columns: 1}}]}}, {padded_batch: 8}", "1 GiB");
        const leat_budget budget = budget_of(plan);
        bytes[i] = row_of(&budget, "source")->bytes;
        leat_plan_close(&plan);
    }
    assert_in_range(bytes[1] - bytes[0], N_IMAGES * (COLUMNS * 8 + sizeof(leat_file_entry)),
                    N_IMAGES * (COLUMNS * 8 + sizeof(leat_file_entry) + 96));
}

/* Mapped where it is a file, in memory where it cannot be one. */
TEST(an_index_is_counted_where_it_is)
{
    char side[80];
    struct stat status;
    snprintf(side, sizeof side, "%s.idx", data);
    const int64_t mapped = bytes_of("index", "DATA", LEAT_MEMORY_MAPPED);
    assert_int_equal(stat(side, &status), 0);
    assert_int_equal(mapped, status.st_size);
    const int64_t file = bytes_of("source", "DATA", LEAT_MEMORY_HOST);
    assert_in_range(file, FILE_LEAST, FILE_MOST);
    unlink(side);
    assert_int_equal(mkdir(side, 0700), 0); /* nothing can be written there */
    assert_int_equal(bytes_of("source", "DATA", LEAT_MEMORY_HOST), file + mapped);
    assert_int_equal(bytes_of("index", "DATA", LEAT_MEMORY_MAPPED), 0);
    rmdir(side);
}

TEST(an_index_of_jpeg_files_is_mapped)
{
    leat_jpeg_index_writer *writer;
    leat_format_error err;
    struct stat status;
    assert_int_equal(stat(data, &status), 0);
    assert_int_equal(bytes_of("JPEG index", "DATA", LEAT_MEMORY_MAPPED), 0);
    assert_int_equal(leat_jpeg_index_writer_open(&writer, data, "blob", &err), 0);
    for (int r = 0; r < N_RECORDS; r++) {
        const leat_jpeg_index_id id = { (uint64_t)r, 0 };
        assert_int_equal(leat_jpeg_index_writer_add(writer, &id, NULL, 0, &err), 0);
    }
    assert_int_equal(leat_jpeg_index_writer_commit(writer, (uint64_t)status.st_size, &err), 0);
    leat_jpeg_index_writer_close(&writer);
    char *const path = leat_jpeg_index_path(data);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(bytes_of("JPEG index", "DATA", LEAT_MEMORY_MAPPED), status.st_size);
    assert_int_equal(bytes_of("JPEG index", "{zip: [DATA]}", LEAT_MEMORY_MAPPED), status.st_size);
    unlink(path);
    free(path);
}

TEST(names_of_files_are_counted)
{
    char source[120];
    snprintf(source, sizeof source, "{images: %s/images}", test_folder);
    leat_plan *plan = plan_of(
        source, "{map: {tensor: image, ops: [{parse_csv: {columns: 1}}]}}, {padded_batch: 8}",
        "1 GiB");
    const leat_budget budget = budget_of(plan);
    const leat_budget_row *const row = row_of(&budget, "source");
    const size_t path = strlen(test_folder) + sizeof "/images/class/00.jpg";
    leat_plan_close(&plan);
    assert_non_null(row);
    assert_true(row->bytes >= (int64_t)(N_IMAGES * (path + sizeof(void *) + sizeof(int64_t))));
    assert_true(row->bytes <=
                (int64_t)(N_IMAGES * (path + 48) + 1024 * 32)); /* room grows by doubling */
}

/* What an op before a cache takes of scratch is planned, as it is without one. */
TEST(scratch_before_a_cache_is_counted)
{
    static const char *const stages[] = { "map: [decode_image, resize: [9, 9]]",
                                          "map: [decode_image, resize: [9, 9]], cache" };
    static char picture[100000] = "P6 200 160 255\n";
    int64_t bytes[2];
    leat_format_error ignored;
    const char *const path = in_folder("pictures.tfrecord");
    record_writer to = open_records(path);
    const size_t n = strlen("P6 200 160 255\n") + 200 * 160 * 3;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(leat_example_add_bytes(to.builder, "image/encoded", picture, n, &ignored),
                         0);
        put_record(&to);
    }
    close_records(&to);
    for (int i = 0; i < 2; i++) {
        leat_plan *plan = plan_format(
            "source: {tfrecord: {files: '%s', features: {image/encoded: {type: bytes}}}}\n"
            "pipeline: [%s, batch: 2]\n",
            path, stages[i]);
        bytes[i] = budget_of(plan).scratch_bytes;
        leat_plan_close(&plan);
    }
    assert_true(bytes[0] > 200 * 160 * 3);
    assert_int_equal(bytes[1], bytes[0]);
}

SUITE_FIXTURE(make, remove_folder)
