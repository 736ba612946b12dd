/* SPDX-License-Identifier: MIT
 *
 * host_device.h: arithmetic that is written once and compiled twice: as C for the CPU, and by nvcc for
 * kernels, without contraction of a * b + c on either side, so that both give the same bits. */
#ifndef LEAT_HOST_DEVICE_H
#define LEAT_HOST_DEVICE_H

#ifdef __CUDACC__
#define LEAT_HOST_DEVICE static inline __host__ __device__
#else
#define LEAT_HOST_DEVICE static inline
#endif

#endif
