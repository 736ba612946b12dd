/* SPDX-License-Identifier: MIT
 *
 * test_work.c: work of a known size: the CPU's kernels compute what they say, a simulated device takes at least the
 * modelled time, and every device refuses what makes no sense. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h" /* names the sanitizers for gcc and clang */
#include "device/device_table.h"
#include "fixtures/unit.h"
#include "leat/experiment.h"

/* Times of this device are sums that are easy to check; nothing of it depends on the machine. */
#define SIM                                                                                        \
    "sim:{peak_flops: 1e9, memory_bytes_per_s: 1e9, launch_ns: 100000, kernel_min_ns: 50000, "     \
    "copy_bytes_per_s: 1e9, pageable_bytes_per_s: 5e8, copy_latency_ns: 20000}"

static leat_device *device_named(const char *name)
{
    leat_device *device;
    leat_error err;
    assert_int_equal(leat_device_open(name, &device, &err), LEAT_OK);
    return device;
}

static int64_t time_of(const char *name, leat_work_options options)
{
    leat_device *device = device_named(name);
    leat_work *work;
    leat_error err;
    int64_t ns = -1;
    assert_int_equal(leat_work_open(device, &options, &work, &err), LEAT_OK);
    assert_int_equal(leat_work_run(work, &ns, &err), LEAT_OK);
    leat_work_close(&work);
    assert_null(work);
    leat_device_close(&device);
    return ns;
}

TEST(cpu_kernels_compute)
{
    enum { N = 13, ROWS = 5 };
    float a[N * N], b[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 11) - 5;
        b[i] = (float)(i % 7) - 3;
    }
    assert_int_equal(leat_device_cpu_matmul(NULL, LEAT_PRECISION_FP32, a, b, c, ROWS, N), LEAT_OK);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k * N + j];
            assert_true(fabsf(c[i * N + j] - sum) < 1e-3f);
        }
    assert_int_equal(leat_device_cpu_add(NULL, a, b, c, N * N), LEAT_OK);
    for (int i = 0; i < N * N; i++)
        assert_true(c[i] == a[i] + b[i]);
}

/* Every kind, size, cut and detour runs on both devices. */
TEST(all_work_runs_everywhere)
{
    static const char *const devices[] = { "cpu", "sim:{launch_ns: 0, kernel_min_ns: 0}" };
    for (size_t d = 0; d < 2; d++)
        for (int kind = LEAT_WORK_MATMUL; kind <= LEAT_WORK_COPY; kind++)
            for (int64_t n = 1; n <= 33; n += 8)
                for (int32_t how = 0; how < 8; how++) {
                    const leat_work_options options = { .kind = (leat_work_kind)kind,
                                                        .n = n,
                                                        .parts = n < 3 ? 1 : 3,
                                                        .repeats = 4,
                                                        .copies = how & 1,
                                                        .pageable = how >> 1 & 1,
                                                        .on_host = how >> 2 & 1 };
                    assert_true(time_of(devices[d], options) >= 0);
                }
}

/* Lower bounds, which hold under any load. */
TEST(a_simulated_device_takes_its_time)
{
    enum { LAUNCH = 100000, LATENCY = 20000 };
    const leat_work_options product = { .kind = LEAT_WORK_MATMUL, .n = 100 };
    leat_work_options o = product;
    assert_true(time_of(SIM, o) >= LAUNCH + 2000000); /* 2 MFLOP at 1 GFLOP/s */
    o.n = 4;
    o.repeats = 50; /* tiny: a launch each, and the last kernel */
    assert_true(time_of(SIM, o) >= 50 * LAUNCH + 50000);
    o.repeats = 1;
    o.parts = 4;
    assert_true(time_of(SIM, o) >= 4 * LAUNCH + 50000);
    o = product;
    o.copies = 1; /* three arrays of 40 kB at 1 GB/s */
    assert_true(time_of(SIM, o) >= 2000000 + 3 * (40000 + LATENCY));
    o = (leat_work_options){ .kind = LEAT_WORK_COPY, .n = 1000000 };
    assert_true(time_of(SIM, o) >= 1000000 + LATENCY);
    o.pageable = 1;
    assert_true(time_of(SIM, o) >= 2000000 + LATENCY);
    o = (leat_work_options){ .kind = LEAT_WORK_ADD, .n = 250000 }; /* 3 MB at 1 GB/s */
    assert_true(time_of(SIM, o) >= LAUNCH + 3000000);
    o.repeats = 8;
    o.on_host = 4; /* of 8: four stay; four are two copies of 1 MB each */
    assert_true(time_of(SIM, o) >= 4 * 3000000 + 4 * 2 * (1000000 + LATENCY));
}

#define BESIDE "other programs ran while it was measured"

/* Two programs on every CPU: no figure, or nearly that of a machine without them. */
TEST(beside_others_there_is_no_ceiling)
{
    enum { MOST = 256 };
    leat_ceiling quiet, loud;
    pid_t busy[MOST];
    const pid_t parent = getpid();
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int n = cpus < MOST / 2 ? 2 * (int)cpus : MOST;
    leat_device *device = device_named("cpu");
    leat_ceiling_measure(device, LEAT_PRECISION_FP32, &quiet);
    for (int i = 0; i < n; i++) {
        busy[i] = fork();
        if (busy[i] == 0)
            for (volatile unsigned spins = 0;; spins++)
                if (spins % (1U << 20) == 0 && getppid() != parent)
                    _exit(0);
    }
    leat_ceiling_measure(device, LEAT_PRECISION_FP32, &loud);
    for (int i = 0; i < n; i++) {
        assert_true(busy[i] > 0);
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    leat_device_close(&device);
    print_message("%.3g FLOP/s, beside %d programs %.3g %s\n", quiet.flops_per_s, n,
                  loud.flops_per_s, loud.why);
    if (loud.flops_per_s > 0)
        assert_true(loud.flops_per_s > quiet.flops_per_s / 4);
    else
        assert_string_equal(loud.why, BESIDE);
}

/* The model of a device is its upper bound; its clock may lose, never gain. */
TEST(the_most_that_a_device_reaches)
{
    leat_ceiling most;
    leat_device *device =
        device_named("sim:{peak_flops: 1e11, launch_ns: 0, copy_bytes_per_s: 1e10}");
    leat_ceiling_measure(device, LEAT_PRECISION_TF32, &most);
    leat_device_close(&device);
    assert_string_equal(most.why, "");
    assert_int_equal(most.precision, LEAT_PRECISION_TF32);
    assert_true(most.flops_per_s > 0 && most.flops_per_s <= 1.0001e11);
    assert_true(most.copied_bytes_per_s > 0 && most.copied_bytes_per_s <= 1.0001e10);
    device = device_named("cpu");
    leat_ceiling_measure(device, LEAT_PRECISION_FP32, &most);
    assert_true(most.copied_bytes_per_s == 0);
    if (!(most.flops_per_s > 0))
        assert_string_equal(most.why, BESIDE);
    leat_ceiling_measure(device, LEAT_PRECISION_BF16, &most);
    assert_true(most.flops_per_s == 0 && most.copied_bytes_per_s == 0);
    assert_non_null(strstr(most.why, "no product was timed: cpu: "));
    leat_device_close(&device);
    leat_ceiling_measure(NULL, LEAT_PRECISION_FP32, &most);
    assert_string_equal(most.why, "there is no device");
    leat_ceiling_measure(NULL, LEAT_PRECISION_FP32, NULL);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* A run ends with this measurement, which must not be what ends it. */
TEST(a_product_without_memory_is_left_out)
{
    struct rlimit was;
    char line[128];
    long long kb = 0;
    leat_ceiling most;
    leat_device *device = device_named("cpu");
    FILE *file = fopen("/proc/self/status", "re");
    while (fgets(line, sizeof line, file) && sscanf(line, "VmData: %lld", &kb) != 1)
        ;
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_DATA, &was), 0);
    setrlimit(RLIMIT_DATA, &(struct rlimit){ (rlim_t)kb * 1024 + 1000000, was.rlim_max });
    leat_ceiling_measure(device, LEAT_PRECISION_FP32, &most);
    setrlimit(RLIMIT_DATA, &was);
    assert_true(kb > 0 && most.flops_per_s == 0);
    assert_string_equal(most.why,
                        "no memory is left for a product (RLIMIT_DATA, less what is in use)");
    leat_device_close(&device);
}
#endif

TEST(what_makes_no_sense_is_refused)
{
    static const leat_work_options wrong[] = {
        { .n = 0 },
        { .n = -1 },
        { .n = 3, .parts = 4 },
        { .n = 3, .parts = -1 },
        { .n = 3, .repeats = -1 },
        { .n = 3, .on_host = 2 },
        { .n = 3, .repeats = 4, .on_host = 5 },
        { .n = INT64_C(1) << 40 },
        { .n = 3, .kind = (leat_work_kind)9 },
        { .n = 3, .kind = (leat_work_kind)-1 },
        { .n = 3, .precision = (leat_precision)7 },
        { .n = 3, .precision = (leat_precision)-1 },
    };
    leat_device *device = device_named("cpu");
    leat_work *work;
    leat_error err;
    int64_t ns;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(leat_work_open(device, &wrong[i], &work, &err), LEAT_E_ARGUMENT);
    assert_int_equal(leat_work_open(NULL, &wrong[0], &work, &err), LEAT_E_ARGUMENT);
    assert_int_equal(leat_work_run(NULL, &ns, &err), LEAT_E_ARGUMENT);
    leat_work_close(NULL);
    leat_device_close(&device);
}
