/* SPDX-License-Identifier: MIT
 *
 * watch_program.c: a program for `leat watch` on a machine without a GPU. It does what CUDA's driver does with
 * CUDA_INJECTION64_PATH, and tells the stand-in for CUPTI (LEAT_CUPTI) of work that it never did: STEPS steps of 10 ms.
 * Usage: watch_program JOB [HOW]. HOW: killed: by SIGKILL, once its records are out; forks: a child says that it worked,
 * too, and then becomes a watched program; code: its exit code is 3. */
#include <cupti.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cupti_fake.h"

enum { STEPS = 100 };
#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

static const cupti_fake_table *cupti;
static uint32_t calls;
static uint64_t planted_ns; /* 0: none */

/* In place of the C library's, also for the plugin, which asks it when a call ends. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!planted_ns)
        return (int)syscall(SYS_clock_gettime, clock, out);
    *out =
        (struct timespec){ (time_t)(planted_ns / (1000 * MS)), (long)(planted_ns % (1000 * MS)) };
    return 0;
}

static void host(cupti_fake_kind kind, uint64_t start, uint64_t end, uint32_t call)
{
    planted_ns = end;
    cupti->work(kind, start, end, call);
    planted_ns = 0;
}

/* Work that the host enqueued at `call`. */
static void work(cupti_fake_kind kind, uint64_t call, uint64_t start, uint64_t end)
{
    host(CUPTI_FAKE_LAUNCH, call, call + US, ++calls);
    cupti->work(kind, start, end, calls);
}

/* The device never waits: each step was enqueued while the one before it ran. */
static void busy(uint64_t at)
{
    work(CUPTI_FAKE_KERNEL, at - 5 * MS, at, at + 10 * MS);
}

/* A kernel of 4 ms; then the host does something else for 6 ms. */
static void late(uint64_t at)
{
    work(CUPTI_FAKE_KERNEL, at - 2 * US, at, at + 4 * MS);
}

/* Kernels of 2 µs, which the host launches one after the other, every 10 µs; each begins 3 µs after its launch. */
static void launches(uint64_t at)
{
    for (uint64_t i = 0; i < 1000; i++)
        work(CUPTI_FAKE_KERNEL, at + 10 * i * US, at + (10 * i + 3) * US, at + (10 * i + 5) * US);
}

/* Copies of 6 ms before kernels of 4 ms, all enqueued in time. */
static void copies(uint64_t at)
{
    work(CUPTI_FAKE_TO_DEVICE, at - 8 * MS, at, at + 6 * MS);
    work(CUPTI_FAKE_KERNEL, at - 8 * MS, at + 6 * MS, at + 10 * MS);
}

static void feeds(uint64_t at)
{
    work(CUPTI_FAKE_TO_DEVICE, at - 2 * US, at, at + 4 * MS);
}

/* The host waits for a kernel of 7 ms, and needs 3 ms before it launches the next. */
static void waits(uint64_t at)
{
    work(CUPTI_FAKE_KERNEL, at - 2 * US, at, at + 7 * MS);
    host(CUPTI_FAKE_WAIT, at + MS, at + 7 * MS + US, 0);
}

/* One call for ten kernels without gaps. */
static void graphs(uint64_t at)
{
    host(CUPTI_FAKE_LAUNCH, at - MS, at - MS + US, ++calls);
    for (uint64_t i = 0; i < 10; i++)
        cupti->work(CUPTI_FAKE_KERNEL, at + i * MS, at + (i + 1) * MS, calls);
}

static const struct {
    const char *name;
    void (*step)(uint64_t at);
} jobs[] = { { "busy", busy },   { "late", late },   { "launches", launches }, { "copies", copies },
             { "feeds", feeds }, { "waits", waits }, { "graphs", graphs } };

/* As the driver does when a program begins to use CUDA. */
static void begin(void)
{
    const char *const library = getenv("CUDA_INJECTION64_PATH");
    void *const injected = library ? dlopen(library, RTLD_NOW) : NULL;
    int (*initialize)(void) = NULL;
    if (injected)
        *(void **)&initialize = dlsym(injected, "InitializeInjection");
    if (initialize)
        initialize();
}

static void find_cupti(void)
{
    const char *const path = getenv("LEAT_CUPTI");
    void *const library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    const cupti_fake_table *(*get)(void) = NULL;
    if (library)
        *(void **)&get = dlsym(library, "cupti_fake_get");
    cupti = get ? get() : NULL;
}

/* As CUPTI does from time to time. */
static void deliver(void)
{
    void *const library = dlopen(getenv("LEAT_CUPTI"), RTLD_NOW | RTLD_NOLOAD);
    CUptiResult (*flush)(uint32_t) = NULL;
    *(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
    flush(0);
}

static void run(const char *job)
{
    const uint64_t from = cupti->now();
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++)
        for (uint64_t i = 0; !strcmp(jobs[k].name, job) && i < STEPS; i++)
            jobs[k].step(from + 10 * MS * (i + 1));
}

int main(int argc, char **argv)
{
    const char *const how = argc > 2 ? argv[2] : "";
    begin();
    find_cupti();
    if (cupti && cupti->now())
        run(argv[1]);
    if (!strcmp(how, "killed")) {
        deliver();
        raise(SIGKILL);
    }
    if (!strcmp(how, "forks")) {
        const pid_t child = fork();
        if (child == 0) {
            run("late");
            deliver();
            execl(argv[0], argv[0], "waits", (char *)NULL);
        }
        waitpid(child, NULL, 0);
    }
    return !strcmp(how, "code") ? 3 : 0;
}
