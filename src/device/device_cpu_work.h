/* SPDX-License-Identifier: MIT
 *
 * device_cpu_work.h: kernels for measuring, on the CPU. device_cpu.c has them in its table; work.c calls them for
 * the part of the work that stays on the host. */
#ifndef LEAT_DEVICE_CPU_WORK_H
#define LEAT_DEVICE_CPU_WORK_H

#include "device_table.h"

/* As in leat_device_table; done on return. The stream is not used and may be NULL. matmul uses all threads of
 * oneDNN, add only the calling one. */
int leat_device_cpu_matmul(leat_stream *stream, leat_precision precision, const float *a,
                           const float *b, float *c, int64_t rows, int64_t n);
int leat_device_cpu_add(leat_stream *stream, const float *a, const float *b, float *c, int64_t n);

#endif
