/* SPDX-License-Identifier: MIT
 *
 * test_machine.c: what limits and control groups leave of this machine, by the files of a pretended one. */
#include "fixtures/own_folder.h"

#include <sched.h>
#include <sys/resource.h>

#include "base/machine.h"

static void check_machine(int64_t bytes, const char *why)
{
    leat_machine m;
    leat_machine_read(test_folder, &m);
    if (m.memory_bytes != bytes || !strstr(m.memory_why, why))
        fail_msg("%lld by %s", (long long)m.memory_bytes, m.memory_why);
}

TEST(memory_has_the_least_of_all_limits)
{
    put_text("proc/meminfo", "MemTotal:  999 kB\nMemAvailable:    900000 kB\n");
    check_machine((int64_t)900000 * 1024, "available");
    put_text("proc/self/cgroup", "0::/a/b\n4:memory:/c\n");
    put_text("proc/self/mountinfo", "40 31 0:28 / /cg2 rw - cgroup2 cgroup2 rw\n"
                                    "33 31 0:30 / /cg rw - cgroup cgroup rw,memory\n");
    put_text("cg2/a/b/memory.max", "max\n");
    put_text("cg/c/memory.limit_in_bytes", "9223372036854771712\n");
    check_machine((int64_t)900000 * 1024, "available");
    put_text("cg2/a/memory.high", "500000000\n");
    check_machine(500000000, "/cg2/a");
    put_text("cg/c/memory.limit_in_bytes", "400000000\n");
    check_machine(400000000, "/cg/c");
    put_text("cg2/a/b/memory.max", "nonsense\n");
    check_machine(400000000, "/cg/c");

    /* What is in use counts, but no files that the kernel can take back. */
    put_text("cg/c/memory.stat", "cache 350000000\nrss 1\ntotal_rss 150000000\n");
    check_machine(250000000, "/cg/c, less what is in use");
    put_text("cg2/a/memory.stat", "anon_thp 1\nanon 450000000\nfile 7\n");
    check_machine(50000000, "/cg2/a, less what is in use");
    put_text("cg2/a/memory.stat", "anon 350000000\nfile 120000000\nshmem 100000000\n");
    check_machine(50000000, "/cg2/a, less what is in use"); /* files in memory stay there */
    put_text("cg/c/memory.stat", "total_rss 150000000\ntotal_shmem 240000000\n");
    check_machine(10000000, "/cg/c, less what is in use");
    put_text("cg/c/memory.stat", "total_rss 0\n");
    put_text("cg2/a/memory.stat", "anon 600000000\n");
    check_machine(1, "/cg2/a"); /* nothing is left, which is not "no limit" */
    put_text("cg2/a/memory.stat", "anon 0\n");
    put_text("cg/c/memory.stat", "total_rss 0\n");

    /* A limit that this process itself never feels, whatever a sanitizer maps. */
    struct rlimit old, low;
    char status[100];
    assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
    const rlim_t in_use = old.rlim_max > (rlim_t)1 << 51 ? (rlim_t)1 << 50 : 0;
    snprintf(status, sizeof status, "VmSize:   100000 kB\nVmData:  %llu kB\n",
             (unsigned long long)in_use / 1024 + 1);
    put_text("proc/self/status", status);
    low = (struct rlimit){ in_use + 300000000, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
    check_machine(300000000 - 1024, "RLIMIT_DATA");
    leat_machine m;
    leat_machine_read(test_folder, &m);
    assert_int_equal(m.address_bytes, 300000000 - 1024);
    assert_true(m.stack_bytes > 0);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
}

TEST(cores_on_several_nodes_are_told)
{
    leat_machine m;
    cpu_set_t mine;
    char first[32], rest[32];
    leat_machine_read(test_folder, &m); /* a kernel without nodes */
    assert_null(strstr(m.cores_why, "NUMA"));
    put_text("sys/devices/system/node/node0/cpulist", "0-99999\n");
    put_text("sys/devices/system/node/node3/cpulist", "\n"); /* memory alone */
    leat_machine_read(test_folder, &m);
    assert_null(strstr(m.cores_why, "NUMA"));
    if (sched_getaffinity(0, sizeof mine, &mine) || CPU_COUNT(&mine) < 2) {
        print_message("one CPU: two nodes are not tested here\n");
        return;
    }
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &mine))
        cpu++;
    snprintf(first, sizeof first, "%zu\n", cpu);
    snprintf(rest, sizeof rest, "%zu,%zu-99999\n", cpu + 1, cpu + 2);
    put_text("sys/devices/system/node/node0/cpulist", first);
    put_text("sys/devices/system/node/node3/cpulist", rest);
    leat_machine_read(test_folder, &m);
    assert_non_null(strstr(m.cores_why, "on 2 NUMA nodes"));
}

TEST(the_cache_has_the_kernels_size)
{
    assert_int_equal(leat_machine_cache_bytes(test_folder), 0);
    put_text("sys/devices/system/cpu/cpu0/cache/index3/size", "32768K\n");
    assert_int_equal(leat_machine_cache_bytes(test_folder), 32 << 20);
    put_text("sys/devices/system/cpu/cpu0/cache/index3/size", "many\n");
    assert_int_equal(leat_machine_cache_bytes(test_folder), 0);
}

TEST_FIXTURE(make_folder, remove_folder)
