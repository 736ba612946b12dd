/* SPDX-License-Identifier: MIT
 *
 * test_config.c: a config is read as its text says, each node knows where it stood, and texts and files
 * that are no config are refused with the place. */
#include "fixtures/config_fixture.h"
#include "fixtures/failing_malloc.h"

#include <unistd.h>

TEST(nodes_know_where_they_stood)
{
    leat_config *config = parse("a: 1\nlist:\n  - x\n  - {k: \"v\"}\nempty:\n");
    const leat_node *root = leat_config_root(config);
    assert_int_equal(root->kind, LEAT_NODE_MAP);
    assert_int_equal(leat_node_count(root), 3);
    const leat_node *a = find(config, "a");
    assert_string_equal(a->text, "1");
    assert_string_equal(a->file, "config.yaml");
    assert_int_equal(a->line, 1);
    assert_int_equal(a->column, 4);
    assert_int_equal(a->key_line, 1);
    assert_int_equal(a->key_column, 1);
    const leat_node *list = find(config, "list");
    assert_int_equal(list->kind, LEAT_NODE_LIST);
    assert_int_equal(list->line, 3);
    assert_int_equal(list->column, 3);
    assert_int_equal(list->key_line, 2);
    assert_int_equal(leat_node_count(list), 2);
    const leat_node *v = leat_node_find(list->first->next, "k");
    assert_non_null(v);
    assert_true(v->quoted);
    assert_int_equal(v->line, 4);
    assert_int_equal(v->column, 9);
    assert_true(leat_node_is_null(find(config, "empty")));
    assert_false(leat_node_is_null(a));
    assert_null(leat_node_find(list, "k"));
    assert_null(leat_node_find(NULL, "k"));
    assert_int_equal(leat_node_count(NULL), 0);
    leat_config_close(&config);
    assert_null(config);
    leat_config_close(&config);
    assert_null(leat_config_root(NULL));
}

TEST(bad_texts)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "config.yaml:1:1: the config is empty" },
        { "# nothing\n", "the config is empty" },
        { "---\n", "the config is empty" },
        { "~", "the config is empty" },
        { "word", "config.yaml:1:1: a config must be a mapping" },
        { "\n- a\n- b\n", "config.yaml:2:1: a config must be a mapping" },
        { "a: 1\nb: 2\na: 3\n", "config.yaml:3:1: 'a' is given twice" },
        { "x: {b: 1, a: 1, b: 2}", "config.yaml:1:17: 'b' is given twice" },
        { "a: 1\n---\nb: 2\n", "config.yaml:2:1: a second document" },
        { "a: &x 1\n", "config.yaml:1:4: anchors" },
        { "a: *x\n", "config.yaml:1:4: aliases" },
        { "a: *.tfrecord\n", "config.yaml:1:4: text that begins with '*' must stand in quotes" },
        { "a: !!int 1\n", "config.yaml:1:4: tags" },
        { "a: !t {b: c}\n", "config.yaml:1:4: tags" },
        { "a: &l [1]\n", "config.yaml:1:4: anchors" },
        { "a:\n\tb: 1\n", "config.yaml:2:1: a tab: indent with spaces, not tabs" },
        { "a: [1, 2\nb: 3\n", "config.yaml:1:4: this '[' is not closed: ',' or ']' is missing" },
        { "a: {b: 1\n", "config.yaml:1:4: this '{' is not closed: ',' or '}' is missing" },
        { "a: \"x\n", "config.yaml:1:4: this quote is not closed" },
        { "a: 1\n  b: 2\n",
          "config.yaml:2:3: this line is indented by 2 spaces, further than line 1 (0)" },
        { "a: b: c\n", "config.yaml:1:5: a second ':' in one entry" },
        { "{a: 1}}\n", "config.yaml:1:7: text follows the end of the config" },
        { "[a]: 1\n", "config.yaml:1:1: a key must be a word" },
        { "{b: 1}: 1\n", "config.yaml:1:1: a key must be a word" },
        { ": 1\n", "config.yaml:1:1: a key is missing before ':'" },
        { "?\n: 1\n", "a key is missing" },
        { "\"\": 1\n", "config.yaml:1:1: a key is missing" },
        { "a: \"x\\0y\"\n", "config.yaml:1:4: text must not hold a zero byte" },
        { "a: b\nc: \xff\n", "config.yaml:2:4: invalid leading UTF-8 octet" },
        { "a: b\nc: \x01\n", "config.yaml:2:4: control characters are not allowed" },
        { "%YAML 9.9\n---\na: 1\n", "config.yaml:1:1: found incompatible YAML document" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_config *config;
        leat_error err = { .code = 0 };
        const int rc = leat_config_parse(cases[i].text, "config.yaml", &config, &err);
        if (rc != LEAT_E_CONFIG || err.code != rc || !strstr(err.message, cases[i].message))
            fail_msg("'%s': %d '%s', not '%s'", cases[i].text, rc, err.message, cases[i].message);
        assert_null(config);
    }
}

TEST(depth_has_a_limit)
{
    char text[400];
    leat_config *config;
    leat_error err;
    for (int depth = 60; depth < 70; depth++) {
        int n = snprintf(text, sizeof text, "a: "); /* the root is the first level */
        for (int i = 0; i < depth; i++)
            text[n++] = '[';
        for (int i = 0; i < depth; i++)
            text[n++] = ']';
        text[n] = 0;
        const int rc = leat_config_parse(text, "x", &config, &err);
        assert_int_equal(rc, depth < 64 ? LEAT_OK : LEAT_E_CONFIG);
        if (rc)
            assert_string_equal(err.message, "x:1:67: lists and mappings are nested too deeply");
        leat_config_close(&config);
    }
}

TEST(very_many_keys)
{
    const int n_keys = 200000;
    char *text = malloc((size_t)n_keys * 12 + 1);
    assert_non_null(text);
    size_t n = 0;
    for (int i = 0; i < n_keys; i++)
        n += (size_t)sprintf(text + n, "k%d: %d\n", i * 7 % n_keys, i % 10);
    leat_config *config = parse(text);
    assert_int_equal(leat_node_count(leat_config_root(config)), n_keys);
    leat_config_close(&config);
    free(text);
}

TEST(files)
{
    char path[] = "/tmp/leat_test_config_XXXXXX";
    leat_config *config;
    leat_error err;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, config_sample, strlen(config_sample)), strlen(config_sample));
    assert_int_equal(leat_config_load(path, &config, &err), LEAT_OK);
    assert_string_equal(find(config, "train")->file, path);
    leat_config_close(&config);
    assert_int_equal(ftruncate(fd, (16 << 20) + 1), 0);
    assert_int_equal(leat_config_load(path, &config, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "larger than 16 MiB"));
    assert_null(config);
    close(fd);
    unlink(path);
    assert_int_equal(leat_config_load(path, &config, &err), LEAT_E_IO);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(leat_config_load("/tmp", &config, &err), LEAT_E_IO);
    assert_non_null(strstr(err.message, "directory"));
    assert_int_equal(leat_config_load("/dev/null", &config, &err), LEAT_E_CONFIG);
}

TEST(every_prefix_is_read_or_refused)
{
    char text[2000];
    assert_in_range(strlen(config_sample), 1, sizeof text - 1);
    for (size_t n = 0; n <= strlen(config_sample); n++) {
        leat_config *config;
        leat_error err = { .code = 0 };
        memcpy(text, config_sample, n);
        text[n] = 0;
        const int rc = leat_config_parse(text, "x", &config, &err);
        assert_true(rc == LEAT_OK ? config != NULL : rc == LEAT_E_CONFIG && *err.message);
        leat_config_close(&config);
    }
}

TEST(failed_allocations)
{
    leat_error err;
    leat_config *config;
    int rc;
    long n = 0;
    for (;; n++) {
        failing_malloc_at(n);
        rc = leat_config_parse(config_sample, "config.yaml", &config, &err);
        if (!failing_malloc_hit())
            break;
        assert_int_equal(rc, LEAT_E_NOMEM);
        assert_null(config);
    }
    assert_int_equal(rc, LEAT_OK);
    assert_true(n > 10);
    leat_config_close(&config);
}

TEST(failed_allocations_of_load)
{
    char path[] = "/tmp/leat_test_config_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(dprintf(fd, "key_number_%d: {a: [1, 2, 3]}\n", i) > 0, 1);
    close(fd);
    for (long n = 0;; n++) {
        leat_config *config;
        leat_error err;
        failing_malloc_at(n);
        const int rc = leat_config_load(path, &config, &err);
        if (!failing_malloc_hit()) {
            assert_int_equal(rc, LEAT_OK);
            leat_config_close(&config);
            break;
        }
        if (rc == LEAT_OK) /* a file can be read without the buffer it did not get */
            assert_non_null(config);
        else
            assert_true(rc == LEAT_E_NOMEM && !config);
        leat_config_close(&config);
        if (n > 40)
            n += n / 7; /* every one would take long */
    }
    unlink(path);
}
