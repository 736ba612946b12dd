/* SPDX-License-Identifier: MIT
 *
 * cupti_record.h: what the device does and when, by CUPTI's activity records, one by one. For gpu_record.c, which records
 * steps of this process, and for watch_inject.c, which records any program. Needs no CUDA runtime. */
#ifndef LEAT_CUPTI_RECORD_H
#define LEAT_CUPTI_RECORD_H

#include <stdbool.h>

#include "device/device_busy.h"
#include "leat/error.h"

/* Who takes the records. The device's work comes on CUPTI's threads, one at a time; calls and waits of the host in the
 * threads that make them, so span() locks, and returns soon. */
typedef struct leat_cupti_sink {
    void (*span)(const leat_device_span *span);
    void (*end)(uint64_t dropped); /* after the records of a buffer; so many were lost */
} leat_cupti_sink;

/* Opens CUPTI at the first call, and gives it the sink, which stays, and the host's clock. LEAT_CUPTI names its file (off:
 * none). LEAT_E_UNSUPPORTED: it is missing, of another version, or refuses, with the reason. */
int leat_cupti_open(const leat_cupti_sink *sink, leat_error *err);
/* Records the device's work and the calls that enqueue it; with_waits: also where the host waits for the device. */
int leat_cupti_start(bool with_waits, leat_error *err);
/* Delivers the records of work that is done; all: every record, also of work that is not. */
int leat_cupti_flush(bool all, leat_error *err);
/* Delivers records of done work about every `ms` milliseconds. */
int leat_cupti_flush_every(uint32_t ms, leat_error *err);
void leat_cupti_stop(void);
uint32_t leat_cupti_version(void); /* as CUPTI counts, 130001 for example; 0: not open */

#endif
