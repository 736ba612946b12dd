/* SPDX-License-Identifier: MIT
 *
 * cupti_fake.h: stands in for CUPTI where there is no GPU. cupti_fake.c makes libcupti-fake.so, which the
 * plugin opens like the real one (LEAT_CUPTI). Tests say what the device did; it becomes records of the
 * kinds that are enabled then, in buffers that come from the plugin and go back full, each in a thread of its own. Every
 * wrong use is a violation. CUPTI_FAKE_VERSION is the version it says it has. With CUPTI_FAKE_LIVE, what the fake GPU
 * does becomes records, too (cuda_fake_record.c). */
#ifndef CUPTI_FAKE_H
#define CUPTI_FAKE_H

#include <stdint.h>

typedef enum cupti_fake_kind {
    CUPTI_FAKE_KERNEL,
    CUPTI_FAKE_TO_DEVICE,
    CUPTI_FAKE_INSIDE,
    CUPTI_FAKE_SET,
    CUPTI_FAKE_LAUNCH, /* a call of the host that launches a kernel */
    CUPTI_FAKE_WAIT,   /* the host waits for the device */
    CUPTI_FAKE_OTHER_CALL
} cupti_fake_kind;

typedef struct cupti_fake_table {
    void (*reset)(void);
    /* The device, or the host, did something. */
    void (*work)(cupti_fake_kind kind, uint64_t start_ns, uint64_t end_ns, uint32_t call);
    void (*drop)(uint64_t n);      /* so many records found no room */
    uint64_t (*now)(void);         /* by the clock that was registered */
    void (*fail_next)(int answer); /* what the next call that may fail answers; 0: success */
    int (*enabled)(void);          /* kinds that are recorded now; and 1 if calls are noted */
    const char *(*violation)(void);
    void (*hold)(int on); /* until reset: full buffers go back when somebody collects the records */
} cupti_fake_table;

#endif
