/* SPDX-License-Identifier: MIT
 *
 * example_oracle.h: holds the scanner of formats/example.c against protobuf-c on any bytes. Shared
 * by test_example and fuzz_example. */
#ifndef LEAT_EXAMPLE_ORACLE_H
#define LEAT_EXAMPLE_ORACLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.pb-c.h"
#include "formats/example.c"

#define ORACLE_EXPECT(condition)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void oracle_same_bytes(const leat_feature *feature, const Leat__BytesList *list)
{
    const uint8_t *data;
    size_t size;
    ORACLE_EXPECT(feature->n == list->n_value);
    for (size_t i = 0; i < list->n_value; i++) {
        ORACLE_EXPECT(leat_feature_bytes(feature, i, &data, &size) == LEAT_FORMAT_OK);
        ORACLE_EXPECT(size == list->value[i].len);
        ORACLE_EXPECT(!size || memcmp(data, list->value[i].data, size) == 0);
    }
    ORACLE_EXPECT(leat_feature_bytes(feature, list->n_value, &data, &size) == LEAT_FORMAT_BAD);
    ORACLE_EXPECT(leat_feature_int64s(feature, NULL, 0, NULL) == LEAT_FORMAT_BAD);
}

static void oracle_same_floats(const leat_feature *feature, const Leat__FloatList *list)
{
    float *values = malloc((list->n_value + 2) * sizeof *values);
    ORACLE_EXPECT(values && feature->n == list->n_value);
    for (size_t i = 0; i < list->n_value + 2; i++)
        values[i] = -77;
    ORACLE_EXPECT(leat_feature_floats(feature, values, UINT64_MAX, NULL) == LEAT_FORMAT_OK);
    ORACLE_EXPECT(!list->n_value ||
                  memcmp(values, list->value, list->n_value * sizeof *values) == 0);
    ORACLE_EXPECT(values[list->n_value] == -77);
    if (list->n_value) { /* no more than asked for */
        values[list->n_value - 1] = -77;
        ORACLE_EXPECT(leat_feature_floats(feature, values, list->n_value - 1, NULL) == 0);
        ORACLE_EXPECT(values[list->n_value - 1] == -77);
    }
    ORACLE_EXPECT(leat_feature_int64s(feature, NULL, 0, NULL) == LEAT_FORMAT_BAD);
    free(values);
}

static void oracle_same_int64s(const leat_feature *feature, const Leat__Int64List *list)
{
    int64_t *values = malloc((list->n_value + 2) * sizeof *values);
    ORACLE_EXPECT(values && feature->n == list->n_value);
    for (size_t i = 0; i < list->n_value + 2; i++)
        values[i] = -77;
    ORACLE_EXPECT(leat_feature_int64s(feature, values, UINT64_MAX, NULL) == LEAT_FORMAT_OK);
    ORACLE_EXPECT(!list->n_value ||
                  memcmp(values, list->value, list->n_value * sizeof *values) == 0);
    ORACLE_EXPECT(values[list->n_value] == -77);
    if (list->n_value) {
        values[list->n_value - 1] = -77;
        ORACLE_EXPECT(leat_feature_int64s(feature, values, list->n_value - 1, NULL) == 0);
        ORACLE_EXPECT(values[list->n_value - 1] == -77);
    }
    ORACLE_EXPECT(leat_feature_floats(feature, NULL, 0, NULL) == LEAT_FORMAT_BAD);
    free(values);
}

static void oracle_same_feature(const leat_feature *feature, const Leat__Feature *expected)
{
    const int kind = expected ? (int)expected->kind_case : LEAT_FEATURE_NONE;
    ORACLE_EXPECT(feature->kind == kind);
    if (kind == LEAT_FEATURE_BYTES)
        oracle_same_bytes(feature, expected->bytes_list);
    else if (kind == LEAT_FEATURE_FLOAT)
        oracle_same_floats(feature, expected->float_list);
    else if (kind == LEAT_FEATURE_INT64)
        oracle_same_int64s(feature, expected->int64_list);
    else
        ORACLE_EXPECT(feature->n == 0);
}

/* Features in stored order, and each name's last one by scan, in batches of eight names. */
static void oracle_same_message(const uint8_t *bytes, size_t size, const Leat__Features *expected)
{
    const size_t n = expected ? expected->n_feature : 0;
    leat_example_iter iter = leat_example_iterate(bytes, size);
    leat_feature_key name;
    leat_feature feature, found[8];
    for (size_t i = 0; i < n; i++) {
        ORACLE_EXPECT(leat_example_next(&iter, &name, &feature, NULL) == LEAT_FORMAT_OK);
        ORACLE_EXPECT(strlen(expected->feature[i]->key) == strnlen(name.name, name.length));
        ORACLE_EXPECT(
            memcmp(name.name, expected->feature[i]->key, strlen(expected->feature[i]->key)) == 0);
        oracle_same_feature(&feature, expected->feature[i]->value);
    }
    ORACLE_EXPECT(leat_example_next(&iter, &name, &feature, NULL) == LEAT_FORMAT_END);
    for (size_t first = 0; first < n; first += 8) {
        leat_feature_key keys[8];
        const size_t n_keys = n - first < 8 ? n - first : 8;
        for (size_t i = 0; i < n_keys; i++) {
            keys[i].name = expected->feature[first + i]->key;
            keys[i].length = strlen(keys[i].name);
        }
        ORACLE_EXPECT(leat_example_scan(bytes, size, keys, n_keys, found, NULL) == 0);
        for (size_t i = 0; i < n_keys; i++) {
            const Leat__FeatureEntry *last = NULL;
            for (size_t k = 0; k < n; k++)
                if (strcmp(expected->feature[k]->key, keys[i].name) == 0)
                    last = expected->feature[k];
            oracle_same_feature(&found[i], last->value);
        }
    }
}

/* Walks everything. *odd becomes 1 where protobuf-c is no judge: it cuts a name at a zero byte, and
 * joins two values of one entry in its own way (the tests by hand cover that). */
static int oracle_walk(const uint8_t *bytes, size_t size, int *odd, leat_format_error *err)
{
    leat_example_iter iter = leat_example_iterate(bytes, size);
    leat_feature feature;
    entry e;
    int rc;
    *odd = 0;
    while ((rc = next_entry(&iter, &e, err)) == LEAT_FORMAT_OK) {
        *odd |= e.n_values > 1 || (e.name.length && memchr(e.name.name, 0, e.name.length));
        rc = read_value(&e, &feature, err);
        if (rc < 0)
            return rc;
    }
    return rc == LEAT_FORMAT_END ? LEAT_FORMAT_OK : rc;
}

/* Aborts unless both say the same. Returns 1 when the scanner took the message. */
static int oracle_check(const uint8_t *bytes, size_t size)
{
    leat_format_error err = { 0 };
    int odd;
    const int rc = oracle_walk(bytes, size, &odd, &err);
    Leat__Example *expected = leat__example__unpack(NULL, size, bytes);
    if (rc < 0) {
        ORACLE_EXPECT(rc == LEAT_FORMAT_BAD && err.code == rc && err.offset <= size);
        /* what only the scanner refuses */
        ORACLE_EXPECT(!expected || strstr(err.text, "several pieces") ||
                      strstr(err.text, "field number"));
    } else if (!odd) {
        ORACLE_EXPECT(expected);
        oracle_same_message(bytes, size, expected->features);
    }
    if (expected)
        leat__example__free_unpacked(expected, NULL);
    return rc == LEAT_FORMAT_OK;
}

#endif
