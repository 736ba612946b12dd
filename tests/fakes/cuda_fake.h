/* SPDX-License-Identifier: MIT
 *
 * cuda_fake.h: a GPU made of host memory and one thread, for tests of the CUDA plugin where there is
 * no GPU. cuda_fake*.c stand in for the CUDA runtime: linked with the plugin's own files they make
 * libleat-cuda-fake.so, which is opened like the real plugin (LEAT_CUDA_PLUGIN).
 *
 * Streams run in order and against each other in an order drawn at random; copies read their source
 * when they run (what is not pinned before the call returns), so that a slot which is rewritten too early
 * shows as wrong data; kernels run thread by thread on the host. Every wrong use (a call from a call-back
 * or in a capture, memory freed under a copy, a copy beyond an allocation, an object used after its end) is
 * a violation; a host thread that touches device memory is ended by a signal where the processor can do
 * that. Any call can be made to fail; after the failures that CUDA never forgets every later one fails. */
#ifndef CUDA_FAKE_H
#define CUDA_FAKE_H

#include <stddef.h>
#include <stdint.h>

/* What the fake library exports for tests, beside the plugin's two functions. */
typedef struct cuda_fake_table {
    /* Back to the start: one GPU, 1 GiB, nothing fails. Nothing may be alive. */
    void (*reset)(uint64_t seed);
    void (*set_memory)(size_t bytes); /* of the device */
    void (*set_gpus)(int n);
    void (*set_driver)(int version); /* 0: none; 12040: an old one */
    /* The n-th call from now (0: the next) answers `code`, once; -1: none does. */
    void (*fail_at)(int64_t n, int code);
    uint64_t (*calls)(void); /* since reset */
    void (*lose)(void); /* the device falls off the bus: every call fails, nothing enqueued runs */
    void (*pause)(int on); /* nothing enqueued runs meanwhile */
    size_t (*live)(char *text,
                   size_t size);    /* objects and allocations not freed, with their kinds */
    const char *(*violation)(void); /* the first one, or NULL */
    uint64_t (*kernels)(void);      /* launched and run, also in graphs */
    uint64_t (*graphs)(void);       /* graph launches run */
    /* Work of another fake library: fn(arg) is called when the stream comes to it. Returns a
     * cudaError_t. */
    int (*enqueue)(void *stream, void (*fn)(void *), void *arg);
    /* The same, but it does not wait for what the stream has not begun yet. */
    int (*enqueue_ahead)(void *stream, void (*fn)(void *), void *arg);
    /* Ending what work still uses is no violation: a call was made to fail, or the device is lost. */
    int (*forgives)(void);
    int (*is_lost)(void);
    unsigned (*contexts)(void); /* a bit for each GPU that has a context by now */
    size_t (*pending)(void);    /* work of all streams that has not been done */
    void (*others_capture)(
        int on); /* until reset: another part of the program captures a graph in mode global */
    /* What another fake library says when it is called: the real one may wait or allocate. */
    void (*allocates)(const char *name);
} cuda_fake_table;

/* A kernel on the host: one thread of its grid. */
enum { CUDA_FAKE_POINTERS = 256 };
typedef struct cuda_fake_kernel {
    const char *name;
    size_t args_bytes;
    void (*thread)(const void *args);
    int (*pointers)(const void *args, const void *out[CUDA_FAKE_POINTERS]); /* in its arguments */
    /* Of kernels whose threads wait for each other: all threads of a block run phase 0, then all phase 1 … 0:
     * they do not wait. */
    int phases;
} cuda_fake_kernel;
enum { CUDA_FAKE_SHARED = 16384 }; /* bytes that the threads of a block share */

/* Where the running thread stands, as threadIdx, blockIdx, blockDim and gridDim (x and y); and, of a kernel with
 * phases, which one it runs and the memory of its block. */
typedef struct cuda_fake_place {
    uint32_t thread_x, block_x, block_y, threads, blocks_x, blocks_y;
    int32_t phase;
    void *shared; /* never zeros by luck */
} cuda_fake_place;
extern _Thread_local cuda_fake_place cuda_fake_at;

/* cuda_fake_kernels.c; ends with a NULL name. */
extern const cuda_fake_kernel cuda_fake_kernels[];

#endif
