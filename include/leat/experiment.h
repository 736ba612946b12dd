/* SPDX-License-Identifier: MIT
 *
 * experiment.h: measures how the time of simple work grows with its size, on any device, and where two
 * devices are equally fast. */
#ifndef LEAT_EXPERIMENT_H
#define LEAT_EXPERIMENT_H

#include "leat/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- work of a known size --------------------------------------------------------------------- */

typedef struct leat_work leat_work;

typedef enum leat_work_kind {
    LEAT_WORK_MATMUL, /* a product of two n × n matrices of float32 */
    LEAT_WORK_ADD,    /* the sum of two arrays of n float32 */
    LEAT_WORK_COPY,   /* n bytes from host to device; on a device in host memory: a memcpy */
} leat_work_kind;

/* All zero but n is the default. */
typedef struct leat_work_options {
    leat_work_kind kind;
    int64_t n;       /* size, see leat_work_kind; 1 or more */
    int64_t parts;   /* kernels of (nearly) equal size that share the work; 0 = 1; at most n */
    int64_t repeats; /* times that the work is enqueued before the host waits; 0 = 1 */
    /* 1: before each repeat the operands are copied to the device, after it the result is copied back; on a
     * device in host memory there is nothing to copy. */
    int32_t copies;
    int32_t pageable; /* 1: copies to the device are from pageable memory; 0: from pinned memory */
    /* Number of repeats computed by the CPU, spread evenly: the operand is copied to the host, the host waits
     * for it, computes, and copies the result to the device. */
    int64_t on_host;
    leat_precision precision; /* of a product */
} leat_work_options;

/* Allocates operands on host and device, and writes them. On "cpu" a product uses all threads of oneDNN and a
 * sum one thread; on a simulated device times are modelled and nothing is computed.
 * device   borrowed: close the work first
 * out      owned by the caller: leat_work_close()
 * returns  LEAT_OK; LEAT_E_ARGUMENT; LEAT_E_NOMEM; LEAT_E_UNSUPPORTED: this device has no such work */
LEAT_API int leat_work_open(leat_device *device, const leat_work_options *options, leat_work **out,
                            leat_error *err);
/* Does the work once and waits for it.
 * ns       from the call until the device was done with all repeats, by the device's own clock: without
 *          the time that the host needs to wake up
 * returns  LEAT_OK; LEAT_E_DEVICE; LEAT_E_NOMEM; LEAT_E_UNSUPPORTED: a library that the device needs for it is
 *          missing
 * threads  one at a time */
LEAT_API int leat_work_run(leat_work *work, int64_t *ns, leat_error *err);
/* Frees; before the device is closed. */
LEAT_API void leat_work_close(leat_work **work);

/* The most that a device reaches, in products of square matrices and in copies. */
typedef struct leat_ceiling {
    leat_precision precision;
    double flops_per_s; /* 0: not known */
    double
        copied_bytes_per_s; /* from pinned memory to the device; 0: not known, or it computes in host memory */
    char why[256]; /* why a figure is not known; "": all are */
} leat_ceiling;

/* Measures them, on a CPU in less than a second (not timed on a GPU): products of growing size, until one takes some
 * milliseconds, and copies of 32 MiB; the fastest of a few runs each. On "cpu" a product uses all threads of oneDNN.
 * On a simulated device they are modelled. Needs about 200 MB of the device's memory, and the library's workspace.
 * On "cpu" it leaves out products for which no memory is left.
 * threads  nothing else runs on the device */
LEAT_API void leat_ceiling_measure(leat_device *device, leat_precision precision,
                                   leat_ceiling *out);

/* --- sweeps ----------------------------------------------------------------------------------- */

#define LEAT_SERIES_MAX_POINTS 32

/* low and high: bootstrap 95 % interval of y. */
typedef struct leat_point {
    double x, y, low, high;
} leat_point;

typedef struct leat_series {
    char name[96];
    char device[64];
    int32_t simulated;
    char x_unit[32], y_unit[32];
    int32_t n_points;
    leat_point points[LEAT_SERIES_MAX_POINTS]; /* x ascending */
} leat_series;

/* All zero is the default. */
typedef struct leat_sweep_options {
    int32_t repeats; /* measurements of each point; 0 = 10; at most 1000 */
    uint64_t seed;   /* of the order */
    /* Called after each measurement with the number done and in all; may be NULL. */
    void (*progress)(void *user, int64_t done, int64_t total);
    void *progress_user;
} leat_sweep_options;

/* Measures y once for a point of a series. Returns LEAT_OK or an error, which ends the sweep. */
typedef int leat_sweep_measure(void *user, int32_t series, int32_t point, double *y,
                               leat_error *err);

/* Measures every point of every series `repeats` times, each time all of them in a new random order, so
 * that drift of the machine affects all alike. y becomes the median over the repeats, low and high its bootstrap
 * 95 % interval.
 * series   names, units and x are given; y, low and high are filled
 * returns  LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_NOMEM, or the error of measure */
LEAT_API int leat_sweep(leat_series *series, int32_t n_series, const leat_sweep_options *options,
                        leat_sweep_measure *measure, void *user, leat_error *err);

/* Where two curves are equal. */
typedef struct leat_crossing {
    int32_t found; /* 1: x is the last place at which the sign of a - b changes */
    double x;      /* between points: where straight lines in log-log axes meet */
    double low,
        high; /* of the curves that bound the intervals; low 0: below the first common point;
                         high infinite: beyond the last */
    /* Beyond x, or everywhere if not found: 1: a > b; -1: a < b; 0: equal, or no common points. */
    int32_t above;
} leat_crossing;

/* Compares two series at the x that both have. y must be above 0. Returns LEAT_OK, LEAT_E_ARGUMENT. */
LEAT_API int leat_crossing_find(const leat_series *a, const leat_series *b, leat_crossing *out,
                                leat_error *err);

#ifdef __cplusplus
}
#endif
#endif
