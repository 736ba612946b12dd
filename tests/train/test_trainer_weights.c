/* SPDX-License-Identifier: MIT
 *
 * test_trainer_weights.c: what weights a trainer begins with; that they are saved and restored, and
 * that weights of another model are refused. */
#include "fixtures/own_folder.h"
#include "fixtures/train_fixture.h"

#include <math.h>
#include <unistd.h>

#include "leat/checkpoint.h"
#include "train/weights/param_file.h"

static const char weights_path[] = BUILD_DIR "/test_trainer.safetensors";
static const char other_path[] = BUILD_DIR "/test_trainer_other.safetensors";

TEST(saves_and_restores)
{
    fixture a, b;
    leat_format_error ferr;
    leat_safetensors *file;
    fixture_train_cnn(&a, 1, 3, 5);
    fixture_train_cnn(&b, 2, 4, 0);
    assert_false(fixture_same_weights(&a, &b));
    assert_int_equal(leat_trainer_save(a.trainer, weights_path, &a.err), LEAT_OK);
    assert_int_equal(leat_trainer_restore(b.trainer, weights_path, &b.err), LEAT_OK);
    assert_true(fixture_same_weights(&a, &b));
    assert_int_equal(leat_safetensors_open(&file, weights_path, &ferr), 0);
    const leat_safetensor *conv = leat_safetensors_find(file, "4.conv2d.weight");
    assert_non_null(conv);
    assert_int_equal(conv->n_dims, 4);
    assert_int_equal(conv->shape[0], 3);
    assert_int_equal(conv->shape[2], 8);
    assert_int_equal(conv->shape[3], 20);
    assert_non_null(leat_safetensors_find(file, "1.batch_norm.variance"));
    assert_non_null(leat_safetensors_find(file, "10.dense.bias"));
    leat_safetensors_close(&file);
    fixture_close(&a);
    fixture_close(&b);
}

/* Damage at any place is found, before anything changes: by the reader of the format, or by the digest. */
TEST(damaged_weights_are_refused)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 6 }, 4);
    static const char *const seeds[] = { "1", "2", "2" };
    fixture f[3];
    size_t size, by_digest = 0, accepted = 0;
    uint8_t *bytes;
    for (int i = 0; i < 3; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "train: {seed: %s, model: [dense: 4, batch_norm, dense: 3], loss: "
                 "softmax_cross_entropy}",
                 seeds[i]);
        fixture_must_open(&f[i], text, &feed);
    }
    assert_int_equal(leat_trainer_save(f[0].trainer, weights_path, &f[0].err), LEAT_OK);
    assert_int_equal(leat_trainer_save(f[2].trainer, other_path, &f[2].err), LEAT_OK);
    bytes = read_whole(weights_path, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (uint8_t)(1 << i % 8);
        write_whole(weights_path, bytes, size);
        bytes[i] ^= (uint8_t)(1 << i % 8);
        const int rc = leat_trainer_restore(f[1].trainer, weights_path, &f[1].err);
        accepted += rc == LEAT_OK;
        if (rc == LEAT_OK) /* spaces of the header, or the word "digest" */
            assert_true(fixture_same_weights(&f[0], &f[1]));
        else
            assert_int_equal(rc, LEAT_E_DATA);
        by_digest += rc < 0 && strstr(f[1].err.message, "the file is damaged: its bytes");
        if (rc == LEAT_OK)
            assert_int_equal(leat_trainer_restore(f[1].trainer, other_path, &f[1].err), LEAT_OK);
        assert_true(fixture_same_weights(&f[1], &f[2]));
    }
    assert_true(by_digest >= 4 * (6 * 4 + 4 + 4 * 4 + 4 * 3 + 3)); /* each byte of each value */
    assert_true(accepted < 100);
    for (int i = 0; i < 3; i++)
        fixture_close(&f[i]);
    free(bytes);
    unlink(weights_path);
    unlink(other_path);
}

/* A file that does not fit says how, and changes nothing. */
TEST(refuses_other_weights)
{
    static const struct {
        const char *model, *said;
    } others[] = {
        { "dense: 4, relu, dense: 3", "no tensor '2.dense.weight'" },
        { "dense: 5, dense: 3",
          "tensor '0.dense.weight' is F32 [6, 4], the model needs F32 [6, 5]" },
        { "dense: 4", "has 4 tensors, the model has 2" },
        { "dense: {units: 4, bias: false}, dense: 3", "has 4 tensors, the model has 3" },
    };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 6 }, 4);
    fixture a;
    fixture_must_open(&a, "train: {model: [dense: 4, dense: 3], loss: softmax_cross_entropy}",
                      &feed);
    assert_int_equal(leat_trainer_save(a.trainer, weights_path, &a.err), LEAT_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[256];
        fixture b, same;
        snprintf(text, sizeof text, "train: {model: [%s], loss: softmax_cross_entropy}",
                 others[i].model);
        fixture_must_open(&b, text, &feed);
        fixture_must_open(&same, text, &feed);
        assert_int_equal(leat_trainer_restore(b.trainer, weights_path, &b.err), LEAT_E_DATA);
        if (!strstr(b.err.message, others[i].said) || !strstr(b.err.message, weights_path))
            fail_msg("%s", b.err.message);
        assert_true(fixture_same_weights(&b, &same));
        fixture_close(&b);
        fixture_close(&same);
    }
    assert_int_equal(leat_trainer_restore(a.trainer, "/no/such/file", &a.err), LEAT_E_IO);
    assert_int_equal(leat_trainer_save(a.trainer, "/no/such/folder/file", &a.err), LEAT_E_IO);
    fixture_close(&a);
    unlink(weights_path);
}

/* Their digest is over `writer` alone. */
static const char normed[] = "train: {model: [dense: 4, batch_norm: {%s}, dense: 3], loss: "
                             "softmax_cross_entropy, average: {ema: 0.9}%s%s}";

/* A checkpoint of a run of the same model whose batch_norm has these options. */
static void write_normed(const char *norm, int n_steps, const leat_trainer_feed *feed)
{
    const leat_loader_state at = fixture_state(n_steps);
    char text[512];
    fixture f;
    snprintf(text, sizeof text, normed, norm, "", "");
    fixture_must_open(&f, text, feed);
    float *const x = random_floats(1, 4 * 6);
    int64_t *const y = random_labels(1, 4, 3);
    for (int i = 0; i < n_steps; i++)
        fixture_step(&f, feed, x, y, 4, true);
    assert_int_equal(leat_checkpoint_write(f.trainer, &at, weights_path, &f.err), LEAT_OK);
    free(x);
    free(y);
    fixture_close(&f);
}

static int load_normed(fixture *f, const char *norm, int way, const leat_trainer_feed *feed)
{
    leat_checkpoint_found found;
    char text[512];
    snprintf(text, sizeof text, normed, norm, way == 1 ? ", weights: " : "",
             way == 1 ? weights_path : "");
    fixture_must_open(f, text, feed);
    return way == 0   ? leat_trainer_restore(f->trainer, weights_path, &f->err)
           : way == 1 ? leat_trainer_load(f->trainer, &f->err)
                      : leat_checkpoint_resume(f->trainer, weights_path, &found, &f->err);
}

/* Scale and shift that are not learned are constants: a file with others is of another model. */
TEST(other_values_of_constants_are_refused)
{
    static const struct {
        const char *norm, *of_file, *said; /* "": taken */
        int n_steps;
    } all[] = {
        { "scale: false", "", ": the scale of layer '1.batch_norm' has a value of ", 3 },
        { "scale: false", "", "and name '1.batch_norm.scale' in train.frozen to keep", 3 },
        { "shift: false", "", "(`shift: false`): write `shift: true` in that layer", 3 },
        { "scale: false, scale_initial: 0", "", "has a value of 1 there, but is 0 in all", 0 },
        { "scale: false, shift: false", "", "", 0 },
        { "scale: false, shift: false", "scale: false, shift: false", "", 3 },
        { "scale: false, scale_initial: 0", "scale: false, scale_initial: 0", "", 3 },
        { "scale_initial: 0", "", "", 3 },
    };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 6 }, 4);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        write_normed(all[i].of_file, all[i].n_steps, &feed);
        for (int way = 0; way < 3; way++) {
            fixture f;
            const int rc = load_normed(&f, all[i].norm, way, &feed);
            assert_int_equal(rc, *all[i].said ? LEAT_E_DATA : LEAT_OK);
            if (rc < 0 &&
                (!strstr(f.err.message, all[i].said) || !strstr(f.err.message, weights_path)))
                fail_msg("%s", f.err.message);
            fixture_close(&f);
        }
    }
    unlink(weights_path);
}

TEST(weights_without_the_number_of_batches_are_read)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 6 }, 4);
    const leat_safetensors_note writer = { "writer", "leat 0" };
    leat_param_file file;
    fixture f[2];
    for (int i = 0; i < 2; i++)
        fixture_must_open(&f[i],
                          i ? "train: {seed: 2, model: [dense: 4], loss: softmax_cross_entropy}"
                            : "train: {seed: 1, model: [dense: 4], loss: softmax_cross_entropy}",
                          &feed);
    const leat_model *const model = &f[0].trainer->model;
    assert_int_equal(leat_param_file_open(model, 1u << LEAT_VALUES_WEIGHT, &file, &f[0].err),
                     LEAT_OK);
    assert_int_equal(leat_param_file_read(&file, f[0].trainer, &f[0].err), LEAT_OK);
    assert_int_equal(leat_param_file_save(&file, &writer, 1, weights_path, &f[0].err), LEAT_OK);
    leat_param_file_close(&file);
    assert_int_equal(leat_trainer_restore(f[1].trainer, weights_path, &f[1].err), LEAT_OK);
    assert_true(fixture_same_weights(&f[0], &f[1]));
    fixture_close(&f[0]);
    fixture_close(&f[1]);
    unlink(weights_path);
}

/* Other writers align nothing: of two tensors one, the other, both or neither is where a float may be. */
TEST(weights_may_lie_anywhere)
{
    static const char text[] =
        "{\"__metadata__\":{\"writer\":\"leat 0\"},"
        "\"0.dense.weight\":{\"dtype\":\"F32\",\"shape\":[6,4],\"data_offsets\":[0,96]},"
        "\"average.x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[96,97]},"
        "\"0.dense.bias\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[97,113]}}";
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 6 }, 4);
    float *const values = random_floats(7, 28);
    for (uint64_t spaces = 0; spaces < 8; spaces++) {
        const uint64_t length = sizeof text - 1 + spaces;
        uint8_t bytes[8 + sizeof text + 8 + 113];
        fixture f;
        memcpy(bytes, &length, 8);
        memset(bytes + 8, ' ', length);
        memcpy(bytes + 8, text, sizeof text - 1);
        memcpy(bytes + 8 + length, values, 96);
        bytes[8 + length + 96] = 1;
        memcpy(bytes + 8 + length + 97, values + 24, 16);
        write_whole(weights_path, bytes, 8 + length + 113);
        fixture_must_open(&f, "train: {model: [dense: 4], loss: softmax_cross_entropy}", &feed);
        if (leat_trainer_restore(f.trainer, weights_path, &f.err) != LEAT_OK)
            fail_msg("%s", f.err.message);
        float *const weight = read_param(f.trainer, 0, 0), *const bias =
                                                               read_param(f.trainer, 0, 1);
        assert_memory_equal(weight, values, 96);
        assert_memory_equal(bias, values + 24, 16);
        free(weight);
        free(bias);
        fixture_close(&f);
    }
    free(values);
    unlink(weights_path);
}

TEST(initial_weights_have_their_bounds)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 600 }, 4);
    fixture f;
    fixture_must_open(
        &f,
        "train: {model: [dense: 400, batch_norm, relu, dense: 200], loss: softmax_cross_entropy}",
        &feed);
    const float bounds[] = { sqrtf(6.0f / 600), sqrtf(6.0f / 600) }; /* 400 + 200 = 600 */
    for (int32_t i = 0; i < 2; i++) {
        float *weight = read_param(f.trainer, i * 3, 0), *bias = read_param(f.trainer, i * 3, 1);
        const int64_t n = i ? 400 * 200 : 600 * 400;
        double sum = 0, most = 0;
        for (int64_t k = 0; k < n; k++) {
            sum += (double)weight[k];
            most = fabs((double)weight[k]) > most ? fabs((double)weight[k]) : most;
        }
        assert_true(most <= (double)bounds[i] && most > 0.999 * (double)bounds[i]);
        assert_true(fabs(sum / (double)n) < 0.01 * (double)bounds[i]);
        for (int k = 0; k < 200; k++)
            assert_true(bias[k] == 0);
        free(weight);
        free(bias);
    }
    fixture_close(&f);
}
