/* SPDX-License-Identifier: MIT
 *
 * device.h: a device runs training steps: "cpu", "cuda:N", or "sim:NAME", a simulated accelerator with
 * its own clock. Streams are queues of work on a device. */
#ifndef LEAT_DEVICE_H
#define LEAT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"
#include "leat/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_device leat_device;
typedef struct leat_stream leat_stream;

typedef struct leat_device_info {
    /* As given to leat_device_open(), but every device has one name: "cuda" is "cuda:0". */
    char name[256];
    char text[192]; /* one line for people */
    int available;  /* 0: no; `text` says why */
    int simulated;  /* 1: its times are modelled; every report must say so */
} leat_device_info;

/* How layers compute. Weights, their gradients, statistics and losses are always float32 or wider.
 * TF32: float32 in memory, products of 10-bit fractions (GPUs). BF16: activations and their gradients. */
#define LEAT_PRECISION_LIST(X) X(FP32, "fp32") X(TF32, "tf32") X(BF16, "bf16")
typedef enum leat_precision {
#define LEAT_PRECISION_ENUM(name, text) LEAT_PRECISION_##name,
    LEAT_PRECISION_LIST(LEAT_PRECISION_ENUM)
#undef LEAT_PRECISION_ENUM
} leat_precision;

/* Opens a device by name; "sim" is its default preset, "sim:NAME" a preset of the table, and
 * "sim:{peak_flops: 1e12, …}" the default and "sim:NAME {…}" a preset with some options changed
 * (leat_device_options("sim")). A name has 255 bytes at most.
 * out      owned by the caller; close after every loader and trainer that uses it
 * returns  LEAT_OK, LEAT_E_CONFIG (no such device), LEAT_E_UNSUPPORTED (not on this machine) */
LEAT_API int leat_device_open(const char *name, leat_device **out, leat_error *err);
/* Frees; after every loader and trainer that uses it. Memory of batches that are still held stays. */
LEAT_API void leat_device_close(leat_device **device);

/* Name and description; valid until the device is closed. Any thread. */
LEAT_API const leat_device_info *leat_device_get_info(const leat_device *device);

/* Makes a stream of the caller usable for leat_batch_wait_on() and leat_batch_release_on().
 * native   cuda: the cudaStream_t (NULL, cudaStreamLegacy: the legacy stream; cudaStreamPerThread). Other devices have
 *          no native streams: NULL, which makes a new one
 * out      leat_stream_unwrap(), before the device and before the native stream
 * returns  LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_NOMEM
 * threads  any; the stream itself as its owner says */
LEAT_API int leat_stream_wrap(leat_device *device, void *native, leat_stream **out,
                              leat_error *err);
/* Frees what leat_stream_wrap() made. Neither waits for the native stream nor ends it. */
LEAT_API void leat_stream_unwrap(leat_stream **stream);
/* Makes later work on a stream wait for the work so far on another stream of the same device; the host does not wait.
 * returns  LEAT_OK, LEAT_E_ARGUMENT (also: they are of two devices), LEAT_E_NOMEM, LEAT_E_DEVICE, LEAT_E_FORKED
 * threads  any; the streams themselves as their owners say */
LEAT_API int leat_stream_follow(leat_stream *stream, leat_stream *other);

/* Writes up to n infos of all known devices, including those that are not available. Returns how many
 * there are. No device stays open. */
LEAT_API size_t leat_devices(leat_device_info *out, size_t n);

/* 1: a device of this name is a GPU, which takes long to open; 0: it is none, or there is no such kind. Opens nothing.
 * Any thread. */
LEAT_API int leat_device_is_gpu(const char *name);

/* Writes one line about the libraries of training on devices of this kind ("cuda"): versions and paths, or what
 * is missing. "": it needs none. Opens them, which takes a while the first time. Returns text. */
LEAT_API char *leat_device_libraries(const char *kind, char *text, size_t size);

/* The options that a name of this kind ("cpu", "sim", "cuda") may carry in braces, for help and
 * reference; ends with LEAT_OPTION_END. NULL: none, or no such kind. Static storage. */
LEAT_API const leat_option *leat_device_options(const char *kind);

#ifdef __cplusplus
}
#endif
#endif
