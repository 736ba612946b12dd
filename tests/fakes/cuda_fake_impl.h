/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_impl.h: what the files of the fake GPU share. */
#ifndef CUDA_FAKE_IMPL_H
#define CUDA_FAKE_IMPL_H

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>

#include "cuda_fake.h"

typedef enum op_kind {
    COPY,
    SET,
    RECORD,
    WAIT,
    WORK, /* of another fake library, on the device */
    KERNEL,
    GRAPH_END
} op_kind;

typedef struct op {
    op_kind kind;
    void *to;
    const void *from;
    void *staged; /* what was pageable; owned by the op */
    size_t bytes;
    int value;
    cudaEvent_t event;
    uint64_t generation;
    void (*fn)(void *);
    void *arg;
    struct CUkern_st *kernel;
    uint32_t blocks[2], threads;
    void *args;                /* owned by the op */
    const void *node;          /* in a graph that was instantiated: the op that it is a copy of */
    struct CUgraphExec_st *of; /* the graph that was launched; NULL: none */
    uint32_t call;             /* of the host that enqueued it, in records; 0: none are kept */
    struct op *next;
} op;

struct CUstream_st {
    op *first, *last;
    int device;
    bool running; /* its first op is being run */
    bool capturing, broken;
    struct CUgraph_st *graph;
    struct CUstream_st *next;
};

struct CUevent_st {
    uint64_t recorded, done; /* generations */
    int64_t ns;              /* on the device's clock */
    unsigned flags;
    int device;
    struct CUevent_st *next;
};

/* A node's handle is its op in the graph. */
struct CUgraph_st {
    op *first, *last;
};
struct CUgraphExec_st {
    op *first;
};

/* A kernel of a library, loaded when it is first launched. */
struct CUkern_st {
    const cuda_fake_kernel *what;
    bool loaded;
    struct CUkern_st *next;
};
struct CUlib_st {
    struct CUkern_st *kernels;
    struct CUlib_st *next;
};

typedef struct allocation {
    uint8_t *memory;
    size_t bytes;
    bool pinned;
    void *mapped; /* with the page behind it that nobody may touch */
    size_t mapped_bytes;
    struct allocation *next;
} allocation;

enum { STREAMS, EVENTS, GRAPHS, EXECS, LIBRARIES, DEVICE, PINNED, N_LIVE };

typedef struct fake_gpu {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t thread;
    bool has_thread, stop, lost, paused, in_op;
    uint64_t random, calls, kernels, graphs;
    int64_t fail_in;
    bool others_capture;
    int fail_code, lost_code, n_gpus, driver;
    unsigned contexts; /* a bit for each GPU that has one */
    size_t memory, used, live[N_LIVE];
    allocation *allocations;
    struct CUstream_st *streams;
    struct CUevent_st *events;
    struct CUlib_st *libraries;
    const char *last; /* name of the last call */
    char violation[256];
} fake_gpu;
extern fake_gpu cuda_fake __attribute__((visibility("hidden")));
#define fake cuda_fake

extern _Thread_local int cuda_fake_device;                    /* of this thread */
extern _Thread_local struct CUstream_st *cuda_fake_capturing; /* by this thread */
extern _Thread_local enum cudaStreamCaptureMode cuda_fake_mode;

/* --- cuda_fake_record.c ------------------------------------------------------------------------ */
/* Records a call that enqueues an op, and gives its number. */
uint32_t cuda_fake_record_call(op_kind kind);
/* An op began then, and has ended. */
void cuda_fake_record_op(const op *o, int64_t start_ns);

/* --- cuda_fake.c ------------------------------------------------------------------------------- */
void cuda_fake_violate(const char *what);
/* What a call is, for enter. */
enum {
    ANYWHERE = 1, /* needs no context */
    CAPTURED = 2, /* may stand in a capture */
    UNSAFE = 4    /* may wait or allocate: ends captures of other threads in mode global */
};
/* Whether a call of the thread that may wait or allocate ends a capture of others, which is a violation. [lock held] */
bool cuda_fake_ends_capture(const char *name);
/* Begins a call: takes the lock; the error to answer with, if it is made to fail. */
cudaError_t cuda_fake_enter(const char *name, unsigned what);
cudaError_t cuda_fake_leave(cudaError_t rc);
#define ENTER_AS(what)                                                                             \
    cudaError_t rc = cuda_fake_enter(__func__, what);                                              \
    if (rc != cudaSuccess)                                                                         \
    return cuda_fake_leave(rc)
#define ENTER() ENTER_AS(0)
/* What ends something ends it also when it is made to fail, as CUDA's do: there is no second try. */
#define END(call) END_AS(0, call)
#define END_AS(what, call)                                                                         \
    cudaError_t rc = cuda_fake_enter(__func__, what);                                              \
    const cudaError_t own = (call);                                                                \
    return cuda_fake_leave(rc != cudaSuccess ? rc : own)
/* What is ended while work uses it is a violation, unless a call was made to fail: then the waiting
 * before it may be what failed, and CUDA itself waits. */
void cuda_fake_await(bool (*is_used)(const void *), const void *what, const char *text);
/* To the stream's queue or, while it is captured, to the graph. */
cudaError_t cuda_fake_enqueue(cudaStream_t stream, const op *o);
/* cuda_fake_table.enqueue, for libraries in this file; may stand in a capture. */
int cuda_fake_work(void *stream, void (*fn)(void *), void *arg);
void cuda_fake_append(op **first, op **last, const op *from);
void cuda_fake_drop(op *o);
int64_t cuda_fake_clock(void); /* the device's: it started at another time, and is fast */

/* --- cuda_fake_memory.c ------------------------------------------------------------------------ */
/* Whether the thread may touch device memory: only what runs on the device may. */
void cuda_fake_reach(bool on);
/* All of it in one allocation of that kind. */
bool cuda_fake_holds(const void *memory, size_t bytes, bool pinned);
/* Any of it in one. */
bool cuda_fake_meets(const void *memory, size_t bytes, bool pinned);

/* --- cuda_fake_queue.c ------------------------------------------------------------------------- */
bool cuda_fake_is_stream(cudaStream_t stream);

#endif
