/* SPDX-License-Identifier: MIT
 *
 * test_fake_gpu.c: the fake GPU itself: it reports calls that are wrong on a real GPU. The test is linked
 * with it, so that it can make calls that the plugin never makes. */
#include <cuda_runtime_api.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/kernels/kernel.h"
#include "cuda/kernels/synthetic_work.h"
#include "fakes/cuda_fake.h"
#include "fixtures/unit.h"

extern const cuda_fake_table *cuda_fake_get(void);
static const cuda_fake_table *fake;

/* Objects of one device. */
static cudaStream_t stream;
static cudaEvent_t event;
static cudaLibrary_t library;
static cudaKernel_t kernel;
static uint8_t *memory, *pinned;
enum { BYTES = 1000 };

static int begin(void **state)
{
    fake->reset(1);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
    assert_int_equal(cudaLibraryLoadData(&library, "", NULL, NULL, 0, NULL, NULL, 0), cudaSuccess);
    assert_int_equal(cudaLibraryGetKernel(&kernel, library, "leat_synthetic_work"), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&memory, BYTES), cudaSuccess);
    assert_int_equal(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocDefault), cudaSuccess);
    memset(pinned, 7, BYTES);
    return 0;
}

static int end(void **state)
{
    char text[128];
    if (stream)
        cudaStreamSynchronize(stream);
    if (memory)
        cudaFree(memory);
    if (pinned)
        cudaFreeHost(pinned);
    if (event)
        cudaEventDestroy(event);
    if (library)
        cudaLibraryUnload(library);
    if (stream)
        cudaStreamDestroy(stream);
    if (fake->live(text, sizeof text))
        fail_msg("not freed: %s", text);
    return 0;
}

/* The next case: what is in the stream never runs. */
static void again(void)
{
    fake->lose();
    end(NULL);
    begin(NULL);
}

static cudaError_t launch(void *words, size_t bytes)
{
    leat_synthetic_work_args args = { .words = words, .n_words = (int64_t)(bytes / 4) };
    return cudaLaunchKernel((const void *)kernel, (dim3){ 1, 1, 1 }, (dim3){ 32, 1, 1 },
                            (void *[]){ &args }, 0, stream);
}

static void expect(const char *what)
{
    if (!fake->violation() || !strstr(fake->violation(), what))
        fail_msg("'%s' is not noted, but '%s'", what,
                 fake->violation() ? fake->violation() : "nothing");
}

/* How a child that does this ends: a signal, or 0. */
static int signal_of(void (*what)(void))
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        static const int caught[] = { SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGTRAP }; /* by CMocka */
        for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
            signal(caught[i], SIG_DFL);
        what();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* A kernel that is aligned as no GPU takes it: the first test, before there is a thread that a child would not have. */
static void alignment_traps(void)
{
    launch(memory + 1, 4);
    cudaStreamSynchronize(stream);
}

TEST(kernels_are_checked)
{
    assert_int_not_equal(signal_of(alignment_traps), 0);
}

TEST(right_use_is_none)
{
    uint8_t back[BYTES];
    float ms = -1;
    assert_int_equal(cudaMemcpyAsync(memory, pinned, BYTES, cudaMemcpyHostToDevice, stream),
                     cudaSuccess);
    assert_int_equal(launch(memory, BYTES), cudaSuccess);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    assert_int_equal(cudaMemcpyAsync(back, memory, BYTES, cudaMemcpyDeviceToHost, stream),
                     cudaSuccess);
    assert_int_equal(back[0], 8); /* what is not pinned is there when the call returns */
    assert_int_equal(back[1], 7);
    assert_int_equal(cudaEventElapsedTime(&ms, event, event), cudaSuccess);
    assert_null(fake->violation());
}

/* --- memory ---------------------------------------------------------------------------------------- */

static void touch_device(void)
{
    *(volatile uint8_t *)memory = 1;
}
static void touch_behind(void)
{
    ((volatile uint8_t *)pinned)[(BYTES + 255) / 256 * 256] = 1;
}

TEST(memory_is_guarded)
{
    const int key = pkey_alloc(0, 0);
    if (key >= 0) { /* this processor can do that */
        assert_int_equal(signal_of(touch_device), SIGSEGV);
        pkey_free(key);
    }
    assert_int_equal(signal_of(touch_behind), SIGSEGV);
    assert_null(fake->violation());
}

TEST(a_little_behind_its_end)
{
    uint8_t *little;
    assert_int_equal(cudaHostAlloc((void **)&little, 100, cudaHostAllocDefault), cudaSuccess);
    little[100] = 0;
    cudaFreeHost(little);
    expect("memory written behind its end");
}

TEST(copies_say_where)
{
    static const char *const expected[] = { "host side is device memory", "beyond device memory",
                                            "beyond pinned memory", "beyond device memory" };
    for (int i = 0; i < 4; i++) {
        fake->pause(1); /* none of them is carried out */
        uint8_t *const to = i == 1 ? memory + 1 : memory;
        const uint8_t *const from = i == 0 ? memory : i == 2 ? pinned + 1 : pinned;
        if (i == 3)
            cudaMemcpyAsync(pinned, pinned, BYTES, cudaMemcpyHostToDevice, stream);
        else
            cudaMemcpyAsync(to, from, BYTES, cudaMemcpyHostToDevice, stream);
        expect(expected[i]);
        again();
    }
}

TEST(kernels_get_device_memory)
{
    launch(pinned, BYTES);
    cudaStreamSynchronize(stream);
    expect("is given what is no device memory");
}

/* --- what is gone, and what is in use -------------------------------------------------------------- */

TEST(closed_things)
{
    cudaEvent_t gone;
    cudaEventCreateWithFlags(&gone, cudaEventDefault);
    cudaEventDestroy(gone);
    assert_int_equal(cudaEventQuery(gone), cudaErrorInvalidResourceHandle);
    expect("an event that is not there");
    fake->reset(1);
    cudaLibrary_t other;
    cudaKernel_t old = kernel;
    cudaLibraryLoadData(&other, "", NULL, NULL, 0, NULL, NULL, 0);
    cudaLibraryGetKernel(&kernel, other, "leat_synthetic_work");
    cudaLibraryUnload(other);
    assert_int_equal(launch(memory, BYTES), cudaErrorInvalidResourceHandle);
    expect("a kernel of a library that is not there");
    kernel = old;
}

TEST(what_is_in_use)
{
    for (int i = 0; i < 4; i++) {
        fake->pause(1);
        cudaMemcpyAsync(memory, pinned, BYTES, cudaMemcpyHostToDevice, stream);
        launch(memory, BYTES);
        cudaEventRecord(event, stream);
        if (i == 0) {
            cudaFree(memory);
            memory = NULL;
            expect("memory freed under work");
        } else if (i == 1) {
            cudaFreeHost(pinned);
            pinned = NULL;
            expect("memory freed under work");
        } else if (i == 2) {
            cudaLibraryUnload(library);
            library = NULL;
            expect("kernels unloaded under work");
        } else {
            cudaStreamDestroy(stream);
            stream = NULL;
            expect("a stream closed before its work is done");
        }
        again();
    }
}

/* --- captures, devices, failures ------------------------------------------------------------------- */

TEST(captures)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    assert_int_equal(launch(memory, BYTES), cudaSuccess);
    expect("a kernel loaded in a capture");
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphDestroy(graph);
    again();
    launch(memory, BYTES);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    assert_int_equal(cudaEventQuery(event), cudaErrorStreamCaptureUnsupported);
    expect("cudaEventQuery in a thread that captures");
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    again();
    launch(memory, BYTES);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    launch(memory, BYTES);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    cudaGraphDestroy(graph);
    cudaStreamSynchronize(stream);
    assert_int_equal((int)fake->kernels(), 1);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    assert_int_equal((int)fake->kernels(), 2);
    assert_null(fake->violation());
    fake->pause(1);
    cudaGraphLaunch(exec, stream);
    cudaGraphExecDestroy(exec);
    expect("a graph closed under work of it");
    again();
}

TEST(threads_have_a_device)
{
    assert_int_equal(fake->contexts(), 1);
    fake->set_gpus(2);
    cudaSetDevice(1);
    assert_int_equal(fake->contexts(), 3);
    assert_int_equal(launch(memory, BYTES), cudaErrorInvalidResourceHandle);
    cudaSetDevice(0);
    assert_int_equal(launch(memory, BYTES), cudaSuccess);
}

TEST(some_failures_stay)
{
    fake->fail_at(0, cudaErrorInvalidValue);
    assert_int_equal(cudaEventQuery(event), cudaErrorInvalidValue);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    fake->fail_at(0, cudaErrorLaunchFailure);
    assert_int_equal(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
    assert_int_equal(cudaGetLastError(), cudaErrorLaunchFailure);
    assert_int_equal(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
}

TEST(times_need_records)
{
    float ms;
    cudaEvent_t other;
    cudaEventCreateWithFlags(&other, cudaEventDefault);
    assert_int_equal(cudaEventElapsedTime(&ms, event, other), cudaErrorInvalidResourceHandle);
    fake->pause(1);
    cudaEventRecord(event, stream);
    cudaEventRecord(other, stream);
    assert_int_equal(cudaEventElapsedTime(&ms, event, other), cudaErrorNotReady);
    fake->pause(0);
    cudaStreamSynchronize(stream);
    assert_int_equal(cudaEventElapsedTime(&ms, event, other), cudaSuccess);
    cudaEventDestroy(other);
    assert_null(fake->violation());
}

TEST_FIXTURE(begin, end)

int main(void)
{
    fake = cuda_fake_get();
    return unit_run();
}
