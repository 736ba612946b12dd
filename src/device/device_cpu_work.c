/* SPDX-License-Identifier: MIT
 *
 * device_cpu_work.c: see device_cpu_work.h. */
#include "device_cpu_work.h"

#include "onednn_calls.h"

int leat_device_cpu_matmul(leat_stream *stream, leat_precision precision, const float *a,
                           const float *b, float *c, int64_t rows, int64_t n)
{
    (void)stream;
    if (precision == LEAT_PRECISION_BF16 || leat_onednn_calls_open(NULL) < 0)
        return LEAT_E_UNSUPPORTED;
    return leat_onednn.sgemm('N', 'N', rows, n, n, 1.0f, a, n, b, n, 0.0f, c, n) == dnnl_success
               ? LEAT_OK
               : LEAT_E_DEVICE;
}

int leat_device_cpu_add(leat_stream *stream, const float *a, const float *b, float *c, int64_t n)
{
    (void)stream;
    for (int64_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
    return LEAT_OK;
}
