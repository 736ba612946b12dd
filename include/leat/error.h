/* SPDX-License-Identifier: MIT
 *
 * error.h: codes and messages. One list makes the enum, the names and the texts. */
#ifndef LEAT_ERROR_H
#define LEAT_ERROR_H

#include <stdint.h>
#include <stdio.h>

#include "leat/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text) */
#define LEAT_CODE_LIST(X)                                                                          \
    X(OK, 0, "ok")                                                                                 \
    X(E_END, -1, "no more batches")                                                                \
    X(E_AGAIN, -2, "not ready yet")                                                                \
    X(E_BUSY, -3, "in use, or too many held at once")                                              \
    X(E_NOMEM, -4, "out of memory")                                                                \
    X(E_IO, -5, "input/output error")                                                              \
    X(E_CONFIG, -6, "the configuration is wrong")                                                  \
    X(E_DATA, -7, "the data are wrong")                                                            \
    X(E_ARGUMENT, -8, "an argument is wrong")                                                      \
    X(E_UNSUPPORTED, -9, "not supported by this build, machine or device")                         \
    X(E_DEVICE, -10, "the device failed")                                                          \
    X(E_CANCELED, -11, "stopped on request")                                                       \
    X(E_INTERNAL, -12, "a bug in leat")                                                            \
    X(E_FORKED, -13, "opened by the process that this one was forked from")

enum {
#define LEAT_CODE_ENUM(name, value, text) LEAT_##name = (value),
    LEAT_CODE_LIST(LEAT_CODE_ENUM)
#undef LEAT_CODE_ENUM
};

/* What failed, where, and what to do. Plain memory of the caller; needs no clean-up. */
typedef struct leat_error {
    int code;           /* LEAT_OK or LEAT_E_* */
    char message[1020]; /* one or more lines of UTF-8, no trailing newline; "" if code is LEAT_OK */

    /* Where it is, for programs; the message says it too. Defined after a call that failed; 0, "" or -1: unknown, or
     * there is no such thing. */
    int32_t line, column; /* of `file`, from 1 */
    char file[512];       /* config as given to load, or file of the record; cut to fit */
    char path[128];       /* place in the config: "pipeline[1].map[0].random_crop.size" */
    int64_t record;       /* number in the source, see leat_plan_record_text() */
    char op[48];          /* "decode_jpeg" */
    int32_t not_finite;   /* 1: the cause is a value that is NaN or infinite */
} leat_error;

/* Name of a code as written in this header ("LEAT_E_IO"), or "LEAT_E_?"; static storage. */
LEAT_API const char *leat_code_name(int code);

/* Text of a code ("input/output error"), or "unknown code"; static storage. */
LEAT_API const char *leat_code_text(int code);

/* Fills *err (if not NULL) with a code and a printf-style message; returns the code. Any thread. */
LEAT_API int leat_fail(leat_error *err, int code, const char *format, ...) LEAT_PRINTF(3, 4);

/* Puts text before the message that *err holds ("photo.jpg: " + …); keeps where it is; returns the code. */
LEAT_API int leat_fail_in(leat_error *err, int code, const char *format, ...) LEAT_PRINTF(3, 4);

/* Copies an error to *err (if not NULL), with all that it says; returns its code. Any thread. */
LEAT_API int leat_fail_as(leat_error *err, const leat_error *from);

/* Prints "leat: MESSAGE\n" to a stream. */
LEAT_API void leat_error_print(const leat_error *err, FILE *stream);

#ifdef __cplusplus
}
#endif
#endif
