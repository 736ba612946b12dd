/* SPDX-License-Identifier: MIT
 *
 * host_device.h: marks functions that compile twice: as C for the CPU, and with nvcc for kernels. Neither
 * compiler may contract a * b + c, so that both give the same bits. */
#ifndef LEAT_HOST_DEVICE_H
#define LEAT_HOST_DEVICE_H

#ifdef __CUDACC__
#define LEAT_HOST_DEVICE static inline __host__ __device__
#else
#define LEAT_HOST_DEVICE static inline
#endif

#endif
