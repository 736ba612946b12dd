/* SPDX-License-Identifier: MIT
 *
 * test_command_log.c: `leat train --log`: its lines, the same numbers in the event file, and what a resumed, a
 * killed and a failing run leave. */
#include <errno.h>
#include <glob.h>
#include <math.h>

#include "fixtures/command_pipeline.h"
#include "fixtures/disturb.h"
#include "formats/events.h"

enum { LINES_MOST = 4096 };

typedef struct lines {
    json_t *all[LINES_MOST];
    int n;
} lines;

/* Whole lines of a log. bad: how many lines are no JSON. */
static void read_log(const char *path, lines *log, int *bad)
{
    expect_success(shell("cat %s", path));
    log->n = *bad = 0;
    for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *json = json_loads(line, 0, NULL);
        assert_true(log->n < LINES_MOST);
        *bad += json == NULL;
        if (json)
            log->all[log->n++] = json;
    }
}

static void free_log(lines *log)
{
    for (int i = 0; i < log->n; i++)
        json_decref(log->all[i]);
}

static bool is_kind(const json_t *line, const char *kind)
{
    return !strcmp(json_string_value(json_object_get(line, "kind")), kind);
}

/* Path of the n-th event file of a folder, in order of time. */
static const char *event_file(const char *of, size_t n)
{
    static char path[512];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s/events.out.tfevents.*", folder, of);
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    assert_true(found.gl_pathc > n);
    snprintf(path, sizeof path, "%s", found.gl_pathv[n]);
    globfree(&found);
    return path;
}

/* Means over the stretches between lines make the mean of the epoch, and what is not read at a step is null. */
TEST(lines_add_up_to_epochs)
{
    lines log;
    int bad;
    double sum = 0, samples = 0;
    make_pipeline();
    expect_success(shell("$L train x.yaml --log xl/deep --log-every 5 -q --json"));
    json_t *run = parse_out();
    const json_t *epochs = json_object_get(run, "epochs");
    read_log("xl/deep/log.jsonl", &log, &bad);
    assert_int_equal(bad, 0);
    assert_int_equal(log.n, 1 + 2 * (3 + 1));
    assert_true(is_kind(log.all[0], "run"));
    assert_string_equal(json_string_value(json_object_get(log.all[0], "command")), "train");
    assert_int_equal(number(log.all[0], "batches"), 15);
    for (int i = 1; i < log.n; i++) {
        const json_t *line = log.all[i];
        const int epoch = (i - 1) / 4, in_epoch = (i - 1) % 4;
        assert_true(real(line, "time_s") >= real(log.all[i - 1], "time_s"));
        assert_int_equal(number(line, "epoch"), epoch);
        assert_int_equal(number(line, "step"),
                         in_epoch < 3 ? epoch * 15 + (in_epoch + 1) * 5 : (epoch + 1) * 15);
        assert_true(fabs(real(line, "epochs_done") - (double)number(line, "step") / 15) < 1e-9);
        if (in_epoch < 3) {
            assert_true(is_kind(line, "step"));
            assert_int_equal(number(line, "samples"), 80);
            assert_in_range(real(line, "idle") * 1000, 0, 1000);
            assert_in_range(real(line, "wait_share") * 1000, 0, 1000);
            sum += real(line, "loss") * 80;
            samples += 80;
            continue;
        }
        assert_true(is_kind(line, "epoch"));
        assert_true(fabs(sum / samples - real(line, "loss")) < 1e-9);
        const json_t *same = json_array_get(epochs, (size_t)epoch);
        assert_true(fabs(real(same, "eval_loss") - real(line, "eval_loss")) < 1e-6);
        sum = samples = 0;
    }
    free_log(&log);
    json_decref(run);
}

/* A step of another device must not be waited for: its loss stays unknown, its epoch's figures do not. */
TEST(no_loss_of_other_devices)
{
    lines log;
    int bad;
    make_pipeline();
    expect_success(shell("$L train x.yaml --device sim --log xl --log-every 15 -q"));
    read_log("xl/log.jsonl", &log, &bad);
    assert_int_equal(log.n, 5);
    assert_true(json_is_true(json_object_get(log.all[0], "simulated")));
    assert_true(json_is_null(json_object_get(log.all[1], "loss")));
    assert_true(json_is_null(json_object_get(log.all[1], "idle")));
    assert_true(real(log.all[1], "samples_per_s") > 0);
    assert_true(real(log.all[2], "busy") > 0);
    free_log(&log);
}

/* The value of a tag at a step in an event file; NaN: none. */
static double value_of(const char *path, const char *tag, int64_t step)
{
    leat_event_reader *reader;
    leat_summary_value event;
    double found = NAN;
    assert_int_equal(leat_event_reader_open(&reader, path, NULL), 0);
    while (leat_event_reader_next(reader, &event, NULL) == 0)
        if (event.kind == LEAT_EVENT_SCALAR && event.step == step && !strcmp(event.tag, tag))
            found = event.value;
    leat_event_reader_close(&reader);
    return found;
}

TEST(events_have_the_same_numbers)
{
    lines log;
    int bad, n_checked = 0;
    const char *key;
    json_t *value;
    make_pipeline();
    expect_success(shell("$L train x.yaml --log xl --log-every 5 -q"));
    read_log("xl/log.jsonl", &log, &bad);
    const char *path = event_file("xl", 0);
    for (int i = 1; i < log.n; i++)
        json_object_foreach(log.all[i], key, value)
        {
            char tag[96];
            snprintf(tag, sizeof tag, "%s/%s",
                     json_string_value(json_object_get(log.all[i], "kind")), key);
            const double found = value_of(path, tag, number(log.all[i], "step"));
            if (isnan(found))
                continue;
            assert_true((float)json_number_value(value) == (float)found);
            n_checked++;
        }
    assert_true(n_checked >= 6 * 7 + 2 * 12);
    assert_true(value_of(path, "epoch/eval_accuracy", 30) > 0);
    assert_false(value_of(path, "step/time_s", 5) > 0);
    free_log(&log);
}

TEST(the_first_batch_is_a_picture)
{
    leat_event_reader *reader;
    leat_summary_value event;
    int n = 0;
    make_pipeline();
    expect_success(shell("$L train x.yaml --log xl --steps 1 -q"));
    expect_success(shell("$L train x.yaml --log xm --steps 1 -q --start-batch 3"));
    expect_failure(shell("cmp -s xl/batch.png xm/batch.png"), 1, "");
    expect_success(shell("cat xl/batch.png"));
    assert_memory_equal(out, "\x89PNG", 4);
    assert_int_equal(leat_event_reader_open(&reader, event_file("xl", 0), NULL), 0);
    while (leat_event_reader_next(reader, &event, NULL) == 0)
        if (event.kind == LEAT_EVENT_IMAGE) {
            assert_string_equal(event.tag, "batch");
            assert_memory_equal(event.image, out, event.image_size);
            n++;
        }
    leat_event_reader_close(&reader);
    assert_int_equal(n, 1);
    expect_success(shell("mkdir xo && echo mine >xo/batch.png"));
    expect_failure(shell("$L train x.yaml --log xo --steps 1 -q"), 2,
                   "--log: xo/batch.png: exists and is not a picture of leat");
    expect_success(shell("test \"$(ls xo)\" = batch.png && grep mine xo/batch.png && "
                         "cp xl/batch.png xo && $L train x.yaml --log xo --steps 1 -q"));
}

/* A resumed run appends to the lines, after ending one that a killed process left half, and says from where
 * on it stands. */
TEST(a_resumed_run_goes_on)
{
    lines log;
    int bad;
    leat_event_reader *reader;
    leat_summary_value event;
    make_pipeline();
    expect_success(
        shell("$L train x.yaml --log xl --log-every 5 --epochs 1 -q --save x.st && "
              "printf '{\"kind\": \"step\", \"st' >>xl/log.jsonl && "
              "$L train x.yaml --log xl --log-every 5 -q --restore x.st --start-epoch 1"));
    read_log("xl/log.jsonl", &log, &bad);
    assert_int_equal(bad, 1);
    assert_int_equal(log.n, 10);
    assert_true(is_kind(log.all[5], "run"));
    assert_int_equal(number(log.all[5], "step"), 15);
    assert_int_equal(number(log.all[6], "step"), 20);
    free_log(&log);
    assert_int_equal(leat_event_reader_open(&reader, event_file("xl", 1), NULL), 0);
    assert_int_equal(leat_event_reader_next(reader, &event, NULL), 0);
    assert_int_equal(event.kind, LEAT_EVENT_START);
    assert_int_equal(event.step, 16);
    leat_event_reader_close(&reader);
}

static const json_t *line_of(const lines *log, const char *kind, int64_t step)
{
    for (int i = 0; i < log->n; i++)
        if (is_kind(log->all[i], kind) && number(log->all[i], "step") == step)
            return log->all[i];
    fail_msg("no line of %s %lld", kind, (long long)step);
    return NULL;
}

/* Goes on in the middle of an epoch: after SIGKILL, and after --steps. Losses are those of the straight run, of steps and
 * of the epoch. */
TEST(a_resumed_epoch_has_its_losses)
{
    static const char *const firsts[] = {
        "mkdir c && cp s/step-000000019.safetensors c",
        "$L train x.yaml --checkpoint c --log xl --log-every 1 -q --steps 19",
    };
    lines whole, log;
    int bad;
    make_pipeline();
    expect_success(shell("$L train x.yaml --checkpoint s --set train.checkpoint.every_steps=4 "
                         "--set train.checkpoint.keep=0 --log sl --log-every 1 -q"));
    read_log("sl/log.jsonl", &whole, &bad);
    for (int i = 0; i < 2; i++) {
        expect_success(shell("rm -rf c xl && %s", firsts[i]));
        expect_success(shell("$L train x.yaml --checkpoint c --resume --log xl --log-every 1 -q"));
        read_log("xl/log.jsonl", &log, &bad);
        for (int64_t step = 20; step <= 30; step++) {
            const json_t *const same = line_of(&whole, "step", step);
            const json_t *const line = line_of(&log, "step", step);
            assert_true(fabs(real(line, "loss") - real(same, "loss")) < 1e-9);
            assert_true(fabs(real(line, "accuracy") - real(same, "accuracy")) < 1e-9);
        }
        assert_true(fabs(real(line_of(&log, "epoch", 30), "loss") -
                         real(line_of(&whole, "epoch", 30), "loss")) < 1e-9);
        free_log(&log);
    }
    free_log(&whole);
    expect_success(shell("rm -rf c s sl"));
}

/* SIGKILL while lines are written as fast as they come: whole lines, at most the last is half; whole events. */
TEST(a_killed_run_keeps_its_log)
{
    lines log;
    int bad;
    make_pipeline();
    expect_success(shell("$L train x.yaml --epochs 1000000 --log xl --log-every 1 -q & p=$!; "
                         "until test 200 -lt $(wc -l <xl/log.jsonl 2>/dev/null || echo 0); "
                         "do sleep 0.02; kill -0 $p || exit 1; done; kill -KILL $p; wait $p; "
                         "head -n 2000 xl/log.jsonl >xl/head.jsonl"));
    read_log("xl/head.jsonl", &log, &bad);
    assert_true(bad <= 1);
    assert_true(log.n >= 200);
    const char *path = event_file("xl", 0);
    for (int i = 1; i < 100; i += 7)
        if (is_kind(log.all[i], "step"))
            assert_true((float)value_of(path, "step/loss", number(log.all[i], "step")) ==
                        (float)real(log.all[i], "loss"));
    free_log(&log);
}

/* Killed right before a checkpoint gets its name: the steps before that one, and before the one that the run goes on
 * from, have their lines. */
TEST(a_checkpoint_has_its_lines)
{
    make_pipeline();
    for (int n = 2; n <= 5; n++) {
        expect_success(shell("rm -rf c xl; LEAT_FAULT_CALLS=' rename ' LEAT_FAULT_AT=%d "
                             "LD_PRELOAD=" FAULT_AT
                             " $L train x.yaml --epochs 2 -q --log xl --log-every 1 --checkpoint c "
                             "--set train.checkpoint.every_steps=4; test $? = 137",
                             n));
        expect_success(shell("at=$(ls c | tail -n 1); at=${at#step-}; "
                             "echo ${at%%.safetensors} $(grep -c '\"kind\": \"step\"' "
                             "xl/log.jsonl)"));
        long long step = 0, n_lines = 0;
        if (n > 2) /* before the first checkpoint */
            assert_int_equal(sscanf(out, "%lld %lld", &step, &n_lines), 2);
        assert_true(n == 2 || (step >= 4 && n_lines >= step));
    }
}

/* A disk that is full ends the log, not the run; the exit code tells. */
TEST(a_full_disk_does_not_stop_the_run)
{
    make_pipeline();
    const int code = shell("ulimit -f 200; $L train x.yaml --epochs 60 --log xl --log-every 1 -q");
    assert_int_equal(code, 1);
    expect_in(err, "leat train: --log: xl/");
    expect_in(err, "File too large");
    expect_in(err, "; the log ends there");
    expect_in(out, "\n  60/60 ");
}

/* Also where there is no room for the picture of the first batch, which is larger than many lines. */
TEST(a_picture_that_cannot_be_written_does_not_stop_the_run)
{
    static const char *const calls[] = { "write", "fsync", "rename" };
    make_pipeline();
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        bool told = false;
        for (int call = 1; call <= 12 && !told; call++) {
            expect_success(shell("rm -rf xl"));
            const int code =
                disturb("$L train x.yaml --log xl --steps 3 --log-every 1", calls[c], call, ENOSPC);
            told = strstr(err, "xl/batch.png") != NULL;
            assert_true(!told || code == 1);
        }
        assert_true(told);
        expect_in(err, "--log: cannot write a picture, the run goes on: xl/batch.png: ");
        expect_in(out, "\n    1/2 ");
        expect_success(shell("test ! -e xl/batch.png && test $(wc -l <xl/log.jsonl) = 5"));
    }
}

TEST(other_files_stay)
{
    make_pipeline();
    expect_success(shell("mkdir xl && echo precious >xl/log.jsonl && echo x >xfile"));
    expect_failure(shell("$L train x.yaml --log xl -q --steps 1"), 2, "log.jsonl");
    expect_success(shell("grep precious xl/log.jsonl"));
    expect_failure(shell("$L train x.yaml --log xfile -q --steps 1"), 1, "--log: xfile");
    expect_failure(shell("$L train x.yaml --log xl --log-every 0 -q"), 2, "log-every");
}

/* A new run would be mixed into the curves of the one before. */
TEST(a_used_folder_is_refused)
{
    static const char said[] = "--log: xl: the folder has the log of another run: name another "
                               "folder, or go on with that run (--resume)";
    make_pipeline();
    expect_success(shell("$L train x.yaml --log xl -q --steps 3 --checkpoint xkeep"));
    expect_success(shell("cp xl/log.jsonl x.before"));
    expect_failure(shell("$L train x.yaml --log xl -q --steps 1"), 2, said);
    expect_success(shell("cmp xl/log.jsonl x.before"));
    expect_success(shell("$L train x.yaml --log xl -q --steps 1 --checkpoint xkeep --resume"));
    expect_success(shell("$L train x.yaml --log xl -q --steps 1 --start-batch 4"));
    expect_success(shell("rm xl/log.jsonl")); /* TensorBoard still reads the events */
    expect_failure(shell("$L train x.yaml --log xl -q --steps 1"), 2, said);
    expect_success(shell("rm xl/events* && $L train x.yaml --log xl -q --steps 1"));
}

/* With --resume, too: also where there is no checkpoint, which would tell. The same run begins again there. */
TEST(a_log_of_another_run_is_not_gone_on_with)
{
    static const struct {
        const char *set, *said;
    } others[] = {
        { "train.model=[flatten, dense: 12, dense: 10]", "(parameters: 7690, here 9" },
        { "source.tfrecord=y-*.tfrecord", "(records: " },
        { "pipeline.batch.size=8", "(batch size: 16, here 8)" },
        { "train.device=sim", "(simulated: false, here true)" },
    };
    make_pipeline();
    expect_success(shell("$L train x.yaml --log xl -q --steps 3 --save x.st && "
                         "cp xl/log.jsonl x.before"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        static const char *const goes_on[] = { "--checkpoint xnew --resume", "--start-batch 3" };
        for (size_t k = i == 3; k < 2; k++) { /* no checkpoint of what is simulated */
            expect_failure(shell("$L train x.yaml --log xl -q --steps 1 %s --set '%s'", goes_on[k],
                                 others[i].set),
                           2, "--log: xl: the folder has the log of another run (");
            expect_in(err, others[i].said);
            expect_in(err, ": name another folder");
            expect_success(shell("cmp xl/log.jsonl x.before"));
        }
    }
    expect_success(shell("rm -rf xnew; $L train x.yaml --log xl -q --steps 1 --epochs 3 "
                         "--checkpoint xnew --resume"));
    expect_success(shell("test $(grep -c '\"kind\": \"run\"' xl/log.jsonl) = 2"));
}

/* Nothing of it could be lost or mixed, so that the same command, corrected or not, runs. */
TEST(a_run_that_failed_at_its_first_batch_does_not_block)
{
    make_pipeline();
    for (int resumes = 0; resumes < 2; resumes++) {
        const char *const resume = resumes ? "--checkpoint xnew --resume" : "";
        expect_success(shell("rm -rf xl xnew; cp x-00000-of-00002.tfrecord xgood && printf xxxx | "
                             "dd conv=notrunc bs=1 seek=$(($(stat -c %%s xgood) / 20)) "
                             "of=x-00000-of-00002.tfrecord"));
        for (int again = 0; again < 2; again++) {
            expect_failure(
                shell("$L train x.yaml --log xl -q --steps 2 --set pipeline.shuffle- %s", resume),
                1, "x-00000-of-00002.tfrecord");
            expect_success(shell("test $(wc -l <xl/log.jsonl) = %d", again + 1));
        }
        expect_success(shell("mv xgood x-00000-of-00002.tfrecord; $L train x.yaml --log xl -q "
                             "--steps 2 --set pipeline.batch.size=8 %s",
                             resume));
        expect_failure(shell("$L train x.yaml --log xl -q --steps 2"), 2,
                       "the folder has the log of another run");
    }
}

/* Of two runs that begin at the same time one would not see the other's log yet. */
TEST(two_runs_at_once_are_not_mixed)
{
    make_pipeline();
    expect_success(shell("mkdir xl"));
    expect_failure(shell("flock xl/log.jsonl $L train x.yaml --log xl -q --steps 1"), 1,
                   "--log: xl: another run logs to this folder now");
    expect_success(shell("[ ! -s xl/log.jsonl ] && $L train x.yaml --log xl -q --steps 1"));
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
