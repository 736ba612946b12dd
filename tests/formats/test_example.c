/* SPDX-License-Identifier: MIT
 *
 * test_example.c: the scanner against protobuf-c on random messages, whole and cut; and the odd messages that protobuf
 * allows, by hand. */
#include "fixtures/example_oracle.h"
#include "fixtures/format_test.h"
#include "formats/example.h"

/* Random tf.train.Example messages on the wire, odd ones too: unknown fields, features that stand
 * twice or have no value, lists packed or not. */

typedef struct wire {
    uint8_t bytes[1 << 16];
    size_t size;
} wire;

static void put_bytes(wire *w, const void *bytes, size_t size)
{
    assert_true(w->size + size <= sizeof w->bytes);
    if (size)
        memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void put_varint(wire *w, uint64_t value)
{
    uint8_t byte;
    do {
        byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put_bytes(w, &byte, 1);
    } while (value >>= 7);
}

static void put_tag(wire *w, unsigned number, unsigned type)
{
    put_varint(w, (uint64_t)number << 3 | type);
}

static void put_message(wire *w, unsigned number, const wire *inner)
{
    put_tag(w, number, 2);
    put_varint(w, inner->size);
    put_bytes(w, inner->bytes, inner->size);
}

static uint64_t random_varint(void)
{
    return next_random() >> random_below(64);
}

/* A field of a number that no message here has. */
static void put_unknown(wire *w)
{
    static const unsigned types[] = { 0, 1, 2, 5 };
    const unsigned type = types[random_below(4)];
    uint8_t noise[40];
    fill_random(noise, sizeof noise);
    put_tag(w, (unsigned)(4 + random_below(random_below(2) ? 20 : 1u << 28)), type);
    if (type == 0) {
        put_varint(w, random_varint());
    } else if (type == 2) {
        const size_t size = random_below(sizeof noise);
        put_varint(w, size);
        put_bytes(w, noise, size);
    } else {
        put_bytes(w, noise, type == 1 ? 8 : 4);
    }
}

static void maybe_unknown(wire *w)
{
    if (random_below(6) == 0)
        put_unknown(w);
}

static void put_random_number(wire *w, unsigned kind)
{
    const uint32_t bits = (uint32_t)next_random();
    if (kind == LEAT_FEATURE_INT64)
        put_varint(w, random_varint());
    else
        put_bytes(w, &bits, 4);
}

static void put_random_values(wire *list, unsigned kind)
{
    uint8_t noise[64];
    const size_t n = random_below(5);
    maybe_unknown(list);
    if (kind == LEAT_FEATURE_BYTES) {
        const size_t size = random_below(sizeof noise);
        fill_random(noise, size);
        put_tag(list, 1, 2);
        put_varint(list, size);
        put_bytes(list, noise, size);
    } else if (random_below(3)) { /* packed */
        wire *packed = malloc(sizeof *packed);
        packed->size = 0;
        for (size_t i = 0; i < n; i++)
            put_random_number(packed, kind);
        put_message(list, 1, packed);
        free(packed);
    } else {
        put_tag(list, 1, kind == LEAT_FEATURE_INT64 ? 0 : 5);
        put_random_number(list, kind);
    }
    maybe_unknown(list);
}

static void put_random_feature(wire *feature)
{
    wire *list = malloc(sizeof *list);
    unsigned last = 0;
    const size_t n_lists = random_below(8) ? 1 : random_below(4);
    for (size_t i = 0; i < n_lists; i++) {
        unsigned kind = 1 + (unsigned)random_below(3);
        kind = kind == last ? kind % 3 + 1 : kind; /* the same again would be in pieces */
        last = kind;
        list->size = 0;
        for (size_t n = random_below(4); n--;)
            put_random_values(list, kind);
        maybe_unknown(feature);
        put_message(feature, kind, list);
    }
    maybe_unknown(feature);
    free(list);
}

static void put_random_entry(wire *features)
{
    static const char *const names[] = {
        "", "a", "b", "image/encoded", "image/class/label", "\xc3\xa9\xe2\x82\xac", "image"
    };
    wire *one = malloc(sizeof *one), *feature = malloc(sizeof *feature);
    const char *name = names[random_below(sizeof names / sizeof *names)];
    const uint64_t value_first = random_below(2);
    one->size = feature->size = 0;
    put_random_feature(feature);
    if (value_first)
        put_message(one, 2, feature);
    maybe_unknown(one);
    if (*name || random_below(2)) {
        put_tag(one, 1, 2);
        put_varint(one, strlen(name));
        put_bytes(one, name, strlen(name));
    }
    maybe_unknown(one);
    if (!value_first && random_below(10))
        put_message(one, 2, feature);
    put_message(features, 1, one);
    free(feature);
    free(one);
}

static void make_random_example(wire *example)
{
    wire *features = malloc(sizeof *features);
    example->size = 0;
    for (size_t n = random_below(4) ? 1 : random_below(3); n--;) {
        features->size = 0;
        for (size_t k = random_below(9); k--;) {
            maybe_unknown(features);
            put_random_entry(features);
        }
        maybe_unknown(example);
        put_message(example, 1, features);
    }
    maybe_unknown(example);
    free(features);
}

TEST(random_messages)
{
    wire *example = malloc(sizeof *example);
    for (int i = 0; i < 10000; i++) {
        make_random_example(example);
        uint8_t *copy = copy_of(example->bytes, example->size);
        assert_int_equal(oracle_check(copy, example->size), 1);
        free(copy);
    }
    free(example);
}

TEST(random_messages_cut_and_flipped)
{
    wire *example = malloc(sizeof *example);
    for (int i = 0; i < 150; i++) {
        make_random_example(example);
        for (size_t n = 0; n < example->size; n++) {
            uint8_t *copy = copy_of(example->bytes, n);
            oracle_check(copy, n);
            free(copy);
            copy = copy_of(example->bytes, example->size);
            copy[n] ^= (uint8_t)(1u << random_below(8));
            oracle_check(copy, example->size);
            free(copy);
        }
    }
    free(example);
}

/* --- by hand -----------------------------------------------------------------------------------*/

typedef struct odd {
    const char *bytes;
    size_t size;
    int kind; /* of feature "a"; -1: the message is refused, saying `text` */
    uint64_t n;
    const char *text;
} odd;

#define ODD(bytes, ...)                                                                            \
    {                                                                                              \
        bytes, sizeof bytes - 1, __VA_ARGS__                                                       \
    }

static const odd odds[] = {
    ODD("", 0, 0, NULL),
    ODD("\x0a\x00", 0, 0, NULL),
    /* no value, a value without a list, an empty list of each kind */
    ODD("\x0a\x05\x0a\x03\x0a\x01"
        "a",
        0, 0, NULL),
    ODD("\x0a\x07\x0a\x05\x0a\x01"
        "a\x12\x00",
        0, 0, NULL),
    ODD("\x0a\x09\x0a\x07\x0a\x01"
        "a\x12\x02\x0a\x00",
        1, 0, NULL),
    ODD("\x0a\x09\x0a\x07\x0a\x01"
        "a\x12\x02\x12\x00",
        2, 0, NULL),
    ODD("\x0a\x09\x0a\x07\x0a\x01"
        "a\x12\x02\x1a\x00",
        3, 0, NULL),
    /* int64 7, unpacked; after 8, 9, packed; a negative one takes ten bytes */
    ODD("\x0a\x0b\x0a\x09\x0a\x01"
        "a\x12\x04\x1a\x02\x08\x07",
        3, 1, NULL),
    ODD("\x0a\x0f\x0a\x0d\x0a\x01"
        "a\x12\x08\x1a\x06\x0a\x02\x08\x09\x08\x07",
        3, 3, NULL),
    ODD("\x0a\x14\x0a\x12\x0a\x01"
        "a\x12\x0d\x1a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        3, 1, NULL),
    /* the last of two entries counts, even when it has no list; also over two Features */
    ODD("\x0a\x10\x0a\x07\x0a\x01"
        "a\x12\x02\x0a\x00\x0a\x05\x0a\x01"
        "a\x12\x00",
        0, 0, NULL),
    ODD("\x0a\x09\x0a\x07\x0a\x01"
        "a\x12\x02\x0a\x00"
        "\x0a\x09\x0a\x07\x0a\x01"
        "a\x12\x02\x12\x00",
        2, 0, NULL),
    /* the last of two kinds counts, in one value and over two */
    ODD("\x0a\x0b\x0a\x09\x0a\x01"
        "a\x12\x04\x0a\x00\x12\x00",
        2, 0, NULL),
    ODD("\x0a\x0d\x0a\x0b\x0a\x01"
        "a\x12\x02\x0a\x00\x12\x02\x12\x00",
        2, 0, NULL),
    /* the second value is empty: the first stays */
    ODD("\x0a\x0b\x0a\x09\x0a\x01"
        "a\x12\x02\x0a\x00\x12\x00",
        1, 0, NULL),
    /* refused */
    ODD("\x0a\x0b\x0a\x09\x0a\x01"
        "a\x12\x04\x0a\x00\x0a\x00",
        -1, 0, "several pieces"),
    ODD("\x0a\x0d\x0a\x0b\x0a\x01"
        "a\x12\x02\x0a\x00\x12\x02\x0a\x00",
        -1, 0, "several pieces"),
    ODD("\x0b\x0c", -1, 0, "group"),
    ODD("\x0f", -1, 0, "wire type"),
    ODD("\x02\x00", -1, 0, "field number"),
    ODD("\x08\x01", -1, 0, "no message"),
    ODD("\x80", -1, 0, "field number"),
    ODD("\x0a\x05", -1, 0, "cut short"),
    ODD("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -1, 0, "cut short"),
    ODD("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -1, 0, "cut short"),
    ODD("\x0a\x04\x0a\x02\x08\x01", -1, 0, "wrong wire type"),
    ODD("\x0a\x09\x0a\x07\x0a\x01"
        "a\x12\x02\x08\x01",
        -1, 0, "no message"),
    /* float lists of 3 bytes and of varints, int64 lists of floats and of a cut varint */
    ODD("\x0a\x0e\x0a\x0c\x0a\x01"
        "a\x12\x07\x12\x05\x0a\x03"
        "abc",
        -1, 0, "does not fit"),
    ODD("\x0a\x0b\x0a\x09\x0a\x01"
        "a\x12\x04\x12\x02\x08\x01",
        -1, 0, "does not fit"),
    ODD("\x0a\x0e\x0a\x0c\x0a\x01"
        "a\x12\x07\x1a\x05\x0d"
        "abcd",
        -1, 0, "does not fit"),
    ODD("\x0a\x0c\x0a\x0a\x0a\x01"
        "a\x12\x05\x1a\x03\x0a\x01\x80",
        -1, 0, "does not fit"),
    ODD("\x0a\x0b\x0a\x09\x0a\x01"
        "a\x12\x04\x0a\x02\x08\x01",
        -1, 0, "does not fit"),
};

TEST(odd_messages)
{
    const leat_feature_key key = { "a", 1 };
    for (size_t i = 0; i < sizeof odds / sizeof *odds; i++) {
        leat_format_error err = { 0 };
        leat_feature found;
        uint8_t *copy = copy_of(odds[i].bytes, odds[i].size);
        const int rc = leat_example_scan(copy, odds[i].size, &key, 1, &found, &err);
        if (odds[i].kind < 0) {
            if (rc != LEAT_FORMAT_BAD || !strstr(err.text, odds[i].text))
                fail_msg("message %zu: %d, \"%s\"", i, rc, err.text);
        } else if (rc != LEAT_FORMAT_OK || found.kind != odds[i].kind || found.n != odds[i].n) {
            fail_msg("message %zu: %d, kind %d, n %d, \"%s\"", i, rc, found.kind, (int)found.n,
                     err.text);
        }
        free(copy);
    }
}

TEST(values_in_order)
{
    static const char bytes[] = "\x0a\x0f\x0a\x0d\x0a\x01"
                                "a\x12\x08\x1a\x06\x0a\x02\x08\x09\x08\x07";
    const leat_feature_key key = { "a", 1 };
    leat_feature found;
    int64_t values[3];
    assert_int_equal(
        leat_example_scan((const uint8_t *)bytes, sizeof bytes - 1, &key, 1, &found, NULL),
        LEAT_FORMAT_OK);
    assert_int_equal(leat_feature_int64s(&found, values, 3, NULL), LEAT_FORMAT_OK);
    assert_int_equal(values[0], 8);
    assert_int_equal(values[1], 9);
    assert_int_equal(values[2], 7);
}

TEST(wrong_kind_says_which)
{
    const leat_feature bytes = { .kind = LEAT_FEATURE_BYTES }, none = { 0 };
    leat_format_error err;
    assert_int_equal(leat_feature_floats(&bytes, NULL, 0, &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "bytes, not float"));
    assert_int_equal(leat_feature_int64s(&none, NULL, 0, &err), LEAT_FORMAT_BAD);
    assert_non_null(strstr(err.text, "none, not int64"));
    assert_string_equal(leat_feature_kind_name(99), "none");
}

/* Messages that are built alike are found by layout, and only those. */

/* Messages that are built alike are found by layout; most single bytes that change are in values. */
TEST(layouts_find_what_the_scan_finds)
{
    wire *example = malloc(sizeof *example);
    size_t n_same = 0;
    for (int i = 0; i < 2000; i++) {
        make_random_example(example);
        n_same += oracle_layout(example->bytes, example->size);
    }
    assert_true(n_same > 1000);
    free(example);
}

/* Values may differ, also in what nobody asked for; sizes and names may not. */
TEST(a_layout_is_for_messages_of_one_kind)
{
    const leat_feature_key keys[] = { { "x", 1 }, { "id", 2 } };
    const float x[] = { 1, 2, 3 }, y[] = { -1, 7, 5e9f };
    const struct {
        const float *x;
        int64_t id, other;
        const char *name;
        bool same;
    } cases[] = { { x, 5, 9, "x", true },    { y, 127, 100, "x", true }, { y, 0, 0, "x", true },
                  { x, 128, 9, "x", false }, { x, 5, 128, "x", false },  { x, 5, 9, "z", false } };
    leat_example_builder *builder = leat_example_builder_open();
    leat_example_layout layout = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *bytes;
        size_t size;
        leat_feature found[2];
        float values[3];
        int64_t id;
        leat_example_builder_clear(builder);
        leat_example_add_floats(builder, cases[i].name, cases[i].x, 3, NULL);
        leat_example_add_int64s(builder, "other", &cases[i].other, 1, NULL);
        leat_example_add_int64s(builder, "id", &cases[i].id, 1, NULL);
        assert_int_equal(leat_example_builder_pack(builder, &bytes, &size, NULL), 0);
        if (i == 0)
            leat_example_layout_make(bytes, size, keys, 2, &layout);
        assert_int_equal(leat_example_layout_match(&layout, bytes, size, found), cases[i].same);
        if (!cases[i].same)
            continue;
        assert_int_equal(leat_feature_floats(&found[0], values, 3, NULL), 0);
        assert_memory_equal(values, cases[i].x, sizeof values);
        assert_int_equal(leat_feature_int64s(&found[1], &id, 1, NULL), 0);
        assert_int_equal(id, cases[i].id);
    }
    leat_example_builder_close(&builder);
}
