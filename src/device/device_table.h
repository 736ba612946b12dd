/* SPDX-License-Identifier: MIT
 *
 * device_table.h: a device is a table. `cpu`, `sim` and `cuda` fill it; the pipeline ships batches
 * through it, trainers run on it. Streams run their work in order; events order work across
 * streams and tell the host when it is done. All times are CLOCK_MONOTONIC nanoseconds. */
#ifndef LEAT_DEVICE_TABLE_H
#define LEAT_DEVICE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "device_busy.h"
#include "leat/device.h"
#include "leat/op.h"

typedef struct leat_event leat_event;
typedef struct leat_device_map leat_device_map;

/* An op as a kernel needs it: its name, one row's shapes before and after (no unknown dims), and what
 * its options come to. */
typedef struct leat_device_op {
    const char *name;
    leat_shape in, out;
    leat_op_constants constants;
} leat_device_op;

/* A JPEG file to be decoded by the device, or what the host has made of it instead. */
typedef struct leat_device_file {
    int64_t bytes;         /* of the file; 0: here is what ops[0] puts out, as the host made it */
    int32_t height, width; /* of the picture */
    uint64_t record;       /* for messages */
} leat_device_file;

#define LEAT_DEVICE_SIDE_MOST 8192 /* of a picture that the device decodes */

/* Where the files of a batch are: in its host memory. They are no part of its buffer. */
typedef struct leat_device_files {
    size_t heads;    /* a leat_device_file for each row */
    size_t at;       /* the first row's bytes; the next row's stand `room` further */
    size_t room;     /* for a file, or for a row of what ops[0] puts out */
    int64_t most_px; /* of a picture; no side is longer than LEAT_DEVICE_SIDE_MOST */
} leat_device_files;

/* Device memory for the pictures of a batch: of all, or as many as fit at a time. */
static inline int64_t leat_device_files_bytes(const leat_device_files *files, int64_t rows,
                                              int64_t channels)
{
    const int64_t largest = (files->most_px * channels + 255) / 256 * 256;
    const int64_t at_a_time = (int64_t)256 << 20;
    const int64_t all = rows < at_a_time / largest ? rows * largest : at_a_time;
    return all > largest ? all : largest;
}

/* Ops on one tensor of every row. Offsets are from the start of a batch's buffer; row j stands j row
 * sizes further. */
typedef struct leat_device_chain {
    const leat_device_op *ops;
    int32_t n_ops; /* 1 or more */
    /* NULL: a tensor comes in. Else a file, decoded to uint8 [height, width, 1 or 3]; height and width
     * are unknown in ops[0].in, and known in all that follows. */
    const leat_device_files *files;
    size_t from;  /* what comes in, without files */
    size_t plans; /* n_ops leat_plan64 for each row */
    size_t to;    /* what comes out */
} leat_device_chain;

/* A tensor whose rows stay on the device: those of a batch stand at `at`, those of all records in `kept`,
 * record k's k row sizes further. */
typedef struct leat_device_keep_part {
    size_t at, row_bytes;
    uint8_t *kept;
} leat_device_keep_part;

/* What is moved between a batch and the places of its records before anything else is done. */
typedef struct leat_device_keep {
    const leat_device_keep_part *parts;
    int32_t n_parts;
    /* In a buffer: an int64_t for each row. 0: nothing is moved; k + 1: the row comes from record k's place;
     * -(k + 1): it goes there. */
    size_t index;
} leat_device_keep;

/* What is to be done with every batch of a loader. */
typedef struct leat_device_map_spec {
    const leat_device_chain *chains;
    int32_t n_chains;
    int64_t rows;                 /* of a full batch */
    size_t buffer_bytes;          /* device memory of a batch */
    int64_t n_buffers;            /* the most there will be */
    const leat_device_keep *keep; /* NULL: no rows stay on the device */
} leat_device_map_spec;

typedef struct leat_device_table {
    const char *kind;           /* "cpu", "sim", "cuda": the part of the name before ':' */
    const char *help;           /* one line */
    const leat_option *options; /* that a name may carry; NULL: none */
    bool host_memory; /* the device computes on host memory: no copies, device_alloc is malloc */

    /* spec: the part of the name after ':' or "". */
    int (*open)(const char *spec, leat_device **out, leat_error *err);
    void (*close)(leat_device *device);
    /* Infos of all that can be named, as leat_devices(). */
    size_t (*list)(leat_device_info *out, size_t n);

    /* 256-byte aligned device memory; host memory that copies overlap with. NULL: none left. */
    void *(*device_alloc)(leat_device *device, size_t bytes);
    void (*device_free)(leat_device *device, void *memory);
    void *(*pinned_alloc)(leat_device *device, size_t bytes);
    void (*pinned_free)(leat_device *device, void *memory);

    int (*stream_open)(leat_device *device, leat_stream **out, leat_error *err);
    void (*stream_close)(leat_stream *stream); /* waits for its work */
    int (*stream_sync)(leat_stream *stream, leat_error *err);

    int (*event_open)(leat_device *device, leat_event **out, leat_error *err);
    void (*event_close)(leat_event *event);
    /* Marks the work enqueued so far. An event never recorded counts as done. */
    int (*event_record)(leat_event *event, leat_stream *stream);
    int (*stream_wait)(leat_stream *stream, leat_event *event); /* work after this waits */
    int (*event_query)(leat_event *event);                      /* LEAT_OK or LEAT_E_AGAIN */
    int (*event_sync)(leat_event *event);                       /* blocks without spinning */
    /* When the marked work was done; only after query/sync said so. */
    int64_t (*event_ns)(leat_event *event);

    /* Enqueues a copy host to device. `from` may be rewritten when an event recorded after the
     * copy is done. start_ns/end_ns of the copy: by events recorded around it. */
    int (*copy_to_device)(leat_stream *stream, void *to, const void *from, size_t bytes,
                          bool pinned);
    int (*copy_to_host)(leat_stream *stream, void *to, const void *from, size_t bytes);
    /* Calls fn(arg) on a thread of the device when the work before it is done. fn is short,
     * takes no lock held while enqueuing, and calls nothing of the device. */
    int (*host_call)(leat_stream *stream, void (*fn)(void *), void *arg);

    /* What follows may be NULL: the device cannot do that. */

    /* Device memory that is free now, and all there is. */
    int (*memory_info)(leat_device *device, size_t *free_bytes, size_t *total_bytes);
    /* Why a call failed last, in one line ("" if none did), for the calls that return a code only. */
    void (*explain)(leat_device *device, char *text, size_t size);
    /* Enqueues planted work: `launches` kernels in a row that together take about `ns`, and read and
     * write `bytes` of `memory` (device memory; NULL with 0 bytes). */
    int (*plant)(leat_stream *stream, int64_t ns, int64_t launches, void *memory, size_t bytes);

    /* Kernels for ops with LEAT_OP_KERNEL. open copies the spec. add makes buffer i known: all that
     * is needed to run it is made then, and its contents are lost; one call at a time, also while
     * others run. run enqueues the ops on the first `rows` rows of buffer i; one stream per map, one
     * call at a time. host: of the batch, read by chains with files until that work is done; a file
     * that cannot be decoded is LEAT_E_DATA, and its row *bad_row. close after the stream's work is
     * done. */
    int (*map_open)(leat_device *device, const leat_device_map_spec *spec, leat_device_map **out,
                    leat_error *err);
    int (*map_add)(leat_device_map *map, int64_t i, uint8_t *buffer, leat_error *err);
    int (*map_run)(leat_device_map *map, leat_stream *stream, int64_t i, const uint8_t *host,
                   int64_t rows, int64_t *bad_row);
    void (*map_close)(leat_device_map *map);

    /* Records all work of the device from now on; stop gives it, sorted by start, to be freed by
     * leat_device_record_fini(). One recording at a time in a process. Work between the two is
     * slowed a little. LEAT_E_UNSUPPORTED, with the reason, where that cannot be had. */
    int (*record_start)(leat_device *device, leat_error *err);
    int (*record_stop)(leat_device *device, leat_device_record *out, leat_error *err);
    /* What the driver calls utilisation, in percent over its last sample period: the share of time
     * in which some kernel ran, however small. */
    int (*utilisation)(leat_device *device, int *percent, leat_error *err);
} leat_device_table;

/* First member of every device's own struct. */
struct leat_device {
    const leat_device_table *table;
    leat_device_info info;
    atomic_int n_users; /* besides its owner; who leaves last closes it */
    unsigned n_forks;   /* leat_forked_count() at its opening */
};
/* First member of every stream and event: their device. */
struct leat_stream {
    leat_device *device;
};
struct leat_event {
    leat_device *device;
};
struct leat_device_map {
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

/* The tables of that list, NULL-terminated. Of a table found here only kind, help, open and list
 * may be used; everything else comes from the `table` of an open device (a plugin brings its own). */
const leat_device_table *const *leat_device_tables(void);

/* Who uses a device beyond leat_device_close(): a loader, because of batches that are still held. */
void leat_device_use(leat_device *device);
/* The owner's part of it is leat_device_close(). */
void leat_device_leave(leat_device *device);

/* Host memory, aligned to 256 bytes; for devices that compute in it. Free with free(). */
void *leat_device_host_alloc(leat_device *device, size_t bytes);
void leat_device_host_free(leat_device *device, void *memory);

#endif
