/* SPDX-License-Identifier: MIT
 *
 * meter.h: divides the time of training steps into four shares. Wall time of the steady
 * window = device busy + input wait + exposed copy + other; the shares sum to 1. */
#ifndef LEAT_METER_H
#define LEAT_METER_H

#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When the parts of one step happened, ns of CLOCK_MONOTONIC. */
typedef struct leat_step_times {
    int64_t asked_ns;      /* the consumer asked for the batch */
    int64_t ready_ns;      /* the batch was complete in host memory */
    int64_t copy_start_ns; /* host-to-device copy; both 0: none */
    int64_t copy_end_ns;
    int64_t compute_start_ns; /* first device work of the step */
    int64_t compute_end_ns;   /* last device work of the step */
    int64_t busy_ns;          /* union of the step's device intervals, ≤ end - start */
    int64_t rows;             /* of all ranks, where they train together */
    int64_t copied_bytes;     /* to the device, for this step; 0: none */
    /* What the host issued for the step, 0 on a device that computes at once. A launch is a kernel, a call of
     * a library, or a graph, which holds several of them. */
    int64_t launches, kernels; /* kernels: those in graphs counted one by one */
    int64_t launch_ns;         /* host time for it; modelled on a simulated device */
    /* Of a model whose layers name devices: values that went from one device to another (outputs of layers, their
     * gradients, the batch), the time of the copies, and of the layers on devices other than the run's. */
    int64_t crossings, crossed_bytes, crossing_ns, elsewhere_ns;
} leat_step_times;

/* Result for a window of steps. Shares are of wall time: from the end of the step before the
 * window to the end of its last step. */
typedef struct leat_meter {
    size_t n_steps;
    int64_t wall_ns;
    double busy, input_wait, exposed_copy, other; /* shares; sum 1 */
    /* Parts of `other`, by where the device idled; they sum to it. */
    double other_host;   /* before the consumer asked for the batch */
    double other_send;   /* the batch was complete, and its copy had not begun */
    double other_start;  /* batch and copy were complete, and the step had not begun */
    double other_inside; /* inside the step */
    double samples_per_s;
    int64_t step_p50_ns, step_p95_ns; /* between ends of consecutive steps */
    double launches, kernels;         /* mean per step; 0: not known */
    int64_t launch_p50_ns;            /* median of host time per step for them */
    double copied_bytes_per_s;        /* to the device */
    /* Mean per step, see leat_step_times. The times are parts of other_inside, unless the run's device computed
     * meanwhile. */
    double crossings, crossed_bytes, crossing_ns, elsewhere_ns;
} leat_meter;

/* Measures steps[first … n-1]; first ≥ 1 (step first-1 only gives the start of the window).
 *
 * The gap between the end of a step and the start of the next is split in this order. Before the consumer
 * asked: other (the host was busy elsewhere). Until the batch was ready: input wait. During its copy:
 * exposed copy. The rest: other (delivery, launch, host work, synchronisation). Inside a step, time not
 * in busy_ns is other. If a step starts before the previous one ended, only the part after that counts.
 * returns  LEAT_OK, LEAT_E_ARGUMENT (no steps, or no time between them), LEAT_E_NOMEM
 * threads  any */
LEAT_API int leat_meter_account(const leat_step_times *steps, size_t first, size_t n,
                                leat_meter *out);

/* All runs of a kernel of the device. */
typedef struct leat_kernel_time {
    char name[160]; /* as the device's records have it: C++ names are mangled */
    int64_t n;
    double seconds; /* summed */
} leat_kernel_time;
enum { LEAT_KERNEL_TIMES = 20 };

/* Steps during which the device recorded its own work, on a GPU by CUPTI. Times of events see a step as one piece;
 * records also see the gaps inside it. Recording slows steps a little. Shares are of the time of these steps. */
typedef struct leat_recorded {
    int64_t n_steps; /* 0: not recorded, see why */
    double idle;     /* by records: it ran no kernel, and copied or set nothing within its memory */
    double idle_by_events; /* of the same steps */
    /* Parts of idle; they sum to it. */
    double copying;      /* only copies from or to the host ran */
    double host;         /* before the host's call for the next work */
    double launch;       /* after that call */
    double unknown;      /* that call was not recorded */
    int64_t step_p50_ns; /* between ends of consecutive steps */
    int64_t dropped;     /* records for which there was no room */
    char why[256];
    /* The kernels that took most of all steps that were recorded, also of those that settle. */
    double kernel_seconds; /* of all kernels */
    int32_t n_largest;
    leat_kernel_time largest[LEAT_KERNEL_TIMES];
} leat_recorded;

/* First steady step: the first (never before 10) from which on the running median of the last 10 step
 * times stays within 5 % of the median of the second half; n if no step is steady. */
LEAT_API size_t leat_meter_warm(const leat_step_times *steps, size_t n);

#ifdef __cplusplus
}
#endif
#endif
