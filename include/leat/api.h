/* SPDX-License-Identifier: MIT
 *
 * api.h: export macro and version, included by every public header.
 *
 * Conventions of all headers in this folder
 *   - Functions that can fail return int: LEAT_OK (0) or a negative LEAT_E_* code (error.h); the
 *     `leat_error *err` they take may be NULL, and then only the code is reported.
 *   - Times are nanoseconds of CLOCK_MONOTONIC (`_ns`); sizes are bytes (`_bytes`).
 *   - `open`/`close` own heap memory; `close(&x)` takes NULL and half-built objects and sets x NULL.
 *   - Functions check for NULL and for indexes out of range. They return LEAT_E_ARGUMENT, NULL, 0 or -1,
 *     or do nothing. Functions that run for every number or sample (rng.h, leat_scratch_*) do not check
 *     their pointers. No function can detect a freed object.
 *   - The library never prints and never exits. */
#ifndef LEAT_API_H
#define LEAT_API_H

#define LEAT_VERSION_MAJOR 0
#define LEAT_VERSION_MINOR 1
#define LEAT_VERSION_PATCH 0
#define LEAT_VERSION       "0.1.0"

#if defined(__GNUC__)
#define LEAT_API                        __attribute__((visibility("default")))
#define LEAT_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define LEAT_API
#define LEAT_PRINTF(format_at, args_at)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library that is running, "major.minor.patch"; static storage. Any thread. */
LEAT_API const char *leat_version(void);

#ifdef __cplusplus
}
#endif
#endif
