/* SPDX-License-Identifier: MIT
 *
 * test_other_processes.c: CPU time that others take, from the kernel's counters. */
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures/unit.h"
#include "study/other_processes.h"

enum { MS = 1000000 };

TEST(others_are_what_is_busy_and_not_ours)
{
    const leat_usage from = { .n_cpus = 2, .busy_ns = 500 * MS, .all_ns = 9000LL * MS };
    leat_usage to = from;
    to.all_ns += 2000LL * MS; /* a second of two CPUs */
    to.busy_ns += 1500 * MS;
    to.own_ns = 500 * MS;
    assert_true(leat_other_processes_taken(&from, &to) == 1.0);
    to.own_ns = 1510 * MS; /* counters are coarse */
    assert_true(leat_other_processes_taken(&from, &to) == 0);
    assert_true(leat_other_processes_taken(&from, &from) == 0);
}

TEST(only_our_cpus_count)
{
    char root[] = "/tmp/leat-neighbours-XXXXXX", path[64];
    leat_usage look;
    assert_non_null(mkdtemp(root));
    leat_other_processes_look(root, &look); /* no file */
    assert_true(look.all_ns == 0 && look.n_cpus >= 1);
    snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("cpu  1 1 1 1 1 1 1 1 0 0\n", file);
    for (int cpu = 0; cpu < 1024; cpu++)
        fprintf(file, "cpu%d 1 2 3 40 5 6 7 8 0 0\n", cpu);
    fputs("cpu0 of another kind\nintr 5 5 5 5 5 5 5 5 5\n", file);
    fclose(file);
    leat_other_processes_look(root, &look);
    const int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    assert_int_equal(look.all_ns, look.n_cpus * (1 + 2 + 3 + 40 + 5 + 6 + 7 + 8) * tick_ns);
    assert_int_equal(look.busy_ns, look.n_cpus * (1 + 2 + 3 + 6 + 7 + 8) * tick_ns);
    assert_true(look.own_ns > 0);
    unlink(path);
    snprintf(path, sizeof path, "%s/proc", root);
    rmdir(path);
    rmdir(root);
}

static void put(const char *root, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Of three CPUs a limit leaves one. What others take of the other two is not missing. */
TEST(what_a_limit_leaves_free_may_be_taken)
{
    const leat_usage from = { .n_cpus = 1, .n_beyond = 2 };
    leat_usage to = from;
    to.all_ns = 3000LL * MS;
    to.busy_ns = 2000LL * MS;
    assert_true(leat_other_processes_taken(&from, &to) == 0);
    to.busy_ns = 2500LL * MS;
    assert_true(leat_other_processes_taken(&from, &to) == 0.5);
}

/* Groups in groups that are stopped at once count each; more than all CPUs were not stopped. */
TEST(no_more_than_all_cpus_are_stopped)
{
    const leat_usage from = { .n_cpus = 2 };
    leat_usage to = { .n_cpus = 2, .at_ns = 1000, .throttled_ns = 1500 };
    assert_true(leat_other_processes_throttled(&from, &to) == 1.5);
    to.throttled_ns = 4000;
    assert_true(leat_other_processes_throttled(&from, &to) == 2);
}

/* The group of the process may lie anywhere below the mount, and any level may have the limit. */
TEST(a_limit_of_any_level_stops_this_process)
{
    char root[] = "/tmp/leat-neighbours-XXXXXX", command[128];
    leat_usage look;
    assert_non_null(mkdtemp(root));
    put(root, "proc/self/cgroup", "3:cpu,cpuacct:/job\n0::/a/b\n");
    put(root, "proc/self/mountinfo",
        "40 31 0:28 / /cg2 rw - cgroup2 cgroup2 rw\n33 31 0:30 / /cg rw - cgroup cgroup rw,cpu\n");
    leat_other_processes_look(root, &look);
    assert_int_equal(look.throttled_ns, 0);
    assert_int_equal(look.n_beyond, 0);
    const int32_t n = look.n_cpus;
    put(root, "cg2/a/cpu.max", "50000 100000\n");
    leat_other_processes_look(root, &look);
    assert_int_equal(look.n_cpus, 1);
    assert_int_equal(look.n_beyond, n - 1);
    put(root, "cg2/a/cpu.stat", "usage_usec 9\nnr_throttled 4\nthrottled_usec 30\n");
    put(root, "cg2/a/b/cpu.stat", "usage_usec 9\nnr_throttled 1\nthrottled_usec 5\n");
    put(root, "cg2/other/cpu.stat", "throttled_usec 7000\n");
    leat_other_processes_look(root, &look);
    assert_int_equal(look.throttled_ns, 35000);
    put(root, "cg/job/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 100\n");
    leat_other_processes_look(root, &look);
    assert_int_equal(look.throttled_ns, 35100);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}
