/* SPDX-License-Identifier: MIT
 *
 * test_config_text.c: configs written as files and read again. */
#include "config/node.h"
#include "fixtures/own_folder.h"

static leat_config *parse(const char *text)
{
    leat_config *config;
    leat_error err;
    if (leat_config_parse(text, "test.yaml", &config, &err))
        fail_msg("%s\n%s", err.message, text);
    return config;
}

/* Writes and reads it, and compares the nodes. Returns the file. */
static const char *written(const leat_config *config)
{
    static char file[1 << 14], before[1 << 14], after[1 << 14];
    size_t length;
    leat_error err;
    if (leat_config_text(config, file, sizeof file, &length, &err))
        fail_msg("%s", err.message);
    assert_int_equal(length, strlen(file));
    leat_config *again = parse(file);
    leat_node_text(leat_config_root(config), before, sizeof before);
    leat_node_text(leat_config_root(again), after, sizeof after);
    if (strcmp(before, after) != 0)
        fail_msg("%s\nbecame\n%s\nby\n%s", before, after, file);
    leat_config_close(&again);
    for (size_t cut = 0; cut <= length; cut += 1 + length / 7) { /* a buffer that is too small */
        char *small = malloc(cut + 1);
        size_t whole = 0;
        assert_non_null(small);
        small[cut] = 1;
        assert_int_equal(leat_config_text(config, cut ? small : NULL, cut, &whole, NULL), LEAT_OK);
        assert_int_equal(whole, length);
        assert_int_equal(small[cut], 1);
        if (cut)
            assert_int_equal(strlen(small), cut - 1);
        free(small);
    }
    return file;
}

TEST(texts_read_back)
{
    static const char *const texts[] = {
        "a: 1",
        "a:\n",
        "b: {c: [1, 2, [3]], d: ''}\na: \"x: y\"\n",
        "'1, 2': [~, null, 'null']",
        "a: [[], {}, '']",
        "pipeline:\n  - shuffle\n  - batch: 3\n",
        "list:\n  - [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, "
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccccccccccccccccccc]\n  - - "
        "{k: dddddddddddddddddddddddddddddddddddddddddddddddddd, l: "
        "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee}\n",
        "long: "
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
        "fffffffffffffffffffffffffffffffffffff\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        leat_config *config = parse(texts[i]);
        written(config);
        leat_config_close(&config);
    }
}

TEST(examples_read_back)
{
    static const char *const names[] = { "cifar10.yaml", "cifar10-fast.yaml", "demo.yaml",
                                         "mlp.yaml",     "mnist.yaml",        "shapes.yaml",
                                         "points.yaml" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1024];
        leat_config *config;
        leat_error err;
        snprintf(path, sizeof path, "%s/examples/%s", SOURCE_DIR, names[i]);
        if (leat_config_load(path, &config, &err))
            fail_msg("%s", err.message);
        const char *file = written(config);
        for (const char *line = file; *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= 104);
        leat_config_close(&config);
    }
}

TEST(keys_keep_their_order)
{
    leat_config *config = parse("z: 1\na: {y: 1}\n");
    assert_string_equal(written(config), "z: 1\na: {y: 1}\n");
    leat_config_close(&config);
}

/* Without quotes some readers take it for eight, and csv's `default` is refused. */
TEST(zeros_in_front_keep_their_quotes)
{
    leat_config *config = parse("zip: '010'\ncodes: [\"-07\", 0, '0.5', '01a']\n");
    assert_string_equal(written(config), "zip: \"010\"\ncodes: [\"-07\", 0, 0.5, 01a]\n");
    leat_config_close(&config);
}

TEST(a_value_without_a_name_is_refused)
{
    size_t length;
    leat_error err;
    leat_config *config = parse("pipeline:\n  - batch: 128\n");
    assert_int_equal(leat_config_set(config, "pipeline.batch.drop_remainder=true", &err), LEAT_OK);
    assert_int_equal(leat_config_text(config, NULL, 0, &length, &err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "'batch'"));
    assert_int_equal(leat_config_text(NULL, NULL, 0, &length, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_config_text(config, NULL, 0, NULL, NULL), LEAT_E_ARGUMENT);
    leat_config_close(&config);
}
