/* SPDX-License-Identifier: MIT
 *
 * test_checkpoint.c: a run that is killed and resumed ends with the weights of the straight run, bit for bit; damaged
 * checkpoints are passed over. */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "fixtures/checkpoint_fixture.h"

static void train_killed(const run *r)
{
    double loss;
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        checkpoint_train(r, "/dev/null", &loss, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static bool same_file(const char *a, const char *b)
{
    size_t n, m;
    uint8_t *x = read_whole(a, &n), *y = read_whole(b, &m);
    const bool same = n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return same;
}

/* 28 runs are killed at random steps and resumed with other numbers of threads, with each optimiser and
 * with accumulation. */
TEST(killed_and_resumed_is_the_straight_run)
{
    static const run kinds[] = { { .threads = 2, .optimizer = "adam" },
                                 { .threads = 1, .optimizer = "{sgd: {momentum: 0.9}}" },
                                 { .threads = 3, .accumulate = 3, .optimizer = "adam" },
                                 { .threads = 2, .accumulate = 2, .optimizer = "sgd" },
                                 { .threads = 2, .optimizer = "adam, average: {ema: 0.8}" },
                                 { .threads = 2,
                                   .optimizer = "adam, frozen: [first, 'batch_norm.*'], clip: 0.1, "
                                                "average: {ema: 0.8}" },
                                 { .threads = 1,
                                   .optimizer = "sgd, average: {lookahead: {every: 3}}, schedule: "
                                                "cosine" } };
    leat_rng rng = leat_rng_make(11, 0, 0, 0);
    for (int k = 0; k < 7; k++) {
        run straight = kinds[k];
        double loss, again;
        char weights[256], resumed[256];
        snprintf(weights, sizeof weights, "%s", in_folder("straight.st"));
        snprintf(resumed, sizeof resumed, "%s", in_folder("resumed.st"));
        checkpoint_train(&straight, weights, &loss, NULL);
        for (int i = 0; i < 4; i++) {
            run first = kinds[k], second = kinds[k];
            leat_checkpoint_found found;
            first.every = 1 + (int)leat_rng_below(&rng, 4);
            first.kill_after = 1 + (int)leat_rng_below(&rng, CHECKPOINT_STEPS - 1);
            first.keep = 2;
            train_killed(&first);
            second.threads = 1 + i % 3;
            second.resume = test_folder;
            checkpoint_train(&second, resumed, &again, &found);
            if (!same_file(weights, resumed))
                fail_msg("%s, accumulate %d, killed after %d, resumed from '%s'",
                         kinds[k].optimizer, kinds[k].accumulate, first.kill_after, found.path);
            assert_true(fabs(again - loss) < 1e-9);
            char command[128];
            snprintf(command, sizeof command, "rm -f '%s'/step-*", test_folder);
            assert_int_equal(system(command), 0);
        }
    }
}

TEST(keeps_the_newest)
{
    run r = { .threads = 1, .every = 5, .keep = 3 };
    double loss;
    leat_checkpoint_found found;
    put_text("step-1.safetensors", "x"); /* not a name of ours */
    checkpoint_train(&r, in_folder("a.st"), &loss, NULL);
    for (int step = 5; step <= 30; step += 5)
        assert_int_equal(access(step_path(step), F_OK), step >= 20 ? 0 : -1);
    assert_int_equal(access(in_folder("step-1.safetensors"), F_OK), 0);
    r.resume = test_folder;
    r.every = 0;
    checkpoint_train(&r, in_folder("b.st"), &loss, &found);
    assert_string_equal(found.path, step_path(30));
    assert_int_equal(found.state.next_batch, 30);
    assert_int_equal(found.updates, 30);
    assert_int_equal(found.n_damaged, 0);
    assert_true(same_file(in_folder("a.st"), in_folder("b.st")));
    r.resume = step_path(20); /* a file by its name */
    checkpoint_train(&r, in_folder("b.st"), &loss, &found);
    assert_int_equal(found.updates, 20);
    assert_true(same_file(in_folder("a.st"), in_folder("b.st")));
    r.resume = in_folder("none"); /* nothing there: from the begin */
    checkpoint_train(&r, in_folder("b.st"), &loss, &found);
    assert_string_equal(found.path, "");
    assert_true(same_file(in_folder("a.st"), in_folder("b.st")));
}

/* Of whatever has the name of a checkpoint, those of the run's own model are deleted and counted, also where they were cut.
 * Uses the files of keeps_the_newest. */
TEST(deletes_only_checkpoints_of_its_model)
{
    static const char *const kept[] = { "empty", "text", "weights", "tensors", "other" };
    static const char foreign[] = "{\"__metadata__\":{\"checkpoint\":\"2\"}}";
    const run r = { .threads = 1, .every = 10, .keep = 2, .folder = in_folder("mixed") };
    const leat_loader_state at = fixture_state(0);
    size_t size;
    double loss;
    session s;
    char header[8 + sizeof foreign] = { sizeof foreign - 1 };
    put_text("mixed/step-000000001.safetensors", "");
    put_text("mixed/step-000000002.safetensors", "x");
    uint8_t *bytes = read_whole(in_folder("a.st"), &size);
    put_file("mixed/step-000000003.safetensors", bytes, size);
    free(bytes);
    memcpy(header + 8, foreign, sizeof foreign);
    put_file("mixed/step-000000004.safetensors", header, 7 + sizeof foreign);
    open_trainer(&s, &r, "[flatten, dense: 5]");
    assert_int_equal(leat_checkpoint_write(s.f.trainer, &at,
                                           in_folder("mixed/step-000000005.safetensors"), &s.f.err),
                     LEAT_OK);
    close_session(&s);
    bytes = read_whole(step_path(20), &size);
    put_file("mixed/step-000000006.safetensors", bytes, 1000);
    put_file("mixed/step-000000019.safetensors", bytes, 1000);
    free(bytes);
    checkpoint_train(&r, in_folder("b.st"), &loss, NULL);
    for (int step = 1; step <= 30; step++) {
        char name[64];
        snprintf(name, sizeof name, "mixed/step-%09d.safetensors", step);
        if ((access(in_folder(name), F_OK) == 0) != (step <= 5 || step == 20 || step == 30))
            fail_msg("%s (%s)", name, step <= 5 ? kept[step - 1] : "of the run");
    }
}

/* Cut at every 7th byte and near the ends of its parts: refused with the byte, and the one before is
 * used. Uses the checkpoints of keeps_the_newest. */
TEST(a_cut_checkpoint_is_passed_over)
{
    const run r = { .threads = 1 };
    size_t size;
    uint8_t *bytes;
    char newest[256];
    session s;
    snprintf(newest, sizeof newest, "%s", step_path(30));
    bytes = read_whole(newest, &size);
    open_trainer(&s, &r, checkpoint_model);
    for (size_t n = 0; n<size; n += n + 80> size || n < 16 ? 1 : 7) {
        char where[32];
        write_whole(newest, bytes, n);
        assert_int_equal(leat_checkpoint_resume(s.f.trainer, newest, &s.found, &s.f.err),
                         LEAT_E_DATA);
        snprintf(where, sizeof where, "byte %zu", n);
        if (n && !strstr(s.f.err.message, where))
            fail_msg("cut at %zu: %s", n, s.f.err.message);
        if (leat_checkpoint_resume(s.f.trainer, test_folder, &s.found, &s.f.err) != LEAT_OK)
            fail_msg("cut at %zu: %s", n, s.f.err.message);
        assert_string_equal(s.found.path, step_path(25));
        assert_int_equal(s.found.n_damaged, 1);
        assert_non_null(strstr(s.found.damaged, newest));
    }
    for (size_t n = 0; n < size; n += 1 + size / 200) { /* any other byte */
        bytes[n] ^= 4;
        write_whole(newest, bytes, size);
        bytes[n] ^= 4;
        if (leat_checkpoint_resume(s.f.trainer, newest, &s.found, &s.f.err) == LEAT_OK)
            assert_int_equal(bytes[n], ' '); /* between header and data, where nothing is read */
    }
    write_whole(newest, bytes, size);
    free(bytes);
    close_session(&s);
}

TEST(no_whole_checkpoint_is_an_error)
{
    const run r = { .threads = 1 };
    session s;
    const char *const only = in_folder("only");
    assert_int_equal(mkdir(only, 0777), 0);
    write_whole(in_folder("only/step-000000003.safetensors"), "{}", 2);
    open_trainer(&s, &r, checkpoint_model);
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, only, &s.found, &s.f.err), LEAT_E_DATA);
    assert_non_null(strstr(s.f.err.message, "has no whole checkpoint"));
    assert_non_null(strstr(s.f.err.message, "byte 2"));
    close_session(&s);
}

TEST(in_the_middle_of_an_update_it_waits)
{
    const run r = { .threads = 1, .accumulate = 3 };
    leat_loader_state at;
    leat_batch *batch;
    session s;
    assert_int_equal(leat_checkpoint_ready(NULL), 0);
    open_session(&s, &r);
    for (int i = 1; i <= 6; i++) {
        assert_int_equal(leat_loader_next(s.loader, &batch, &s.f.err), LEAT_OK);
        assert_int_equal(leat_trainer_step(s.f.trainer, batch, &s.f.err), LEAT_OK);
        leat_loader_get_state(s.loader, &at);
        assert_int_equal(leat_checkpoint_ready(s.f.trainer), i % 3 == 0);
        const int rc = leat_checkpoint_write(s.f.trainer, &at, in_folder("c.st"), &s.f.err);
        assert_int_equal(rc, i % 3 ? LEAT_E_BUSY : LEAT_OK);
    }
    assert_int_equal(leat_checkpoint_write(NULL, &at, "x", &s.f.err), LEAT_E_ARGUMENT);
    assert_int_equal(leat_checkpoint_save(s.f.trainer, NULL, "x", 1, NULL, &s.f.err),
                     LEAT_E_ARGUMENT);
    assert_int_equal(leat_checkpoint_resume(s.f.trainer, NULL, &s.found, &s.f.err),
                     LEAT_E_ARGUMENT);
    close_session(&s);
}

/* A run could not go on from it. */
TEST(a_state_of_no_loader_is_not_saved)
{
    const run r = { .threads = 1 };
    const leat_loader_state last = fixture_state((int64_t)1 << 62);
    leat_loader_state wrong[5] = { { .size = 0 },
                                   fixture_state(3),
                                   fixture_state(3),
                                   fixture_state(-1),
                                   fixture_state(last.next_batch + 1) };
    session s;
    wrong[1].next_batch = 4;
    wrong[2].version = 2;
    open_session(&s, &r);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(
            leat_checkpoint_write(s.f.trainer, &wrong[i], in_folder("none.st"), &s.f.err),
            LEAT_E_ARGUMENT);
        assert_non_null(strstr(s.f.err.message, "state: "));
        assert_int_equal(
            leat_checkpoint_save(s.f.trainer, &wrong[i], in_folder("no_folder"), 1, NULL, &s.f.err),
            LEAT_E_ARGUMENT);
        assert_int_equal(access(in_folder("none.st"), F_OK), -1);
        assert_int_equal(access(in_folder("no_folder"), F_OK), -1);
    }
    assert_int_equal(leat_checkpoint_write(s.f.trainer, &last, in_folder("last.st"), &s.f.err),
                     LEAT_OK);
    close_session(&s);
}

SUITE_FIXTURE(checkpoint_make_folder, remove_folder)
