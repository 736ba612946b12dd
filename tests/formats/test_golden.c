/* SPDX-License-Identifier: MIT
 *
 * test_golden.c: reads the files that TensorFlow wrote (tests/golden/make_golden.py) and finds what
 * golden.json says; writes the same records and gets TensorFlow's bytes. */
#include "fixtures/format_test.h"

#include <jansson.h>

#include "formats/example.h"
#include "formats/index.h"
#include "formats/tfrecord.h"

#define GOLDEN SOURCE_DIR "/tests/golden/"

static int n_values_seen;

/* Bytes of a hex string; free it. */
static uint8_t *from_hex(const char *hex, size_t *size)
{
    *size = strlen(hex) / 2;
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < *size; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    return bytes;
}

static int kind_of(const json_t *feature)
{
    const char *kind = json_string_value(json_object_get(feature, "kind"));
    for (int k = LEAT_FEATURE_NONE; k <= LEAT_FEATURE_INT64; k++)
        if (strcmp(leat_feature_kind_name(k), kind) == 0)
            return k;
    fail_msg("no kind \"%s\"", kind);
    return -1;
}

static void check_bytes(const leat_feature *found, const json_t *values)
{
    for (size_t i = 0; i < json_array_size(values); i++) {
        size_t size, expected_size;
        const uint8_t *data;
        uint8_t *expected = from_hex(json_string_value(json_array_get(values, i)), &expected_size);
        assert_int_equal(leat_feature_bytes(found, i, &data, &size), LEAT_FORMAT_OK);
        assert_int_equal(size, expected_size);
        assert_memory_equal(data, expected, size);
        free(expected);
    }
}

static void check_numbers(const leat_feature *found, const json_t *values)
{
    const size_t n = json_array_size(values);
    int64_t *int64s = calloc(n + 1, sizeof *int64s);
    float *floats = calloc(n + 1, sizeof *floats);
    if (found->kind == LEAT_FEATURE_INT64)
        assert_int_equal(leat_feature_int64s(found, int64s, n, NULL), LEAT_FORMAT_OK);
    else
        assert_int_equal(leat_feature_floats(found, floats, n, NULL), LEAT_FORMAT_OK);
    for (size_t i = 0; i < n; i++) {
        const json_int_t expected = json_integer_value(json_array_get(values, i));
        uint32_t bits;
        memcpy(&bits, &floats[i], sizeof bits);
        assert_true(found->kind == LEAT_FEATURE_INT64 ? int64s[i] == expected : bits == expected);
    }
    free(int64s);
    free(floats);
}

static void check_record(const uint8_t *payload, size_t size, const json_t *record)
{
    const json_t *features = json_object_get(record, "features");
    leat_example_iter iter = leat_example_iterate(payload, size);
    leat_feature_key name;
    leat_feature found;
    size_t n = 0;
    assert_int_equal(size, json_integer_value(json_object_get(record, "bytes")));
    while (leat_example_next(&iter, &name, &found, NULL) == LEAT_FORMAT_OK)
        n++;
    assert_int_equal(n, json_array_size(features));
    for (size_t i = 0; i < n; i++) {
        const json_t *feature = json_array_get(features, i);
        const json_t *values = json_object_get(feature, "values");
        const char *text = json_string_value(json_object_get(feature, "name"));
        const leat_feature_key key = { text, strlen(text) };
        assert_int_equal(leat_example_scan(payload, size, &key, 1, &found, NULL), LEAT_FORMAT_OK);
        assert_int_equal(found.kind, kind_of(feature));
        assert_int_equal(found.n, json_array_size(values));
        if (found.kind == LEAT_FEATURE_BYTES)
            check_bytes(&found, values);
        else if (found.kind != LEAT_FEATURE_NONE)
            check_numbers(&found, values);
        n_values_seen += (int)found.n;
    }
}

/* --- writing the same --------------------------------------------------------------------------*/

/* What the builder borrows until it has packed. */
typedef struct kept {
    void *blocks[64];
    int n;
} kept;

static void *keep(kept *k, void *block)
{
    assert_non_null(block);
    assert_true(k->n < 64);
    return k->blocks[k->n++] = block;
}

static void add_feature(leat_example_builder *builder, const json_t *feature, kept *k)
{
    const json_t *values = json_object_get(feature, "values");
    const size_t n = json_array_size(values);
    const char *name = json_string_value(json_object_get(feature, "name"));
    const int kind = kind_of(feature);
    leat_example_value *bytes = keep(k, calloc(n + 1, sizeof *bytes));
    int64_t *int64s = keep(k, calloc(n + 1, sizeof *int64s));
    float *floats = keep(k, calloc(n + 1, sizeof *floats));
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(values, i);
        const uint32_t bits = (uint32_t)json_integer_value(value);
        int64s[i] = json_integer_value(value);
        memcpy(&floats[i], &bits, sizeof bits);
        if (kind == LEAT_FEATURE_BYTES)
            bytes[i].data = keep(k, from_hex(json_string_value(value), &bytes[i].size));
    }
    if (kind == LEAT_FEATURE_BYTES)
        assert_int_equal(leat_example_add_bytes_list(builder, name, bytes, n, NULL), 0);
    else if (kind == LEAT_FEATURE_INT64)
        assert_int_equal(leat_example_add_int64s(builder, name, int64s, n, NULL), 0);
    else
        assert_int_equal(leat_example_add_floats(builder, name, floats, n, NULL), 0);
}

/* A feature without a list cannot be added, and protobuf-c leaves an empty name out. */
static int can_be_built(const json_t *features, size_t size)
{
    for (size_t i = 0; i < json_array_size(features); i++) {
        const json_t *feature = json_array_get(features, i);
        if (kind_of(feature) == LEAT_FEATURE_NONE ||
            !*json_string_value(json_object_get(feature, "name")))
            return 0;
    }
    return size > 0;
}

static int same_bytes_when_written(const uint8_t *payload, size_t size, const json_t *record)
{
    const json_t *features = json_object_get(record, "features");
    leat_example_builder *builder = leat_example_builder_open();
    kept k = { .n = 0 };
    const uint8_t *packed;
    size_t packed_size;
    const int possible = can_be_built(features, size);
    for (size_t i = 0; possible && i < json_array_size(features); i++)
        add_feature(builder, json_array_get(features, i), &k);
    if (possible) {
        assert_int_equal(leat_example_builder_pack(builder, &packed, &packed_size, NULL), 0);
        assert_int_equal(packed_size, size);
        assert_memory_equal(packed, payload, size);
    }
    leat_example_builder_close(&builder);
    while (k.n)
        free(k.blocks[--k.n]);
    return possible;
}

/* --- files -------------------------------------------------------------------------------------*/

/* Reads the file, checks every record, writes it again. Returns how many records could be built. */
static int check_file(const char *path, const char *copy, const json_t *records)
{
    leat_tfrecord_reader *reader;
    leat_tfrecord_writer *writer;
    leat_format_error err;
    const uint8_t *payload;
    size_t size;
    int rc, n_built = 0;
    uint64_t n = 0;
    assert_int_equal(leat_tfrecord_reader_open(&reader, path, 0, &err), LEAT_FORMAT_OK);
    assert_int_equal(leat_tfrecord_writer_open(&writer, copy, 0, &err), LEAT_FORMAT_OK);
    for (; (rc = leat_tfrecord_reader_next(reader, &payload, &size, &err)) == LEAT_FORMAT_OK; n++) {
        check_record(payload, size, json_array_get(records, n));
        n_built += same_bytes_when_written(payload, size, json_array_get(records, n));
        assert_int_equal(leat_tfrecord_writer_write(writer, payload, size, &err), LEAT_FORMAT_OK);
    }
    assert_int_equal(rc, LEAT_FORMAT_END);
    assert_int_equal(n, json_array_size(records));
    assert_int_equal(leat_tfrecord_writer_commit(writer, &err), LEAT_FORMAT_OK);
    leat_tfrecord_writer_close(&writer);
    leat_tfrecord_reader_close(&reader);
    return n_built;
}

static void same_file(const char *a, const char *b)
{
    size_t a_size, b_size;
    uint8_t *a_bytes = read_whole(a, &a_size), *b_bytes = read_whole(b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a_bytes, b_bytes, a_size);
    free(a_bytes);
    free(b_bytes);
}

TEST(tensorflow_s_files)
{
    json_t *book = json_load_file(GOLDEN "golden.json", 0, NULL), *records;
    const char *name;
    int n_files = 0, n_built = 0;
    assert_non_null(book);
    json_object_foreach(json_object_get(book, "files"), name, records)
    {
        char path[512];
        leat_index index;
        snprintf(path, sizeof path, "%s%s", GOLDEN, name);
        n_built += check_file(path, in_folder(name), records);
        same_file(path, in_folder(name));
        assert_int_equal(
            leat_index_open(path, LEAT_INDEX_NO_WRITE | LEAT_INDEX_REBUILD, &index, NULL),
            LEAT_FORMAT_OK);
        assert_int_equal(index.n_records, json_array_size(records));
        leat_index_close(&index);
        n_files++;
    }
    assert_true(n_files >= 7 && n_built >= 1100 && n_values_seen >= 4000);
    json_decref(book);
}

SUITE_FIXTURE(make_folder, remove_folder)
