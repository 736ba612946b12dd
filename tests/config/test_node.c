/* SPDX-License-Identifier: MIT
 *
 * test_node.c: options are read from a config's nodes, and what they may not be is said with its place. */
#include "fixtures/config_fixture.h"

typedef struct crop_options {
    leat_i64s size;
    int64_t pad, memory;
    float p;
    int32_t mode;
    leat_strings columns;
    const leat_node *ops;
    leat_string name;
} crop_options;

static const char *const modes[] = { "zero", "edge", NULL };

static const leat_option table[] = {
    LEAT_OPTION_I64S(crop_options, size, NULL, 1, 65536, "height and width in pixels"),
    LEAT_OPTION_I64(crop_options, pad, "0", 0, 64, "pixels added on each side"),
    LEAT_OPTION_BYTES(crop_options, memory, "1 MiB", 0, 1e12, "memory"),
    LEAT_OPTION_F32(crop_options, p, "0.5", 0, 1, "probability"),
    LEAT_OPTION_ENUM(crop_options, mode, "zero", modes, "what is added"),
    LEAT_OPTION_STRINGS(crop_options, columns, "[]", "columns"),
    LEAT_OPTION_NODE(crop_options, ops, "", "ops"),
    LEAT_OPTION_STRING(crop_options, name, "image", "name"),
    LEAT_OPTION_END
};
static const leat_option no_options[] = { LEAT_OPTION_END };

/* Reads the options of `x` in a config, as an op 'crop' that stands at x's place. */
static int read_options(const leat_config *config, crop_options *o, leat_error *err)
{
    const leat_node *x = leat_node_find(leat_config_root(config), "x");
    memset(o, 0xff, sizeof *o);
    return leat_node_options(x, leat_config_root(config), "op 'crop'", table, o, err);
}

TEST(options_arrive)
{
    crop_options o;
    leat_config *config = parse("x: {size: [30, 20], pad: 4, memory: 2 KiB, mode: edge, p: .25,\n"
                                "    columns: [a, \"b c\"], ops: [relu], name: \"\"}\n");
    assert_int_equal(read_options(config, &o, NULL), LEAT_OK);
    assert_int_equal(o.size.n, 2);
    assert_int_equal(o.size.values[0], 30);
    assert_int_equal(o.size.values[1], 20);
    assert_int_equal(o.pad, 4);
    assert_int_equal(o.memory, 2048);
    assert_int_equal(o.mode, 1);
    assert_float_equal(o.p, 0.25f, 0);
    assert_int_equal(o.columns.n, 2);
    assert_string_equal(o.columns.values[1].text, "b c");
    assert_ptr_equal(o.ops, leat_node_find(leat_node_find(leat_config_root(config), "x"), "ops"));
    assert_string_equal(o.name.text, "");
    leat_config_close(&config);
    config = parse("x: {size: 1, ops: }");
    assert_int_equal(read_options(config, &o, NULL), LEAT_OK);
    assert_null(o.ops);
    leat_config_close(&config);
}

/* All ways to give the first row, and what the others then are. */
TEST(bare_values)
{
    static const char *const texts[] = { "x: 7", "x: [7]", "x: {size: 7}", "x: {size: [7]}" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        crop_options o;
        leat_config *config = parse(texts[i]);
        assert_int_equal(read_options(config, &o, NULL), LEAT_OK);
        assert_int_equal(o.size.n, 1);
        assert_int_equal(o.size.values[0], 7);
        assert_int_equal(o.pad, 0);
        assert_int_equal(o.memory, 1 << 20);
        assert_null(o.ops);
        assert_string_equal(o.name.text, "image");
        assert_int_equal(leat_config_set(config, "x.pad=3", NULL), LEAT_OK);
        assert_int_equal(read_options(config, &o, NULL), LEAT_OK);
        assert_int_equal(o.size.n, 1);
        assert_int_equal(o.size.values[0], 7);
        assert_int_equal(o.pad, 3);
        leat_config_close(&config);
    }
}

TEST(a_row_set_by_name_wins)
{
    crop_options o;
    leat_config *config = parse("x: 7");
    assert_int_equal(leat_config_set(config, "x.pad=3", NULL), LEAT_OK);
    assert_int_equal(leat_config_set(config, "x.size=[9, 8]", NULL), LEAT_OK);
    assert_int_equal(read_options(config, &o, NULL), LEAT_OK);
    assert_int_equal(o.size.n, 2);
    assert_int_equal(o.size.values[0], 9);
    assert_int_equal(o.pad, 3);
    leat_config_close(&config);
}

TEST(bad_options)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "y: 1",
          "config.yaml:1:1: op 'crop' needs the option 'size' (height and width in pixels)" },
        { "x:", "needs the option 'size'" },
        { "x: {}", "needs the option 'size'" },
        { "x: {pad: 1}", "needs the option 'size'" },
        { "x: {size: 7, sise: 3}",
          "config.yaml:1:14: op 'crop' has no option 'sise'; did you mean 'size'? It has: size, "
          "pad, memory, p, mode, columns, ops, name" },
        { "x:\n  size: 7\n  zzzzzz: 3",
          "config.yaml:3:3: op 'crop' has no option 'zzzzzz'. It has: size" },
        { "x: {size: [7, 0]}",
          "config.yaml:1:15: op 'crop': size[1] must be between 1 and 65536, got 0" },
        { "x: {size: [7, [1]]}", "config.yaml:1:15: op 'crop': size must be a whole number between "
                                 "1 and 65536; got a list" },
        { "x: {size: [7, ~]}", "config.yaml:1:15: op 'crop': size must be a whole number between 1 "
                               "and 65536; got nothing" },
        { "x: {size: {a: 1}}", "config.yaml:1:11: op 'crop': size must be a whole number between 1 "
                               "and 65536; got a mapping" },
        { "x: {size: }", "size must be a whole number between 1 and 65536; got nothing" },
        { "x: [1,2,3,4,5,6,7,8,9]", "config.yaml:1:21: op 'crop': size takes at most 8 values" },
        { "x: a", "config.yaml:1:4: op 'crop': size[0] must be a whole number" },
        { "x: {size: 7, pad: [1]}",
          "config.yaml:1:19: op 'crop': pad must be a whole number between 0 and 64; got a list" },
        { "x: {size: 7, pad: 65}",
          "config.yaml:1:19: op 'crop': pad must be between 0 and 64, got 65" },
        { "x: {size: 7, mode: egde}", "config.yaml:1:20: op 'crop': mode must be one of zero, "
                                      "edge; got 'egde', did you mean 'edge'?" },
        { "x: {size: 7, columns: [a, {b: c}]}",
          "config.yaml:1:27: op 'crop': columns must be text; got a mapping" },
        { "x: {size: 7, name: [a]}", "config.yaml:1:20: op 'crop': name must be text; got a list" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crop_options o;
        leat_error err = { .code = 0 };
        leat_config *config = parse(cases[i].text);
        const int rc = read_options(config, &o, &err);
        if (rc != LEAT_E_CONFIG || err.code != rc || !strstr(err.message, cases[i].message))
            fail_msg("'%s': %d '%s', not '%s'", cases[i].text, rc, err.message, cases[i].message);
        assert_int_equal(read_options(config, &o, NULL), rc);
        leat_config_close(&config);
    }
}

TEST(bad_options_of_set)
{
    crop_options o;
    leat_error err;
    leat_config *config = parse("x: 7");
    assert_int_equal(leat_config_set(config, "x.sise=3", NULL), LEAT_OK);
    assert_int_equal(read_options(config, &o, &err), LEAT_E_CONFIG);
    assert_non_null(
        strstr(err.message, "--set x.sise: op 'crop' has no option 'sise'; did you mean 'size'?"));
    assert_int_equal(leat_config_set(config, "x={size: 7, pad: [0]}", NULL), LEAT_OK);
    assert_int_equal(read_options(config, &o, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "--set x: op 'crop': pad must be"));
    leat_config_close(&config);
}

TEST(tables_without_rows)
{
    int nothing = 0;
    leat_error err;
    leat_config *config = parse("a:\nb: {}\nc: 1\nd: {e: 1}\n");
    const leat_node *root = leat_config_root(config);
    for (const char *key = "abcd"; *key; key++) {
        const char name[] = { *key, 0 };
        const int rc = leat_node_options(leat_node_find(root, name), root, "op 'relu'", no_options,
                                         &nothing, &err);
        assert_int_equal(rc, *key < 'c' ? LEAT_OK : LEAT_E_CONFIG);
        if (rc)
            assert_non_null(strstr(err.message, "op 'relu' takes no options"));
    }
    leat_config_close(&config);
}

TEST(named_entries)
{
    static const struct {
        const char *text, *name, *options;
    } cases[] = {
        { "[relu]", "relu", NULL },
        { "[relu: ]", "relu", NULL },
        { "[relu: ~]", "relu", NULL },
        { "[\"null\"]", "null", NULL },
        { "[dense: {units: 10}]", "dense", "{units: 10}" },
        { "[dense: 10]", "dense", "10" },
        { "[dense: [1, 2]]", "dense", "[1, 2]" },
        { "[dense: {}]", "dense", "{}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        const char *name;
        const leat_node *options;
        leat_error err = { .code = 0 };
        snprintf(text, sizeof text, "x: %s", cases[i].text);
        leat_config *config = parse(text);
        if (leat_node_named(leat_config_root(config)->first->first, "a layer", &name, &options,
                            &err))
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_string_equal(name, cases[i].name);
        assert_int_equal(!options, !cases[i].options);
        if (options) {
            leat_node_text(options, text, sizeof text);
            assert_string_equal(text, cases[i].options);
        }
        leat_config_close(&config);
    }
}

TEST(bad_named_entries)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "- [a]", "config.yaml:2:3: a layer must be a name, or a name with options, not a list" },
        { "- ''", "config.yaml:2:3: a layer has no name" },
        { "-", "a layer has no name" },
        { "- ~", "a layer has no name" },
        { "- {}", "config.yaml:2:3: a layer is empty" },
        { "- {a: 1, b: 2}",
          "config.yaml:2:3: a layer must be one name with its options, but this has 2: a, b" },
        { "- dense:\n  units: 10", "has 2: dense, units (indent the options of 'dense' further)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        const char *name;
        const leat_node *options;
        leat_error err = { .code = 0 };
        snprintf(text, sizeof text, "x:\n%s", cases[i].text);
        leat_config *config = parse(text);
        const int rc = leat_node_named(leat_config_root(config)->first->first, "a layer", &name,
                                       &options, &err);
        if (rc != LEAT_E_CONFIG || !strstr(err.message, cases[i].message))
            fail_msg("'%s': %d '%s', not '%s'", text, rc, err.message, cases[i].message);
        leat_config_close(&config);
    }
    assert_int_equal(leat_node_named(NULL, "a layer", &(const char *){ NULL },
                                     &(const leat_node *){ NULL }, NULL),
                     LEAT_E_CONFIG);
}

/* `optimizer: adam` of which options are set names adam with options; another name is an error. */
TEST(named_values_with_options_set)
{
    const char *name;
    const leat_node *options;
    leat_error err;
    leat_config *config = parse("x: adam");
    assert_int_equal(leat_config_set(config, "x.adam.beta1=0.8", NULL), LEAT_OK);
    const leat_node *x = leat_config_root(config)->first;
    assert_int_equal(leat_node_named(x, "the optimizer", &name, &options, &err), LEAT_OK);
    assert_string_equal(name, "adam");
    assert_string_equal(leat_node_find(options, "beta1")->text, "0.8");
    assert_int_equal(leat_config_set(config, "x.sgd.momentum=0.8", NULL), LEAT_OK);
    assert_int_equal(leat_node_named(x, "the optimizer", &name, &options, &err), LEAT_E_CONFIG);
    leat_config_close(&config);
    config = parse("x: sgd");
    assert_int_equal(leat_config_set(config, "x.adam.beta1=0.8", NULL), LEAT_OK);
    x = leat_config_root(config)->first;
    assert_int_equal(leat_node_named(x, "the optimizer", &name, &options, &err), LEAT_E_CONFIG);
    assert_string_equal(err.message, "config.yaml:1:4: the optimizer must be one name with its "
                                     "options, but this has 2: sgd, adam");
    leat_config_close(&config);
}

/* Different spellings of one value are one text, different values never are; and a text reads back
 * as the same node. */
TEST(canonical_texts)
{
    static const char *const groups[][4] = {
        { "{a: 1, b: [x, y]}", "{b: [x, y], a: 1}", "\n  b:\n  - x\n  - y\n  a: '1'",
          "{a: 1, b: [x, y]}" },
        { "~", "null", "", "null" },
        { "'~'", "\"~\"", "", "\"~\"" },
        { "'null'", "\"null\"", "", "\"null\"" },
        { "''", "\"\"", "", "\"\"" },
        { "'x, y'", "\"x, y\"", "", "\"x, y\"" },
        { "[x, y]", "['x', y]", "", "[x, y]" },
        { "'[x, y]'", "\"[x, y]\"", "", "\"[x, y]\"" },
        { "'a: b'", "\"a: b\"", "", "\"a: b\"" },
        { "{a: b}", "{'a': \"b\"}", "", "{a: b}" },
        { "\"a\\nb\"", "\"a\\x0ab\"", "", "\"a\\x0ab\"" },
        { "'\"'", "\"\\\"\"", "", "\"\\\"\"" },
        { "sim:h200", "'sim:h200'", "", "sim:h200" },
        { "-1", "'-1'", "", "-1" },
        { "'-'", "\"-\"", "", "\"-\"" },
        { "a b", "'a b'", "", "a b" },
        { "'a '", "\"a \"", "", "\"a \"" },
        { "\"\\u2028\\u0085\\ufeff\"", "\"\\xe2\"", "", NULL },
        { "[]", "[ ]", "", "[]" },
        { "{}", "{ }", "", "{}" },
    };
    char texts[64][100];
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (size_t i = 0; i < 4; i++) {
            char source[200], text[100];
            if (!groups[g][i] || (!groups[g][3] && i > 0) || (!*groups[g][i] && i == 2))
                continue;
            snprintf(source, sizeof source, "x: %s", groups[g][i]);
            leat_config *config = parse(source);
            leat_node_text(leat_config_root(config)->first, text, sizeof text);
            leat_config_close(&config);
            if (i == 0)
                snprintf(texts[g], sizeof texts[g], "%s", text);
            assert_string_equal(text, groups[g][3] ? groups[g][3] : texts[g]);
            snprintf(source, sizeof source, "x: %s", text);
            config = parse(source);
            char again[100];
            leat_node_text(leat_config_root(config)->first, again, sizeof again);
            assert_string_equal(again, text);
            leat_config_close(&config);
        }
        for (size_t other = 0; other < g; other++)
            assert_string_not_equal(texts[g], texts[other]);
    }
}

TEST(texts_are_cut)
{
    char text[64], whole[64];
    leat_config *config = parse("x: {a: [1, 2], b: 'c, d'}");
    const size_t n = leat_node_text(leat_config_root(config), whole, sizeof whole);
    assert_int_equal(n, strlen(whole));
    for (size_t size = 0; size <= n + 1; size++) {
        memset(text, '#', sizeof text);
        assert_int_equal(leat_node_text(leat_config_root(config), text, size), n);
        assert_int_equal(text[size], '#');
        if (size > 0) {
            assert_int_equal(strlen(text), size - 1);
            assert_memory_equal(text, whole, size - 1);
        }
    }
    assert_int_equal(leat_node_text(NULL, text, sizeof text), 4);
    assert_string_equal(text, "null");
    leat_config_close(&config);
}
