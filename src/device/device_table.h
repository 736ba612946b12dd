/* SPDX-License-Identifier: MIT
 *
 * device_table.h: the function table of a device. `cpu`, `sim` and `cuda` fill it; the engine copies
 * batches with it and trainers run on it. A stream runs its work in order. Events order work across
 * streams and tell the host when work is done. All times are CLOCK_MONOTONIC nanoseconds. */
#ifndef LEAT_DEVICE_TABLE_H
#define LEAT_DEVICE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "device_busy.h"
#include "leat/device.h"
#include "leat/op.h"

struct leat_backend;
struct leat_net_host;
typedef struct leat_event leat_event;
typedef struct leat_device_ops leat_device_ops;

/* The input of a kernel: name of the op, shapes of one row before and after (no unknown dims), and
 * constants from its options. */
typedef struct leat_device_op {
    const char *name;
    leat_shape in, out;
    leat_op_constants constants;
} leat_device_op;

/* A JPEG file for the device to decode, or the image if the host has decoded it. */
typedef struct leat_device_file {
    int64_t bytes;         /* of the file; 0: the host has already run ops[0] */
    int32_t height, width; /* of the image */
    uint64_t record;       /* for messages */
} leat_device_file;

#define LEAT_DEVICE_SIDE_MOST 8192 /* longest side of an image for the device */

/* Places of the files of a batch in its host memory. The device buffer does not hold them. */
typedef struct leat_device_files {
    size_t heads;    /* a leat_device_file for each row */
    size_t at;       /* bytes of row 0 */
    size_t room;     /* distance between rows; fits a file or an output row of ops[0] */
    int64_t most_px; /* largest image; no side is longer than LEAT_DEVICE_SIDE_MOST */
} leat_device_files;

/* Returns the device memory for decoded images: of all rows, or of the part of a batch that is decoded at a
 * time. at_a_time: bytes of such a part. */
static inline int64_t leat_device_files_bytes(const leat_device_files *files, int64_t rows,
                                              int64_t channels)
{
    const int64_t largest = (files->most_px * channels + 255) / 256 * 256;
    const int64_t at_a_time = (int64_t)256 << 20;
    const int64_t all = rows < at_a_time / largest ? rows * largest : at_a_time;
    return all > largest ? all : largest;
}

/* Ops on one tensor of every row. Offsets count from the start of the buffer of a batch to row 0. */
typedef struct leat_device_chain {
    const leat_device_op *ops;
    int32_t n_ops; /* 1 or more */
    /* NULL: the input is a tensor. Otherwise it is a file, decoded to uint8 [height, width, 1 or 3];
     * height and width are unknown only in ops[0].in. */
    const leat_device_files *files;
    size_t from;  /* input tensor, if files is NULL */
    size_t draws; /* n_ops leat_draw for each row */
    size_t to;    /* output tensor */
} leat_device_chain;

/* A tensor with rows cached on the device. at: offset of row 0 in the buffer of a batch. entries: device
 * memory, one row per cache entry. */
typedef struct leat_device_cache_tensor {
    size_t at, row_bytes;
    uint8_t *entries;
} leat_device_cache_tensor;

/* Rows to copy between a batch and the device cache, before all ops. */
typedef struct leat_device_cache_rows {
    const leat_device_cache_tensor *tensors;
    int32_t n_tensors;
    /* Offset of an int64_t per row. index[r] > 0: load row r from cache entry index[r] - 1. < 0: store
     * row r to cache entry -index[r] - 1. 0: do nothing. */
    size_t index;
} leat_device_cache_rows;

/* The work for every batch of a loader. */
typedef struct leat_device_ops_spec {
    const leat_device_chain *chains;
    int32_t n_chains;
    int64_t rows;                               /* of a full batch */
    size_t buffer_bytes;                        /* device memory of a batch */
    int64_t n_buffers;                          /* upper limit */
    const leat_device_cache_rows *device_cache; /* NULL: no rows stay on the device */
} leat_device_ops_spec;

typedef struct leat_device_table {
    const char *kind;           /* part of the name before ':': "cpu", "sim", "cuda" */
    const char *help;           /* one line */
    const leat_option *options; /* allowed in a name; NULL: none */
    bool is_gpu;                /* hardware beside the CPU, which takes long to open */
    bool host_memory; /* the device computes on host memory: no copies, device_alloc is malloc */

    /* spec: the part of the name after ':', or "". Sets info.name where several names mean the same device. */
    int (*open)(const char *spec, leat_device **out, leat_error *err);
    void (*close)(leat_device *device);
    /* Lists all devices of this kind, see leat_devices(). */
    size_t (*list)(leat_device_info *out, size_t n);
    /* See leat_device_libraries(). NULL: it needs none. */
    void (*libraries)(char *text, size_t size);

    /* Allocate device memory, aligned to 256 bytes, and pinned host memory. NULL: none left. */
    void *(*device_alloc)(leat_device *device, size_t bytes);
    void (*device_free)(leat_device *device, void *memory);
    void *(*pinned_alloc)(leat_device *device, size_t bytes);
    void (*pinned_free)(leat_device *device, void *memory);

    int (*stream_open)(leat_device *device, leat_stream **out, leat_error *err);
    void (*stream_close)(leat_stream *stream); /* waits for its work */
    int (*stream_sync)(leat_stream *stream, leat_error *err);
    /* See leat_stream_wrap(). NULL: there are no native streams. */
    int (*stream_wrap)(leat_device *device, void *native, leat_stream **out, leat_error *err);
    void (*stream_unwrap)(leat_stream *stream);

    int (*event_open)(leat_device *device, leat_event **out, leat_error *err);
    void (*event_close)(leat_event *event);
    /* Marks the work enqueued so far. An event that was never recorded counts as done. */
    int (*event_record)(leat_event *event, leat_stream *stream);
    int (*stream_wait)(leat_stream *stream, leat_event *event); /* work after this waits */
    int (*event_query)(leat_event *event);                      /* LEAT_OK or LEAT_E_AGAIN */
    int (*event_sync)(leat_event *event);                       /* blocks without spinning */
    /* Returns when the marked work was done. Call it only after query or sync has returned LEAT_OK. */
    int64_t (*event_ns)(leat_event *event);

    /* Enqueues a copy from host to device. `from` can be reused once an event recorded after the copy
     * is done. Events around the copy give its start and end. */
    int (*copy_to_device)(leat_stream *stream, void *to, const void *from, size_t bytes,
                          bool pinned);
    int (*copy_to_host)(leat_stream *stream, void *to, const void *from, size_t bytes);
    int (*copy_on_device)(leat_stream *stream, void *to, const void *from, size_t bytes);

    /* The following functions are optional: NULL if the device does not support them. */

    /* Returns free and total device memory. */
    int (*memory_info)(leat_device *device, size_t *free_bytes, size_t *total_bytes);
    /* Writes one line about the last failed call ("": none), for calls that return only a code. */
    void (*explain)(leat_device *device, char *text, size_t size);
    /* Enqueues synthetic work for tests: `launches` kernels that together take about `ns` and read and write
     * `bytes` of device memory (NULL with 0 bytes). */
    int (*synthetic_work)(leat_stream *stream, int64_t ns, int64_t launches, void *memory,
                          size_t bytes);
    /* Kernels for measuring, on float32. matmul: c = a · b, with a [rows, n], b [n, n]; BF16: what is there is taken
     * as bfloat16. LEAT_E_UNSUPPORTED: not in this precision. add: c = a + b. */
    int (*matmul)(leat_stream *stream, leat_precision precision, const float *a, const float *b,
                  float *c, int64_t rows, int64_t n);
    int (*add)(leat_stream *stream, const float *a, const float *b, float *c, int64_t n);

    /* Kernels for ops with LEAT_OP_KERNEL.
     * open   copies the spec
     * add    prepares buffer i for runs and overwrites its contents. One call at a time; other buffers
     *        can be running
     * run    enqueues the ops on the first `rows` rows of buffer i. One stream per leat_device_ops, one call at a
     *        time. host: host memory of the batch; chains with files read it until the work is done.
     *        LEAT_E_DATA: the file of row *bad_row cannot be decoded
     * close  call it after the work of the stream is done */
    int (*ops_open)(leat_device *device, const leat_device_ops_spec *spec, leat_device_ops **out,
                    leat_error *err);
    int (*ops_add)(leat_device_ops *ops, int64_t i, uint8_t *buffer, leat_error *err);
    int (*ops_run)(leat_device_ops *ops, leat_stream *stream, int64_t i, const uint8_t *host,
                   int64_t rows, int64_t *bad_row);
    void (*ops_close)(leat_device_ops *ops);

    /* Starts and stops recording all work of the device. stop returns it sorted by start; free it with
     * leat_device_record_fini(). One recording at a time in a process. Recording slows work a little.
     * LEAT_E_UNSUPPORTED: not possible here; the message says why. */
    int (*record_start)(leat_device *device, leat_error *err);
    int (*record_stop)(leat_device *device, leat_device_record *out, leat_error *err);
    /* Returns what the driver calls utilisation, in percent of its last sample period: the share of
     * time in which at least one kernel ran. */
    int (*utilisation)(leat_device *device, int *percent, leat_error *err);

    /* Returns how this kind of device trains, or NULL and an error. Both types are in src/train/nn.h; host:
     * functions of libleat for the backend, valid as long as the program runs. */
    const struct leat_backend *(*train)(const struct leat_net_host *host, leat_error *err);
} leat_device_table;

/* First member of every device's own struct. */
struct leat_device {
    const leat_device_table *table;
    leat_device_info info;
    atomic_int n_users; /* besides the owner; the last one to leave closes it */
    unsigned n_forks;   /* leat_forked_count() at open */
};
/* First members of every stream, event and leat_device_ops. */
struct leat_stream {
    leat_device *device;
};
struct leat_event {
    leat_device *device;
};
struct leat_device_ops {
    leat_device *device;
};

/* All devices, one line each. */
#define LEAT_DEVICE_LIST(X)                                                                        \
    X(cpu)                                                                                         \
    X(sim)                                                                                         \
    X(cuda)

#define LEAT_DEVICE_EXTERN(name) extern const leat_device_table leat_device_##name;
LEAT_DEVICE_LIST(LEAT_DEVICE_EXTERN)
#undef LEAT_DEVICE_EXTERN

/* Returns all tables; the list ends with NULL. Use only kind, help, open and list of these tables. For
 * other calls use the `table` of an open device: a plugin has its own. */
const leat_device_table *const *leat_device_tables(void);

/* Adds a user, which keeps the device open after leat_device_close(). A loader is a user, because the
 * caller can still hold its batches. */
void leat_device_use(leat_device *device);
/* Removes a user. */
void leat_device_leave(leat_device *device);

/* Allocates host memory, aligned to 256 bytes, for devices that compute in it. */
void *leat_device_host_alloc(leat_device *device, size_t bytes);
void leat_device_host_free(leat_device *device, void *memory);

/* --- device_cpu.c: work for measuring; work.c calls it for what stays on the host --------------- */

/* As in leat_device_table; done on return. The stream is not used and may be NULL. matmul uses all threads of
 * oneDNN, add only the calling one. */
int leat_device_cpu_matmul(leat_stream *stream, leat_precision precision, const float *a,
                           const float *b, float *c, int64_t rows, int64_t n);
int leat_device_cpu_add(leat_stream *stream, const float *a, const float *b, float *c, int64_t n);

#endif
