/* SPDX-License-Identifier: MIT
 *
 * test_command_ranks.c: `leat train --ranks` ends with the file of weights of one process, also when it is resumed with
 * another number; errors and signals end all ranks. */
#include <math.h>

#include "fixtures/command_pipeline.h"

/* Two epochs of 15 steps. */
#define TRAIN                                                                                      \
    "timeout 60 $L train x.yaml -q --set train.micro_batches=12 --set 'train.model=[conv2d: "      \
    "{filters: 4, stride: 2}, batch_norm, relu, dropout: 0.2, flatten, dense: 10]' --set "         \
    "train.optimizer=adam "

TEST(the_files_are_those_of_one_process)
{
    make_pipeline();
    expect_success(shell(TRAIN "--save one.st --log log1"));
    for (int n = 2; n <= 6; n += 1 + n / 4) {
        expect_success(shell("rm -rf x.st logn"));
        expect_success(shell(TRAIN "--save x.st --ranks %d --log logn --json x.json --overlap %s",
                             n, n % 2 ? "on" : "auto"));
        expect_success(shell("cmp one.st x.st"));
        expect_success(shell("for f in log1 logn; do grep epoch $f/log.jsonl | grep -o "
                             "'\"[a-z_]*\\(loss\\|accuracy\\)\": [^,}]*' >$f.txt; done; "
                             "cmp log1.txt logn.txt && test -s logn.txt"));
    }
    expect_success(shell("rm -rf log1 logn"));
}

TEST(a_run_goes_on_with_other_ranks)
{
    make_pipeline();
    expect_success(shell(TRAIN "--save one.st"));
    expect_success(shell(TRAIN "--ranks 3 --steps 13 --checkpoint c"));
    expect_success(shell(TRAIN "--ranks 2 --steps 9 --checkpoint c --resume"));
    expect_in(err, "goes on from c/step-000000013.safetensors");
    expect_success(shell(TRAIN "--checkpoint c --resume --save x.st"));
    expect_success(shell("cmp one.st x.st; rm -rf c log"));
}

/* The 15th batch has one row, which is not of rank 0: there is no picture of it. */
TEST(a_run_goes_on_with_a_short_batch)
{
    make_pipeline();
    expect_success(shell("sed -i 's/^  - shuffle.*/&\\n  - take: 225/' x.yaml"));
    expect_success(shell(TRAIN "--steps 14 --checkpoint c"));
    expect_success(shell(TRAIN "--ranks 2 --steps 1 --checkpoint c --resume --log logn"));
    expect_success(shell("test -s logn/log.jsonl && test ! -e logn/batch.png"));
    expect_success(shell("rm -rf c logn"));
}

TEST(what_is_wrong_is_said_once)
{
    make_pipeline();
    expect_failure(shell(TRAIN "--ranks 5"), 1, "take one of 1, 2, 3, 4, 6, 12 ranks");
    expect_failure(shell(TRAIN "--ranks 4 --set train.micro_batches=4 --set "
                               "pipeline.batch.size=3"),
                   1,
                   "4 ranks cannot share the 3 parts of a batch of 3 rows (train.micro_batches) "
                   "evenly: take one of 1, 3 ranks, or make batches larger");
    expect_failure(shell(TRAIN "--ranks 4 --set train.micro_batches=8 --set "
                               "pipeline.batch.size=6"),
                   1, "or set train.micro_batches to a multiple of 4, at most the rows");
    expect_failure(shell(TRAIN "--ranks 2 --device sim"), 1, "train on the CPU only");
    expect_failure(shell(TRAIN "--ranks 2 --errors bad.jsonl"), 2, "leave out --errors");
    expect_failure(shell("timeout 60 $L train none.yaml --ranks 3"), 1, "none.yaml");
}

/* A run that began with another number of parts, which `auto` would not give, ends with its weights. */
TEST(auto_goes_on_with_the_parts_of_the_run)
{
    static const char run[] = "timeout 60 $L train x.yaml -q --set 'train.model=[flatten, "
                              "dense: 10]' --set train.optimizer=adam --set pipeline.batch.size=64";
    make_pipeline();
    expect_success(shell("%s --save one.st --set train.micro_batches=8", run));
    expect_success(shell("%s --steps 5 --checkpoint c --set train.micro_batches=8", run));
    expect_success(shell("%s --ranks 2 --checkpoint c --resume --save x.st", run));
    assert_null(strstr(err, "micro_batches"));
    expect_success(shell("cmp one.st x.st; rm -rf c"));
}

/* Ranks that cannot share what `auto` would give; a damaged checkpoint does not count. */
TEST(ranks_share_the_parts_of_the_run)
{
    static const char run[] = "timeout 60 $L train x.yaml -q --set 'train.model=[flatten, "
                              "dense: 10]' --set train.optimizer=adam --set pipeline.batch.size=32";
    static const char *const from[] = { "--resume", "--resume=c",
                                        "--resume=c/step-000000005.safetensors" };
    make_pipeline();
    expect_success(shell("%s --save one.st --set train.micro_batches=4", run));
    expect_failure(shell("%s --ranks 2", run), 1, "2 ranks cannot share the 1 parts");
    for (int i = 0; i < 3; i++) {
        expect_success(shell("%s --steps 5 --checkpoint c --set train.micro_batches=4", run));
        expect_success(shell("echo cut >c/step-000000006.safetensors"));
        expect_failure(shell("%s --ranks 3 --checkpoint c %s", run, from[i]), 1,
                       "3 ranks cannot share the 4 parts");
        expect_success(shell("%s rm c/step-000000006.safetensors", i < 2 ? "true" : ""));
        expect_success(shell("%s --ranks 2 --checkpoint c %s --save x.st", run, from[i]));
        assert_null(strstr(err, "micro_batches"));
        expect_success(shell("cmp one.st x.st; rm -rf c"));
    }
}

/* Whichever rank reads it. */
TEST(a_damaged_record_ends_all_with_its_name)
{
    make_pipeline();
    for (int at = 2000; at < 60000; at += 25000) {
        expect_success(shell("cp x-00001-of-00002.tfrecord whole; printf XXXX | dd bs=1 seek=%d "
                             "conv=notrunc of=x-00001-of-00002.tfrecord 2>/dev/null",
                             at));
        expect_failure(shell(TRAIN "--ranks 3 >log"), 1, "x-00001-of-00002.tfrecord");
        expect_in(err, "record ");
        expect_success(shell("mv whole x-00001-of-00002.tfrecord; rm log"));
    }
}

/* Whichever rank reads them: counted in all, as those of one process; lines of the log count the rows that are left. */
TEST(bad_records_of_all_ranks_are_counted)
{
    make_pipeline();
    expect_success(
        shell("for at in 2000 15000 40000; do printf XXXX | dd bs=1 seek=$at conv=notrunc "
              "of=x-00001-of-00002.tfrecord 2>/dev/null; done; sed -i 's/^  - batch.*/  - "
              "on_error: mask\\n&/' x.yaml"));
    for (int n = 1; n <= 3; n++) {
        expect_success(shell("rm -rf logn; " TRAIN "--ranks %d --epochs 1 --log logn --log-every 5 "
                             "--json x.json",
                             n));
        expect_in(out, "bad records: 3 masked, 0 replaced");
        expect_success(shell("cat x.json"));
        json_t *const json = parse_out();
        const json_t *const epoch = json_array_get(json_object_get(json, "epochs"), 0);
        const int64_t samples = number(epoch, "samples");
        assert_int_equal(number(json, "masked"), 3);
        json_decref(json);
        expect_success(shell("grep '\"step\", ' logn/log.jsonl | grep -o '\"samples\": [0-9]*' | "
                             "awk '{n += $2} END {exit n != %lld}'",
                             (long long)samples));
        /* `samples` at `samples_per_s` do not last longer than the run; a rate of one rank makes it n times as long. */
        expect_success(shell("awk 'function v(k) {match($0, \"\\\"\" k \"\\\": [0-9]\"); "
                             "return substr($0, RSTART + RLENGTH - 1) + 0} /\"run\",/ {from = "
                             "v(\"time_s\")} /\"step\",/ {n += v(\"samples\") / "
                             "v(\"samples_per_s\"); to = v(\"time_s\")} END {exit !(n > 0 && n < "
                             "1.2 * (to - from))}' logn/log.jsonl"));
    }
    expect_success(shell("rm -rf logn"));
}

/* A .npy file of 96 values of 4 bytes. */
static void write_values(const char *name, const char *about, const void *values)
{
    char path[128], header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(header + 10, about, strlen(about));
    header[127] = '\n';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(header, 1, sizeof header, file);
    fwrite(values, 4, 96, file);
    assert_int_equal(fclose(file), 0);
}

/* Rank 0 prints, and the rank that reads the value knows where it is. */
TEST(a_value_that_is_not_finite_is_named)
{
    float x[96];
    int32_t y[96];
    for (int i = 0; i < 96; i++) {
        x[i] = i == 70 ? NAN : (float)i / 96;
        y[i] = i % 3;
    }
    write_values("x.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (96, 1), }", x);
    write_values("y.npy", "{'descr': '<i4', 'fortran_order': False, 'shape': (96,), }", y);
    expect_success(shell("echo '{source: {npy: {files: x.npy, labels: y.npy}}, pipeline: [batch: "
                         "48], train: {micro_batches: 12, model: [dense: 3], loss: "
                         "softmax_cross_entropy}}' >n.yaml"));
    for (int i = 0; i < 8; i++) {
        const int n = 1 + i / 2;
        assert_int_equal(shell("timeout 60 $L train n.yaml -q --ranks %d --overlap %s >log", n,
                               i % 2 ? "on" : "off"),
                         1);
        expect_in(err, "epoch 1, step 2: ");
        expect_in(err, " is NaN (batch 1");
        if (n == 3)
            expect_in(err, "its 16 records are 64, 65, ");
    }
    expect_success(shell("rm x.npy y.npy n.yaml log"));
}

/* Ranks that are killed or stopped leave nobody behind. */
TEST(signals_end_all)
{
    make_pipeline();
    shell(TRAIN "--ranks 3 --epochs 100000 --checkpoint c >log & p=$!; "
                "for i in $(seq 450); do ls c/step* >/dev/null 2>&1 && break; sleep 0.1; done; "
                "first=$(pgrep -P $p); kill -TERM $first; wait $p");
    expect_in(err, "leat train");
    expect_success(shell("ls c/step-*.safetensors"));
    expect_failure(shell("rm -rf c; " TRAIN "--ranks 3 --epochs 100000 --checkpoint c >log & p=$!; "
                         "for i in $(seq 450); do ls c/step* >/dev/null 2>&1 && break; sleep 0.1; "
                         "done; first=$(pgrep -P $p); kill -KILL $(pgrep -P $first | tail -1); "
                         "wait $p"),
                   1, "has ended");
    assert_int_equal(
        shell("rm -rf c; " TRAIN "--ranks 3 --epochs 100000 --checkpoint c >log & p=$!; "
              "for i in $(seq 450); do ls c/step* >/dev/null 2>&1 && break; sleep 0.1; "
              "done; first=$(pgrep -P $p); kill -TERM $(pgrep -P $first | tail -1); wait $p"),
        85);
    expect_in(err, "leat train: stopped in epoch ");
    expect_success(shell("ls c/step-*.safetensors"));
    expect_success(shell("rm -rf c log"));
}

/* A stopped rank is named and killed; who reports it is the lowest that is not late. */
/* Without rank 0, which the shell waits for, another one tells a moment later. */
TEST(a_late_rank_is_named)
{
    make_pipeline();
    for (int how = 0; how < 4; how++) {
        const int i = how % 2;
        expect_failure(
            shell("rm -rf c; " TRAIN
                  "--ranks 3 --epochs 100000 --deadline 5 --checkpoint c %s >log & p=$!; for i in "
                  "$(seq 450); do ls c/step* >/dev/null 2>&1 && break; sleep 0.1; done; "
                  "first=$(pgrep -P $p); others=$(pgrep -P $first); last=$(echo \"$others\" | tail "
                  "-1); kill -STOP %s; wait $p; code=$?; for o in $others; do for i in $(seq 100); "
                  "do "
                  "kill -0 $o 2>/dev/null || break; sleep 0.1; done; done; exit $code",
                  how / 2 ? "--overlap on" : "", i ? "$first" : "$last"),
            i ? 137 : 1, i ? "leat train: rank 0 of 3" : "leat train: rank 2 of 3");
        expect_in(err, "late by more than the deadline of 5 s");
    }
    expect_success(shell("rm -rf c log"));
}

/* Of one process, too. */
TEST(sigusr1_saves_and_ends_with_its_own_code)
{
    make_pipeline();
    for (int n = 1; n <= 2; n++) {
        assert_int_equal(
            shell("rm -rf c; " TRAIN "--ranks %d --epochs 100000 --checkpoint c >log & p=$!; for i "
                  "in $(seq 450); do ls c/step* >/dev/null 2>&1 && break; sleep 0.1; done; "
                  "kill -USR1 $(pgrep -P $p); wait $p",
                  n),
            85);
        expect_in(err, "has all that the run needs to go on");
    }
    assert_int_equal(
        shell(
            TRAIN
            "--epochs 100000 --ranks 2 >log & p=$!; for i in $(seq 450); do test -s log && break; "
            "sleep 0.1; done; kill -USR1 $(pgrep -P $p); wait $p"),
        1); /* nothing to go on from */
    expect_in(err, "nothing was saved");
    expect_success(shell("rm -rf c log"));
}

/* Rank 0 alone sees it. */
TEST(a_full_disk_ends_all)
{
    make_pipeline();
    expect_failure(shell(TRAIN "--ranks 3 --epochs 1 --save /dev/full >log"), 1, "/dev/full");
    expect_success(shell("rm log"));
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(make_images, command_remove_folder)
