/* SPDX-License-Identifier: MIT
 *
 * cuda_fake_record.c: tells the stand-in for CUPTI what the fake GPU does, if CUPTI_FAKE_LIVE is set and the plugin has
 * opened it. [lock held] */
#include <dlfcn.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cuda_fake_impl.h"
#include "cupti_fake.h"

static const cupti_fake_table *cupti(void)
{
    static const cupti_fake_table *table;
    const char *const path = getenv("LEAT_CUPTI");
    if (table || !path || !getenv("CUPTI_FAKE_LIVE"))
        return table;
    void *const library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    const cupti_fake_table *(*get)(void) = NULL;
    if (library)
        *(void **)&get = dlsym(library, "cupti_fake_get");
    table = get ? get() : NULL;
    return table;
}

uint32_t cuda_fake_record_call(op_kind kind)
{
    static uint32_t n;
    const bool starts_work = kind == KERNEL || kind == WORK || kind == COPY || kind == SET;
    if (!starts_work || !cupti())
        return 0;
    const uint64_t now = (uint64_t)leat_clock_ns();
    cupti()->work(CUPTI_FAKE_LAUNCH, now, now, ++n);
    return n;
}

void cuda_fake_record_op(const op *o, int64_t start_ns)
{
    const cupti_fake_kind kind = o->kind == COPY  ? CUPTI_FAKE_TO_DEVICE
                                 : o->kind == SET ? CUPTI_FAKE_SET
                                                  : CUPTI_FAKE_KERNEL;
    if (o->call)
        cupti()->work(kind, (uint64_t)start_ns, (uint64_t)leat_clock_ns(), o->call);
}
