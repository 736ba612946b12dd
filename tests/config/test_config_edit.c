/* SPDX-License-Identifier: MIT
 *
 * test_config_edit.c: new values in the text of a config: every layout keeps its comments and all lines that need no
 * change, and the text reads as the config that was wanted. */
#include <glob.h>

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

/* sets: assignments, separated by spaces. Returns how many there are. */
static size_t set_all(leat_config *config, const char *sets)
{
    leat_error err;
    size_t n = 0;
    for (char one[200]; *sets; sets += *sets == ' ', n++) {
        const size_t length = strcspn(sets, " ");
        snprintf(one, sizeof one, "%.*s", (int)length, sets);
        for (char *c = one; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        if (leat_config_set(config, one, &err))
            fail_msg("%s", err.message);
        sets += length;
    }
    return n;
}

/* The edited text, which must read as the config; in new memory. */
static char *edited(const leat_config *config, const char *before)
{
    static char wanted[1 << 15], got[1 << 15];
    size_t length, again;
    leat_error err;
    if (leat_config_edit(config, before, "test.yaml", NULL, 0, &length, &err))
        fail_msg("%s\n%s", err.message, before);
    char *const after = malloc(length + 1);
    assert_non_null(after);
    assert_int_equal(leat_config_edit(config, before, "x", after, length / 2 + 1, &again, &err), 0);
    assert_int_equal(strlen(after), length / 2);
    assert_int_equal(leat_config_edit(config, before, "x", after, length + 1, &again, &err), 0);
    assert_int_equal(strlen(after), length);
    assert_int_equal(again, length);
    leat_config *read = parse(after);
    leat_node_text(leat_config_root(config), wanted, sizeof wanted);
    leat_node_text(leat_config_root(read), got, sizeof got);
    assert_string_equal(got, wanted);
    leat_config_close(&read);
    return after;
}

TEST(every_layout_is_kept)
{
    /* `_` in a value stands for a space. */
    static const struct {
        const char *sets, *before, *after;
    } cases[] = {
        { "a=2", "a: 1", "a: 2" },
        { "a=2", "a: 1  # one\nb: 1\n", "a: 2  # one\nb: 1\n" },
        { "a=2", "# head\n\na:   1\t# tab\n\n# foot\n", "# head\n\na:   2\t# tab\n\n# foot\n" },
        { "a=2", "---\na: \"1\"\n...\n", "---\na: 2\n...\n" },
        { "a=x:_y", "a: '1' # c\n", "a: \"x: y\" # c\n" },
        { "a.b=2", "a: {c: 'ä→𝄞', b: 1} # ü\n", "a: {c: 'ä→𝄞', b: 2} # ü\n" },
        { "a.b=2", "\xEF\xBB\xBFü: 1\r\na:\r\n  b: 1 # ö\r\n",
          "\xEF\xBB\xBFü: 1\r\na:\r\n  b: 2 # ö\r\n" },
        { "a=1", "a: 1 # same\n", "a: 1 # same\n" },
        { "a=null", "a: ~ # same\n", "a: ~ # same\n" },
        { "a=2", "a: |\n  one\n  two\nb: 3\n", "a: 2\nb: 3\n" },
        { "a=2", "a: one\n  two # c\nb: 3\n", "a: 2 # c\nb: 3\n" },
        { "a=[3,_4]", "a: [1, 2] # c\n", "a: [3, 4] # c\n" },
        { "a=[3,_4]", "a:\n- 1 # one\n- 2\n", "a:\n- 3 # one\n- 4\n" },
        { "a=[3]", "a: [1,\n    2] # c\nb: 1\n", "a: [3] # c\nb: 1\n" },
        { "a=2", "a: {b: 1}\n", "a: 2\n" },
        /* keys that are missing */
        { "b=2", "a: 1", "a: 1\nb: 2" },
        { "b=2", "a: 1 # one\n# foot\n", "a: 1 # one\nb: 2\n# foot\n" },
        { "b=2", "a:\n  c: 1\n  # of c\n# foot\n", "a:\n  c: 1\n  # of c\nb: 2\n# foot\n" },
        { "a.b=2", "a: {}\n", "a: {b: 2}\n" },
        { "a.b=2", "a: {c: 1} # c\n", "a: {c: 1, b: 2} # c\n" },
        { "a.b=2 a.d=3", "a: {c: 1,}\n", "a: {c: 1, b: 2, d: 3,}\n" },
        { "a.b=2", "a: {c: }\n", "a: {c: , b: 2}\n" },
        { "a.b=2", "a: {\n  c: 1, # one\n  d: 1  # two\n}\n",
          "a: {\n  c: 1, # one\n  d: 1, b: 2  # two\n}\n" },
        { "a.b=2", "a: # c\n", "a: {b: 2} # c\n" },
        { "a.b.c=2", "a:", "a: {b: {c: 2}}" },
        { "a.b=2", "a:\n    c: 1\n\nd: 1\n", "a:\n    c: 1\n    b: 2\n\nd: 1\n" },
        { "a.b=2 a.e=3 f=4", "a:\n  c: 1", "a:\n  c: 1\n  b: 2\n  e: 3\nf: 4" },
        { "a.b=2", "a:\r\n  c: 1\r\nd: 1\r\n", "a:\r\n  c: 1\r\n  b: 2\r\nd: 1\r\n" },
        { "a.b=2", "a:\n  c: |\n    x\n    y\nd: 1\n", "a:\n  c: |\n    x\n    y\n  b: 2\nd: 1\n" },
        { "a.b=2", "a:\n  c: [1,\n    2] # c\nd: 1\n", "a:\n  c: [1,\n    2] # c\n  b: 2\nd: 1\n" },
        { "a.b=2", "a:\n  c:\n  - 1\n  - - 2\n    - 3 # c\nd: 1\n",
          "a:\n  c:\n  - 1\n  - - 2\n    - 3 # c\n  b: 2\nd: 1\n" },
        { "a.b.c=2", "a:\n  b:\n    d: 1\n", "a:\n  b:\n    d: 1\n    c: 2\n" },
        /* stages */
        { "p.prefetch.batches=4", "p:\n  - shuffle\n  - prefetch # c\n  - x\n",
          "p:\n  - shuffle\n  - prefetch: {batches: 4} # c\n  - x\n" },
        { "p.prefetch.batches=4", "p: [shuffle, prefetch]\n",
          "p: [shuffle, {prefetch: {batches: 4}}]\n" },
        { "p.prefetch={batches:_4}", "p:\n  - prefetch: 2  # two\n",
          "p:\n  - prefetch: {batches: 4}  # two\n" },
        { "p.prefetch.pinned=true", "p:\n  - prefetch: {batches: 2}\n",
          "p:\n  - prefetch: {batches: 2, pinned: true}\n" },
        { "p.prefetch.pinned=true", "p:\n  - prefetch:\n      batches: 2 # two\n  - x\n",
          "p:\n  - prefetch:\n      batches: 2 # two\n      pinned: true\n  - x\n" },
        { "p.prefetch.pinned=true e.t=3", "p:\n- prefetch:\n   batches: 2",
          "p:\n- prefetch:\n   batches: 2\n   pinned: true\ne: {t: 3}" },
        { "p.map.ops.j.s=0.5", "p:\n  - map:\n      ops:\n        - j\n        - k: {a: 1}\n",
          "p:\n  - map:\n      ops:\n        - j: {s: 0.5}\n        - k: {a: 1}\n" },
        /* entries that are taken away, with their own comments */
        { "a.b-", "a:\n  b: 1 # b\n    # of b\n  # of c\n  c: 2\n", "a:\n  # of c\n  c: 2\n" },
        { "a.c-", "a:\n  b: 1\n  c:\n    - 2\n    # of 2\n# foot\nd: 1\n",
          "a:\n  b: 1\n# foot\nd: 1\n" },
        { "a.c- a.b=2", "a: {b: 1, c: 2} # c\n", "a: {b: 2} # c\n" },
        { "p[1]-", "p:\n  - a: 1\n  # of b\n  - b: # c\n      x: 1\n      # of x\n  - c\nd: 1\n",
          "p:\n  - a: 1\n  # of b\n  - c\nd: 1\n" },
        { "p.a- p.c.x=3", "p:\n- a\n- b\n- c: {x: 1} # c\n", "p:\n- b\n- c: {x: 3} # c\n" },
        { "p.c-", "p:\n  - b\n  - c", "p:\n  - b\n" },
        { "p.map[0]-", "p:\n  - map: [x] # x\n  - map: [y] # y\n", "p:\n  - map: [y] # y\n" },
        { "p.map.n- t.n={m:_1}", "p:\r\n  - map: [d, n: {m: 1}] # c\r\n  - b\r\nt:\r\n  e: 1\r\n",
          "p:\r\n  - map: [d] # c\r\n  - b\r\nt:\r\n  e: 1\r\n  n: {m: 1}\r\n" },
        { "p.map.ops.n-",
          "p:\n  - map:\n      ops:\n        - d  # one\n        - n: # two\n            m: 1\n  - "
          "b\n",
          "p:\n  - map:\n      ops:\n        - d  # one\n  - b\n" },
        /* and added */
        { "p.b+=cache", "p:\n  - a # one\n    # of a\n  # of b\n  - b\n",
          "p:\n  - a # one\n    # of a\n  - cache\n  # of b\n  - b\n" },
        { "p[0]+={n:_{m:_1}}", "p:\n# of a\n- a\n- b", "p:\n# of a\n- n: {m: 1}\n- a\n- b" },
        { "p+={prefetch:_{batches:_2}}", "p:\r\n  - a\r\n  - b # b\r\n\r\nq: 1\r\n",
          "p:\r\n  - a\r\n  - b # b\r\n  - prefetch: {batches: 2}\r\n\r\nq: 1\r\n" },
        { "p+=c", "p:\n  - a\n  - b", "p:\n  - a\n  - b\n  - c" },
        { "p+={a:_1,_b:_2}", "p:\n  - |\n    text\n", "p:\n  - |\n    text\n  - {a: 1, b: 2}\n" },
        { "p.b+=c", "p: [a, b] # c\n", "p: [a, c, b] # c\n" },
        { "p.m=[x] p.b+=cache p.b+={m:_[y]}", "p:\n  - a\n  - m: [x, y] # m\n  - b: 2\n",
          "p:\n  - a\n  - m: [x] # m\n  - cache\n  - m: [y]\n  - b: 2\n" },
        /* and moved, or of another name in the same place */
        { "p[0]- p.b+=c", "p:\n- c # c\n- a: {x: 1} # a\n- m:\n  - j # j\n- b # b\n",
          "p:\n- a: {x: 1} # a\n- m:\n  - j # j\n- c\n- b # b\n" },
        { "p[0]- p.m=[x] p.b+=c p.b+={m:_[y]}",
          "p:\n  - c\n  - a: 1 # a\n  - m: [x, y]\n  - b: 2\n",
          "p:\n  - a: 1 # a\n  - m: [x]\n  - c\n  - m: [y]\n  - b: 2\n" },
        { "p[0]- p.b+={c:_3}", "p:\n  - a: 1 # a\n  - b: 2 # b\n", "p:\n  - c: 3\n  - b: 2 # b\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_config *config = parse(cases[i].before);
        set_all(config, cases[i].sets);
        char *const after = edited(config, cases[i].before);
        assert_string_equal(after, cases[i].after);
        free(after);
        leat_config_close(&config);
    }
}

TEST(a_long_list_stays)
{
    enum { N = 1100 };
    static char before[8 * N + 32], wanted[sizeof before], after[sizeof before];
    size_t length;
    leat_error err;
    char *at = before + sprintf(before, "a: [0");
    for (int i = 1; i < N; i++)
        at += sprintf(at, ", %d", i);
    strcpy(at, "] # all\nb: 1\n");
    snprintf(wanted, sizeof wanted, "%.*s] # all\nb: 2\n", (int)(at - before), before);
    leat_config *config = parse(before);
    set_all(config, "b=2");
    if (leat_config_edit(config, before, "test.yaml", after, sizeof after, &length, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(after, wanted);
    leat_config_close(&config);
}

TEST(what_no_edit_can_do_is_refused)
{
    static const struct {
        const char *sets, *before, *words;
    } cases[] = {
        { "a.b-", "a:\n  b: 1\n", "test.yaml:1:1: " },
        { "p[0].a-", "p:\n  - a: 1\n    b: 2\n", "test.yaml:2:8: " },
        { "a=[]", "a:\n  - 1\n  - 2\n", "test.yaml:2:3: " },
        { "p[0]-", "p:\n  -\n    a: 1\n  - b\n", "test.yaml:3:5: " },
        { "a=1", "a:\n  b: 1\n", "test.yaml:2:3: " },
        { "a[1]-", "a: [1, # why\n    2]\n", "test.yaml:1:4: " },
        { "p.batch.drop=true", "p:\n  - batch: 128\n", "'batch' has a value without a name" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_config *config = parse(cases[i].before);
        size_t length;
        leat_error err;
        set_all(config, cases[i].sets);
        assert_int_equal(
            leat_config_edit(config, cases[i].before, "test.yaml", NULL, 0, &length, &err),
            LEAT_E_UNSUPPORTED);
        if (!strstr(err.message, cases[i].words))
            fail_msg("%s", err.message);
        leat_config_close(&config);
    }
    leat_config *config = parse("a: 1");
    size_t length;
    leat_error err;
    assert_int_equal(leat_config_edit(config, "a: [", "b.yaml", NULL, 0, &length, &err),
                     LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "b.yaml:"));
    leat_config_close(&config);
}

/* How many lines of `after` are new, if the others are those of `before`, in their order. */
static size_t new_lines(const char *before, const char *after)
{
    size_t n = 0;
    while (*after) {
        const size_t old = strcspn(before, "\n") + 1, new = strcspn(after, "\n") + 1;
        if (old == new && !strncmp(before, after, new)) {
            before += old;
        } else {
            const char *const next = after + new;
            n++;
            /* A changed line takes the place of an old one; a line that was added stands before it. */
            if (*before && strncmp(before, next, old) != 0 &&
                strncmp(before, strchr(next, '\n') + 1, old) != 0)
                before += old;
        }
        after += new;
    }
    return *before ? 1000 : n;
}

static void edit_example(const char *path)
{
    static const char *const sets[] = { "pipeline.prefetch.batches=7",
                                        "pipeline.prefetch.pinned=false",
                                        "engine.threads=3",
                                        "engine.reader=pread",
                                        "train.threads=2",
                                        "pipeline.map.device=cpu",
                                        "pipeline.map.ops.decode_jpeg.device_share=0.5" };
    size_t size, n_known = 0;
    char text[1 << 14];
    uint8_t *const bytes = read_whole(path, &size);
    snprintf(text, sizeof text, "%.*s", (int)size, (char *)bytes);
    for (unsigned chosen = 0; chosen < 1u << 7; chosen++) {
        leat_config *config = parse(text);
        size_t n = 0;
        for (size_t i = 0; i < 7; i++)
            n += chosen >> i & 1 && leat_config_set(config, sets[i], NULL) == LEAT_OK;
        size_t length;
        if (leat_config_text(config, NULL, 0, &length, NULL) == LEAT_OK) {
            char *const after = edited(config, text);
            if (new_lines(text, after) > n)
                fail_msg("%s\n%s", path, after);
            if (!n)
                assert_string_equal(after, text);
            free(after);
            n_known++;
        }
        leat_config_close(&config);
    }
    assert_true(n_known >= 64);
    free(bytes);
}

TEST(examples_keep_their_other_lines)
{
    glob_t found;
    assert_int_equal(glob(SOURCE_DIR "/examples/*.yaml", 0, NULL, &found), 0);
    assert_int_equal(glob(SOURCE_DIR "/examples/*/*.yaml", GLOB_APPEND, NULL, &found), 0);
    assert_true(found.gl_pathc > 15);
    for (size_t i = 0; i < found.gl_pathc; i++)
        edit_example(found.gl_pathv[i]);
    globfree(&found);
}
