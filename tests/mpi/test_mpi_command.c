/* SPDX-License-Identifier: MIT
 *
 * test_mpi_command.c: `mpirun leat train --ranks mpi`: the files of one process, also when it is resumed with another number
 * of ranks; what is unlike on a rank, signals, and ranks that are killed or stopped; what ranks waited for. */
#include "mpi_fixture.h"

#include "fixtures/command_pipeline.h"
#include "fixtures/disturb.h"
#include "fixtures/sanitized.h"

#define CONFIG                                                                                     \
    " train x.yaml -q --set pipeline.batch.size=36 --set train.micro_batches=12 --set "            \
    "train.clip=0.5 --set 'train.model=[conv2d: {filters: 4, stride: 2}, batch_norm, relu, "       \
    "dropout: 0.2, flatten, dense: 10]' --set train.optimizer=adam "
#define MPI "--ranks mpi "
/* A rank writes its process number, so that a test can send it a signal. */
#define LEAT_RANK "sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec \"$@\"' sh $L"

/* A rank that fault_at.c disturbs. */
#define WITH_FAULT                                                                                 \
    "env ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" FAULT_AT " "

/* Six steps of 36 rows and one of 24 make an epoch; the short step has rows for all ranks but not evenly. */
TEST(a_run_goes_on_with_other_ranks)
{
    make_pipeline();
    expect_success(shell("timeout 60 $L" CONFIG "--save one.st >log"));
    expect_success(shell("timeout 60 mpirun -n 4 $L" CONFIG MPI "--steps 4 --checkpoint c >log"));
    expect_success(
        shell("timeout 60 mpirun -n 3 $L" CONFIG MPI "--steps 5 --checkpoint c --resume >log"));
    expect_in(err, "goes on from c/step-000000004.safetensors");
    assert_null(strstr(strstr(err, "goes on") + 1, "goes on")); /* rank 0 alone says it */
    expect_success(shell("timeout 60 $L" CONFIG "--checkpoint c --resume --save x.st >log"));
    expect_success(shell("cmp one.st x.st; rm -r c log"));
}

TEST(what_is_unlike_is_named)
{
    make_pipeline();
    assert_int_equal(shell("timeout 60 mpirun -n 2 $L" CONFIG), 2);
    expect_in(err, "this is one of 2 processes that mpirun or srun started");
    assert_int_equal(shell("timeout 60 mpirun -n 2 $L" CONFIG MPI ": -n 1 $L" CONFIG MPI
                           "--set train.clip=0.25"),
                     2);
    expect_in(err, "rank 2 of 3 (");
    expect_in(err, "has 'train.clip 0.25' where rank 0 has 'train.clip 0.5'");
    assert_null(strstr(strstr(err, "rank 2 of 3") + 1, "rank 2 of 3"));
    assert_int_equal(
        shell("timeout 60 mpirun -n 1 $L" CONFIG MPI ": -n 1 env LEAT_CPU=c $L" CONFIG MPI), 2);
    expect_in(err, "has 'CPU c' where rank 0 has 'CPU ");
    assert_int_equal(shell("cp y-*.tfrecord z.tfrecord; timeout 60 mpirun -n 1 $L" CONFIG MPI
                           ": -n 1 $L" CONFIG MPI "--set source.tfrecord=z.tfrecord"),
                     2);
    expect_in(err, "has 'records 60' where rank 0 has 'records 240'");
    static const char *const others[][2] = {
        { "--steps 3", "has '--steps 3' where rank 0 has '--steps 0 (to the end)'" },
        { "--start-batch 2", "has 'first step 2' where rank 0 has 'first step 0'" },
        { "--set eval.source.tfrecord=x-*.tfrecord",
          "has 'eval: records 240' where rank 0 has 'eval: records 60'" },
        { "--set eval.pipeline.batch.size=8", "has 'eval: pipeline " },
        { "--overlap=on", "has 'overlap on' where rank 0 has 'overlap off'" },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(shell("timeout 60 mpirun -n 1 $L" CONFIG MPI ": -n 1 $L" CONFIG MPI
                               "'%s' %s",
                               "--quiet", others[i][0]),
                         2);
        expect_in(err, others[i][1]);
    }
    assert_int_equal(shell("timeout 60 mpirun -n 5 $L" CONFIG MPI), 1);
    expect_in(err, "take one of 1, 2, 3, 4, 6, 12 ranks");
    expect_success(
        shell("$L" CONFIG "--steps 1 --save a.st >log && $L" CONFIG "--steps 2 --save b.st >log"));
    assert_int_equal(shell("timeout 60 mpirun -n 1 $L" CONFIG MPI
                           "--restore a.st : -n 1 $L" CONFIG MPI "--restore b.st"),
                     2);
    expect_in(err, "has 'weights ");
    /* Of the same step and with the same weights, but only one of the two was the end of its run. */
#define STILL                                                                                      \
    CONFIG "--set 'train.model=[flatten, dense: 10]' --epochs 4 --set 'train.optimizer={sgd: "     \
           "{learning_rate: 0}}' "
#define STOP "--set 'train.stop={patience: 1}' "
    expect_success(shell("$L" STILL STOP "--checkpoint c0 >log && $L" STILL
                         "--checkpoint c1 --steps 14 >log && ls c0/step-000000014.*"));
    assert_int_equal(shell("timeout 60 mpirun -n 1 $L" STILL STOP MPI
                           "--checkpoint c0 --resume : -n 1 $L" STILL STOP MPI
                           "--checkpoint c1 --resume"),
                     2);
    expect_in(err, "where rank 0 has 'first step 14 of a finished run'");
    expect_success(shell("rm -r log c0 c1"));
    expect_failure(shell("LEAT_MPI_PLUGIN=/none $L" CONFIG MPI), 1, "cannot open the MPI plugin");
}

/* Sends a signal to a rank of three once there is a checkpoint. Returns mpirun's code, or 99: a rank is left, or 124: they did
 * not end; *ms: until it ended. A zombie, which nobody waits for here, has no exe. */
static int signal_rank(const char *name, int rank, const char *more, double *ms)
{
    const int code = shell(
        "rm -rf c pid.*; timeout 60 mpirun -n 3 " LEAT_RANK CONFIG MPI
        "--epochs 100000 --checkpoint c %s >log & p=$!; for i in $(seq 900); do ls c/step* "
        ">/dev/null 2>&1 && break; sleep 0.05; done; kill -%s $(cat pid.%d); a=$(date +%%s%%N); "
        "wait $p; code=$?; echo $((($(date +%%s%%N) - a) / 1000000)); for i in 0 1 2; do for t in "
        "$(seq 100); do readlink /proc/$(cat pid.$i)/exe || continue 2; sleep 0.1; done; exit 99; "
        "done; exit $code",
        more, name, rank);
    *ms = atof(out);
    return code;
}

TEST(a_signal_to_any_rank_saves_and_ends_all)
{
    double ms;
    make_pipeline();
    assert_int_equal(signal_rank("USR1", 2, "", &ms), 85);
    expect_in(err, "leat train: stopped in epoch ");
    expect_in(err, "has all that the run needs to go on");
    assert_null(strstr(strstr(err, "stopped in") + 1, "stopped in"));
    assert_int_equal(signal_rank("TERM", 0, "", &ms), 85);
    expect_success(shell("rm -r c pid.* log"));
}

TEST(a_rank_that_is_gone_or_late_ends_all)
{
    double ms;
    make_pipeline();
    assert_int_equal(signal_rank("KILL", 1, "", &ms), 137);
    /* The newest checkpoint of a run that is as long as it came. */
    expect_success(
        shell("n=$(ls c | sed -n 's/^step-0*\\([0-9]*\\)[.]safetensors$/\\1/p' | tail -1); "
              "e=$((n / 7 + 2)); timeout 60 mpirun -n 2 $L" CONFIG MPI
              "--epochs $e --checkpoint c --resume --save x.st >log && "
              "timeout 60 $L" CONFIG "--epochs $e --save one.st >log && cmp one.st x.st"));
    for (int i = 0; i < 4; i++) {
        const int rank = i % 2;
        char wanted[80];
        assert_int_equal(
            signal_rank("STOP", rank, i / 2 ? "--deadline 3 --overlap on" : "--deadline 3", &ms),
            1);
        snprintf(wanted, sizeof wanted, "leat train: rank %d of 3 (", rank);
        expect_in(err, wanted);
        expect_in(err, "late by more than the deadline of 3 s");
        assert_true(!unit_judges_times() || ms < 20000); /* four seconds, and what mpirun takes */
    }
    expect_success(shell("rm -r c pid.* log"));
}

/* Rank 0 alone writes, so it alone sees the full disk; a rank alone reads the damaged record. */
TEST(an_error_of_one_ends_all)
{
    make_pipeline();
    assert_int_equal(shell("timeout 60 mpirun -n 3 $L" CONFIG MPI "--save /dev/full >log"), 1);
    expect_in(err, "/dev/full");
    expect_success(shell("printf XXXX | dd bs=1 seek=30000 conv=notrunc "
                         "of=x-00001-of-00002.tfrecord 2>/dev/null"));
    assert_int_equal(shell("timeout 60 mpirun -n 3 $L" CONFIG MPI ">log"), 1);
    expect_in(err, "x-00001-of-00002.tfrecord");
    assert_null(strstr(strstr(err, "leat train:") + 1, "leat train:"));
    expect_success(shell("rm log"));
}

/* --- what ranks waited for --------------------------------------------------------------------- */

#define EACH_SLEEPS "--set 'pipeline.map.ops+={sleep: {ms: 0.1}}' --json r.json "
/* The pauses of one rank's op last longer. */
#define SLOW WITH_FAULT "LEAT_FAULT_CALLS=' sleep ' LEAT_FAULT_AT=0 LEAT_FAULT_MS=5 "

/* Of the run that has just ended: its verdict and label, joined. *row: what rank 1 of it waited for. */
static char *verdict_of(json_t **file, const json_t **row)
{
    static char text[100];
    char path[128];
    snprintf(path, sizeof path, "%s/r.json", folder);
    *file = json_load_file(path, 0, NULL);
    const json_t *const ranks = json_object_get(*file, "ranks");
    const json_t *const list = json_object_get(ranks, "list");
    assert_int_equal(json_array_size(list), 3);
    for (size_t r = 0; r < 3; r++) {
        *row = json_array_get(list, r);
        const double sum = real(*row, "computing") + real(*row, "input_wait") +
                           real(*row, "rank_wait") + real(*row, "communication");
        assert_true(sum > 0.999 && sum < 1.001);
    }
    *row = json_array_get(list, 1);
    snprintf(text, sizeof text, "%s %s", json_string_value(json_object_get(ranks, "verdict")),
             json_string_value(json_object_get(ranks, "label")));
    return text;
}

TEST(a_slow_rank_is_named)
{
    json_t *file;
    const json_t *row;
    make_pipeline();
    bool named =
        false; /* in one of five runs: other programs can make another rank late, or all slow */
    for (int i = 0; i < 5 && !named; i++) {
        expect_success(shell("timeout 100 mpirun -n 1 $L" CONFIG MPI EACH_SLEEPS ": -n 1 " SLOW
                             "$L" CONFIG MPI EACH_SLEEPS ": -n 1 $L" CONFIG MPI EACH_SLEEPS));
        const bool printed = strstr(out, "straggler: rank 1: the others waited ");
        named = !strcmp(verdict_of(&file, &row), "straggler rank 1") && real(row, "late") > 0.3 &&
                real(row, "input_wait") > 0.3;
        assert_true(!named || (printed && strstr(out, "of 3 (")));
        json_decref(file);
    }
    assert_true(named || !unit_judges_times()); /* test_exchange holds the rule at any load */
    /* Stopped for three seconds, wherever it is. */
    expect_success(shell("rm -rf c; timeout 100 mpirun -n 3 " LEAT_RANK CONFIG MPI
                         "--json r.json --epochs 100000 --checkpoint c >log & p=$!; for i in $(seq "
                         "900); do ls c/step* >/dev/null 2>&1 && break; sleep 0.05; done; kill "
                         "-STOP $(cat pid.1); sleep 3; kill -CONT $(cat pid.1); sleep 0.5; kill "
                         "-TERM $(cat pid.0); wait $p; test $? = 85"));
    verdict_of(&file, &row); /* how long the whole run takes is not known */
    assert_true(real(row, "late") * real(file, "seconds") > 0.7);
    assert_true(!unit_judges_times() || real(row, "input_wait") < 0.3);
    json_decref(file);
    expect_success(shell("rm -r c log pid.* r.json"));
}

/* In a run of two epochs, a rank whose threads begin late is slow; in one of thirty, only other programs can make one so. */
TEST(without_a_slow_rank_none_is_named)
{
    make_pipeline();
    bool none = false;
    for (int i = 0; i < 5 && !none; i++) {
        json_t *file;
        const json_t *row;
        expect_success(
            shell("timeout 60 mpirun -n 3 $L" CONFIG MPI EACH_SLEEPS "--epochs 30 >log"));
        none = !strstr(verdict_of(&file, &row), "straggler");
        const json_t *const ceiling = json_object_get(file, "ceiling");
        assert_true(json_is_null(json_object_get(ceiling, "flops_per_s")));
        assert_non_null(strstr(json_string_value(json_object_get(ceiling, "why")), "ranks of MPI"));
        json_decref(file);
    }
    assert_true(none || !unit_judges_times());
    expect_success(shell("timeout 60 $L" CONFIG "--json r.json >log && grep -q '\"ranks\": null' "
                         "r.json; c=$?; rm log r.json; exit $c"));
}

/* --- what one rank alone knows ----------------------------------------------------------------- */

/* Each large piece of memory in turn: the others do not wait until the deadline for a rank that has none. */
TEST(a_rank_without_memory_ends_all)
{
    int n = 1, code;
#ifdef SANITIZED /* its own calloc() does not fail */
    skip();
#endif
    make_pipeline();
    while ((code = shell("timeout 60 mpirun -n 1 $L" CONFIG MPI ": -n 1 " WITH_FAULT
                         "LEAT_FAULT_CALLS=' calloc ' LEAT_FAULT_AT=%d "
                         "LEAT_FAULT_ERRNO=12 $L" CONFIG MPI ">log",
                         n)) != 0) {
        assert_int_equal(code, 1);
        expect_in(err, "memory");
        n++;
    }
    assert_true(n > 2);
    expect_success(shell("rm log"));
}

/* A rank sends to the one behind it first. It is stopped between its two sends of an exchange, so that one rank waits in
 * this exchange and one in the next, for two ranks. Rank 0 takes four seconds more to write its trace, after the picture of
 * --log. */
TEST(after_a_deadline_the_rank_that_reports_writes)
{
#define RANK_0                                                                                     \
    "-n 1 " WITH_FAULT                                                                             \
    "LEAT_FAULT_CALLS=' rename ' LEAT_FAULT_AT=2 LEAT_FAULT_MS=4000 $L" CONFIG MPI                 \
    "--deadline 3 --log d --trace t.json "
#define OTHER ": -n 1 $L" CONFIG MPI "--deadline 3 "
#define STOPPED                                                                                    \
    ": -n 1 " WITH_FAULT                                                                           \
    "LEAT_FAULT_CALLS=' MPI_Isend ' LEAT_FAULT_AT=100 LEAT_FAULT_SIGNAL=19 $L" CONFIG MPI          \
    "--deadline 3 "
    static const char *const commands[] = { RANK_0 STOPPED OTHER, RANK_0 OTHER STOPPED };
    make_pipeline();
    for (int stopped = 1; stopped <= 2; stopped++) {
        char wanted[80];
        bool alone =
            false; /* in one of three runs: another rank may be held up for a second, too */
        snprintf(wanted, sizeof wanted, "leat train: rank %d of 3 (", stopped);
        for (int i = 0; i < 3 && !alone; i++) {
            assert_int_equal(
                shell("rm -rf d t.json; timeout 60 mpirun %s >log", commands[stopped - 1]), 1);
            expect_in(err, "late by more than the deadline of 3 s");
            alone = strstr(err, wanted) && !strstr(strstr(err, "of 3 (") + 1, "of 3 (");
        }
        assert_true(alone);
        expect_success(shell("test -s t.json; c=$?; rm -rf d t.json log; exit $c"));
    }
}

TEST_FIXTURE(NULL, clean)

SUITE_FIXTURE(make_images, command_remove_folder)

int main(void)
{
    mpi_fixture_init();
    return mpi_fixture_missing() ? 77 : unit_run();
}
