/* SPDX-License-Identifier: MIT
 *
 * watch_inject.c: the part of `leat watch` inside the watched program. CUDA's driver loads this plugin into a program
 * whose environment names it in CUDA_INJECTION64_PATH, and calls InitializeInjection() when the program begins to use
 * CUDA. From then on CUPTI's records go to a socket. The program is not slowed by a reader that is late: records wait in
 * CUPTI's buffers, and calls of the program in one of ours; they are counted as lost where these are full. Only CUPTI's
 * threads write to the socket, and the program's end, which waits END_NS for a reader that reads nothing.
 *
 * After fork() a child has no CUDA and says nothing; a program that it starts is watched anew. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "cupti_record.h"
#include "device/watch_wire.h"

enum { FLUSH_MS = 200, MOST_NAMES = 4096, ROOM = 1024, MOST_CALLS = 1 << 16, SEND_S = 1 };
#define END_NS 5000000000

static struct {
    pthread_mutex_t lock;
    int fd; /* -1: not connected, or the reader is gone */
    pid_t owner;
    leat_watch_message buffer[ROOM];
    int n;
    const char *names[MOST_NAMES]; /* that were sent; a kernel's name keeps its address */
    uint32_t n_names;
    _Atomic int64_t until_ns; /* 0: the program has not ended. end() sets it, send_all() reads it */
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

/* What the program's threads did since the last buffer of CUPTI. */
static struct {
    pthread_mutex_t lock;
    leat_watch_message lists[2][MOST_CALLS], *list; /* one of both; the other is being sent */
    uint32_t n;
    uint64_t lost;
} made = { .lock = PTHREAD_MUTEX_INITIALIZER, .list = made.lists[0] };

/* Whether to wait on for a reader that has read nothing for SEND_S. */
static bool waits_on(void)
{
    const int64_t until_ns = watch.until_ns;
    return until_ns == 0 || leat_clock_ns() < until_ns;
}

static void send_all(const void *from, size_t n)
{
    const char *at = from;
    while (n && watch.fd >= 0) {
        const ssize_t sent = send(watch.fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EINTR || (errno == EAGAIN && waits_on())))
            continue;
        if (sent <= 0) { /* nobody listens any more; the program goes on */
            close(watch.fd);
            watch.fd = -1;
            return;
        }
        at += sent;
        n -= (size_t)sent;
    }
}

static void send_buffer(void)
{
    send_all(watch.buffer, (size_t)watch.n * sizeof *watch.buffer);
    watch.n = 0;
}

static void add(const leat_watch_message *message)
{
    if (watch.n == ROOM)
        send_buffer();
    watch.buffer[watch.n++] = *message;
}

/* The number of a name, which is sent when it comes for the first time; 0: too many. */
static uint32_t number_of(const char *name)
{
    uint32_t slot = (uint32_t)((uintptr_t)name >> 3) * 2654435761u % MOST_NAMES;
    for (uint32_t tries = 0; tries < MOST_NAMES && watch.names[slot]; tries++) {
        if (watch.names[slot] == name)
            return slot + 1;
        slot = (slot + 1) % MOST_NAMES;
    }
    if (watch.n_names + 1 >= MOST_NAMES)
        return 0;
    watch.names[slot] = name;
    watch.n_names++;
    const size_t bytes = strnlen(name, 1000);
    add(&(leat_watch_message){ .kind = LEAT_WATCH_NAME, .name = slot + 1, .bytes = bytes });
    send_buffer();
    send_all(name, bytes);
    return slot + 1;
}

/* In a thread of the program. */
static void take_call(const leat_device_span *span)
{
    pthread_mutex_lock(&made.lock);
    if (made.n == MOST_CALLS)
        made.lost++;
    else
        made.list[made.n++] = (leat_watch_message){ .start_ns = span->start_ns,
                                                    .end_ns = span->end_ns,
                                                    .kind = span->kind,
                                                    .call = span->call };
    pthread_mutex_unlock(&made.lock);
}

static void take_span(const leat_device_span *span)
{
    if (getpid() != watch.owner) /* after fork() locks may be held for ever */
        return;
    if (span->kind == LEAT_SPAN_CALL || span->kind == LEAT_SPAN_WAIT) {
        take_call(span);
        return;
    }
    pthread_mutex_lock(&watch.lock);
    if (watch.fd >= 0)
        add(&(leat_watch_message){ .start_ns = span->start_ns,
                                   .end_ns = span->end_ns,
                                   .bytes = span->bytes,
                                   .kind = span->kind,
                                   .call = span->call,
                                   .name = span->name ? number_of(span->name) : 0 });
    pthread_mutex_unlock(&watch.lock);
}

/* Sends the calls, too. [watch.lock] */
static void send_made(uint64_t dropped)
{
    pthread_mutex_lock(&made.lock);
    const leat_watch_message *const list = made.list;
    const uint32_t n = made.n;
    made.list = made.lists[list == made.lists[0]];
    made.n = 0;
    dropped += made.lost;
    made.lost = 0;
    pthread_mutex_unlock(&made.lock);
    for (uint32_t i = 0; i < n; i++)
        add(&list[i]);
    if (dropped)
        add(&(leat_watch_message){ .kind = LEAT_WATCH_LOST, .bytes = dropped });
    send_buffer();
}

static void take_end(uint64_t dropped)
{
    if (getpid() != watch.owner)
        return;
    pthread_mutex_lock(&watch.lock);
    if (watch.fd >= 0)
        send_made(dropped);
    pthread_mutex_unlock(&watch.lock);
}

static const leat_cupti_sink sink = { take_span, take_end };

static void end(void)
{
    if (getpid() != watch.owner)
        return;
    watch.until_ns = leat_clock_ns() + END_NS;
    leat_cupti_flush(true, NULL);
    take_end(0);
}

static bool connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval most = { .tv_sec = SEND_S };
    if (strlen(path) >= sizeof address.sun_path)
        return false;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    watch.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (watch.fd < 0)
        return false;
    if (setsockopt(watch.fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0 &&
        connect(watch.fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return true;
    close(watch.fd);
    watch.fd = -1;
    return false;
}

static int start(leat_error *err)
{
    int rc = leat_cupti_open(&sink, err);
    if (rc == LEAT_OK)
        rc = leat_cupti_start(true, err);
    return rc < 0 ? rc : leat_cupti_flush_every(FLUSH_MS, err);
}

__attribute__((visibility("default"))) int InitializeInjection(void);
/* Called once by the driver, in the program's thread. Returns 1, as the driver expects of success: whatever goes wrong here
 * is no reason to stop the program. */
int InitializeInjection(void)
{
    const char *const path = getenv(LEAT_WATCH_SOCKET);
    leat_watch_hello hello = { .magic = LEAT_WATCH_MAGIC,
                               .version = LEAT_WATCH_VERSION,
                               .pid = (int32_t)getpid(),
                               .start_ns = leat_clock_ns() };
    leat_error err = { 0 };
    if (!path || watch.owner == getpid() || !connect_to(path))
        return 1;
    watch.owner = getpid();
    snprintf(hello.program, sizeof hello.program, "%s", program_invocation_short_name);
    pthread_mutex_lock(&watch.lock); /* records wait until the hello is sent */
    const int rc = start(&err);
    if (rc < 0)
        snprintf(hello.trouble, sizeof hello.trouble, "%.250s", err.message);
    else
        hello.cupti = leat_cupti_version();
    send_all(&hello, sizeof hello);
    pthread_mutex_unlock(&watch.lock);
    if (rc == LEAT_OK)
        atexit(end);
    return 1;
}
