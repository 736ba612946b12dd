/* SPDX-License-Identifier: MIT
 *
 * test_checkpoint_options.c: a checkpoint tells every option of every layer that has another value in the model that
 * takes it. */
#include "config/option_impl.h"
#include "fixtures/train_fixture.h"
#include "train/checkpoint_parts.h"

/* Opens a model with one layer of a kind, whose required options are 2, as an image or a vector. */
static bool open_with(fixture *f, const leat_layer *layer, const char *option)
{
    static const char *const before[] = { "", "flatten, " };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 8, 8, 4 }, 64);
    const leat_option *const first = layer->kind.options;
    const bool required = !first->initial && strncmp(option, first->name, strlen(first->name)) != 0;
    char text[512];
    for (int i = 0; i < 2; i++) {
        snprintf(
            text, sizeof text,
            "train: {loss: softmax_cross_entropy, model: [relu: {name: a}, %s%s: {%s%s%s%s%s}, "
            "flatten, dense: 3]}",
            before[i], layer->kind.name, layer->merges ? "from: [a, a]" : "",
            layer->merges && *option ? ", " : "", required ? first->name : "",
            required ? ": 2, " : "", option);
        if (fixture_open(f, text, &feed) == LEAT_OK)
            return true;
        fixture_close(f);
    }
    return false;
}

/* A description of a model with the layer; option "": as it is. NULL: there is no such model. */
static char *describe(const leat_layer *layer, const char *option)
{
    fixture f;
    if (!open_with(&f, layer, option))
        return NULL;
    char *const text = leat_checkpoint_describe(f.trainer);
    assert_non_null(text);
    fixture_close(&f);
    return text;
}

/* Whether resuming a model with this option, from a checkpoint of one without it, says so. */
static bool is_told(const leat_layer *layer, const leat_option *row, const char *value)
{
    char option[128], line[160], changed[1024];
    leat_error err;
    snprintf(option, sizeof option, "%s: %s", row->name, value);
    char *const before = describe(layer, ""), *const now = describe(layer, option);
    assert_non_null(before);
    bool told = false;
    if (now) {
        const int rc = leat_checkpoint_compare(before, now, "c", changed, sizeof changed, &err);
        snprintf(line, sizeof line, "%s.%s %s, was ", layer->kind.name, row->name, value);
        told = rc < 0 || strstr(changed, line);
    }
    free(before);
    free(now);
    return told;
}

/* Values of an option, of which one at least is not the initial one, and one fits the model. */
static bool any_is_told(const leat_layer *layer, const leat_option *row)
{
    static const char *const values[] = { "false", "true", "0",   "0.25", "0.5",    "1",
                                          "2",     "4",    "[1]", "[2]",  "[1, 1]", NULL };
    bool told = false;
    for (const char *const *v = row->choices; v && *v && !told; v++)
        told = is_told(layer, row, *v);
    for (const char *const *v = values; *v && !told; v++)
        told = is_told(layer, row, *v);
    return told;
}

TEST(every_option_of_every_layer_is_told)
{
    int n_options = 0;
    for (size_t i = 0; leat_layer_at(i); i++) {
        const leat_layer *const layer = leat_layer_at(i);
        for (const leat_option *row = layer->kind.options; row->name; row++) {
            if (row->offset < sizeof(leat_layer_common)) /* name, from, device */
                continue;
            n_options++;
            if (!any_is_told(layer, row))
                fail_msg("%s.%s: another value is not told", layer->kind.name, row->name);
        }
    }
    assert_true(n_options > 20);
}

/* A leat that knew fewer options wrote checkpoints that go on without a word about them. */
TEST(an_option_that_a_checkpoint_lacks_is_not_told)
{
    char *const now = describe(leat_layer_at(0), ""), *const before = strdup(now);
    char changed[1024];
    leat_error err;
    for (char *at; (at = strstr(before, "train.model."));)
        memmove(at, strchr(at, '\n') + 1, strlen(strchr(at, '\n')));
    assert_true(strlen(before) < strlen(now));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(leat_checkpoint_compare(i ? now : before, i ? before : now, "c", changed,
                                                 sizeof changed, &err),
                         LEAT_OK);
        assert_string_equal(changed, "");
    }
    free(before);
    free(now);
}

/* Evaluations measure something else; a content that an older leat has not saved is not compared. */
TEST(what_evaluations_measure_is_compared)
{
    static const struct {
        const char *key;
        bool loss, metrics;
    } keys[] = { { "train.loss", true, false },   { "train.sample_weight", true, false },
                 { "train.views", true, true },   { "train.target", true, true },
                 { "train.input", true, true },   { "train.normalize", true, true },
                 { "eval.content", true, true },  { "eval.files", false, false },
                 { "eval.source", false, false }, { "eval.pipeline", false, false },
                 { "train.clip", false, false } };
    static const char without[] = "seed 1\neval.source y\n";
    char texts[2][80];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const bool is_content = !strcmp(keys[i].key, "eval.content");
        for (int k = 0; k < 2; k++)
            snprintf(texts[k], sizeof texts[k], "seed 1\neval.engine 1\n%s %d\n", keys[i].key, k);
        for (int k = 0; k < 2; k++) {
            const bool other = k ? keys[i].loss : keys[i].metrics;
            assert_int_equal(leat_checkpoint_measures_other(texts[0], texts[1], k), other);
            assert_false(leat_checkpoint_measures_other(texts[0], texts[0], k));
            assert_int_equal(leat_checkpoint_measures_other(without, texts[0], k),
                             other && !is_content);
            assert_int_equal(leat_checkpoint_measures_other(texts[0], without, k),
                             other && !is_content);
        }
    }
}
