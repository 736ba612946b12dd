/* SPDX-License-Identifier: MIT
 *
 * test_config_set.c: single values of a config are read and set by their paths (`--set`), and a path
 * or a value that cannot be is refused and changes nothing. */
#include "fixtures/config_fixture.h"
#include "fixtures/failing_malloc.h"

TEST(get_reads)
{
    static const struct {
        const char *path, *text;
    } cases[] = {
        { "pipeline.batch", "128" },
        { "pipeline.shuffle.seed", "1" },
        { "pipeline[0].seed", "1" },
        { "pipeline[0].shuffle.seed", "1" },
        { "pipeline[0]", "{shuffle: {seed: 1}}" },
        { "pipeline[3]", "{batch: 128}" },
        { "pipeline.map[0].device", "cpu" },
        { "pipeline.map[0].ops.random_crop.size", "[32, 32]" },
        { "pipeline.map[0].ops.random_crop.size[1]", "32" },
        { "pipeline.map[0].ops[1].size[1]", "32" },
        { "pipeline.map[0].ops.random_crop", "{pad: 4, size: [32, 32]}" },
        { "pipeline.map[0].ops[0]", "decode_jpeg" },
        { "pipeline.map[0].ops.decode_jpeg", "{}" },
        { "pipeline.map[1]", "[normalize]" },
        { "pipeline.map[1][0]", "normalize" },
        { "pipeline.map[1].normalize", "{}" },
        { "pipeline[2][0]", "normalize" },
        { "train.model.dense[1].units", "10" },
        { "train.model[2].units", "10" },
        { "train.optimizer.adam.learning_rate", "1.0e-3" },
        { "source.tfrecord", "data/cifar10-train-*.tfrecord" },
    };
    leat_config *config = parse(config_sample);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        leat_error err = { .code = 0 };
        if (leat_config_get(config, cases[i].path, text, sizeof text, &err))
            fail_msg("%s: %s", cases[i].path, err.message);
        assert_string_equal(text, cases[i].text);
    }
    char text[6];
    assert_int_equal(leat_config_get(config, "source.tfrecord", text, sizeof text, NULL), LEAT_OK);
    assert_string_equal(text, "data/");
    assert_int_equal(leat_config_get(config, "pipeline[0]", text, sizeof text, NULL), LEAT_OK);
    assert_string_equal(text, "{shuf");
    leat_config_close(&config);
}

/* Each set is made on a fresh config; then `path` of it reads `text`. */
TEST(set_writes)
{
    static const struct {
        const char *set, *path, *text;
    } cases[] = {
        { "pipeline.prefetch.batches=0", "pipeline.prefetch", "{batches: 0}" },
        { "pipeline.prefetch.batches= 0 ", "pipeline.prefetch", "{batches: 0}" },
        { "pipeline.prefetch.depth=3", "pipeline.prefetch", "{batches: 2, depth: 3}" },
        { "pipeline.prefetch=auto", "pipeline[4]", "{prefetch: auto}" },
        { "pipeline.batch=64", "pipeline[3]", "{batch: 64}" },
        { "pipeline.batch.size=64", "pipeline.batch", "{\"\": 128, size: 64}" },
        { "pipeline.batch.drop_remainder=true", "pipeline[3]",
          "{batch: {\"\": 128, drop_remainder: true}}" },
        { "pipeline[3].drop_remainder=true", "pipeline[3]",
          "{batch: {\"\": 128, drop_remainder: true}}" },
        { "pipeline[3]={batch: {size: 1}}", "pipeline.batch.size", "1" },
        { "pipeline[3]=relu", "pipeline[3]", "relu" },
        { "pipeline.map[0].ops.random_flip.p=0.25", "pipeline.map[0].ops[2]",
          "{random_flip: {p: 0.25}}" },
        { "pipeline.map[0].ops[2].p=0.25", "pipeline.map[0].ops[2]", "{random_flip: {p: 0.25}}" },
        { "pipeline.map[0].ops[2].random_flip.p=0.25", "pipeline.map[0].ops[2]",
          "{random_flip: {p: 0.25}}" },
        { "pipeline.map[0].ops.random_flip=0.25", "pipeline.map[0].ops[2]", "{random_flip: 0.25}" },
        { "pipeline.map[0].ops.random_flip={p: 0.25}", "pipeline.map[0].ops[2]",
          "{random_flip: {p: 0.25}}" },
        { "pipeline.map[0].ops.random_crop.size=[28, 28]", "pipeline.map[0].ops[1].size",
          "[28, 28]" },
        { "pipeline.map[0].ops.random_crop.size[0]=28", "pipeline.map[0].ops[1].size", "[28, 32]" },
        { "pipeline.map[0].ops.random_crop.size.x=1", "pipeline.map[0].ops[1].size",
          "{\"\": [32, 32], x: 1}" },
        { "pipeline.map[1].normalize.mean=0.5", "pipeline.map[1]", "[{normalize: {mean: 0.5}}]" },
        { "pipeline.map[0].ops=[sleep, {resize: 8}]", "pipeline.map[0].ops.resize", "8" },
        { "train.model.dense[1].units=100", "train.model[2]", "{dense: {units: 100}}" },
        { "train.device=sim:h200", "train.device", "sim:h200" },
        { "train.device=sim:{peak_flops: 1e12}", "train.device", "sim:{peak_flops: 1e12}" },
        { "train.optimizer.adam.learning_rate=0.1", "train.optimizer",
          "{adam: {learning_rate: 0.1}}" },
        { "train.optimizer.adam.beta1=0.8", "train.optimizer.adam",
          "{beta1: 0.8, learning_rate: 1.0e-3}" },
        { "train.optimizer=sgd", "train.optimizer", "sgd" },
        { "train.loss.softmax_cross_entropy.smoothing=0.1", "train.loss",
          "{\"\": softmax_cross_entropy, softmax_cross_entropy: {smoothing: 0.1}}" },
        { "train.schedule.cosine.steps=10", "train.schedule", "{cosine: {steps: 10}}" },
        { "engine.threads=2", "engine", "{threads: 2}" },
        { "engine={threads: 2}", "engine.threads", "2" },
        { "source.tfrecord=*.tfrecord", "source.tfrecord", "*.tfrecord" },
        { "source.tfrecord=a=b", "source.tfrecord", "a=b" },
        { "source.tfrecord=a #1, b: c", "source.tfrecord", "a #1, b: c" },
        { "source.tfrecord=\"[x]\"", "source.tfrecord", "[x]" },
        { "source.tfrecord='it''s'", "source.tfrecord", "it's" },
        { "source.tfrecord=", "source", "{tfrecord: null}" },
        { "source=", "source", "" },
        { "pipeline.shuffle-", "pipeline[2]", "{batch: 128}" }, /* a minus takes away */
        { "pipeline.map[0]-", "pipeline[1]", "{map: [normalize]}" },
        { "pipeline[2]-", "pipeline[2]", "{batch: 128}" },
        { "pipeline.map[0].ops.decode_jpeg-", "pipeline.map[0].ops[1]", "random_flip" },
        { "pipeline.map[0].ops[1].pad-", "pipeline.map[0].ops.random_crop", "{size: [32, 32]}" },
        { "pipeline.map[0].ops.random_crop.size[0]-", "pipeline.map[0].ops[1].size", "[32]" },
        { "train.optimizer.adam.learning_rate-", "train.optimizer", "{adam: {}}" },
        { "train.optimizer-", "train.loss", "softmax_cross_entropy" },
        { "train.device=-", "train.device", "-" },
        { "pipeline[0]+=cache", "pipeline[0]", "cache" }, /* a plus adds */
        { "pipeline.batch+=cache", "pipeline[3]", "cache" },
        { "pipeline.batch+=cache", "pipeline[4]", "{batch: 128}" },
        { "pipeline.map[1]+=cast", "pipeline.map[1]", "[normalize, cast]" },
        { "pipeline[2]+={map: [cast]}", "pipeline[2]", "{map: [cast]}" },
        { "pipeline[2]+={map: [cast]}", "pipeline.map[2]", "[normalize]" },
        { "pipeline+={take: 3}", "pipeline[5]", "{take: 3}" },
        { "pipeline.map[0].ops.random_flip+=cast", "pipeline.map[0].ops[2]", "cast" },
        { "train.model+={dense: 1}", "train.model.dense[2]", "1" },
        { "train.model+=a=b", "train.model[3]", "a=b" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        leat_error err = { .code = 0 };
        leat_config *config = parse(config_sample);
        if (leat_config_set(config, cases[i].set, &err) ||
            leat_config_get(config, cases[i].path, text, sizeof text, &err))
            fail_msg("%s: %s", cases[i].set, err.message);
        assert_string_equal(text, cases[i].text);
        leat_config_close(&config);
    }
}

TEST(sets_add_up)
{
    char text[200];
    leat_config *config =
        parse("train: {optimizer: adam}\npipeline: [{batch: 128}, relu]\nnone:\n");
    static const char *const sets[] = {
        "train.optimizer.adam.learning_rate=0.1",
        "train.optimizer.adam.beta1=0.8",
        "train.optimizer.adam.learning_rate=0.2",
        "pipeline.batch.drop_remainder=true",
        "pipeline.batch.size=64",
        "pipeline.relu.a=1",
        "pipeline.relu.b=2",
        "none.x.y=1",
        "none.x.z=[1]",
        "none.x.z[0]=2",
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        leat_error err = { .code = 0 };
        if (leat_config_set(config, sets[i], &err))
            fail_msg("%s: %s", sets[i], err.message);
    }
    leat_node_text(leat_config_root(config), text, sizeof text);
    assert_string_equal(text, "{none: {x: {y: 1, z: [2]}}, pipeline: [{batch: {\"\": 128, "
                              "drop_remainder: true, size: 64}}, {relu: {a: 1, b: 2}}], train: "
                              "{optimizer: {\"\": adam, adam: {beta1: 0.8, learning_rate: 0.2}}}}");
    leat_config_close(&config);
}

TEST(bad_sets)
{
    static const struct {
        const char *set, *message;
    } cases[] = {
        { "pipeline.batch", "--set pipeline.batch: '=' is missing" },
        { "", "'=' is missing" },
        { "=1", "a name is missing" },
        { ".a=1", "a name is missing" },
        { "a..b=1", "a name is missing" },
        { "a.=1", "a name is missing" },
        { "[0]=1", "a name is missing" },
        { "pipeline[=1", "'[' and ']' do not match" },
        { "pipeline[0]x=1", "'[' and ']' do not match" },
        { "pipeline[x]=1", "an index must be a whole number" },
        { "pipeline[]=1", "an index must be a whole number" },
        { "pipeline[-1]=1", "an index must be a whole number" },
        { "pipeline[99999999999999999999]=1", "an index must be a whole number" },
        { "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1", "too many parts" },
        { "pipeline.btach.size=1", "--set pipeline.btach.size: pipeline has no 'btach'; did you "
                                   "mean 'batch'? It has: shuffle, map, batch, prefetch" },
        { "pipeline.map.device=gpu",
          "pipeline has 2 entries 'map': say which, from map[0] to [1]" },
        { "pipeline.map[2].device=gpu", "pipeline has 2 'map', counted from [0]" },
        { "pipeline[5].size=1", "pipeline has 5 entries, counted from [0]" },
        { "pipeline.map[0].ops.random_flop.p=1",
          "pipeline.map[0].ops has no 'random_flop'; did you mean 'random_flip'?" },
        { "pipeline.map[1].device=gpu",
          "--set pipeline.map[1].device: pipeline.map[1] has no 'device': it is written as a list "
          "alone, of: normalize; set all of it with pipeline.map[1]=[...], or write it as `- map: "
          "{OPTION: VALUE, ...}` to set one option" },
        { "pipeline[2].ops=[cast]", "pipeline[2] has no 'ops': it is written as a list alone" },
        { "pipeline.map[1].normalise.mean=0", "has no 'normalise'; did you mean 'normalize'?" },
        { "pipeline.map[0].ops.cut=1", "pipeline.map[0].ops has no 'cut'. It has: decode_jpeg, " },
        { "train[0]=1", "train is not a list and has no [0]" },
        { "train.device[0]=1", "train.device is not a list" },
        { "train.metrics[0]=1", "train.metrics does not exist, so it has no [0]" },
        { "train.metrics.a[0]=1", "train.metrics.a does not exist, so it has no [0]" },
        { "pipeline.map[0].ops.random_flip[1]=1", "pipeline.map[0].ops has 1 'random_flip'" },
        { "pipeline.map[0].ops.random_flip.p[0]=1", "does not exist, so it has no [0]" },
        { "pipeline.batch=[1", "--set pipeline.batch: this '[' is not closed" },
        { "pipeline.batch={a: 1, a: 2}", "'a' is given twice" },
        { "pipeline.batch=\"x", "this quote is not closed" },
        { "pipeline.batch=[*a]", "aliases" },
        { "pipeline.batch=[1] x", "--set pipeline.batch: text follows" },
        { "-", "'=' is missing" },
        { "pipeline.btach-",
          "--set pipeline.btach: pipeline has no 'btach'; did you mean 'batch'?" },
        { "pipeline.map-", "pipeline has 2 entries 'map': say which" },
        { "pipeline[5]-", "pipeline has 5 entries, counted from [0]" },
        { "train.epochs-", "--set train.epochs: train has no 'epochs'" },
        { "pipeline.prefetch.batches.x-", "is a single value and has no 'x'" },
        { ".-", "a name is missing" },
        { "+=1", "a name is missing" },
        { "train.device+=1", "--set train.device: += is for a list, or an entry of a list" },
        { "train.optimizer.adam+=1", "+= is for a list" },
        { "train.metrics+=1", "--set train.metrics: train has no 'metrics'" },
        { "pipeline[5]+=cache", "pipeline has 5 entries, counted from [0]" },
        { "pipeline.btach+=cache", "did you mean 'batch'?" },
        { "pipeline+=[1", "--set pipeline: this '[' is not closed" },
    };
    char before[1000], after[1000];
    leat_config *config = parse(config_sample);
    leat_node_text(leat_config_root(config), before, sizeof before);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_error err = { .code = 0 };
        const int rc = leat_config_set(config, cases[i].set, &err);
        if (rc != LEAT_E_CONFIG || err.code != rc || !strstr(err.message, cases[i].message))
            fail_msg("%s: %d '%s', not '%s'", cases[i].set, rc, err.message, cases[i].message);
        leat_node_text(leat_config_root(config), after, sizeof after);
        if (strcmp(before, after))
            fail_msg("%s changed the config to %s", cases[i].set, after);
    }
    leat_config_close(&config);
}

/* Messages name what the user wrote, and not a --set that nobody wrote. */
TEST(an_origin_replaces_set)
{
    static const struct {
        const char *set, *message;
    } cases[] = {
        { "train.epochs", "--epochs: '=' is missing" },
        { ".a=1", "--epochs: " },
        { "pipeline.btach.size=1", "--epochs: pipeline has no 'btach'" },
        { "pipeline.batch=[1", "--epochs: this '[' is not closed" },
    };
    char origin[] = "--epochs";
    leat_config *config = parse(config_sample);
    leat_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(leat_config_set_as(config, cases[i].set, origin, &err), LEAT_E_CONFIG);
        if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0 ||
            strstr(err.message, "--set"))
            fail_msg("%s: %s", cases[i].set, err.message);
    }
    assert_int_equal(leat_config_set_as(config, "train.epochs=2", origin, &err), LEAT_OK);
    assert_int_equal(leat_config_set_as(config, "train.seed=2", NULL, &err), LEAT_OK);
    memset(origin, 'x', sizeof origin - 1); /* it was copied */
    const leat_node *const train = leat_node_find(leat_config_root(config), "train");
    assert_string_equal(leat_node_find(train, "epochs")->file, "--epochs");
    assert_string_equal(leat_node_find(train, "seed")->file, "--set train.seed");
    leat_config_close(&config);
}

TEST(bad_gets)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        { "", "a name is missing" },
        { "trian",
          "the config has no 'trian'; did you mean 'train'? It has: source, pipeline, train" },
        { "train.optimizer.adma", "train.optimizer has no 'adma'; did you mean 'adam'?" },
        { "train.device.x", "train.device is a single value and has no 'x'" },
        { "pipeline.map[0].ops.random_flip.p", "is a single value and has no 'p'" },
        { "pipeline.map.device", "say which" },
        { "pipeline.map[0].ops.random_flip[0][0]", "random_flip[0] is not a list and has no [0]" },
        { "pipeline[0][0]", "pipeline[0] is not a list and has no [0]" },
    };
    leat_config *config = parse(config_sample);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[10];
        leat_error err = { .code = 0 };
        const int rc = leat_config_get(config, cases[i].path, text, sizeof text, &err);
        if (rc != LEAT_E_ARGUMENT || !strstr(err.message, cases[i].message))
            fail_msg("%s: %d '%s', not '%s'", cases[i].path, rc, err.message, cases[i].message);
    }
    leat_config_close(&config);
}

TEST(set_values_say_where_they_came_from)
{
    leat_error err;
    leat_config *config = parse("a: {b: 1}\nc: 2\n");
    assert_int_equal(leat_config_set(config, "a.b=[x, {y: z}]", &err), LEAT_OK);
    const leat_node *b = leat_node_find(find(config, "a"), "b");
    leat_node_fail(b->first->next->first, &err, LEAT_E_CONFIG, "bad %d", 7);
    assert_string_equal(err.message, "--set a.b: bad 7");
    leat_node_fail(find(config, "c"), &err, LEAT_E_DATA, "bad");
    assert_string_equal(err.message, "config.yaml:2:4: bad");
    assert_int_equal(err.code, LEAT_E_DATA);
    leat_node_fail(NULL, &err, LEAT_E_CONFIG, "bad");
    assert_string_equal(err.message, "bad");
    assert_int_equal(leat_node_fail(b, NULL, LEAT_E_CONFIG, "bad"), LEAT_E_CONFIG);
    assert_int_equal(leat_config_set(config, "c.d=1", &err), LEAT_OK);
    assert_int_equal(find(config, "c")->line, 2);
    assert_int_equal(find(config, "c")->key_line, 2);
    leat_config_close(&config);
}

TEST(failed_allocations_of_set)
{
    static const char *const sets[] = { "pipeline.batch.size=64",
                                        "pipeline.map[0].ops.random_flip.p=1",
                                        "engine.a.b.c={x: [1, 2, {y: z}]}",
                                        "pipeline[2]={map: {ops: []}}" };
    char before[1000], after[1000], filler[9000];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        for (size_t fill = 0; fill < 8192; fill += 64) { /* so that each take may need a block */
            leat_error err;
            leat_config *config = parse(config_sample);
            memcpy(filler, "engine.f=", 9);
            filler[10 + fill] = 0;
            assert_int_equal(leat_config_set(config, filler, &err), LEAT_OK);
            filler[10 + fill] = 'x';
            leat_node_text(leat_config_root(config), before, sizeof before);
            for (long n = 0;; n++) {
                failing_malloc_at(n);
                const int rc = leat_config_set(config, sets[i], &err);
                if (!failing_malloc_hit()) {
                    assert_int_equal(rc, LEAT_OK);
                    break;
                }
                assert_int_equal(rc, LEAT_E_NOMEM);
                leat_node_text(leat_config_root(config), after, sizeof after);
                assert_string_equal(before, after);
            }
            leat_config_close(&config);
        }
    }
}

/* --- copies: they have all values, and are one's own ------------------------------------------------ */

static void assert_same(const leat_node *a, const leat_node *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->quoted, b->quoted);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->key_line, b->key_line);
    assert_int_equal(a->key_column, b->key_column);
    assert_ptr_not_equal(a, b);
    assert_string_equal(a->file, b->file);
    assert_string_equal(a->key ? a->key : "none", b->key ? b->key : "none");
    assert_string_equal(a->text ? a->text : "none", b->text ? b->text : "none");
    assert_string_equal(a->elsewhere ? a->elsewhere : "none", b->elsewhere ? b->elsewhere : "none");
    assert_true(!a->elsewhere || a->elsewhere != b->elsewhere);
    const leat_node *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        assert_same(x, y);
    assert_true(!x && !y);
}

TEST(a_copy_is_the_same_and_its_own)
{
    leat_config *config, *copy;
    char text[64];
    assert_int_equal(leat_config_parse(config_sample, "sample.yaml", &config, NULL), LEAT_OK);
    assert_int_equal(leat_config_set(config, "pipeline.batch.drop_remainder=true", NULL), LEAT_OK);
    assert_int_equal(leat_config_set(config, "learning_rate=1", NULL), LEAT_OK);
    assert_non_null(leat_node_find(leat_config_root(config), "learning_rate")->elsewhere);
    assert_int_equal(leat_config_copy(config, &copy, NULL), LEAT_OK);
    assert_same(leat_config_root(config), leat_config_root(copy));
    assert_int_equal(leat_config_set(copy, "pipeline.prefetch.batches=7", NULL), LEAT_OK);
    assert_int_equal(leat_config_get(config, "pipeline.prefetch.batches", text, sizeof text, NULL),
                     LEAT_OK);
    assert_string_equal(text, "2");
    leat_config_close(&config); /* the copy needs nothing of it */
    assert_int_equal(leat_config_get(copy, "pipeline.prefetch.batches", text, sizeof text, NULL),
                     LEAT_OK);
    assert_string_equal(text, "7");
    assert_string_equal(leat_node_find(leat_config_root(copy), "source")->file, "sample.yaml");
    leat_config_close(&copy);
}

TEST(without_memory_there_is_no_copy)
{
    leat_config *config, *copy = NULL;
    leat_error err;
    int rc = LEAT_OK;
    long n = 0;
    assert_int_equal(leat_config_parse(config_sample, "sample.yaml", &config, NULL), LEAT_OK);
    for (; failing_malloc_at(n), rc = leat_config_copy(config, &copy, &err), failing_malloc_hit();
         n++) {
        assert_int_equal(rc, LEAT_E_NOMEM);
        assert_null(copy);
    }
    assert_true(n >= 2);
    assert_int_equal(rc, LEAT_OK);
    leat_config_close(&copy);
    leat_config_close(&config);
}
