/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_state.h: what the files of the fake GPU (cuda_fake.h) share: its state, how a call begins
 * and ends, and its queues. All is under the one lock, which a call holds from enter() to leave(). */
#ifndef CUDA_FAKE_STATE_H
#define CUDA_FAKE_STATE_H

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>

#include "cuda_fake.h"

typedef enum op_kind { COPY, SET, RECORD, WAIT, CALL, KERNEL, GRAPH_END } op_kind;

typedef struct op {
    op_kind kind;
    void *to;
    const void *from;
    size_t bytes;
    int value;
    cudaEvent_t event;
    uint64_t generation;
    void (*fn)(void *);
    void *arg;
    const cuda_fake_kernel *kernel;
    uint32_t blocks[2], threads;
    void *args; /* owned by the op, of graphs by the graph */
    bool of_graph;
    struct op *next;
} op;

struct CUstream_st {
    op *first, *last;
    bool running; /* its first op is being run */
    bool capturing;
    struct CUgraph_st *graph;
    struct CUstream_st *next;
};

struct CUevent_st {
    uint64_t recorded, done; /* generations */
    int64_t ns;
    unsigned flags;
};

struct CUgraph_st {
    op *first, *last;
};
struct CUgraphExec_st {
    op *first;
};

typedef struct allocation {
    uint8_t *memory;
    size_t bytes;
    bool pinned;
    struct allocation *next;
} allocation;

/* What can be alive. */
enum { STREAMS, EVENTS, GRAPHS, EXECS, LIBRARIES, DEVICE, PINNED, N_KINDS };

typedef struct cuda_fake_state {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t thread;
    bool has_thread, stop, lost, paused, in_op;
    uint64_t random, calls, kernels, graphs;
    int64_t fail_in;
    int fail_code, n_gpus, driver;
    size_t memory, used, live[N_KINDS];
    allocation *allocations;
    struct CUstream_st *streams;
    const char *last; /* name of the last call */
    char violation[256];
} cuda_fake_state;
extern cuda_fake_state fake;

/* cuda_fake_call.c */

extern _Thread_local bool in_call; /* this thread runs a call-back */
void violate(const char *what);
/* Begins a call: takes the lock; the error to answer with, if it is made to fail. */
cudaError_t enter(const char *name);
cudaError_t leave(cudaError_t rc);

#define ENTER()                                                                                    \
    cudaError_t rc = enter(__func__);                                                              \
    if (rc != cudaSuccess)                                                                         \
    return leave(rc)

/* What ends something ends it also when it is made to fail, as CUDA's do: there is no second try. */
#define END(call)                                                                                  \
    cudaError_t rc = enter(__func__);                                                              \
    const cudaError_t own = (call);                                                                \
    return leave(rc != cudaSuccess ? rc : own)

/* cuda_fake_queue.c */

void append(op **first, op **last, const op *from);
void drop(op *o);
bool is_stream(cudaStream_t stream);
/* To the stream's queue or, while it is captured, to the graph. */
cudaError_t enqueue(cudaStream_t stream, const op *o);
/* What is ended while work uses it is a violation, unless a call was made to fail: then the waiting
 * before it may be what failed, and CUDA itself waits. */
void await(bool (*is_used)(const void *), const void *what, const char *text);

#endif
