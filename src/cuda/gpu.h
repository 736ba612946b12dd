/* SPDX-License-Identifier: MIT
 *
 * gpu.h: types and functions that the files of the CUDA plugin share. The plugin must not call libleat,
 * so that it works with programs that link libleat statically. */
#ifndef LEAT_GPU_H
#define LEAT_GPU_H

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "cuda/kernels/kernel.h"
#include "device/device_table.h"
#include "gpu_anchors.h"

typedef struct leat_gpu {
    leat_device base;
    int number;        /* CUDA's; [const after open] */
    cudaStream_t side; /* for clock anchors; [const after open] */
    cudaLibrary_t plants;
    const void *planter, *adder; /* kernels, NULL before their first use [gpu_synthetic_work.c] */
    struct leat_gpu_work *work;  /* NULL before its first use [gpu_work.c] */

    pthread_mutex_t lock; /* guards what follows */
    leat_gpu_anchors anchors;
    cudaEvent_t anchor_events[LEAT_GPU_ANCHORS]; /* as anchors.ring */
    cudaEvent_t spare[2];
    int64_t renew_ns;  /* when the next anchor is due */
    int64_t narrow_ns; /* largest width of a good anchor */
    char trouble[700]; /* last failure, for leat_device_table.explain */
} leat_gpu;

typedef struct leat_gpu_stream {
    leat_stream base;
    cudaStream_t cuda;
} leat_gpu_stream;

typedef struct leat_gpu_event {
    leat_event base;
    cudaEvent_t cuda;
    int64_t recorded_ns; /* when the host enqueued it [whoever records it] */
} leat_gpu_event;

static inline leat_gpu *leat_gpu_of(leat_device *device)
{
    return (leat_gpu *)device;
}
static inline cudaStream_t leat_gpu_stream_cuda(leat_stream *stream)
{
    return ((leat_gpu_stream *)stream)->cuda;
}

/* --- gpu_error.c ------------------------------------------------------------------------------- */
/* Converts to LEAT_OK, LEAT_E_AGAIN, LEAT_E_NOMEM or LEAT_E_DEVICE. Stores a failure for explain() and
 * clears the thread's last CUDA error. what: such as "copying 12 bytes to the device". */
int leat_gpu_code(leat_gpu *gpu, cudaError_t rc, const char *what);
/* Stores a failure of another library for explain(), and returns the code. */
int leat_gpu_trouble(leat_gpu *gpu, int code, const char *format, ...) LEAT_PRINTF(3, 4);
/* Fills *err (if not NULL) and returns the code. */
int leat_gpu_fail(leat_error *err, int code, const char *format, ...) LEAT_PRINTF(3, 4);
/* As leat_gpu_code, and the same text in *err. */
int leat_gpu_check(leat_gpu *gpu, cudaError_t rc, const char *what, leat_error *err);
/* Makes this GPU the current device of the calling thread. */
int leat_gpu_use(leat_gpu *gpu);
void leat_gpu_explain(leat_device *device, char *text, size_t size);

/* --- gpu_clock.c ------------------------------------------------------------------------------- */
int leat_gpu_clock_open(leat_gpu *gpu, leat_error *err);
void leat_gpu_clock_close(leat_gpu *gpu);
/* CLOCK_MONOTONIC of a completed event; 0 if CUDA cannot tell. */
int64_t leat_gpu_clock_of(leat_gpu *gpu, const leat_gpu_event *event);

/* --- gpu_queue.c: memory, streams, events, copies ---------------------------------------------- */
/* While a thread captures a graph in mode global, as PyTorch does, calls of other threads that may wait or allocate end
 * the capture, unless these threads say that theirs have nothing to do with it (relaxed). Returns the thread's mode
 * before, which the same call sets again. After cudaSetDevice(). */
enum cudaStreamCaptureMode leat_gpu_capture_mode(enum cudaStreamCaptureMode mode);
void *leat_gpu_device_alloc(leat_device *device, size_t bytes);
void leat_gpu_device_free(leat_device *device, void *memory);
void *leat_gpu_pinned_alloc(leat_device *device, size_t bytes);
void leat_gpu_pinned_free(leat_device *device, void *memory);
int leat_gpu_memory_info(leat_device *device, size_t *free_bytes, size_t *total_bytes);
int leat_gpu_stream_open(leat_device *device, leat_stream **out, leat_error *err);
void leat_gpu_stream_close(leat_stream *stream);
int leat_gpu_stream_sync(leat_stream *stream, leat_error *err);
int leat_gpu_stream_wrap(leat_device *device, void *native, leat_stream **out, leat_error *err);
void leat_gpu_stream_unwrap(leat_stream *stream);
int leat_gpu_stream_wait(leat_stream *stream, leat_event *event);
int leat_gpu_event_open(leat_device *device, leat_event **out, leat_error *err);
void leat_gpu_event_close(leat_event *event);
int leat_gpu_event_record(leat_event *event, leat_stream *stream);
int leat_gpu_event_query(leat_event *event);
int leat_gpu_event_sync(leat_event *event);
int64_t leat_gpu_event_ns(leat_event *event);
int leat_gpu_copy_to_device(leat_stream *stream, void *to, const void *from, size_t bytes,
                            bool pinned);
int leat_gpu_copy_to_host(leat_stream *stream, void *to, const void *from, size_t bytes);
int leat_gpu_copy_on_device(leat_stream *stream, void *to, const void *from, size_t bytes);

/* --- gpu_ops.c, gpu_synthetic_work.c -------------------------------------------------------------------- */
int leat_gpu_ops_open(leat_device *device, const leat_device_ops_spec *spec, leat_device_ops **out,
                      leat_error *err);
int leat_gpu_ops_add(leat_device_ops *ops, int64_t i, uint8_t *buffer, leat_error *err);
int leat_gpu_ops_run(leat_device_ops *ops, leat_stream *stream, int64_t i, const uint8_t *host,
                     int64_t rows, int64_t *bad_row);
void leat_gpu_ops_close(leat_device_ops *ops);
int leat_gpu_synthetic_work(leat_stream *stream, int64_t ns, int64_t launches, void *memory,
                            size_t bytes);
void leat_gpu_synthetic_work_close(leat_gpu *gpu);
/* The kernel of that name in *out, which is loaded at the first call and stored in *kept, NULL before. */
int leat_gpu_synthetic_work_kernel(leat_gpu *gpu, const char *name, const void **kept,
                                   const void **out);

/* --- gpu_work.c: see leat_device_table; one thread at a time ----------------------------------- */
int leat_gpu_matmul(leat_stream *stream, leat_precision precision, const float *a, const float *b,
                    float *c, int64_t rows, int64_t n);
int leat_gpu_add(leat_stream *stream, const float *a, const float *b, float *c, int64_t n);
void leat_gpu_work_close(leat_gpu *gpu);

/* --- gpu_record.c, gpu_nvml.c ------------------------------------------------------------------ */
int leat_gpu_record_start(leat_device *device, leat_error *err);
int leat_gpu_record_stop(leat_device *device, leat_device_record *out, leat_error *err);
int leat_gpu_utilisation(leat_device *device, int *percent, leat_error *err);

/* --- gpu_launch.c ---------------------------------------------------------------------------- */

/* The kernels of an op, or NULL. */
const leat_kernel_op *leat_gpu_launch_op(const char *name);
/* Number of elements of one row. */
int64_t leat_gpu_launch_elements(const leat_shape *shape);
/* The arguments of its kernels, except pointers and n_elements. n_ops is the length of the chain. If
 * `files` is not NULL, the input is decoded pictures, and input sizes are upper bounds. */
leat_kernel_args leat_gpu_launch_args(const leat_device_op *op, const leat_kernel_op *kernel,
                                      int64_t rows, int32_t n_ops, const leat_device_files *files);
/* Threads per row for one pass. */
int64_t leat_gpu_launch_count(const leat_kernel_args *args, leat_kernel_grain grain);
/* Enqueues a kernel with complete arguments. */
cudaError_t leat_gpu_launch(cudaKernel_t kernel, leat_kernel_args *args, cudaStream_t stream);

#endif
