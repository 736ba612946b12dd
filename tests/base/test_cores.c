/* SPDX-License-Identifier: MIT
 *
 * test_cores.c: how many cores the affinity mask and the control groups leave to this process. */
#include "fixtures/own_folder.h"

#include <sched.h>

#include "base/cores.h"

#define V1_MOUNT "33 31 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
#define V2_MOUNT "40 31 0:28 / /cg2 rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static void check(int n_affinity, int expected, const char *words)
{
    char why[1024] = "";
    const int n = leat_cores_count_why(test_folder, n_affinity, why, sizeof why);
    if (n != expected || !strstr(why, words))
        fail_msg("%d '%s', not %d '%s'", n, why, expected, words);
}

TEST_WITH(no_files, make_folder, remove_folder)
{
    check(6, 6, "6 by the affinity mask");
    put_text("proc/self/cgroup", "");
    put_text("proc/self/mountinfo", "");
    check(6, 6, "6 by the affinity mask");
    put_text("proc/self/cgroup", "nonsense\n::\n0:\n\n0::/a\n3:cpu:/a\n0::x\n");
    put_text("proc/self/mountinfo", "nonsense\n1 2 3\n - \n1 2 3 4 5 - cgroup2\n - cgroup2 x y\n");
    check(6, 6, "6 by the affinity mask");
}

TEST_WITH(version_2, make_folder, remove_folder)
{
    put_text("proc/self/cgroup", "0::/a/b\n");
    put_text("proc/self/mountinfo", "1 2 0:3 / / rw - ext4 /dev/a rw\n" V2_MOUNT);
    check(8, 8, "affinity");
    put_text("cg2/a/b/cpu.max", "max 100000\n");
    check(8, 8, "affinity");
    put_text("cg2/a/cpu.max", "350000 100000\n");
    check(8, 4, "4 by the quota of 3.50 CPUs in /cg2/a (the affinity mask has 8)");
    put_text("cg2/a/b/cpu.max", "150000 100000\n");
    check(8, 2, "2 by the quota of 1.50 CPUs in /cg2/a/b");
    check(1, 1, "affinity");
    put_text("cg2/cpu.max", "1000 100000\n");
    check(8, 1, "0.01 CPUs in /cg2 ");
    put_text("cg2/cpu.max", "-5 0\n");
    check(8, 2, "/cg2/a/b");
    put_text("cg2/a/b/cpu.max", "");
    check(8, 4, "/cg2/a ");
}

TEST_WITH(version_1, make_folder, remove_folder)
{
    put_text("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/a\n0::/\n");
    put_text("proc/self/mountinfo", "32 31 0:9 / /cg/set rw - cgroup cgroup rw,cpuset\n" V1_MOUNT);
    put_text("cg/set/x/cpu.cfs_quota_us", "100000\n"); /* another hierarchy */
    put_text("cg/set/x/cpu.cfs_period_us", "100000\n");
    check(8, 8, "affinity");
    put_text("cg/cpu/a/cpu.cfs_quota_us", "-1\n");
    put_text("cg/cpu/a/cpu.cfs_period_us", "100000\n");
    check(8, 8, "affinity");
    put_text("cg/cpu/a/cpu.cfs_quota_us", "200000\n");
    check(8, 2, "2.00 CPUs in /cg/cpu/a ");
}

TEST_WITH(the_lesser_of_both, make_folder, remove_folder)
{
    put_text("proc/self/cgroup", "4:cpu:/\n0::/\n");
    put_text("proc/self/mountinfo", V1_MOUNT V2_MOUNT);
    put_text("cg/cpu/cpu.cfs_quota_us", "500000\n");
    put_text("cg/cpu/cpu.cfs_period_us", "100000\n");
    put_text("cg2/cpu.max", "300000 100000\n");
    check(8, 3, "/cg2 ");
    put_text("cg2/cpu.max", "600000 100000\n");
    check(8, 5, "/cg/cpu ");
}

/* A container sees its own folder as the top of the mount, and paths from outside of it. */
TEST_WITH(mounted_below_the_top, make_folder, remove_folder)
{
    put_text("proc/self/cgroup", "0::/docker/id/inner\n");
    put_text("proc/self/mountinfo", "40 31 0:28 /docker/id /cg2 rw - cgroup2 cgroup2 rw\n");
    put_text("cg2/inner/cpu.max", "200000 100000\n");
    check(8, 2, "/cg2/inner ");
    put_text("proc/self/cgroup", "0::/docker/ident/inner\n"); /* only looks like below it */
    check(8, 8, "affinity");
    put_text("cg2/cpu.max", "300000 100000\n");
    check(8, 3, "/cg2 ");
}

TEST(this_machine)
{
    cpu_set_t all, one;
    char why[1024];
    const int n = leat_cores_count();
    assert_in_range(n, 1, 1 << 20);
    assert_int_equal(leat_cores_count_why("", 0, why, sizeof why), n);
    assert_true(*why);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(leat_cores_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(leat_cores_count(), n);
}
