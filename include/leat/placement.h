/* SPDX-License-Identifier: MIT
 *
 * placement.h: where every op of a plan runs, on the CPU or on the loader's device, and why: what
 * `device: auto` measured, and what it chose. */
#ifndef LEAT_PLACEMENT_H
#define LEAT_PLACEMENT_H

#include "leat/loader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One op. */
typedef struct leat_op_placement {
    const char *op;
    int32_t tensor, link; /* as leat_plan_link() counts them; link -1: of a map after batch */
    int32_t on_device;
    double
        share; /* of the rows for which it is: 1, 0, or between where some files are decoded there */
    double host_ns;   /* one thread, one sample, the op by itself; -1: not measured */
    double device_ns; /* the device, one sample; -1: not measured */
    int64_t bytes;    /* that it puts out of one sample; -1: they differ */
    char reason[160];
} leat_op_placement;

/* One place where a tensor's ops could be cut: those from `link` on would run on the device. By the model,
 * a loader gives as many samples per second as the slowest of its parts could. A chip may have a decoder
 * of its own, which works beside all else. */
typedef struct leat_placement_choice {
    int32_t tensor, link;
    int32_t chosen;
    double share; /* of the rows whose files the device decodes; 0: none */
    /* Of a sample: all that threads do; copied; done there; by its decoder. */
    double host_ns, bytes, device_ns, decoder_ns;
    /* Samples; HUGE_VAL: it has nothing to do. */
    double host_per_s, wire_per_s, device_per_s, decoder_per_s;
    double samples_per_s;
} leat_placement_choice;

#define LEAT_MAX_PLACED  72 /* ops of a plan */
#define LEAT_MAX_CHOICES 72

typedef struct leat_placement {
    char device[64];  /* "": batches stay in host memory */
    int32_t measured; /* 1: there was something to choose, and it was measured */
    int64_t took_ns;  /* to measure it */
    double threads, wire_bytes_per_s, step_ns; /* the model's; step_ns of a sample; 0: not known */
    char reason[160];                          /* of the whole; "" where nothing was to be chosen */
    /* Where a running loader has chosen again: how many times by now, and before which epoch (counted from
     * 0) it did last. 0: as it was opened. */
    int64_t n_again, epoch;
    int32_t n_ops;
    leat_op_placement ops[LEAT_MAX_PLACED];
    int32_t n_choices; /* the first ones are kept */
    leat_placement_choice choices[LEAT_MAX_CHOICES];
} leat_placement;

/* Where the ops of a loader with these options run. For a device that can run ops, and where some op may
 * run on either side, that is measured at the first call (also by leat_plan_budget and leat_loader_open)
 * and kept as long as the plan is open, so all its loaders for one device begin alike: some samples
 * are carried through the ops on this thread, and kernels and copies are timed on the device, which takes
 * a tenth or two of a second. Ops of the user's are never called for that.
 * options  as for leat_loader_open(); NULL for defaults
 * returns  LEAT_OK; LEAT_E_NOMEM
 * threads  any */
LEAT_API int leat_plan_placement(const leat_plan *plan, const leat_loader_options *options,
                                 leat_placement *out, leat_error *err);

/* Where the ops of an open loader run now. At the start of an epoch `device: auto` chooses again, by what
 * the consumer's steps took in the one before (leat_loader_trace_step, or else the time from
 * leat_batch_wait_on to leat_batch_release_on on the stream of both): `n_again` counts, `reason` says
 * why.
 * threads  any */
LEAT_API void leat_loader_placement(leat_loader *loader, leat_placement *out);

#ifdef __cplusplus
}
#endif
#endif
