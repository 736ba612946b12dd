/* SPDX-License-Identifier: MIT
 *
 * test_checkpoint_file.c: a checkpoint of another model is refused with what differs, a full disk keeps the one before,
 * and a checkpoint is a file of weights, too. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "fixtures/checkpoint_fixture.h"

/* A run that has left checkpoints after 20, 25 and 30 steps. */
static int make_checkpoints(void **state)
{
    const run r = { .threads = 1, .every = 5, .keep = 3 };
    double loss;
    if (checkpoint_make_folder(state) < 0)
        return -1;
    checkpoint_train(&r, in_folder("a.st"), &loss, NULL);
    return 0;
}

TEST(another_model_is_refused_with_what_differs)
{
    static const struct {
        const char *model, *optimizer, *said;
    } others[] = {
        { "[conv2d: {filters: 4, name: second}, batch_norm, relu, dropout: 0.3, flatten, dense: 5]",
          "adam",
          "it has 'layer first: conv2d from input, gives [4, 4, 4]' where the config has "
          "'layer second: conv2d" },
        { "[conv2d: {filters: 4, name: first}, batch_norm, gelu, dropout: 0.3, flatten, dense: 5]",
          "adam",
          "'layer 2.relu: relu from 1.batch_norm, gives [4, 4, 4]' where the config has "
          "'layer 2.gelu" },
        { "[conv2d: {filters: 6, name: first}, batch_norm, relu, dropout: 0.3, flatten, dense: 5]",
          "adam",
          "gives [4, 4, 4]' where the config has 'layer first: conv2d from input, gives "
          "[4, 4, 6]'" },
        { "[conv2d: {filters: 4, name: first}, batch_norm, relu, dropout: 0.3, flatten]", "adam",
          "'layer 5.dense: dense from 4.flatten, gives [5]' where the config has 'loss" },
        { checkpoint_model, "sgd", "it has 'optimizer adam' where the config has 'optimizer sgd'" },
        { "[conv2d: {filters: 4, name: first, bias: false}, batch_norm, relu, dropout: 0.3, "
          "flatten, dense: 5]",
          "adam", "tensors, the run has" },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const run r = { .threads = 1, .optimizer = others[i].optimizer };
        session s, untouched;
        open_trainer(&s, &r, others[i].model);
        open_trainer(&untouched, &r, others[i].model);
        assert_int_equal(leat_checkpoint_resume(s.f.trainer, test_folder, &s.found, &s.f.err),
                         LEAT_E_DATA);
        if (!strstr(s.f.err.message, others[i].said) || !strstr(s.f.err.message, step_path(30)))
            fail_msg("%s", s.f.err.message);
        assert_true(fixture_same_weights(&s.f, &untouched.f));
        close_session(&s);
        close_session(&untouched);
    }
}

/* Settings of a run may change; that is said. */
TEST(changed_settings_are_told)
{
    const run r = { .threads = 1, .accumulate = 2 };
    session s;
    open_trainer(&s, &r, checkpoint_model);
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, test_folder, &s.found, &s.f.err), LEAT_OK);
    assert_string_equal(s.found.changed, "accumulate 2, was 1");
    close_session(&s);
}

/* Weights alone are no checkpoint; a checkpoint has weights. */
TEST(a_checkpoint_is_also_a_file_of_weights)
{
    const run r = { .threads = 1 };
    session s, other;
    open_trainer(&s, &r, checkpoint_model);
    open_trainer(&other, &r, checkpoint_model);
    assert_int_equal(leat_trainer_save(s.f.trainer, in_folder("w.st"), &s.f.err), LEAT_OK);
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, in_folder("w.st"), &s.found, &s.f.err),
                     LEAT_E_DATA);
    assert_non_null(strstr(s.f.err.message, "--restore"));
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, test_folder, &s.found, &s.f.err), LEAT_OK);
    assert_false(fixture_same_weights(&s.f, &other.f));
    if (leat_trainer_restore(other.f.trainer, step_path(30), &other.f.err) < 0)
        fail_msg("%s", other.f.err.message);
    assert_true(fixture_same_weights(&s.f, &other.f));
    /* damage in a value, which the reader of the format cannot see */
    size_t size;
    uint8_t *bytes = read_whole(step_path(30), &size);
    bytes[size - 3] ^= 4;
    write_whole(in_folder("damaged.st"), bytes, size);
    assert_int_equal(leat_trainer_restore(other.f.trainer, in_folder("damaged.st"), &other.f.err),
                     LEAT_E_DATA);
    assert_non_null(strstr(other.f.err.message, "the checkpoint is damaged"));
    assert_true(fixture_same_weights(&s.f, &other.f));
    unlink(in_folder("damaged.st"));
    free(bytes);
    close_session(&s);
    close_session(&other);
}

/* A full disk, here a limit on the size of files: an error, and what was there before stays. */
TEST(a_full_disk_keeps_the_checkpoint_before)
{
    int status;
    size_t size;
    uint8_t *before = read_whole(step_path(30), &size);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const run r = { .threads = 1, .resume = test_folder };
        const struct rlimit limit = { size / 2, size / 2 };
        leat_loader_state at;
        session s;
        open_session(&s, &r);
        at = s.found.state;
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) < 0 ||
            leat_checkpoint_save(s.f.trainer, &at, test_folder, 1, NULL, &s.f.err) != LEAT_E_IO ||
            !strstr(s.f.err.message, "step-000000030"))
            _exit(1);
        leat_loader_state_at(s.plan, 31, &at);
        _exit(leat_checkpoint_save(s.f.trainer, &at, test_folder, 1, NULL, &s.f.err) != LEAT_E_IO);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(access(step_path(31), F_OK), -1);
    assert_int_equal(access(step_path(20), F_OK), 0); /* nothing was deleted either */
    size_t now;
    uint8_t *after = read_whole(step_path(30), &now);
    assert_true(now == size && !memcmp(before, after, size));
    free(before);
    free(after);
}

SUITE_FIXTURE(make_checkpoints, remove_folder)
