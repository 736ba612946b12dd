/* SPDX-License-Identifier: MIT
 *
 * watch_wire.h: what a watched process says to `leat watch`, over a Unix socket: a hello, then messages. The plugin inside the
 * process writes it (src/cuda/record/watch_inject.c), watch.c reads it. Both are of one release. */
#ifndef LEAT_WATCH_WIRE_H
#define LEAT_WATCH_WIRE_H

#include <stdint.h>

/* Environment variables of a watched process: the driver loads the library that the first names, and calls its
 * InitializeInjection(), when a program begins to use CUDA. */
#define LEAT_WATCH_LIBRARY "CUDA_INJECTION64_PATH"
#define LEAT_WATCH_SOCKET  "LEAT_WATCH"

enum { LEAT_WATCH_MAGIC = 0x6c77, LEAT_WATCH_VERSION = 1 };

typedef struct leat_watch_hello {
    uint32_t magic, version;
    int32_t pid;
    uint32_t cupti;   /* its version; 0: it could not be used, and trouble says why */
    int64_t start_ns; /* CLOCK_MONOTONIC */
    char program[64];
    char trouble[256]; /* "" if records come */
} leat_watch_hello;

/* A span (leat_device_span), or one of the two kinds below. */
enum {
    LEAT_WATCH_NAME =
        1 << 16, /* `bytes` bytes of text follow: the kernel's name with number `name` */
    LEAT_WATCH_LOST = 1 << 17 /* `bytes` records were lost */
};
typedef struct leat_watch_message {
    int64_t start_ns, end_ns;
    uint64_t bytes;
    uint32_t kind, call;
    uint32_t name; /* of a kernel, from 1; 0: none */
    uint32_t unused;
} leat_watch_message;

#endif
