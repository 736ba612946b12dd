/* SPDX-License-Identifier: MIT
 *
 * leat_watch(): programs with planted idle time get the right shares and the right word; programs that fork, that a signal
 * ends, that use no CUDA, whose CUPTI cannot be used, that cannot be started. */
#include <math.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/watch_wire.h"
#include "fixtures/command_pipeline.h"
#include "leat/watch.h"

#define PROGRAM BUILD_DIR "/tests/watch_program"

static leat_watch_result run(const char *job, const char *how)
{
    const char *const words[] = { PROGRAM, job, how, NULL };
    static leat_watch_result result;
    leat_error why;
    if (leat_watch(words, NULL, &result, &why) < 0)
        fail_msg("%s", why.message);
    return result;
}

/* What each job of watch_program.c planted. */
static const struct {
    const char *job;
    leat_verdict_kind verdict;
    leat_share idle;
    double busy, share;
    int64_t kernels, launches;
} jobs[] = {
    { "busy", LEAT_VERDICT_COMPUTE_BOUND, LEAT_SHARE_BUSY, 1, 1, 100, 100 },
    { "late", LEAT_VERDICT_NONE, LEAT_SHARE_OTHER_HOST, 0.4, 0.6, 100, 100 },
    { "launches", LEAT_VERDICT_LAUNCH_BOUND, LEAT_SHARE_LAUNCH, 0.2, 0.8, 100000, 100000 },
    { "copies", LEAT_VERDICT_TRANSFER_BOUND, LEAT_SHARE_EXPOSED_COPY, 0.4, 0.6, 100, 200 },
    { "waits", LEAT_VERDICT_SYNC_BOUND, LEAT_SHARE_SYNC, 0.7, 0.3, 100, 100 },
    { "graphs", LEAT_VERDICT_COMPUTE_BOUND, LEAT_SHARE_BUSY, 1, 1, 1000, 100 },
};

TEST(planted_idle_time_is_found)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const leat_watch_result r = run(jobs[i].job, NULL);
        const leat_watch_process *const p = &r.processes[0];
        double sum = 0;
        assert_int_equal(r.exit_code, 0);
        assert_int_equal(r.n_processes, 1);
        assert_string_equal(p->trouble, "");
        assert_string_equal(p->program, "watch_program");
        assert_true(fabs(p->shares[LEAT_SHARE_BUSY] - jobs[i].busy) < 0.01);
        assert_true(fabs(p->shares[jobs[i].idle] - jobs[i].share) < 0.01);
        for (int k = 0; k < LEAT_N_SHARES; k++)
            sum += p->shares[k];
        assert_true(fabs(sum - 1) < 1e-9);
        assert_int_equal(p->verdict, jobs[i].verdict);
        assert_int_equal(p->host_is_late, jobs[i].idle == LEAT_SHARE_OTHER_HOST);
        assert_int_equal(p->kernels, jobs[i].kernels);
        assert_int_equal(p->launches, jobs[i].launches);
        assert_true(p->seconds > 0.98 && p->seconds < 1.001);
        assert_int_equal(p->lost, 0);
        assert_int_equal(p->n_largest, 1);
        assert_string_equal(p->largest[0].name, i == 2 ? "short" : "long");
        assert_int_equal(p->largest[0].n, p->kernels);
    }
}

/* Copies alone say nothing of what the device waits for. */
TEST(without_kernels_there_is_no_verdict)
{
    const leat_watch_result r = run("feeds", NULL);
    assert_int_equal(r.processes[0].verdict, LEAT_VERDICT_INCONCLUSIVE);
    assert_int_equal(r.processes[0].host_is_late, 0);
}

TEST(a_killed_program_keeps_its_figures)
{
    const leat_watch_result r = run("waits", "killed");
    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGKILL);
    assert_int_equal(r.n_processes, 1);
    assert_int_equal(r.processes[0].verdict, LEAT_VERDICT_SYNC_BOUND);
}

/* As `leat watch | less` does: neither a launch nor the program's end waits for ever. */
TEST(a_reader_that_stands_still_stops_no_program)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const int reader = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int status;
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/leat-test-%d", (int)getpid());
    assert_int_equal(bind(reader, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(reader, 1), 0);
    const pid_t program = fork();
    if (program == 0) {
        setenv(LEAT_WATCH_LIBRARY, getenv("LEAT_CUDA_PLUGIN"), 1);
        setenv(LEAT_WATCH_SOCKET, address.sun_path, 1);
        alarm(200);
        execl(PROGRAM, PROGRAM, "launches", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(program, &status, 0), program);
    unlink(address.sun_path);
    close(reader);
    assert_int_equal(status, 0);
}

/* The child of a fork has no CUDA; what it starts is a process of its own. */
TEST(children_are_watched_too)
{
    const leat_watch_result r = run("busy", "forks");
    assert_int_equal(r.n_processes, 2);
    assert_int_equal(r.processes[0].verdict, LEAT_VERDICT_COMPUTE_BOUND);
    assert_int_equal(r.processes[0].kernels, 100);
    assert_int_equal(r.processes[1].verdict, LEAT_VERDICT_SYNC_BOUND);
    assert_true(r.processes[0].pid != r.processes[1].pid);
}

TEST(where_there_is_nothing_to_say)
{
    static const char *const plain[] = { "true", NULL }, *const none[] = { "/no/such/program",
                                                                           NULL };
    static leat_watch_result r;
    leat_error why;
    assert_int_equal(leat_watch(plain, NULL, &r, &why), LEAT_OK);
    assert_int_equal(r.n_processes, 0);
    assert_int_equal(leat_watch(none, NULL, &r, &why), LEAT_E_IO);
    assert_non_null(strstr(why.message, "'/no/such/program' cannot be started: No such file"));
    setenv("CUPTI_FAKE_VERSION", "24", 1);
    r = run("busy", NULL);
    unsetenv("CUPTI_FAKE_VERSION");
    assert_int_equal(r.n_processes, 1);
    assert_non_null(strstr(r.processes[0].trouble, "CUPTI's version is 24"));
    assert_int_equal(r.processes[0].kernels, 0);
    const leat_watch_options unwatched = { .unwatched = 1 };
    const char *const words[] = { PROGRAM, "busy", "code", NULL };
    assert_int_equal(leat_watch(words, &unwatched, &r, &why), LEAT_OK);
    assert_int_equal(r.n_processes, 0);
    assert_int_equal(r.exit_code, 3);
}

/* Where SIGCHLD is ignored, which programs inherit, the kernel would keep how the program ended to itself. */
TEST(an_ignored_sigchld_hides_no_exit_code)
{
    static const char *const fails[] = { "false", NULL };
    static const char *const looks[] = { "grep", "-q", "^SigIgn:.*[13579bdf][0-9a-f]\\{4\\}$",
                                         "/proc/self/status", NULL };
    const leat_watch_options unwatched = { .unwatched = 1 };
    static leat_watch_result r;
    struct sigaction now;
    leat_error why;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(leat_watch(fails, &unwatched, &r, &why), LEAT_OK);
    assert_int_equal(r.exit_code, 1);
    assert_int_equal(leat_watch(looks, &unwatched, &r, &why), LEAT_OK);
    assert_int_equal(r.exit_code, 0); /* the program has it as it would have it alone */
    sigaction(SIGCHLD, NULL, &now);
    assert_true(now.sa_handler == SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

/* The command's exit code is the program's, and its standard output too. */
TEST(the_command_says_it)
{
    assert_int_equal(shell("$L watch --json=watch.json -- " PROGRAM " waits code 2>&1 >/dev/null"),
                     3);
    expect_in(out, "sync-bound: the host waits for a result");
    expect_in(out, "busy 70.");
    assert_int_equal(shell("$L watch -- " PROGRAM " late killed 2>&1"), 128 + SIGKILL);
    expect_in(out, "was ended by signal 9");
    expect_in(out, "the host is late");
    expect_success(shell("$L watch -- echo hello 2>/dev/null"));
    assert_string_equal(out, "hello\n");
    expect_success(shell("$L watch -- true 2>&1"));
    expect_in(out, "no CUDA was used");
    expect_success(
        shell("CUPTI_FAKE_VERSION=24 $L watch -- " PROGRAM " busy 2>&1 | tr -s '\n ' ' '"));
    expect_in(out, "but there are no records: CUPTI's version is 24");
    expect_success(shell("$L watch --overhead -- " PROGRAM " busy 2>&1"));
    expect_in(out, "watching took ");
    assert_int_equal(shell("$L watch -- /no/such/program"), 1);
    assert_int_equal(shell("$L watch"), 2);
}

SUITE_FIXTURE(make_images, command_remove_folder)

int main(void)
{
    setenv("LEAT_CUDA_PLUGIN", BUILD_DIR "/tests/libleat-cuda-fake.so", 1);
    setenv("LEAT_CUPTI", BUILD_DIR "/tests/libcupti-fake.so", 1);
    return unit_run();
}
